"""What a sender's congestion control does, read from the emulator's packet log alone.

Not here: tolerances and verdicts (``studies/conformance``), the packet log (``store/packet_log``).
Start at ``flight`` (the theory); ``behaviour`` reads windows, ``models`` has the literature.
"""
