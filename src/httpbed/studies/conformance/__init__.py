"""Does a sender's congestion control behave as its name promises, and how do senders compete?

Not here: reading windows and flights from packets (``analysis/sender``), records (``store``).
Start at ``session``, which runs both tests; ``properties`` has what is judged, with tolerances.
"""
