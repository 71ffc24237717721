"""A part of a trial, which is a program in a role, and what the program's files report.

A recipe plans the command of a part, and reads the files that the part left. It starts no process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal

from httpbed.bed.sandbox.sandbox_spec import TRIAL_FOLDER
from httpbed.experiment.kept import KEYS

if TYPE_CHECKING:
    from httpbed.experiment.metric import Observation
    from httpbed.experiment.roles import Retry
    from httpbed.experiment.workload import Method, Sender


AUTHORITY, CERTIFICATE, KEY, KEY_PIN = "ca.pem", "server.pem", "server.key", "server.spki"
"""Names of the files in the folder of certificates."""

RoleName = Literal["client", "proxy", "server"]
_TRANSFERS = {"server": "download", "client": "upload"}
Visit = Literal["prior", "measured"]


@dataclass(frozen=True)
class Upstream:
    """A server or proxy that a proxy sends requests to."""

    address: str
    port: int


@dataclass(frozen=True)
class FileToFetch:
    """One file that a client fetches or uploads."""

    path: str
    """Path in the URL."""
    body: str
    """File in which its receiver stores the body, as the receiver sees it."""


@dataclass(frozen=True)
class PageToLoad:
    """A page that a client loads and a server has."""

    entry: str
    """Path of the page's document."""
    origins: tuple[str, ...]
    """Host names; the first is the document's."""
    visit: str
    """State in which the load begins, in the words of experiments."""
    viewport: str
    """Such as ``1366x768``."""
    net_log: bool = False
    replayed: bool = False
    """Whether the site is replayed from a HAR file: responses have recorded heads and delays."""
    no_icon: bool = False
    """Whether the browser must be kept from requesting ``/favicon.ico`` by itself."""
    pixel_ratio: float = 1.0
    """Physical pixels for each CSS pixel, in one dimension."""
    user_agent: str = ""
    """Empty: the browser's own."""
    mobile: bool = False
    """Whether the page is on a touch screen, whose viewport it chooses itself."""

    def variables(self) -> dict[str, str]:
        """Return the variables of the page for a recipe's templates."""
        return {
            "page_url": f"https://{self.origins[0]}{self.entry}",
            "names": ",".join(self.origins),
            "page_visit": self.visit,
            "viewport": self.viewport,
            "net_log": "on" if self.net_log else "off",
            "page_icon": "unasked" if self.no_icon else "its-own",
            "site": "recorded" if self.replayed else "static",
            "pixel_ratio": f"{self.pixel_ratio:g}",
            "user_agent": self.user_agent,
            "page_screen": "touch" if self.mobile else "desktop",
        }


REPLAY_PORT = 8080
"""Port on the server's loopback interface where ``replay_origin`` answers for a replayed site."""
PRIOR_PATH = "/.httpbed/prior.txt"
"""What a browser requests in a visit before that shall not fetch the page."""
NO_PAGE = PageToLoad("/", ("page.invalid",), "cold", "1366x768")
"""Fills the variables of parts that load no page."""


@dataclass(frozen=True)
class Part:
    """The program of one role in one trial, in its own namespaces."""

    name: str
    """Unique in the trial: ``client``, ``server-2``."""
    role: RoleName
    host: str
    http_version: str
    """The only version that a client may speak; for a server or proxy, the version of its
    requests."""
    server_name: str
    server_address: str
    """Address that the client connects to."""
    port: int
    fetches: tuple[FileToFetch, ...]
    """Files of one round."""
    certificates: str
    """Folder with :data:`AUTHORITY`, :data:`CERTIFICATE`, :data:`KEY` and :data:`KEY_PIN`, as the
    program sees it."""
    content: str
    """Folder with the files that the program sends, as it sees it."""
    time_limit_s: float
    file_bytes: int
    """Upper bound of every file that the program writes."""
    ip_version: str = "4"
    upstream_http_version: str = ""
    """HTTP version of a proxy's requests to the next hop."""
    upstreams: tuple[Upstream, ...] = ()
    connections: int = 1
    rounds: int = 1
    interval_s: float = 0.0
    """Seconds from one wave of requests to the next; 0: all are requested at once."""
    wave: int = 1
    resumption: str = "none"
    retry: Retry = "none"
    """What happens when a download fails."""
    visit: Visit = "measured"
    """``prior``: a visit that is not measured, and leaves its TLS tickets in ``session``."""
    session: str = ""
    """File for TLS tickets, as the program sees it."""
    congestion_control: str = ""
    """QUIC congestion control in the words of experiments; empty if the program has no choice."""
    knobs: Mapping[str, str] = field(default_factory=dict)
    """Knobs that differ from upstream's defaults."""
    page: PageToLoad | None = None
    """The page to load instead of ``fetches``."""
    sender: Sender = "server"
    """The end that sends the files."""
    method: Method = "GET"
    """Method of the requests for the files."""
    kept: frozenset[str] = frozenset()
    """The kinds of records (:data:`~httpbed.experiment.kept.KINDS`) that the trial keeps."""

    @property
    def folder(self) -> str:
        """The part's folder for output, as the program sees it."""
        return f"{TRIAL_FOLDER}/{self.name}"

    def variables(self) -> dict[str, str]:
        """Return the variables of the part for a recipe's templates."""
        first = self.fetches[0] if self.fetches else FileToFetch("/", "/dev/null")
        return {
            "server_name": self.server_name,
            "server_address": self.server_address,
            "server_authority": authority(self.server_address),
            "port": str(self.port),
            "replay_port": str(REPLAY_PORT),
            "url": self.url(first),
            "resolve": f"{self.server_name}:{self.port}:{authority(self.server_address)}",
            "body": self._file(first),
            "bodies": str(PurePosixPath(first.body).parent),
            "ca": f"{self.certificates}/{AUTHORITY}",
            "certificate": f"{self.certificates}/{CERTIFICATE}",
            "certificate_key": f"{self.certificates}/{KEY}",
            "spki": f"{self.certificates}/{KEY_PIN}",
            "content": self.content,
            "folder": self.folder,
            "keylog_file": f"{self.folder}/{KEYS}",
            "session": self.session,
            "files": str(len(self.fetches)),
            "connections": str(self.connections),
            "rounds": str(self.rounds),
            "interval_us": f"{self.interval_s * 1e6:.0f}",
            "wave": str(self.wave),
            "ip_version": self.ip_version,
            "http_version": self.http_version,
            "upstream_http_version": self.upstream_http_version,
            "time_limit_s": f"{self.time_limit_s:.0f}",
            "workload": "page" if self.page else _TRANSFERS[self.sender],
            "method": self.method,
            "announces": "HTTP/3" if self.page and self.http_version == "3" else "nothing",
            **(self.page or NO_PAGE).variables(),
        }

    @property
    def transfers(self) -> Literal["one", "several"]:
        """Whether the program transfers one file once, or more, retries included."""
        is_one = len(self.fetches) == self.rounds == 1 and self.retry == "none"
        return "one" if is_one else "several"

    def url(self, fetch: FileToFetch) -> str:
        """Return the URL of a file."""
        return f"https://{self.server_name}:{self.port}{fetch.path}"

    def each_request(self) -> list[dict[str, str]]:
        """Return the variables of each file."""
        return [
            {
                "number": str(number),
                "url": self.url(fetch),
                "file": self._file(fetch),
                "path": fetch.path,
            }
            for number, fetch in enumerate(self.fetches, start=1)
        ]

    def _file(self, fetch: FileToFetch) -> str:
        """Return the file at this end: where the body is stored, or the one that is sent."""
        is_sent = self.role == self.sender == "client"
        return f"{self.content}{fetch.path}" if is_sent else fetch.body

    def each_upstream(self) -> list[dict[str, str]]:
        """Return the variables of each upstream."""
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
        """Return the variables of each origin of a replayed site."""
        page = self.page
        return [
            {
                "number": str(number),
                "origin": name,
                "origin_certificate": f"{self.certificates}/{certificate_file(name)}",
            }
            for number, name in enumerate(page.origins if page and page.replayed else (), start=1)
        ]


