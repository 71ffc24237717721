"""A recipe: the TOML file that says how to run a program and how to read its files."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from httpbed.base import spellings, untrusted_files
from httpbed.base.errors import visible
from httpbed.base.value import Value
from httpbed.bed.sandbox.sandbox_spec import Ports, ProcessSpec
from httpbed.experiment.kept import ProgramRecord
from httpbed.experiment.roles import ClientRole, HttpVersion, KnobName, Transport
from httpbed.experiment.workload import Capability
from httpbed.programs import invocation, parsers
from httpbed.programs.install import Install
from httpbed.programs.invocation import Run, in_folder
from httpbed.programs.part import LoggedRequest, Part, ProgramReport, RoleName
from httpbed.programs.settings import (
    CongestionControl,
    FixedWindow,
    Knob,
    Retrying,
    VersionCommand,
    settings,
)

MEMORY_BYTES = 4 * 2**30
"""Limit for each process of a program under test, far above the needs of a browser."""
PROCESSES = 2048
"""Limit of processes and threads in a trial; a browser has some hundreds."""
INTERPRETERS = frozenset({"bash", "dash", "java", "node", "perl", "python3", "ruby", "sh"})
VERSION_S = 20.0
DRIVER_S = 15.0
"""Time for the browser driver to stop the browser at the time limit and write its report."""
VERSION_BYTES = 2**20
_QUOTED_LINES, _QUOTED_LENGTH = 5, 1000
"""Messages quote so many lines, and characters, of a program's error output."""


class Parse(Value):
    """How the program's files are read."""

    parser: str = parsers.NONE
    file: str = Field(default="", pattern=spellings.FILE_HERE)
    """Name of the file in the part's folder; empty where nothing is read."""

    @model_validator(mode="after")
    def _reads_a_file(self) -> Self:
        if self.parser != parsers.NONE and not self.file:
            msg = f"the parser {self.parser} reads a file: name it"
            raise ValueError(msg)
        if "parser" not in self.model_fields_set and self.file:
            msg = f"nothing reads {self.file}: name a parser"
            raise ValueError(msg)
        return self


class ClientLeft(Value):
    """How a server or proxy logs a response whose client left before its end."""

    statuses: list[int] = Field(default_factory=list)
    """Values in place of an HTTP status."""
    flags: list[str] = Field(default_factory=list)
    """The program's words; a log line may have several, separated by commas."""

    def matches(self, request: LoggedRequest) -> bool:
        """Return whether a logged request is of this kind."""
        flags = set(request.flags.split(","))
        return request.status in self.statuses or not flags.isdisjoint(self.flags)


