"""A page that a browser loads: which one, and in which state the load begins."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, Tag

from httpbed.experiment.alternatives import chosen
from httpbed.experiment.units import Bytes
from httpbed.experiment.value import Value

Visit = Literal["cold", "warm connection", "repeat view", "resumed", "early data", "discovery"]
"""In which state a load begins."""
PageCapability = Literal[
    "page",
    "recorded page",
    "page: warm connection",
    "page: repeat view",
    "page: resumed",
    "page: early data",
    "page: discovery",
]
"""What a page asks of a program: of a server that it has the site, of a client all else."""
OriginName = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)+$",
        max_length=253,
    ),
]
OWN_ORIGIN = "server.httpbed.test"
"""Host name of all that was not recorded with names of its own. It is in .test (RFC 6761), which
no resolver outside will ever know."""
MOST_ORIGINS = 200
_VISITS: Mapping[Visit, PageCapability] = {
    "warm connection": "page: warm connection",
    "repeat view": "page: repeat view",
    "resumed": "page: resumed",
    "early data": "page: early data",
    "discovery": "page: discovery",
}
_VIEWPORT = re.compile(r"[1-9][0-9]{1,3}x[1-9][0-9]{1,3}")
SMALLEST_IMAGE, LARGEST_IMAGE = 100, 10**8
"""Bytes of an image of a synthetic page."""
MOST_OBJECTS = 1000
HTML_BYTES_EACH = 100
"""Of a synthetic page's own text, for each of its images; about."""


def _count(said: object) -> object:
    """Take a count that stands as a text, as the levels of factors do."""
    return int(said) if isinstance(said, str) and said.isdecimal() else said


def _image_size(size: int) -> int:
    if not SMALLEST_IMAGE <= size <= LARGEST_IMAGE:
        raise ValueError(f"an image has {SMALLEST_IMAGE} B to {LARGEST_IMAGE // 10**6} MB")
    return size


def _viewport(said: object) -> object:
    if not isinstance(said, str) or not _VIEWPORT.fullmatch(said):
        raise ValueError(
            'is not a width and a height in pixels, 10 to 9999; write it like "1366x768"'
        )
    return said


class KnownPage(Value):
    """What is known of a page before it is loaded; filled in when the experiment is read."""

    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    """Digest of the site. Given by the author, the page must be that one."""
    requests: int | None = Field(default=None, ge=1)
    """How many requests a cold load makes."""
    weight: Bytes | None = None
    """Bytes of all bodies of a cold load."""
    entry: str | None = Field(default=None, pattern="^/")
    """Path of its document in a URL."""
    origins: list[OriginName] | None = Field(default=None, min_length=1, max_length=MOST_ORIGINS)
    """Host names of its origins, the document's first."""
    icon: bool | None = None
    """Whether a load asks for ``/favicon.ico``. Not given: no browser does so by itself, since the
    page names its icon."""
    version: str | None = Field(default=None, max_length=200)
    """What else its bytes depend on, such as what its images were drawn by."""

    def load_requests(self) -> int:
        """How many requests a cold load makes; 1 where that is not known yet."""
        return self.requests or 1

    def load_bytes(self) -> int:
        """Bytes of all bodies of a cold load; 0 where that is not known yet."""
        return self.weight or 0


class NamedPage(KnownPage):
    """One of the pages that ``httpbed pages`` lists."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9.-]{0,80}$")


class SyntheticPage(KnownPage):
    """A page of equal images, as Biswal and Gnawali (2016, section 3.2) made them."""

    objects: Annotated[int, Field(ge=1, le=MOST_OBJECTS, strict=True), BeforeValidator(_count)]
    """How many images it has."""
    size: Annotated[Bytes, AfterValidator(_image_size)]
    """Each image's length in bytes: 100 B, the smallest that is an image, to 100 MB."""

    def load_requests(self) -> int:
        """Count its images and itself."""
        return self.requests or self.objects + 1

    def load_bytes(self) -> int:
        """Add up its images and its own text, about."""
        return self.weight or self.objects * (self.size + HTML_BYTES_EACH)


class FolderPage(KnownPage):
    """A user's own page, which ``httpbed mirror`` made self-contained."""

    folder: str = Field(min_length=1)
    """Its folder, relative to the experiment's."""


class RecordedPage(KnownPage):
    """A site rebuilt from a HAR file."""

    har: str = Field(min_length=1)
    """The file, relative to the experiment's folder."""
    order: Literal["recorded", "its own"] | None = None
    """Who asks for what the document leads to. ``recorded``: a skeleton in its place, in the
    recorded order; ``its own``: the page itself, which needs all its bodies in the recording. Not
    given: the page itself where it can."""


def _named(said: object) -> object:
    """Let a name stand for the page of that name."""
    return {"name": said} if isinstance(said, str) else said


Page = Annotated[
    Annotated[NamedPage, Tag("<named>")]
    | Annotated[SyntheticPage, Tag("<synthetic>")]
    | Annotated[FolderPage, Tag("<folder>")]
    | Annotated[RecordedPage, Tag("<recorded>")],
    chosen(
        '"startbootstrap-agency"',
        name="<named>",
        objects="<synthetic>",
        size="<synthetic>",
        folder="<folder>",
        har="<recorded>",
        order="<recorded>",
    ),
    BeforeValidator(_named),
]
"""One that has a name, one of equal images, one of the user's own, or one from a recording."""


class PageLoad(Value):
    """A page, loaded by a browser with all that it needs."""

    kind: Literal["page"]
    """``page``: a browser loads it until nothing more is asked for."""
    page: Page
    """Which page: a name that ``httpbed pages`` lists, ``{ objects = 64, size = "10 kB" }`` for one
    of equal images, ``{ folder = ... }`` for your own, ``{ har = ... }`` for a recorded site."""
    visit: Visit = "cold"
    """``cold``: a new browser with an empty profile. ``warm connection``: it has a connection to
    the server, and nothing of the page. ``repeat view``: it has loaded the page before.
    ``resumed``: it has a TLS ticket (RFC 8446 section 2.2) and no connection; ``early data``: and
    uses it for its first request. ``discovery``: it was here over HTTP/2 and was told of HTTP/3
    (RFC 7838)."""
    viewport: Annotated[str, BeforeValidator(_viewport)] = "1366x768"
    """Width and height of what is seen of the page, in CSS pixels."""
    net_log: bool = Field(default=False, strict=True)
    """Whether the browser's own log of its network is kept, some megabytes a load."""

    @property
    def key(self) -> str:
        """Name its site among those of a campaign: equal pages have equal names."""
        return hashlib.sha256(self.page.model_dump_json().encode()).hexdigest()[:12]

    @property
    def resumption(self) -> Literal["none", "resumed", "early data"]:
        """What of TLS is asked of the measured load."""
        return self.visit if self.visit in ("resumed", "early data") else "none"

    def needs(self) -> Iterator[PageCapability]:
        """Yield what it asks of a browser and of a server."""
        yield "page"
        if isinstance(self.page, RecordedPage):
            yield "recorded page"
        if self.visit != "cold":
            yield _VISITS[self.visit]

    @property
    def visits_before(self) -> int:
        """How many processes come before the measured one: none, the browser comes by itself."""
        return 0

    def requests(self) -> int:
        """How many requests a cold load makes, as far as that is known."""
        return self.page.load_requests()

    def body_bytes(self) -> int:
        """Length of all bodies together, as far as that is known."""
        return self.page.load_bytes()
