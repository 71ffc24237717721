"""Impairments of one direction of a link: their values and descriptors, related ones in one module.

Out: what the emulator does with them (``crates/link-model``), and checks (``trial.checks``).
Start at :mod:`httpbed.experiment.impairments.registry`.
"""
