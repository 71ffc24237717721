"""The checks on an attempt, a file per family, found by ``registry.py``.

Not here: their descriptors (``experiment.check``), checks of hand-overs (``trial.handover``).
Start with ``registry.py``.
"""
