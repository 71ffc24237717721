"""Impairments of one direction of a link: related ones in one module, values and descriptor each.

Not here: what the emulator does with them (``crates/link-model``), and checks (``trial.checks``).
Start at ``registry``.
"""
