"""Impairments of one direction of a link: related ones in one module, with its values and its descriptor.

Out: what the emulator does with them (``crates/link-model``), and checks (``trial.checks``).
Start at :mod:`httpbed.experiment.impairments.registry`.
"""