class Recipe(Value):
    """How a program is started in each of its roles, and how its files are read.

    :meth:`identify`, :meth:`plan` and :meth:`parse` have no effects.
    """

    schema_: Literal[1] = Field(alias="schema")
    name: str = Field(pattern=spellings.RECIPE)
    roles: list[RoleName] = Field(min_length=1)
    http_versions: list[HttpVersion] = Field(min_length=1)
    """Versions of the requests that it sends as a client and answers as a server or proxy."""
    upstream_http_versions: list[HttpVersion] = Field(default_factory=list)
    """Versions of the requests that it sends as a proxy."""
    next_proxy: str | None = None
    """The other end of a tunnel: the recipe that must be the next proxy towards the server."""
    not_behind: dict[str, list[HttpVersion]] = Field(default_factory=dict)
    """Proxies that it fails to work behind as a server -> HTTP versions of their requests."""
    not_through: dict[str, list[HttpVersion]] = Field(default_factory=dict)
    """Proxies that it fails to work through as a client -> HTTP versions of its requests."""
    real_time_only: list[HttpVersion] = Field(default_factory=list)
    """HTTP versions that it cannot speak as a client in virtual time."""
    workloads: list[Capability] = Field(min_length=1)
    """The kinds of workloads that it supports, and their options."""
    stores_bodies: bool = True
    """Whether, as a client, it stores bodies, so that they can be compared with the served
    files."""
    verifies: bool = True
    """Whether, as a client, it rejects certificates of unknown authorities."""
    homepage: str = ""
    note: str = ""
    """A sentence that users should read."""
    install: Install
    version: VersionCommand | None = None
    """None only for a user's binary or image without such a command; a digest identifies it."""
    run: Run
    run_as: dict[RoleName, Run] = Field(default_factory=dict)
    """Runs of single roles that differ from ``run``."""
    parse_: Parse = Field(default=Parse(), alias="parse")
    parse_as: dict[RoleName, Parse] = Field(default_factory=dict)
    """Parsing of single roles that differs from ``parse``."""
    congestion_control: CongestionControl = CongestionControl()
    knobs: dict[KnobName, Knob] = Field(default_factory=dict)
    """Settings that experiments may vary."""
    windows: list[FixedWindow] = Field(default_factory=list)
    """Numbers of bytes at which its transfers stand still, with the knob of each; ``httpbed
    explain`` names them."""
    retrying: Retrying = Retrying()
    """Retries of failed downloads that are possible as a client."""
    ranges: bool = True
    """Whether, as a server, it answers range requests (RFC 9110 section 14)."""
    unsupported_status: int | None = None
    """Exit status by which it says that it does not support what a trial asks of it."""
    client_left: ClientLeft = ClientLeft()
    """How it logs a response whose client left before its end."""
    digest: str = ""
    """SHA-256 of the recipe's text; the catalog sets it."""

    @property
    def is_browser(self) -> bool:
        """Whether it loads pages as a client."""
        return "client" in self.roles and "page" in self.workloads

    def run_in(self, role: RoleName) -> Run:
        """Return how it is started in a role."""
        return self.run_as.get(role, self.run)

    def command(self, role: RoleName) -> str:
        """Return name or path of the program under test in a role, inside its root filesystem."""
        run = self.run_in(role)
        return run.program or invocation.fill(run.argv[0], self._place())

    def identify(self) -> ProcessSpec | None:
        """Return the command that reports its version; None if no such command is known."""
        if self.version is None:
            return None
        name = f"{self.name}/version.txt"
        return ProcessSpec(
            tuple(invocation.fill_words(self.version.argv, self._place())),
            root=self.name,
            part=self.name,
            environment=self.install.environment(self.name),
            stdout=name,
            stderr=name,
            timeout_s=VERSION_S,
            file_bytes=VERSION_BYTES,
            memory_bytes=MEMORY_BYTES,
            processes=PROCESSES,
        )

    def interpreter(self) -> str | None:
        """Return the interpreter if the program is a script, which no executable can replace."""
        runs = (self.run, *self.run_as.values())
        return next((run.argv[0] for run in runs if run.argv[0] in INTERPRETERS), None)

    def with_program(self, path: str) -> Recipe:
        """Return the recipe with a user's executable in its program's place.

        The version command is dropped if it asks another program.
        """
        named = {run.argv[0] for run in (self.run, *self.run_as.values())}

        def started(run: Run) -> Run:
            return run.model_copy(update={"argv": ["{program}", *run.argv[1:]]})

        version = self.version
        if version and named & set(version.argv):
            argv = ["{program}" if word in named else word for word in version.argv]
            version = version.model_copy(update={"argv": argv})
        else:
            version = None
        changed = {
            "install": Install(binary=path),
            "version": version,
            "run": started(self.run),
            "run_as": {role: started(run) for role, run in self.run_as.items()},
        }
        return self.model_copy(update=changed)

    def plan(self, part: Part) -> ProcessSpec:
        """Return the command that starts it for a part."""
        run = self.run_in(part.role)
        variables = run.variables(part, self._own_variables(part))
        return ProcessSpec(
            argv=tuple(invocation.fill_words(run.argv, variables)),
            host=part.host,
            root=self.name,
            files={
                str(in_folder(part, name)): text
                for name, text in run.input_files(variables).items()
            },
            environment=self.install.environment(self.name)
            | {
                name: invocation.fill(text, variables)
                for name, text in run.environment_of(part).items()
            },
            stdout=in_folder(part, run.stdout),
            stderr=in_folder(part, run.stderr),
            ready=Ports(tuple(run.ready.tcp), tuple(run.ready.udp)),
            timeout_s=_timeout_s(part),
            again=part.retry in self.retrying.started_again,
            file_bytes=part.file_bytes,
            memory_bytes=MEMORY_BYTES,
            processes=PROCESSES,
        )

    def parse(self, role: RoleName, folder: Path) -> ProgramReport:
        """Read the files that it left in its folder."""
        how = self.parse_as.get(role, self.parse_)
        report = parsers.read(how.parser, folder / how.file)
        requests = (
            replace(request, client_left=request.client_left or self.client_left.matches(request))
            for request in report.requests
        )
        return replace(report, requests=tuple(requests), last_words=self._last_words(role, folder))

    def _last_words(self, role: RoleName, folder: Path) -> str:
        name = self.run_in(role).stderr
        lines = untrusted_files.last_lines(folder, name, _QUOTED_LINES) if name else []
        return visible(" / ".join(line.strip() for line in lines if line.strip()))[:_QUOTED_LENGTH]

    def works_behind(self, proxy: str, version: str | None) -> bool:
        """Whether it can answer a proxy's requests of this HTTP version, which may be unknown."""
        return version not in self.not_behind.get(proxy, ())

    def works_through(self, proxy: str, version: str | None) -> bool:
        """Whether it can ask a proxy in this HTTP version, which may be unknown."""
        return version not in self.not_through.get(proxy, ())

    def refuses_knob(self, name: str, value: str) -> str:
        """Say why an experiment may not set a knob to a value; empty if it may."""
        knob = self.knobs.get(name)
        if knob is None:
            known = ", ".join(sorted(self.knobs)) or "none"
            return f"{self.name} has no knob {name!r}; known: {known}"
        if value in knob.refused:
            return f"{name} = {value!r} cannot be measured: {knob.refused[value]}"
        if not knob.accepts(value):
            return f"{name} does not accept {value!r}; use: {knob.domain()}"
        return ""

    def refuses_control(self, transport: Transport, algorithm: str) -> str:
        """Say why an experiment may not choose a congestion control; empty if it may."""
        allowed = self.congestion_control.allowed(transport)
        if algorithm in allowed:
            return ""
        over, known = transport.upper(), ", ".join(allowed)
        if self.congestion_control.is_fixed(transport):
            reason = f"{self.name} has a fixed congestion control over {over}, not {algorithm!r}"
        else:
            reason = f"{self.name} does not offer {algorithm!r} over {over}"
        return f"{reason}; known: {known}"

    def writes(
        self, kind: ProgramRecord, role: RoleName, http_version: HttpVersion, *, upstream: bool
    ) -> bool:
        """Whether it records its connections of an HTTP version, or a proxy's to the next hop."""
        recording = self.run_in(role).keep.get(kind)
        if recording is None:
            return False
        recorded = recording.upstream_http_versions if upstream else recording.http_versions
        return recorded is None or http_version in recorded

    def logs_requests(self, role: RoleName) -> bool:
        """Return whether its files in a role list every request."""
        return self.parse_as.get(role, self.parse_).parser not in parsers.WITHOUT_REQUESTS

    def notices_s(self, client: ClientRole, transport: Transport) -> float:
        """Return after how many seconds this client continues or ends when its address is gone.

        The kernel does not notify the client's sockets. Infinity if the client waits forever. Over
        QUIC, a client that migrates continues at once, and a client that httpbed restarts ends at
        once, because the kernel rejects what it sends. Over TCP the client sends nothing, so only
        its timeout helps.
        """
        knobs = settings(self.knobs, client.knobs)
        if transport == "quic":
            goes_on = knobs.get("migration", "none") != "none" or self.retrying.able()
            return 0.0 if goes_on else inf
        return inf if client.retry == "none" else float(knobs.get("read_timeout", inf))

    def _own_variables(self, part: Part) -> dict[str, str]:
        """Return the recipe's variables: knobs, congestion control, path of its program."""
        knobs = settings(self.knobs, part.knobs)
        quic = self.congestion_control.quic
        word = quic.choices.get(part.congestion_control, "") if quic else ""
        return {**knobs, "congestion_control": word, **self._place()}

    def _place(self) -> dict[str, str]:
        program = self.install.program(self.name)
        return {"program": program} if program else {}


def _timeout_s(part: Part) -> float | None:
    """Return the time limit of a process; a browser's is longer, as its driver ends it earlier."""
    if part.role != "client":
        return None
    return part.time_limit_s + (DRIVER_S if part.page else 0.0)


def digest_of(text: str) -> str:
    """Return the SHA-256 of a recipe's text."""
    return hashlib.sha256(text.encode()).hexdigest()