def certificate_file(name: str) -> str:
    """Return the name of an origin's certificate file; a host name may be too long for one."""
    import hashlib  # noqa: PLC0415 - it loads OpenSSL: guests need parts, and no certificates

    return f"origin-{hashlib.sha256(name.encode()).hexdigest()[:16]}.pem"


def authority(address: str) -> str:
    """Return an address as it stands in a URL: IPv6 in brackets (RFC 3986 section 3.2.2)."""
    return f"[{address}]" if ":" in address else address


@dataclass(frozen=True)
class LoggedRequest:
    """One request as a program logged it; what the log does not have is empty or None."""

    http_version: str
    """In the words of experiments; otherwise the program's own word."""
    status: int
    body_bytes: int | None
    connection: str = ""
    """Equal for requests on the same connection."""
    tls_version: str = ""
    cipher: str = ""
    resumed: bool | None = None
    early_data: bool | None = None
    """Whether it was sent, and accepted, in the first flight."""
    method: str = ""
    path: str = ""
    authority: str = ""
    """Host name of the request."""
    wire_bytes: int | None = None
    """Bytes of the response's header and body on the connection, as the program counts them."""
    began_s: float | None = None
    """Seconds since the client's start."""
    ended_s: float | None = None
    upstream_http_version: str = ""
    """HTTP version of a proxy's request to the next hop."""
    flags: str = ""
    """A proxy's own word for how the response failed; empty if it did not."""
    attempts: int | None = None
    """How many requests a proxy sent upstream for this one."""
    announces_http3: bool | None = None
    """Whether the response has a field Alt-Svc with HTTP/3 (RFC 7838)."""
    client_left: bool = False
    """Whether the log says that the client left before the end of the response."""


@dataclass(frozen=True)
class PathEvent:
    """A change of the network that a client noticed, or its reaction."""

    at_ns: int
    """CLOCK_MONOTONIC, in nanoseconds."""
    kind: str
    """The program's own word: ``network changed``, ``probed``, ``validated``, ``migrated``."""
    local: str
    """The client's address, with the port of a socket; empty if there is none."""
    remote: str
    reason: str = ""
    """Empty if the kind needs no explanation."""


@dataclass(frozen=True)
class MigrationCounts:
    """How many times a client tried to move its connection to another path."""

    tried: int
    failed: int
    """Migrations without an answer on the new path, forbidden ones, and those overtaken by
    another."""


@dataclass(frozen=True)
class ProgramReport:
    """What the files of a program report."""

    observations: tuple[Observation, ...] = ()
    requests: tuple[LoggedRequest, ...] = ()
    complaint: str = ""
    """The program's own words for what went wrong."""
    last_words: str = ""
    """The end of its error output in one line, printable characters only."""
    timed_out: bool = False
    path_events: tuple[PathEvent, ...] = ()
    """In order of time; empty if the program reports none."""
    migrations: MigrationCounts | None = None
    """None if the program does not report them."""
    before: tuple[LoggedRequest, ...] = ()
    """Answered requests of the visit before the measured one; their times have no meaning."""
    remarks: tuple[str, ...] = ()
    """What the program did not report and no request depends on."""
    whole_ns: int | None = None
    """When a program that a driver closes had all answers, on CLOCK_MONOTONIC."""
