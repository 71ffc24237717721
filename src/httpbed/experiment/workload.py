"""What is fetched: files, or a page (:mod:`httpbed.experiment.page`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, TypeAdapter, model_validator

from httpbed.experiment.page import PageCapability, PageLoad
from httpbed.experiment.units import Bytes
from httpbed.experiment.value import Value

DownloadCapability = Literal[
    "download", "parallel", "connections", "rounds", "parallel rounds", "resumed", "early data"
]
Capability = DownloadCapability | PageCapability
"""What a workload asks of a program, and a recipe says that its program can do."""

NO_SUCH_KIND = "no_such_kind"
"""Type of the mistake that a workload is of no kind."""


class Download(Value):
    """Files, fetched on new connections."""

    kind: Literal["download"]
    """``download``: a GET of each file."""
    size: Bytes = Field(le=10**10)
    """Each file's length in bytes; its content is random text from the experiment's seed."""
    files: int = Field(default=1, ge=1, le=1000, strict=True)
    """How many files of this size are fetched at the same time."""
    connections: int = Field(default=1, ge=1, le=100, strict=True)
    """Over how many connections; HTTP/1.1 browsers open six. Over HTTP/2 and HTTP/3 there is one,
    and more are refused."""
    rounds: int = Field(default=1, ge=1, le=1000, strict=True)
    """How often all files are fetched, one time after another; from the second on the connections
    are warm."""
    resumption: Literal["none", "resumed", "early data"] = "none"
    """``resumed``: the client was here before, without being measured, and brings its TLS ticket
    (RFC 8446 section 2.2); ``early data``: it also sends its request in the first flight."""

    @model_validator(mode="after")
    def _fits(self) -> Download:
        if self.connections > self.files:
            msg = f"{self.connections} connections for {self.files} file(s): give each a file"
            raise ValueError(msg)
        return self

    def needs(self) -> Iterator[DownloadCapability]:
        """Yield what it asks of a client."""
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
        """How many visits, processes of their own, come before the measured one."""
        return int(self.resumption != "none")

    def requests(self) -> int:
        """How many requests there are."""
        return self.files * self.rounds

    def body_bytes(self) -> int:
        """Length of all bodies together."""
        return self.size * self.requests()


def _kind(said: object) -> str | None:
    """Name the form; where no kind is said, that is told as a download's mistake."""
    of = said.get("kind", "download") if isinstance(said, Mapping) else getattr(said, "kind", None)
    return f"<{of}>" if of in ("download", "page") else None


Workload = Annotated[
    Annotated[Download, Tag("<download>")] | Annotated[PageLoad, Tag("<page>")],
    Discriminator(
        _kind,
        custom_error_type=NO_SUCH_KIND,
        custom_error_message='is no kind of workload: say "download" or "page"',
    ),
]
"""Files, or a page."""
_READER: TypeAdapter[Download | PageLoad] = TypeAdapter(Workload)


def parse(said: object) -> Download | PageLoad:
    """Read a workload's table.

    Raises:
        ValidationError: With every mistake in it.
    """
    return _READER.validate_python(said)
