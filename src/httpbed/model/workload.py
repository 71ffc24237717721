"""What is fetched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field, model_validator

from httpbed.model.units import Bytes
from httpbed.model.value import Value

Capability = Literal[
    "download", "parallel", "connections", "rounds", "parallel rounds", "resumed", "early data"
]
"""What a workload asks of a program, and a recipe says that its program can do."""


class Workload(Value):
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
    def _fits(self) -> Workload:
        if self.connections > self.files:
            msg = f"{self.connections} connections for {self.files} file(s): give each a file"
            raise ValueError(msg)
        return self

    def needs(self) -> Iterator[Capability]:
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

    def requests(self) -> int:
        """How many requests there are."""
        return self.files * self.rounds

    def body_bytes(self) -> int:
        """Length of all bodies together."""
        return self.size * self.requests()
