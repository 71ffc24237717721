"""``httpbed link``: a user's command behind an emulated link.

In: its options, the plan and run of its sandbox, changes of a running link, nested links, counters.
Out: trials, which are planned and run elsewhere (``trial``); the link itself (``network``).
Start at :mod:`httpbed.network.shell.run`.
"""
