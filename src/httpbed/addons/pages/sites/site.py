"""A site as values, and as a folder: ``site.json`` beside ``files/0``, ``files/1``, ...

Each origin has a folder with the files at the paths of its URLs. ``site.json`` lists all resources,
with the digest of each file and the number of requests in a cold load. A load with any other
request is not a load of this site.

A **maker** of sites is a module for each kind of page, with two functions. ``outline`` returns what
is known of a page before its site is made, and finds its mistakes. ``make`` writes the files of the
site.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, Protocol
from urllib.parse import quote, unquote, urlsplit

from pydantic import Field

from httpbed.addons.pages.page import MAX_ORIGINS, KnownPage, OriginName
from httpbed.base import spellings
from httpbed.base.errors import Mistake
from httpbed.base.value import Value
from httpbed.experiment.workload import OWN_ORIGIN
from httpbed.programs.part import PRIOR_PATH

SITE_FILE = "site.json"
FILES = "files"
SCHEMA = 1
PRIOR_BYTES = 1000
"""Size of the file that visits before the measured one request."""
MAX_RESOURCES = 20_000
MAX_BYTES = 2 * 2**30
MAX_S = 3600.0
"""Longest delay of a response, and longest wait before a request."""
MAX_PATH = 7900
"""Bytes of a path with its query; with the host it fits into what is read of a browser's URL."""


CONTENT_TYPES = {
    "html": "text/html",
    "htm": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "mjs": "text/javascript",
    "json": "application/json",
    "map": "application/json",
    "xml": "application/xml",
    "svg": "image/svg+xml",
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "avif": "image/avif",
    "ico": "image/x-icon",
    "woff": "font/woff",
    "woff2": "font/woff2",
    "ttf": "font/ttf",
    "otf": "font/otf",
    "eot": "application/vnd.ms-fontobject",
    "mp4": "video/mp4",
    "webm": "video/webm",
    "mp3": "audio/mpeg",
    "webmanifest": "application/manifest+json",
    "wasm": "application/wasm",
    "pdf": "application/pdf",
}
"""By the ending of a file's name; every server of sites has the same table."""
OTHER = "text/plain"
KINDS = ("image", "script", "style", "font", "document", "other")

_UNQUOTED = "/:@!$&'()*+,;=~-._"
"""Characters that stand for themselves in a path (RFC 3986 section 3.3)."""


class RecordedAnswer(Value):
    """A recorded response without its body."""

    method: Literal["GET", "HEAD", "POST"] = "GET"
    status: Annotated[int, Field(ge=200, le=599)] = 200
    headers: list[tuple[str, str]] = Field(default_factory=list)
    """In order; the server sets fields of the connection and of the length itself."""
    delay_s: Annotated[float, Field(ge=0, le=MAX_S)] = 0.0
    """From the request to the beginning of the response."""
    after: int | None = None
    """Index of the resource whose response caused this request; None for the document."""
    since: Literal["head", "end"] = "end"
    """Whether that response's head or its end caused the request."""
    wait_s: Annotated[float, Field(ge=0, le=MAX_S)] = 0.0
    """From then to the request."""


class Resource(Value):
    """A response that a server has for a URL."""

    origin: Annotated[int, Field(ge=0, lt=MAX_ORIGINS)]
    """Index of its origin."""
    path: Annotated[str, Field(pattern=r"^/[^\s#]*$", max_length=MAX_PATH)]
    """Path in the URL; may have a query."""
    file: str
    """Relative to ``files``; the first part is the origin's index."""
    bytes: Annotated[int, Field(ge=0)]
    sha256: Annotated[str, Field(pattern=spellings.SHA256)]
    type: str
    requested: Annotated[int, Field(ge=0)] = 1
    """Number of requests in a cold load."""
    answer: RecordedAnswer | None = None
    """Only in a replayed site."""


class Site(Value):
    """A page with all its resources."""

    schema_: Annotated[int, Field(ge=SCHEMA, le=SCHEMA)] = Field(default=SCHEMA, alias="schema")
    name: Annotated[str, Field(min_length=1, max_length=200)]
    source: str
    """Origin of the site, and changes to it."""
    entry: Annotated[str, Field(pattern=r"^/[^\s#]*$")]
    """Path of the document, on the first origin."""
    origins: Annotated[list[OriginName], Field(min_length=1, max_length=MAX_ORIGINS)]
    recorded: bool = False
    """Whether responses are replayed from a HAR file."""
    skeleton: bool = False
    """Whether a script requests all resources in recorded order, instead of the page itself."""
    resources: Annotated[list[Resource], Field(min_length=1, max_length=MAX_RESOURCES)]

    @property
    def digest(self) -> str:
        """Return the SHA-256 of all that a load can distinguish; name and source do not count."""
        # Digests are pinned, so a field of some sites must not change those of others.
        unsaid = {"name", "source"} | (set() if self.skeleton else {"skeleton"})
        document = self.model_dump(by_alias=True, exclude=unsaid)
        return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()

    def expected(self) -> Iterator[tuple[str, str, int]]:
        """Yield host name, path and number of the requests of a cold load."""
        for resource in self.resources:
            if resource.requested:
                yield self.origins[resource.origin], resource.path, resource.requested

    def requests(self) -> int:
        """Return the number of requests of a cold load."""
        return sum(resource.requested for resource in self.resources)

    def weight(self) -> int:
        """Return the bytes of all bodies of a cold load."""
        return sum(resource.bytes * resource.requested for resource in self.resources)


def content_type(path: str) -> str:
    """Return the content type of a file."""
    return CONTENT_TYPES.get(PurePosixPath(path).suffix[1:].lower(), OTHER)


