"""The checks on an attempt, a file per family, found by ``registry``.

Not here: their descriptors (``experiment.check``), checks of hand-overs (``trial.handover``).
Start at ``registry``.
"""
