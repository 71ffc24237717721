"""A HAR file turned into a site whose responses have the recorded heads, lengths and delays.

Not here: reading the HAR file (``pages/har``), answers (``pages/programs``).
Start at ``har_site``; ``selection`` says which entries are replayed and ``order`` says when.
"""
