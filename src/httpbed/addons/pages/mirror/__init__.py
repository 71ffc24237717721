"""``httpbed pages mirror``: records a user's page into a HAR file, which experiments replay.

Not here: the format of sites (``pages/sites``), the replay of a recorded site (``sites/replay``).
Start at ``mirrored_page``::

    mirrored_page  records a page, and finds out whether its replay makes the same requests
    recorder       the browser that records: confined, with one way to the network
    way_out        that way: a proxy that keeps the browser out of the user's own network
"""
