"""Verdicts on claims: values of blocks, intervals, statistics over cells, the verdict rule.

Not here: what a claim says (``experiment.claims``), tables (``report.claims``).
Start at ``judging``; the statistics are in ``analysis.location`` and ``counting``.
"""
