"""A site as values, and as a folder: ``site.json`` beside ``files/0``, ``files/1``, ....

Each origin has a folder with what is served at the paths of its URLs. ``site.json`` lists all of
it, with the digest of each file and how often one cold load asks for it: a load that asks for
anything else was not this site's.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal
from urllib.parse import quote, unquote, urlsplit

from pydantic import Field, ValidationError

from httpbed.experiment.errors import ConfigError, Mistake
from httpbed.experiment.page import MOST_ORIGINS, OriginName
from httpbed.experiment.parser import format_path
from httpbed.experiment.value import Value
from httpbed.web.sites import content_types

SITE_FILE = "site.json"
FILES = "files"
SCHEMA = 1
RESERVED = ".httpbed"
"""Of each origin, the folder that no page has anything in."""
PRIOR_PATH = f"/{RESERVED}/prior.txt"
PRIOR_BYTES = 1000
"""Each site has such a file, for visits before the one that is measured."""
MOST_RESOURCES = 20_000
MOST_BYTES = 2 * 2**30
MOST_LISTED_BYTES = 64 * 2**20
"""Of ``site.json``."""
MOST_S = 3600.0
"""Of an answer's delay, and of a wait before a request."""
MOST_PATH = 7900
"""Bytes of a path with its query: with its host, what is read of a URL of the browser's."""


_UNQUOTED = "/:@!$&'()*+,;=~-._"
"""What stands for itself in a path (RFC 3986 section 3.3)."""


class RecordedAnswer(Value):
    """What a recorded resource answers besides its body."""

    method: Literal["GET", "HEAD", "POST"] = "GET"
    status: Annotated[int, Field(ge=200, le=599)] = 200
    headers: list[tuple[str, str]] = Field(default_factory=list)
    """In order; those of the connection and of the length are the server's own."""
    delay_s: Annotated[float, Field(ge=0, le=MOST_S)] = 0.0
    """From the request until the answer begins."""
    after: int | None = None
    """Index of the resource whose answer led to its request; None for the document."""
    since: Literal["head", "end"] = "end"
    """Whether that answer's head led to it, while its body was still to come, or its end."""
    wait_s: Annotated[float, Field(ge=0, le=MOST_S)] = 0.0
    """From then until the request."""


class Resource(Value):
    """Something that a server has."""

    origin: Annotated[int, Field(ge=0, lt=MOST_ORIGINS)]
    """Index of its origin."""
    path: Annotated[str, Field(pattern=r"^/[^\s#]*$", max_length=MOST_PATH)]
    """In the URL; it may have a query."""
    file: str
    """Relative to ``files``; the first part is the origin's index."""
    bytes: Annotated[int, Field(ge=0)]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    type: str
    """Content type."""
    requested: Annotated[int, Field(ge=0)] = 1
    """How often a cold load asks for it."""
    answer: RecordedAnswer | None = None
    """Only of a recorded site."""


class Site(Value):
    """A page with all that it needs."""

    schema_: Annotated[int, Field(ge=SCHEMA, le=SCHEMA)] = Field(default=SCHEMA, alias="schema")
    name: Annotated[str, Field(min_length=1, max_length=200)]
    source: str
    """Where it is from, and what was changed."""
    entry: Annotated[str, Field(pattern=r"^/[^\s#]*$")]
    """Path of the document, on the first origin."""
    origins: Annotated[list[OriginName], Field(min_length=1, max_length=MOST_ORIGINS)]
    recorded: bool = False
    """Whether answers are given as they were recorded."""
    skeleton: bool = False
    """Whether a script asks for all in the recorded order, not the page itself."""
    resources: Annotated[list[Resource], Field(min_length=1, max_length=MOST_RESOURCES)]

    @property
    def digest(self) -> str:
        """SHA-256 of all that a load can tell apart; not of its name and source."""
        # Digests are pinned: what only some sites have is no part of those of others.
        unsaid = {"name", "source"} | (set() if self.skeleton else {"skeleton"})
        said = self.model_dump(by_alias=True, exclude=unsaid)
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

    def expected(self) -> Iterator[tuple[str, str, int]]:
        """Yield host name and path of what a cold load asks for, and how often."""
        for one in self.resources:
            if one.requested:
                yield self.origins[one.origin], one.path, one.requested

    def requests(self) -> int:
        """How many requests a cold load makes."""
        return sum(one.requested for one in self.resources)

    def weight(self) -> int:
        """Bytes of all bodies of a cold load."""
        return sum(one.bytes * one.requested for one in self.resources)


def url_path(path: str) -> str:
    """Write the path of a file as browsers ask for it."""
    return "/" + quote(path.lstrip("/"), safe=_UNQUOTED, errors="surrogateescape")


def served(folder: Path) -> Path:
    """Return the folder that a server has of a site of one origin."""
    return folder / FILES / "0"


