"""Analysis: from the tables of a campaign to samples, estimates, comparisons and findings.

Not here: sentences and figures (``report``), verdicts on claims, senders and machines (``addons``).
Start at ``findings``; ``log_ratio`` is the comparison of two samples beneath all verdicts. No
module reads a clock or needs Linux.
"""
