"""The drivers of browsers: Chromium or Firefox loads one page in a trial.

Both leave the same files: load.json, and the browser's events as the Chrome DevTools Protocol names
them. Not here: reading those files (``pages/load``). A driver runs in a root filesystem with its
browser, as ``python3 -m browsers.chromium``. It uses the standard library, and Firefox' driver
Debian's ``websockets``::

    chromium          command line; starts, watches, collects, writes load.json
    chromium_flags    the browser's command line: protocol, names, certificates, silence
    cdp               commands, responses and events over a pipe, of either browser
    visit             the state in which a load begins, and how the browser reaches it
    sockets           lists a browser's connections and has them ended
    relay             a recording's port of loopback, which leads to a Unix socket

    firefox           the same with Firefox, for cold loads, over a WebSocket
    firefox_profile   its preferences and its certificates
    bidi_events       events of WebDriver BiDi in the words of the DevTools Protocol

    browser           a browser's processes: started, killed as a whole, CPU seconds
    load_end          whether a load is over and how it ended, from events alone
    load_record       what every driver is asked for, and load.json
    bounded_files     files of bounded length: events, trace, pictures, bodies of a recording
"""
