"""Workloads: a download of files, or a page load (:mod:`httpbed.addons.pages.page`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, TypeAdapter, ValidationInfo, field_validator

from httpbed.addons.pages.page import PageCapability, PageLoad
from httpbed.base.errors import RejectedValueError
from httpbed.base.units import Bytes
from httpbed.base.value import Value

DownloadCapability = Literal[
    "download", "parallel", "connections", "rounds", "parallel rounds", "resumed", "early data"
]
Capability = DownloadCapability | PageCapability
"""A capability that a workload needs and that a recipe declares for its program."""

NO_SUCH_KIND = "no_such_kind"
"""pydantic's error type for a workload of an unknown kind."""


class Download(Value):
    """Files, fetched over new connections."""

    kind: Literal["download"]
    """``download``: one GET request for each file."""
    size: Bytes = Field(le=10**10)
    """Size of each file. Its content is random text generated from the experiment's seed."""
    files: int = Field(default=1, ge=1, le=1000, strict=True)
    """Number of files of this size that are fetched at the same time."""
    connections: int = Field(default=1, ge=1, le=100, strict=True)
    """Number of connections. HTTP/1.1 browsers open six. HTTP/2 and HTTP/3 use one; more are
    rejected."""
    rounds: int = Field(default=1, ge=1, le=1000, strict=True)
    """Number of times that all files are fetched, one after another. From the second round on, the
    connections are warm."""
    resumption: Literal["none", "resumed", "early data"] = "none"
    """``resumed``: the client has a TLS ticket from an earlier visit, which is not measured (RFC
    8446 section 2.2). ``early data``: it also sends its request in the first flight."""

    @field_validator("connections")
    @classmethod
    def _have_files(cls, connections: int, info: ValidationInfo) -> int:
        files = info.data.get("files", connections)  # files that are rejected are reported
        if connections > files:
            have = f"{connections} connections for {files} file{'s' * (files > 1)}"
            raise RejectedValueError(have, "use at most one per file")
        return connections

    def needs(self) -> Iterator[DownloadCapability]:
        """Yield the capabilities that the client needs."""
        yield "download"
        if self.files > 1:
            yield "parallel"
        if self.connections > 1:
            yield "connections"
        if self.rounds > 1:
            yield "rounds"
        if self.files > 1 and self.rounds > 1:
            yield "parallel rounds"
        if self.resumption != "none":
            yield self.resumption

    @property
    def visits_before(self) -> int:
        """Number of visits before the measured one, each by a process of its own."""
        return int(self.resumption != "none")

    def requests(self) -> int:
        """Return the number of requests."""
        return self.files * self.rounds

    def body_bytes(self) -> int:
        """Return the total length of all bodies."""
        return self.size * self.requests()


def _kind(value: object) -> str | None:
    """Return the form of a workload; without a kind it is checked as a download."""
    if isinstance(value, Mapping):
        kind = value.get("kind", "download")
    else:
        kind = getattr(value, "kind", None)
    return f"<{kind}>" if kind in ("download", "page") else None


Workload = Annotated[
    Annotated[Download, Tag("<download>")] | Annotated[PageLoad, Tag("<page>")],
    Discriminator(
        _kind,
        custom_error_type=NO_SUCH_KIND,
        custom_error_message='is not a kind of workload; use "download" or "page"',
    ),
]
"""A download of files, or a page load."""
_READER: TypeAdapter[Download | PageLoad] = TypeAdapter(Workload)


def parse(document: object) -> Download | PageLoad:
    """Read a workload's table.

    Raises:
        ValidationError: With every mistake in it.
    """
    return _READER.validate_python(document)
