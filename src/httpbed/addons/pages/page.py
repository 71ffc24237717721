"""The page-load workload: which page a browser loads, as which device, and after which visit.

A browser takes on a device's screen and user agent, as Chrome's developer tools do: it lays out and
paints as on that screen. The processor stays that of this machine, and so do the fonts.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, Tag, model_validator

from httpbed.base import spellings
from httpbed.base.errors import RejectedValueError, did_you_mean
from httpbed.base.units import Bytes, Count
from httpbed.base.value import Value, form_by_key
from httpbed.experiment.workload import PageCapability, PageVisit, Resumption, Workload

OriginName = Annotated[
    str,
    Field(
        pattern=spellings.ORIGIN,
        max_length=253,
    ),
]
MAX_ORIGINS = 200
_VISITS: Mapping[PageVisit, PageCapability] = {
    "warm connection": "page: warm connection",
    "repeat view": "page: repeat view",
    "resumed": "page: resumed",
    "early data": "page: early data",
    "discovery": "page: discovery",
}
SMALLEST_IMAGE, LARGEST_IMAGE = 100, 10**8
"""Bounds of an image of a synthetic page, in bytes."""
MAX_OBJECTS = 1000
HTML_BYTES_EACH = 100
"""Approximate bytes of HTML for each image of a synthetic page."""


def _image_size(size: int) -> int:
    if not SMALLEST_IMAGE <= size <= LARGEST_IMAGE:
        bounds = f"use {SMALLEST_IMAGE} B to {LARGEST_IMAGE // 10**6} MB"
        raise RejectedValueError(f"{size} B is out of range for an image", bounds)
    return size


def _viewport(value: object) -> object:
    if not isinstance(value, str) or not re.fullmatch(spellings.VIEWPORT, value):
        reason = "is not a width and a height in pixels, 10 to 9999"
        raise RejectedValueError(reason, 'write it like "1366x768"')
    return value


class KnownPage(Value):
    """Facts about a page that are known before its load; httpbed fills them in."""

    sha256: str | None = Field(default=None, pattern=spellings.SHA256)
    """Digest of the site. If the experiment gives it, the page must have this digest."""
    requests: int | None = Field(default=None, ge=1)
    """Number of requests of a cold load."""
    weight: Bytes | None = None
    """Total length of all bodies of a cold load."""
    entry: str | None = Field(default=None, pattern=spellings.URL_PATH)
    """URL path of the page's document."""
    origins: list[OriginName] | None = Field(default=None, min_length=1, max_length=MAX_ORIGINS)
    """Host names of the page's origins, that of the document first."""
    icon: bool | None = None
    """Whether a load requests ``/favicon.ico``. Default: it does not, because the page names its
    icon."""
    version: str | None = Field(default=None, max_length=200)
    """Another property that determines the page's bytes, such as the version of its generator."""

    def load_requests(self) -> int:
        """Return the number of requests of a cold load; 1 if it is not known yet."""
        return self.requests or 1

    def load_bytes(self) -> int:
        """Return the total length of all bodies of a cold load; 0 if it is not known yet."""
        return self.weight or 0


class NamedPage(KnownPage):
    """A page that ``httpbed pages`` lists."""

    name: str = Field(pattern=spellings.PAGE)


class SyntheticPage(KnownPage):
    """A page of equal images, after Biswal and Gnawali (2016, section 3.2)."""

    objects: Count = Field(ge=1, le=MAX_OBJECTS)
    """Number of images."""
    size: Annotated[Bytes, AfterValidator(_image_size)]
    """Size of each image, from 100 B to 100 MB."""

    def load_requests(self) -> int:
        """Return the number of images plus one for the document."""
        return self.requests or self.objects + 1

    def load_bytes(self) -> int:
        """Return the approximate length of all images and of the document."""
        return self.weight or self.objects * (self.size + HTML_BYTES_EACH)


Order = Literal["recorded", "its own"]


class RecordedPage(KnownPage):
    """A site rebuilt from a HAR file."""

    har: str = Field(min_length=1)
    """The HAR file, relative to the experiment file."""
    order: Order | None = None
    """What requests the page's resources. ``recorded``: a skeleton page, in the order of the HAR
    file. ``its own``: the page itself, which needs all bodies in the HAR file. Default: what
    ``httpbed pages mirror`` wrote into the file, else ``its own`` if possible."""


