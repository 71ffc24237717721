"""Which colour of the palette each series of a figure has: a protocol has one in all figures.

The name decides, because that is what the legend shows. Series without a protocol take none of the
protocols' colours.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable

PROTOCOLS = {"1.1": 0, "2": 1, "3": 2}
"""Place in the palette of each HTTP version."""
_PROTOCOL = re.compile(r"\b(?:HTTP/|http|h)(1\.1|1|2|3)\b")
"""Of a level of ``http_version``, or of a name such as ``curl:h3`` or ``wget-http1``."""


def places(names: Iterable[str], colours: int) -> dict[str, int]:
    """Return each series' place in a palette of so many colours."""
    others = itertools.cycle(range(len(PROTOCOLS), colours))
    return {
        name: next(others) if (place := _of_protocol(name)) is None else place
        for name in dict.fromkeys(names)
    }


def ranks(names: Iterable[str], colours: int) -> dict[str, int]:
    """Return how many earlier series have the same colour."""
    seen = Counter[int]()
    found = {}
    for name, place in places(names, colours).items():
        found[name] = seen[place]
        seen[place] += 1
    return found


def _of_protocol(name: str) -> int | None:
    """Return the place of the first protocol in a name: that of the client."""
    found = _PROTOCOL.search(name)
    return PROTOCOLS["1.1" if found[1] == "1" else found[1]] if found else None
