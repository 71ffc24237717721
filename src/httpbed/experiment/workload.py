"""Workloads: what a client fetches or uploads, and what any kind of workload answers.

Here are transfers of files; :mod:`~httpbed.experiment.workload_kinds` has addons' kinds, too.
What programs can do (:data:`Capability`) is the core's: recipes declare it, whichever addons there
are.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from httpbed.base.errors import RejectedValueError
from httpbed.base.units import Bytes, Count, Seconds, format_count
from httpbed.base.value import Value

MIN_INTERVAL_S, MAX_INTERVAL_S = 0.0001, 60.0
"""Programs get whole microseconds; 1000 requests take 16.7 h at most, so every trial ends."""

DownloadCapability = Literal[
    "download",
    "parallel",
    "connections",
    "rounds",
    "parallel rounds",
    "intervals",
    "resumed",
    "early data",
]
UploadCapability = Literal["upload", "upload by POST", "parallel uploads"]
PageCapability = Literal[
    "page",
    "recorded page",
    "page: warm connection",
    "page: repeat view",
    "page: resumed",
    "page: early data",
    "page: discovery",
    "page: device",
]
"""A capability that a page load needs of the client, or of the server."""
Capability = Literal[DownloadCapability, UploadCapability, PageCapability]
"""A capability that a workload needs and that a recipe declares for its program."""
Resumption = Literal["none", "resumed", "early data"]
Sender = Literal["client", "server"]
Method = Literal["GET", "PUT", "POST"]
PageVisit = Literal["cold", "warm connection", "repeat view", "resumed", "early data", "discovery"]
"""A browser's state at the beginning of a load."""
UPLOADS_BY: Mapping[Method, UploadCapability] = {"PUT": "upload", "POST": "upload by POST"}
"""Request method -> the capability of a program that uploads by it, or stores such an upload."""
OWN_ORIGIN = "server.httpbed.test"
"""Host name of every server but those of recorded pages, which keep theirs. The .test domain never
resolves on the Internet (RFC 6761)."""


def other_end(end: Sender) -> Sender:
    """Return the end that a connection's end talks to."""
    return "client" if end == "server" else "server"


class Workload(Value):
    """What a client fetches or uploads in a trial."""

    kind: str
    """The kind of workload."""

    @abstractmethod
    def needs(self) -> Iterator[Capability]:
        """Yield the capabilities that client and server need."""

    @abstractmethod
    def requests(self) -> int:
        """Return the number of requests."""

    @abstractmethod
    def body_bytes(self) -> int:
        """Return the total length of all bodies."""

    @property
    def sender(self) -> Sender:
        """The end of a hop that sends the bodies; all else that has a direction follows from it."""
        return "server"

    @property
    def resumes(self) -> Resumption:
        """The TLS resumption of the measured visit."""
        return "none"

    @property
    def last_request_s(self) -> float:
        """When the client sends its last request at the earliest, in seconds from its start."""
        return 0.0

    @property
    def visits_before(self) -> int:
        """Number of visits before the measured one, each by a process of its own."""
        return 0

    @property
    def comes_twice(self) -> bool:
        """Whether the client visits the server before the measured visit."""
        return self.visits_before > 0

    @property
    def fetches_twice(self) -> bool:
        """Whether that earlier visit fetches as much."""
        return False

    @property
    def discovers(self) -> bool:
        """Whether that earlier visit uses another HTTP version."""
        return False


class FileTransfer(Workload):
    """Files that are transferred over new connections."""

    size: Annotated[Bytes, Field(le=10**10)]
    """Size of each file. Its content is random text generated from the experiment's seed."""
    files: Count = Field(default=1, ge=1, le=1000)
    """Number of files of this size that are transferred at the same time."""
    connections: Count = Field(default=1, ge=1, le=100)
    """Number of connections. HTTP/1.1 browsers open six. HTTP/2 and HTTP/3 use one; more are
    rejected."""

    @field_validator("connections")
    @classmethod
    def _have_files(cls, connections: int, info: ValidationInfo) -> int:
        files = info.data.get("files", connections)  # files that are rejected are reported
        if connections > files:
            have = f"{connections} connections for {format_count(files, 'file')}"
            raise RejectedValueError(have, "use at most one per file")
        return connections

    @property
    def transfers_of_each(self) -> int:
        """How many times each file is transferred."""
        return 1

    def requests(self) -> int:
        """Return the number of requests."""
        return self.files * self.transfers_of_each

    def body_bytes(self) -> int:
        """Return the total length of all bodies."""
        return self.size * self.requests()


class Upload(FileTransfer):
    """Files that the client sends over new connections."""

    kind: Literal["upload"]
    """``upload``: one request for each file, to a server that stores it."""
    method: Literal["PUT", "POST"] = "PUT"
    """Method of the requests. The server stores what either of them carries."""

    @property
    def sender(self) -> Sender:
        """The client."""
        return "client"

    def needs(self) -> Iterator[UploadCapability | DownloadCapability]:
        """Yield the capabilities that client and server need."""
        yield UPLOADS_BY[self.method]
        if self.files > 1:
            yield "parallel uploads"
        if self.connections > 1:
            yield "connections"


class Download(FileTransfer):
    """Files, fetched over new connections."""

    kind: Literal["download"]
    """``download``: one GET request for each file."""
    rounds: Count = Field(default=1, ge=1, le=1000)
    """Number of times that all files are fetched, one after another. From the second round on, the
    connections are warm."""
    interval: Seconds | None = Field(default=None, ge=MIN_INTERVAL_S, le=MAX_INTERVAL_S)
    """Requests begin every interval, whether or not earlier ones have ended (open arrivals). A file
    time counts from when its request was due. Default: all files of a round are requested at once.
    """
    wave: Count = Field(default=1, ge=1, le=1000)
    """Number of requests that begin together in each interval."""
    resumption: Resumption = "none"
    """``resumed``: the client has a TLS ticket from an earlier visit, which is not measured (RFC
    8446 section 2.2). ``early data``: it also sends its request in the first flight."""

    @model_validator(mode="after")
    def _arrives_once(self) -> Download:
        if self.interval is None and self.wave > 1:
            raise RejectedValueError("wave has no meaning without interval", "state interval, too")
        if self.interval is not None and self.files <= self.wave:
            raise RejectedValueError(
                "interval has no effect: the first wave requests every file",
                "raise files, or delete interval",
            )
        if self.interval is not None and self.rounds > 1:
            raise RejectedValueError(
                "requests begin at an interval or in rounds, not both", "delete one of the two"
            )
        return self

    @property
    def last_request_s(self) -> float:
        """The beginning of the last interval."""
        return (self.interval or 0.0) * ((self.files - 1) // self.wave)

    def needs(self) -> Iterator[DownloadCapability]:
        """Yield the capabilities that the client needs."""
        yield "download"
        if self.interval is not None:
            yield "intervals"
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
    def resumes(self) -> Resumption:
        """The TLS resumption of the measured visit."""
        return self.resumption

    @property
    def visits_before(self) -> int:
        """Number of visits before the measured one: one, which gets the ticket."""
        return int(self.resumption != "none")

    @property
    def transfers_of_each(self) -> int:
        """How many times each file is fetched."""
        return self.rounds
