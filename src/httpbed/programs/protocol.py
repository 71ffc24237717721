"""The seam: what an implementation is asked, and what it answers. Three pure methods.

``identify`` says how to ask the program its version, ``plan`` how to start it in a role, and
``parse`` what the files mean that it left. Starting is never an implementation's business.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Literal, Protocol

from httpbed.experiment.metric import Observation
from httpbed.experiment.roles import Retry
from httpbed.host.sandbox.spec import TRIAL_FOLDER, ProcessSpec

RoleName = Literal["client", "proxy", "server"]
Visit = Literal["prior", "measured"]


@dataclass(frozen=True)
class Upstream:
    """Whom a proxy asks."""

    address: str
    port: int


@dataclass(frozen=True)
class FileToFetch:
    """One file that a client gets."""

    path: str
    """In the URL."""
    body: str
    """Where the client stores it, as the client sees it."""


@dataclass(frozen=True)
class PageToLoad:
    """A page that a client loads, and a server has."""

    entry: str
    """Path of its document."""
    origins: tuple[str, ...]
    """Host names, the document's first."""
    visit: str
    """In which state the load begins, as experiments call it."""
    viewport: str
    """Such as ``1366x768``."""
    net_log: bool = False
    recorded: bool = False
    """Whether its answers have a status, headers and a delay of their own."""
    no_icon: bool = False
    """Whether a browser that asks for ``/favicon.ico`` by itself is to be kept from it."""

    def variables(self) -> dict[str, str]:
        """What a recipe's templates may name in braces."""
        return {
            "page_url": f"https://{self.origins[0]}{self.entry}",
            "names": ",".join(self.origins),
            "page_visit": self.visit,
            "viewport": self.viewport,
            "net_log": "on" if self.net_log else "off",
            "page_icon": "unasked" if self.no_icon else "its-own",
            "site": "recorded" if self.recorded else "static",
        }


REPLAY_PORT = 8080
"""On the loopback interface of a server's host, where a recorded site's answers are had."""
NO_PAGE = PageToLoad("/", ("page.invalid",), "cold", "1366x768")
"""Stands in the variables of those who have nothing to do with pages."""


@dataclass(frozen=True)
class Part:
    """What one role has to do in one trial."""

    name: str
    """``client``, ``server-2``: unique in the trial."""
    role: RoleName
    host: str
    http_version: str
    """The version that the client may speak; to a server or proxy, the one in which it is asked."""
    server_name: str
    server_address: str
    """Of whom the client asks."""
    port: int
    fetches: tuple[FileToFetch, ...]
    """Of one round."""
    certificates: str
    """Folder with ca.pem, server.pem, server.key and server.spki, as the program sees it."""
    content: str
    """Folder with the files to serve, as the program sees it."""
    time_limit_s: float
    file_bytes: int
    """Upper bound of any file the program writes."""
    ip_version: str = "4"
    upstream_http_version: str = ""
    """What a proxy speaks to the next one towards the server."""
    upstreams: tuple[Upstream, ...] = ()
    connections: int = 1
    rounds: int = 1
    resumption: str = "none"
    retry: Retry = "none"
    """What is done when its download fails."""
    visit: Visit = "measured"
    """``prior``: not measured, and leaves its TLS tickets in ``session``."""
    session: str = ""
    """Where tickets are kept, as the program sees it."""
    congestion_control: str = ""
    """Of QUIC, as experiments call it; empty where the program has no choice."""
    knobs: Mapping[str, str] = field(default_factory=dict)
    """What differs from upstream's defaults."""
    page: PageToLoad | None = None
    """Instead of files to fetch."""

    @property
    def folder(self) -> str:
        """Where it leaves its files, as the program sees it."""
        return f"{TRIAL_FOLDER}/{self.name}"

    def variables(self) -> dict[str, str]:
        """What a recipe's templates may name in braces."""
        first = self.fetches[0] if self.fetches else FileToFetch("/", "/dev/null")
        return {
            "server_name": self.server_name,
            "server_address": self.server_address,
            "server_authority": authority(self.server_address),
            "port": str(self.port),
            "replay_port": str(REPLAY_PORT),
            "url": self.url(first),
            "resolve": f"{self.server_name}:{self.port}:{authority(self.server_address)}",
            "body": first.body,
            "bodies": str(PurePosixPath(first.body).parent),
            "ca": f"{self.certificates}/ca.pem",
            "certificate": f"{self.certificates}/server.pem",
            "certificate_key": f"{self.certificates}/server.key",
            "spki": f"{self.certificates}/server.spki",
            "content": self.content,
            "folder": self.folder,
            "session": self.session,
            "files": str(len(self.fetches)),
            "connections": str(self.connections),
            "rounds": str(self.rounds),
            "ip_version": self.ip_version,
            "http_version": self.http_version,
            "upstream_http_version": self.upstream_http_version,
            "time_limit_s": f"{self.time_limit_s:.0f}",
            "workload": "page" if self.page else "download",
            **(self.page or NO_PAGE).variables(),
        }

    def url(self, fetch: FileToFetch) -> str:
        """Return the URL of a file."""
        return f"https://{self.server_name}:{self.port}{fetch.path}"

    def each_request(self) -> list[dict[str, str]]:
        """What differs from file to file, as variables."""
        return [
            {"number": str(number), "url": self.url(fetch), "file": fetch.body, "path": fetch.path}
            for number, fetch in enumerate(self.fetches, start=1)
        ]

    def each_upstream(self) -> list[dict[str, str]]:
        """What differs from one upstream to the next, as variables."""
        return [
            {
                "number": str(number),
                "upstream_address": upstream.address,
                "upstream_authority": authority(upstream.address),
                "upstream_port": str(upstream.port),
            }
            for number, upstream in enumerate(self.upstreams, start=1)
        ]

    def each_origin(self) -> list[dict[str, str]]:
        """What differs from one origin of a recorded site to the next, as variables."""
        page = self.page
        return [
            {
                "number": str(number),
                "origin": name,
                "origin_certificate": f"{self.certificates}/{certificate_file(name)}",
            }
            for number, name in enumerate(page.origins if page and page.recorded else (), start=1)
        ]


