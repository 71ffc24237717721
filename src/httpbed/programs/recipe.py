"""A recipe: the TOML file that says how to run a program and how to read what it leaves."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from httpbed.experiment.roles import ClientRole, HttpVersion, KnobName
from httpbed.experiment.value import Value
from httpbed.experiment.workload import Capability
from httpbed.host.sandbox.spec import Ports, ProcessSpec
from httpbed.programs import parsers, template
from httpbed.programs.install import Install
from httpbed.programs.invocation import Run, in_folder
from httpbed.programs.protocol import LoggedRequest, Part, ProgramReport, RoleName
from httpbed.programs.settings import CongestionControl, Knob, Retrying, Transport, settings

MEMORY_BYTES = 4 * 2**30
"""Of each process of a program under test: far more than any of them needs, browsers included."""
PROCESSES = 2048
"""And threads, of a whole trial: a browser has some hundreds."""
INTERPRETERS = frozenset({"bash", "dash", "java", "node", "perl", "python3", "ruby", "sh"})
VERSION_S = 20.0
DRIVER_S = 15.0
"""For who drives a browser to end it at the time limit, and to write down what there is."""
VERSION_BYTES = 2**20


def _finds_a_version(pattern: str) -> str:
    try:
        groups = re.compile(pattern).groupindex
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None
    if "version" not in groups:
        raise ValueError("has no group (?P<version>...)")
    return pattern


class VersionCommand(Value):
    """How to ask the program its version."""

    argv: list[str] = Field(min_length=1)
    pattern: Annotated[str, AfterValidator(_finds_a_version)]
    """A regular expression with a group ``version``, searched in what it prints."""


class Parse(Value):
    """How its files are read."""

    parser: str
    file: str = Field(pattern="^[^/]+$")
    """File in its folder."""


class ClientLeft(Value):
    """What a server or proxy logs of an answer whose client left before its end."""

    statuses: list[int] = Field(default_factory=list)
    """In place of a status of HTTP."""
    flags: list[str] = Field(default_factory=list)
    """Remarks, of which a log may have several, with a comma between them."""

    def tells(self, request: LoggedRequest) -> bool:
        """Whether it is such a request."""
        flags = set(request.flags.split(","))
        return request.status in self.statuses or not flags.isdisjoint(self.flags)


class Recipe(Value):
    """A whole recipe; it is an :class:`~httpbed.programs.protocol.Implementation`."""

    schema_: Annotated[int, Field(ge=1, le=1)] = Field(alias="schema")
    name: str = Field(pattern=r"^[a-z][a-z0-9.-]*$")
    roles: list[RoleName] = Field(min_length=1)
    http_versions: list[HttpVersion] = Field(min_length=1)
    """What it asks for as a client, and answers as a server or proxy."""
    upstream_http_versions: list[HttpVersion] = Field(default_factory=list)
    """What it asks for as a proxy."""
    next_proxy: str | None = None
    """The proxy that must be the next one towards the server: a tunnel's other end."""
    not_behind: dict[str, list[HttpVersion]] = Field(default_factory=dict)
    """Proxies that it cannot work behind as a server -> HTTP versions in which they ask."""
    workloads: list[Capability] = Field(min_length=1)
    """What it can do of a workload."""
    stores_bodies: bool = True
    """Whether what it got as a client can be compared with what was served."""
    verifies: bool = True
    """Whether as a client it refuses a certificate that no authority signed that it knows."""
    homepage: str = ""
    note: str = ""
    """What a user should know, in a sentence."""
    install: Install
    version: VersionCommand | None = None
    """Absent only where nobody knows how to ask a binary of the user's, which its digest tells
    apart."""
    run: Run
    run_as: dict[RoleName, Run] = Field(default_factory=dict)
    """How it is started instead in one of its roles."""
    parse_: Parse = Field(alias="parse")
    parse_as: dict[RoleName, Parse] = Field(default_factory=dict)
    """How its files are read instead in one of its roles."""
    congestion_control: CongestionControl = CongestionControl()
    knobs: dict[KnobName, Knob] = Field(default_factory=dict)
    """Settings that experiments may vary."""
    retrying: Retrying = Retrying()
    """What can be done as a client about a download that failed."""
    ranges: bool = True
    """Whether as a server it sends a part of a file when it is asked for one (RFC 9110 section
    14)."""
    client_left: ClientLeft = ClientLeft()
    """How it logs an answer whose client left before its end."""
    digest: str = ""
    """SHA-256 of the recipe's text; filled in by the catalog."""

    def running(self, role: RoleName) -> Run:
        """Say how it is started in a role."""
        return self.run_as.get(role, self.run)

    def command(self, role: RoleName) -> str:
        """Name or path of what is under test in a role, as the root filesystem knows it."""
        run = self.running(role)
        return run.program or template.fill(run.argv[0], self._place())

    def identify(self) -> ProcessSpec | None:
        """Say how to ask for its version, where somebody knows."""
        if self.version is None:
            return None
        name = f"{self.name}/version.txt"
        return ProcessSpec(
            tuple(template.fill_words(self.version.argv, self._place())),
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
        """Name what reads its program, if that is a script: no executable can take its place."""
        runs = (self.run, *self.run_as.values())
        return next((run.argv[0] for run in runs if run.argv[0] in INTERPRETERS), None)

    def with_program(self, path: str) -> Recipe:
        """Return the recipe with an executable of the user's in its program's place.

        Where the version is asked of another program, it tells nothing of the user's.
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
        """Say how to start it for its part."""
        run = self.running(part.role)
        variables = run.variables(part, self._own_variables(part))
        return ProcessSpec(
            argv=tuple(template.fill_words(run.argv, variables)),
            host=part.host,
            root=self.name,
            files={
                str(in_folder(part, name)): text for name, text in run.left_files(variables).items()
            },
            environment=self.install.environment(self.name)
            | {name: template.fill(text, variables) for name, text in run.environment.items()},
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
        found = parsers.read(how.parser, folder / how.file)
        told = (replace(one, client_left=self.client_left.tells(one)) for one in found.requests)
        return replace(found, requests=tuple(told))

    def tells(self, role: RoleName) -> bool:
        """Whether what it leaves in a role has every request in it."""
        return self.parse_as.get(role, self.parse_).parser not in parsers.OF_NO_REQUEST

    def notices_s(self, client: ClientRole, transport: Transport) -> float:
        """Return after how many seconds this client goes on, or ends, when its address is gone.

        Its sockets are told nothing. Infinity where it waits for ever. Over QUIC one that migrates
        goes on at once; one that is made to be started again ends, for the kernel refuses what it
        sends. Over TCP there is nothing to send: only a time-out of its own helps.
        """
        knobs = settings(self.knobs, client.knobs)
        if transport == "quic":
            goes_on = knobs.get("migration", "none") != "none" or self.retrying.able()
            return 0.0 if goes_on else inf
        return inf if client.retry == "none" else float(knobs.get("read_timeout", inf))

    def _own_variables(self, part: Part) -> dict[str, str]:
        """Return the variables of this recipe's: knobs, congestion control, its program's place."""
        knobs = settings(self.knobs, part.knobs)
        quic = self.congestion_control.quic
        word = quic.choices.get(part.congestion_control, "") if quic else ""
        return {**knobs, "congestion_control": word, **self._place()}

    def _place(self) -> dict[str, str]:
        program = self.install.program(self.name)
        return {"program": program} if program else {}


def _timeout_s(part: Part) -> float | None:
    """Say when a program is ended; a browser is ended by who drives it, and tells of it."""
    if part.role != "client":
        return None
    return part.time_limit_s + (DRIVER_S if part.page else 0.0)


def digest_of(text: str) -> str:
    """SHA-256 of a recipe's text."""
    return hashlib.sha256(text.encode()).hexdigest()