def kind(type_: str) -> str:
    """Return which of the :data:`KINDS` a content type is."""
    known = {"text/html": "document", "text/css": "style", "text/javascript": "script"}
    return known.get(type_, next((one for one in KINDS if type_.startswith(f"{one}/")), "other"))


def url_path(path: str) -> str:
    """Return the path of a file as browsers request it."""
    return "/" + quote(path.lstrip("/"), safe=_UNQUOTED, errors="surrogateescape")


def served(folder: Path) -> Path:
    """Return the folder of the first origin's files."""
    return folder / FILES / "0"


def write_files(
    files: Iterable[tuple[str, bytes]], requested: Mapping[str, int], into: Path
) -> list[Resource]:
    """Write files below ``into``, and return their resources.

    Args:
        files: Path below the origin's folder and content of each file.
        requested: URL path, perhaps with a query -> number of requests in a cold load. Paths
            without a file are ignored.
        into: Folder of the site.
    """
    written = [_written(path, body, requested, into) for path, body in files]
    return [*written, *_under_other_urls(written, requested)]


def file_of(url: str) -> str:
    """Return the path of a URL's file below its origin's folder."""
    return unquote(urlsplit(url).path).lstrip("/")


def _written(path: str, body: bytes, requested: Mapping[str, int], into: Path) -> Resource:
    target = served(into) / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(body)
    url = url_path(path)
    return Resource(
        origin=0,
        path=url,
        file=f"0/{path}",
        bytes=len(body),
        sha256=hashlib.sha256(body).hexdigest(),
        type=content_type(path),
        requested=requested.get(url, 0),
    )


def _under_other_urls(
    written: Iterable[Resource], requested: Mapping[str, int]
) -> Iterator[Resource]:
    """Yield a resource for each requested URL that is a file's path with a query."""
    by_file = {resource.file: resource for resource in written}
    own = {resource.path for resource in by_file.values()}
    for url, count in sorted(requested.items()):
        if url not in own and (one := by_file.get(f"0/{file_of(url)}")):
            yield one.model_copy(update={"path": url, "requested": count})


def write(site: Site, folder: Path) -> None:
    """Write ``site.json``, and the file that visits before the measured one request."""
    prior = served(folder) / PRIOR_PATH.lstrip("/")
    prior.parent.mkdir(exist_ok=True)
    prior.write_bytes(b"." * PRIOR_BYTES)
    document = site.model_dump(by_alias=True, exclude_none=True)
    (folder / SITE_FILE).write_text(json.dumps(document, indent=1) + "\n", "utf-8")


def read(folder: Path) -> Site:
    """Read the list of a site that is in the cache.

    Raises:
        OSError: There is none.
        ValueError: It is damaged, or of another version.
    """
    return Site.model_validate_json((folder / SITE_FILE).read_bytes())


def changed(site: Site, folder: Path) -> Iterator[Resource]:
    """Yield the resources whose files do not have their listed digests."""
    summed: dict[str, str] = {}
    for resource in site.resources:
        if resource.file not in summed:
            summed[resource.file] = _digest(folder / FILES / resource.file)
        if summed[resource.file] != resource.sha256:
            yield resource


def has_prior(folder: Path) -> bool:
    """Return whether a site has the file that visits before the measured one request."""
    path = served(folder) / PRIOR_PATH.lstrip("/")
    return path.is_file() and path.stat().st_size == PRIOR_BYTES


def _digest(path: Path) -> str:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


Say = Callable[[str], None]
ICON_PATH = "/favicon.ico"
"""A browser with a window requests this path when a document names no icon."""


@dataclass(frozen=True)
class Outline:
    """What is known of a page before its site is made."""

    name: str
    """A few words for people; also part of the site's folder name."""
    version: str
    """Changes when the same page would produce another site."""
    requests: int
    weight: int
    """Bytes of all bodies of a cold load; an estimate for pages that are not made yet."""
    entry: str = "/index.html"
    origins: tuple[str, ...] = (OWN_ORIGIN,)
    sha256: str | None = None
    """Required digest of the site; None where any site of this version will do."""
    icon: bool | None = None
    """Whether a load requests ``ICON_PATH``; None where no browser does so by itself."""
    uses_seed: bool = True
    """Whether the site depends on the experiment's seed."""

    def known(self) -> dict[str, Any]:
        """Return the outline in the words of an experiment file."""
        fields = {
            "requests": self.requests,
            "weight": f"{self.weight} B",
            "entry": self.entry,
            "origins": list(self.origins),
        }
        identity = {"sha256": self.sha256} if self.sha256 else {"version": self.version}
        return fields | identity | ({} if self.icon is None else {"icon": self.icon})

    def contradicts(self, page: KnownPage) -> Iterator[Mistake]:
        """Yield a mistake for each statement about the page that is wrong."""
        known = KnownPage.model_validate(self.known())
        for name in self.known():
            stated, actual = getattr(page, name), getattr(known, name)
            if stated is not None and stated != actual:
                remedy = "delete it, or name the page that you meant"
                yield Mistake(name, f"is {stated}, but the page has {actual}", remedy)


class Maker(Protocol):
    """A module that makes the sites of one kind of page."""

    def outline(self, page: Any, folder: Path) -> Outline:
        """Return what is known of a page; its file names are relative to ``folder``.

        Raises:
            ConfigError: With every mistake; its places are relative to the page's table.
        """
        ...

    def make(self, page: Any, seed: int, folder: Path, into: Path, say: Say) -> Site:
        """Write the site's files under ``into / "files"``, and return the site's list.

        Raises:
            HostError: Something that the site needs is not available now.
        """
        ...


class NamedPagesMaker(Maker, Protocol):
    """A maker whose pages have names."""

    NAMES: Collection[str]