def certificate_file(name: str) -> str:
    """Name the file with a recorded origin's certificate; names may be as long as a file's."""
    return f"origin-{hashlib.sha256(name.encode()).hexdigest()[:16]}.pem"


def authority(address: str) -> str:
    """Write an address as in a URL: one of IPv6 in brackets (RFC 3986 section 3.2.2)."""
    return f"[{address}]" if ":" in address else address


_SAMPLE = Part(
    name="", role="client", host="", http_version="", server_name="", server_address="", port=0,
    fetches=(FileToFetch("", ""),), certificates="", content="", time_limit_s=0, file_bytes=0,
    upstreams=(Upstream("", 0),), page=replace(NO_PAGE, recorded=True),
)  # fmt: skip
VARIABLES = frozenset(_SAMPLE.variables()) | {"congestion_control"}
"""Names that every template may use."""
REQUEST_VARIABLES = frozenset(_SAMPLE.each_request()[0])
"""Names that ``each_request`` may use besides."""
UPSTREAM_VARIABLES = frozenset(_SAMPLE.each_upstream()[0])
"""Names that ``each_upstream`` may use besides."""
ORIGIN_VARIABLES = frozenset(_SAMPLE.each_origin()[0])
"""Names that ``each_origin`` may use besides."""


@dataclass(frozen=True)
class LoggedRequest:
    """One request as a program logged it; what it does not tell is empty or None."""

    http_version: str
    """As in an experiment file, or what the program called it."""
    status: int
    body_bytes: int | None
    connection: str = ""
    """Equal for requests on the same connection."""
    tls_version: str = ""
    cipher: str = ""
    resumed: bool | None = None
    early_data: bool | None = None
    """Whether it was sent, and answered, in the first flight."""
    path: str = ""
    authority: str = ""
    """Host name that was asked, where the program tells."""
    wire_bytes: int | None = None
    """Bytes of the response's header and body, as the program counts them on its connection."""
    began_s: float | None = None
    """Seconds since the client's start."""
    ended_s: float | None = None
    upstream_http_version: str = ""
    """What a proxy spoke to the next one towards the server."""
    flags: str = ""
    """A proxy's remark on how the answer went wrong, in its own words; empty when it did not."""
    attempts: int | None = None
    """How often a proxy asked upstream."""
    client_left: bool = False
    """Whether who answers says that the client was gone before the answer's end."""


@dataclass(frozen=True)
class PathEvent:
    """What a client did about its network, or saw of it."""

    at_ns: int
    """On CLOCK_MONOTONIC."""
    kind: str
    """In the program's own words: ``network changed``, ``probed``, ``validated``, ``migrated``."""
    local: str
    """The client's address, with its port where it is a socket's; empty where there is none."""
    remote: str
    reason: str = ""
    """Empty where the kind says all."""


@dataclass(frozen=True)
class MigrationCounts:
    """How often a client moved its connection to another path, or wanted to."""

    tried: int
    failed: int
    """The server did not answer there, or had forbidden it, or the network changed again before."""


@dataclass(frozen=True)
class ProgramReport:
    """What a program's files say."""

    observations: tuple[Observation, ...] = ()
    requests: tuple[LoggedRequest, ...] = ()
    complaint: str = ""
    """What the program says went wrong, in its own words."""
    timed_out: bool = False
    """Whether it says that it ended for its time limit."""
    path_events: tuple[PathEvent, ...] = ()
    """In the order in which they happened; empty where the program tells of none."""
    migrations: MigrationCounts | None = None
    """None where the program does not tell."""
    before: tuple[LoggedRequest, ...] = ()
    """Requests of a visit before, answered and not measured; their times mean nothing."""
    remarks: tuple[str, ...] = ()
    """What the program did not tell that no request depends on."""


class Implementation(Protocol):
    """A program that can take a role."""

    @property
    def name(self) -> str:
        """As experiment files call it."""
        ...

    def identify(self) -> ProcessSpec | None:
        """How to ask for its version; None where nobody knows."""
        ...

    def plan(self, part: Part) -> ProcessSpec:
        """How to start it for its part."""
        ...

    def parse(self, role: RoleName, folder: Path) -> ProgramReport:
        """Read the files that it left in its folder."""
        ...
