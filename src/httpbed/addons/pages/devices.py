"""Devices whose screen and user agent a browser takes on, as Chrome's developer tools do.

Chromium lays out and paints as on the device's screen. The processor stays that of this machine,
which ``cpu_slowdown`` slows down, and so do the fonts.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from pydantic import Field

from httpbed.base.errors import RejectedValueError
from httpbed.base.value import Value

VIEWPORT = re.compile(r"[1-9][0-9]{1,3}x[1-9][0-9]{1,3}")


class Device(Value):
    """A device: what a page can see of it."""

    viewport: str = Field(pattern=f"^{VIEWPORT.pattern}$")
    """Width and height of the screen in CSS pixels, upright."""
    pixel_ratio: float = Field(ge=0.5, le=10)
    """Physical pixels for each CSS pixel, in one dimension (``devicePixelRatio``)."""
    user_agent: str = Field(min_length=1, max_length=500, pattern=r"^[ -~]+$")
    """Value of the User-Agent header."""
    mobile: bool = Field(default=True, strict=True)
    """Whether the browser takes the page's ``<meta name=viewport>`` into account, and touches."""


_ANDROID = "AppleWebKit/537.36 (KHTML, like Gecko) {chrome} Mobile Safari/537.36"
_IOS = "AppleWebKit/605.1.15 (KHTML, like Gecko) Version/15.4 Mobile/15E148 Safari/604.1"
_IPHONE_SE = "AppleWebKit/603.1.30 (KHTML, like Gecko) Version/10.0 Mobile/14E304 Safari/602.1"


def _device(viewport: str, pixel_ratio: float, system: str, engine: str) -> dict[str, object]:
    agent = f"Mozilla/5.0 ({system}) {engine}"
    return {"viewport": viewport, "pixel_ratio": pixel_ratio, "user_agent": agent}


DEVICES: Mapping[str, Mapping[str, object]] = {
    # Lighthouse, core/config/constants.js: its default phone.
    "moto-g-power": _device(
        "412x823",
        1.75,
        "Linux; Android 11; moto g power (2022)",
        _ANDROID.format(chrome="Chrome/119.0.0.0"),
    ),
    # Puppeteer, packages/puppeteer-core/src/common/Device.ts: all others.
    "pixel-2": _device(
        "411x731",
        2.625,
        "Linux; Android 8.0; Pixel 2 Build/OPD3.170816.012",
        _ANDROID.format(chrome="Chrome/75.0.3765.0"),
    ),
    "iphone-se": _device("320x568", 2, "iPhone; CPU iPhone OS 10_3_1 like Mac OS X", _IPHONE_SE),
    "iphone-13": _device("390x844", 3, "iPhone; CPU iPhone OS 15_0 like Mac OS X", _IOS),
    "ipad": _device("810x1080", 2, "iPad; CPU OS 12_2 like Mac OS X", _IOS),
}
"""Values of :class:`Device` by the names that experiments use: an import builds no model."""


def known(value: object) -> object:
    """Return the device that a text names; other values unchanged.

    Raises:
        RejectedValueError: No device has this name; the remedy suggests similar names.
    """
    if not isinstance(value, str):
        return value
    if value not in DEVICES:
        close = difflib.get_close_matches(value, DEVICES, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(DEVICES)}"
        raise RejectedValueError(f"{value!r} is not a device", hint)
    return dict(DEVICES[value])
