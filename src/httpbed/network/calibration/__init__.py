"""Calibration: the emulated link measured against arithmetic.

In: cells (a condition, traffic, and claims about the result), their run and judgement, and the
certificate of the conditions that passed. Out: the checks of a trial (``trial.checks``).
Start at :mod:`httpbed.network.calibration.session`.
"""
