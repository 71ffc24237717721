"""The programs of page loads: recipes of browsers, the browser's driver, the replay of a site.

Not here: reading the driver's files (``pages/load``).
Start at ``builtin/browsers``.
"""

from __future__ import annotations

from httpbed.programs.shipped_programs import AddedPrograms

PROGRAMS = AddedPrograms(
    name="pages",
    package=__name__,
    parsers={"browser-load": "httpbed.addons.pages.load.driver_output:parse"},
)
