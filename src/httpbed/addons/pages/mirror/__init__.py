"""``httpbed pages mirror``: records a user's page into a HAR file, which experiments replay.

Not here: the format of sites (``pages/sites``), the replay of a recorded site (``sites/replay``).
Start at ``mirrored_page``::

    mirrored_page  records a page in a confined browser, and tries its replay
    way_out        the browser's one way to the network, and not into the user's own
"""
