"""Chromium loads one page in a sandbox, over the Chrome DevTools Protocol, and leaves what it told.

::

    __main__    command line; begins, watches, collects, and says in load.json how it ended
    flags       what the browser is started with: protocol, names, certificates, silence (pure)
    browser     its processes: started over a pipe, ended whole, their CPU seconds complete
    cdp         commands, answers and events over that pipe
    watching    from the events alone: is the load over, and how did it end (pure)
    keeping     files of bounded length
    visits      in which state a load begins, and how that comes about (pure)
    sockets     ends a browser's connections, and nothing else of it

Standard library only: it runs as ``python3 -m chromium`` in a root filesystem with the browser.
"""
