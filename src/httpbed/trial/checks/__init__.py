"""The checks on an attempt, a file per family, found by ``verdict``.

Not here: their descriptors (``experiment.check``), checks of hand-overs (``addons.handover``).
Start at ``trial/verdict``.
"""
