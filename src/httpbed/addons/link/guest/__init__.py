"""A command behind a link in virtual time: both are in a guest.

Not here: booting a guest (``host/guest``), the link itself (``run``).
Start at ``outside``.
"""
