"""Figures that an experiment declares: what is drawn from which treatments, and every mistake.

Not here: values (``analysis.figure_values``), drawing (``report.declared``).
Start at ``stated``, then ``placed``.
"""
