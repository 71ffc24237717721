"""Calibration: cells that measure the emulated link against arithmetic, and the certificate.

Not here: the checks of a trial (``trial.checks``).
Start at ``session``; ``cell`` has a condition with its traffic and the claims about the result.
"""
