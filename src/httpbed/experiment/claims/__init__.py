"""Claims of an experiment: what is estimated, from which treatments, and which values support it.

Not here: intervals and verdicts (``analysis.claims``), tables (``report``).
Start at ``stated``, then ``compiled``.
"""
