"""The web pages that browsers load, as folders with a list (``site``) that any server serves.

Not here: recording a live page (``mirror``), serving a site in a trial (``campaign_addition``).
Start at ``catalog``; makers: ``corpus``, ``generated``, ``replay``.
"""
