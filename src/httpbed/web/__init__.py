"""The web as values: page loads (``load``), HTTP archives (``har``), pages to load (``sites``).

Not here: running browsers and servers (``trial``, ``programs``), drawing loads (``report/pages``).
Start at ``load/browser_load`` for what a page load is, at ``sites/catalog`` for what can be loaded.
"""
