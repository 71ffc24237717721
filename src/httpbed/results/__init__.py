"""Analysis: from the tables of a campaign to samples, estimates, comparisons and findings.

Not here: sentences and figures (``report``), verdicts on senders and machines (``studies``).
Start at ``findings``; ``sender`` reads packet logs. No module reads a clock or needs Linux.
"""
