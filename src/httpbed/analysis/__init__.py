"""Analysis: from the tables of a campaign to samples, estimates, comparisons and findings.

Not here: words and figures (``report``), claims of studies (``studies``).
It reads no clock and needs no Linux.
Start at ``findings``.
"""
