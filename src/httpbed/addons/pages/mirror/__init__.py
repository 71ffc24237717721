"""``httpbed mirror``: makes a user's own page self-contained, so that experiments can load it.

Not here: the format of sites (``pages/sites``).
Start at ``session``: ``crawler`` reads what a page's text refers to, ``browser_load`` the rest.
"""
