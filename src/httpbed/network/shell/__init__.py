"""``httpbed link``: its options, sandbox, changes of a running link, nested links, counters.

Not here: trials (``trial``) and the link itself (``network``).
Start at ``run``.
"""
