"""The browser driver: Chromium loads one page over the Chrome DevTools Protocol, in a trial.

Not here: reading the driver's files (``web/load``). Standard library only: it runs as
``python3 -m chromium`` in a root filesystem with the browser.
Start at ``__main__``::

    __main__       command line; starts, watches, collects, writes load.json
    flags          the browser's command line: protocol, names, certificates, silence
    browser        its processes: started over a pipe, killed as a whole, CPU seconds
    cdp            commands, responses and events over that pipe
    load_end       whether a load is over and how it ended, from events alone
    bounded_files  files of bounded length
    visit          the state in which a load begins, and how the browser reaches it
    recording      the bodies of responses, when a page is recorded rather than measured
    relay          a recording's port of loopback, which leads to a Unix socket
    sockets        lists a browser's connections and has them ended
"""