def write_files(
    files: Iterable[tuple[str, bytes]], asked: Mapping[str, int], into: Path
) -> list[Resource]:
    """Write files below ``into``, and return their resources.

    Args:
        files: Path below the origin's folder, and content, of each.
        asked: How often a cold load asks for a path of a URL, which may have a query; what is of
            no file is passed over.
        into: Folder of the site.
    """
    laid = [_written(path, body, asked, into) for path, body in files]
    return [*laid, *_under_other_urls(laid, asked)]


def file_of(url: str) -> str:
    """Return the path of a URL's file below its origin's folder."""
    return unquote(urlsplit(url).path).lstrip("/")


def _written(path: str, body: bytes, asked: Mapping[str, int], into: Path) -> Resource:
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
        type=content_types.of(path),
        requested=asked.get(url, 0),
    )


def _under_other_urls(laid: Iterable[Resource], asked: Mapping[str, int]) -> Iterator[Resource]:
    """Yield what is asked for under another URL than its file's own: with a query."""
    by_file = {one.file: one for one in laid}
    own = {one.path for one in by_file.values()}
    for url, count in sorted(asked.items()):
        if url not in own and (one := by_file.get(f"0/{file_of(url)}")):
            yield one.model_copy(update={"path": url, "requested": count})


def write(site: Site, folder: Path) -> None:
    """Write ``site.json``, and what visits before the measured one ask for."""
    prior = served(folder) / PRIOR_PATH.lstrip("/")
    prior.parent.mkdir(exist_ok=True)
    prior.write_bytes(b"." * PRIOR_BYTES)
    said = site.model_dump(by_alias=True, exclude_none=True)
    (folder / SITE_FILE).write_text(json.dumps(said, indent=1) + "\n", "utf-8")


def read(folder: Path) -> Site:
    """Read the list of a site, and compare its files' lengths with it.

    Raises:
        ConfigError: With every mistake in it.
    """
    place = str(folder / SITE_FILE)
    try:
        if (folder / SITE_FILE).stat().st_size > MOST_LISTED_BYTES:
            raise ConfigError([Mistake(place, "is too large for a site's list")])
        site = Site.model_validate_json((folder / SITE_FILE).read_bytes())
    except OSError as error:
        remedy = "make the folder by httpbed mirror"
        raise ConfigError([Mistake(place, f"cannot be read: {error.strerror}", remedy)]) from None
    except ValidationError as error:
        wrong = [
            Mistake(f"{place}: {format_path(detail['loc'])}", detail["msg"])
            for detail in error.errors()
        ]
        raise ConfigError(wrong) from None
    if mistakes := [*_mistakes(site, folder)]:
        raise ConfigError(mistakes)
    return site


def changed(site: Site, folder: Path) -> Iterator[Resource]:
    """Yield what has other bytes than its list says, of a site whose list was read."""
    summed: dict[str, str] = {}
    for one in site.resources:
        if one.file not in summed:
            summed[one.file] = _digest(folder / FILES / one.file)
        if summed[one.file] != one.sha256:
            yield one


def has_prior(folder: Path) -> bool:
    """Whether a site has what visits before the measured one ask for."""
    path = served(folder) / PRIOR_PATH.lstrip("/")
    return path.is_file() and path.stat().st_size == PRIOR_BYTES


def _digest(path: Path) -> str:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _mistakes(site: Site, folder: Path) -> Iterator[Mistake]:
    root = (folder / FILES).resolve()
    for index, one in enumerate(site.resources):
        place = f"{folder / SITE_FILE}: resources[{index}]"
        if one.origin >= len(site.origins):
            yield Mistake(place, f"is of origin {one.origin}, of which there is no name")
        if reason := _wrong_file(one, root):
            yield Mistake(f"{place}.file", reason)
    if all(one.path != site.entry or one.origin for one in site.resources):
        yield Mistake(f"{folder / SITE_FILE}: entry", f"{site.entry!r} is none of its resources")
    if sum(one.bytes for one in site.resources) > MOST_BYTES:
        yield Mistake(str(folder), f"has more than {MOST_BYTES} bytes")


def _wrong_file(one: Resource, root: Path) -> str:
    parts = PurePosixPath(one.file).parts
    if not parts or parts[0] != str(one.origin) or ".." in parts or "\0" in one.file:
        return f"{one.file!r} is not in the folder of its origin"
    if RESERVED in parts[1:2]:
        return f"{one.file!r} is in the folder that httpbed keeps for itself"
    path = root.joinpath(*parts)
    if path.resolve() != path or not path.is_file():
        return f"{one.file!r} is not there, or not a file of its own"
    if path.stat().st_size != one.bytes:
        return f"{one.file!r} has another length than {one.bytes} bytes"
    return ""