def _named(value: object) -> object:
    """Accept a text as the name of a page."""
    return {"name": value} if isinstance(value, str) else value


Page = Annotated[
    Annotated[NamedPage, Tag("<named>")]
    | Annotated[SyntheticPage, Tag("<synthetic>")]
    | Annotated[RecordedPage, Tag("<recorded>")],
    form_by_key(
        '"startbootstrap-agency"',
        name="<named>",
        objects="<synthetic>",
        size="<synthetic>",
        har="<recorded>",
        order="<recorded>",
    ),
    BeforeValidator(_named),
]
"""A named page, a synthetic page, or the user's own from a HAR file."""


class PageLoad(Workload):
    """A page with all its resources, loaded by a browser."""

    kind: Literal["page"]
    """``page``: a browser loads the page until it sends no more requests."""
    page: Page
    """The page: a name that ``httpbed pages`` lists, ``{ objects = 64, size = "10 kB" }`` for equal
    images, or ``{ har = ... }`` for your own, recorded into a HAR file."""
    visit: PageVisit = "cold"
    """``cold``: a new browser with an empty profile. ``warm connection``: the browser has a
    connection to the server, but nothing of the page. ``repeat view``: it has loaded the page
    before. ``resumed``: it has a TLS ticket (RFC 8446 section 2.2), but no connection. ``early
    data``: it also sends its first request as early data. ``discovery``: an earlier visit over
    HTTP/2 advertised HTTP/3 (RFC 7838)."""
    viewport: Annotated[str, BeforeValidator(_viewport)] = "1366x768"
    """Width and height of the visible part of the page, in CSS pixels."""
    device: Annotated[Device | None, BeforeValidator(known)] = None
    """A device whose screen and user agent the browser takes on: ``"moto-g-power"``,
    ``"pixel-2"``, ``"iphone-se"``, ``"iphone-13"``, ``"ipad"``, or a table of your own. It has its
    own viewport."""
    net_log: bool = Field(default=False, strict=True)
    """Whether to keep the browser's net log, some megabytes per load."""

    @model_validator(mode="after")
    def _has_one_viewport(self) -> Self:
        if self.device and "viewport" in self.model_fields_set:
            raise RejectedValueError("a device has its own viewport", "leave one of them out")
        return self

    @property
    def screen(self) -> str:
        """Width and height of the visible part of the page, in CSS pixels."""
        return self.device.viewport if self.device else self.viewport

    @property
    def key(self) -> str:
        """Digest that identifies the page's site in a campaign; equal pages have equal keys."""
        return hashlib.sha256(self.page.model_dump_json().encode()).hexdigest()[:12]

    @property
    def resumes(self) -> Resumption:
        """The TLS resumption of the measured load."""
        return self.visit if self.visit in ("resumed", "early data") else "none"

    def needs(self) -> Iterator[PageCapability]:
        """Yield the capabilities that browser and server need."""
        yield "page"
        if isinstance(self.page, RecordedPage):
            yield "recorded page"
        if self.visit != "cold":
            yield _VISITS[self.visit]
        if self.device:
            yield "page: device"

    @property
    def comes_twice(self) -> bool:
        """Whether the browser, which repeats visits itself, has made one before."""
        return self.visit != "cold"

    @property
    def fetches_twice(self) -> bool:
        """Whether that visit loads the page."""
        return self.visit == "repeat view"

    @property
    def discovers(self) -> bool:
        """Whether that visit uses another HTTP version."""
        return self.visit == "discovery"

    def requests(self) -> int:
        """Return the number of requests of a cold load; 1 if it is not known yet."""
        return self.page.load_requests()

    def body_bytes(self) -> int:
        """Return the total length of all bodies; 0 if it is not known yet."""
        return self.page.load_bytes()


class Device(Value):
    """A device: what a page can see of it."""

    viewport: str = Field(pattern=spellings.VIEWPORT)
    """Width and height of the screen in CSS pixels, upright."""
    pixel_ratio: float = Field(ge=0.5, le=10)
    """Physical pixels for each CSS pixel, in one dimension (``devicePixelRatio``)."""
    user_agent: str = Field(min_length=1, max_length=500, pattern=spellings.HEADER_VALUE)
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
        hint = did_you_mean(value, DEVICES, f"known: {', '.join(DEVICES)}", most=3)
        raise RejectedValueError(f"{value!r} is not a device", hint)
    return dict(DEVICES[value])
