"""Claims of an experiment: what is estimated, from which treatments, and which values bear it out.

Not here: intervals and verdicts (``analysis.claims``), tables (``report``).
Start at ``stated``, then ``compiled``.
"""
