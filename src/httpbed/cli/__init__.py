"""The command line: one module per verb, each with its ``command``, and what verbs share.

Not here: what a verb computes (its room does that) and how results look (``report``).
Start at ``main`` (exit codes, the list of verbs) and ``run``.
"""
