"""A recipe: the TOML file that says how to run a program and how to read what it leaves."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from httpbed.implementations import parsers, template
from httpbed.implementations.protocol import VARIABLES, Findings, Part
from httpbed.model.errors import Mistake
from httpbed.model.scenario import HttpVersion
from httpbed.model.value import Value
from httpbed.process.spec import Ports, ProcessSpec

RoleName = Literal["client", "server"]


def _compiles(pattern: str) -> str:
    try:
        groups = re.compile(pattern).groupindex
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None
    if "version" not in groups:
        raise ValueError("has no group (?P<version>...)")
    return pattern


class Version(Value):
    """How to ask the program its version."""

    argv: list[str] = Field(min_length=1)
    pattern: Annotated[str, AfterValidator(_compiles)]
    """A regular expression with a group ``version``, searched in what it prints."""


class Install(Value):
    """Where the program comes from."""

    suite: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    """Debian suite of the root filesystem that it runs in."""
    packages: list[str] = Field(min_length=1)
    """Packages of that suite."""


class Choice(Value):
    """A variable whose value depends on the trial."""

    by: Literal["http_version"]
    values: dict[str, str]


class Ready(Value):
    """When a server counts as started: all these ports are open."""

    tcp: list[int] = Field(default_factory=list)
    udp: list[int] = Field(default_factory=list)


class Run(Value):
    """How the program is started."""

    argv: list[str] = Field(min_length=1)
    """Command and arguments; no shell sees them. ``{name}`` stands for a variable."""
    files: dict[str, str] = Field(default_factory=dict)
    """Files to write under /trial before: name -> template."""
    stdout: str | None = None
    """File under /trial for standard output."""
    stderr: str | None = None
    environment: dict[str, str] = Field(default_factory=dict)
    ready: Ready = Ready()
    choose: dict[str, Choice] = Field(default_factory=dict)
    """Variables of this recipe's own."""


class Parse(Value):
    """How its files are read."""

    parser: str
    file: str
    """File under /trial."""


class CongestionControl(Value):
    """Who decides the congestion control of what it sends."""

    tcp: Literal["kernel"] = "kernel"
    """``kernel``: the route decides, so every algorithm of the kernel can be chosen."""
    quic: str = ""
    """The algorithm that the program has fixed for QUIC, by its documentation."""


class Recipe(Value):
    """A whole recipe; it is an :class:`~httpbed.implementations.protocol.Implementation`."""

    schema_: Literal[1] = Field(alias="schema")
    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    roles: list[RoleName] = Field(min_length=1)
    http_versions: list[HttpVersion] = Field(min_length=1)
    workloads: list[Literal["download"]] = Field(min_length=1)
    homepage: str = ""
    install: Install
    version: Version
    run: Run
    parse_: Parse = Field(alias="parse")
    congestion_control: CongestionControl = CongestionControl()
    digest: str = ""
    """SHA-256 of the recipe's text; filled in by the catalog."""

    def identify(self) -> ProcessSpec:
        """Say how to ask for its version."""
        name = f"{self.name}-version.txt"
        return ProcessSpec(
            tuple(self.version.argv), root=self.install.suite, stdout=name, stderr=name
        )

    def plan(self, part: Part) -> ProcessSpec:
        """Say how to start it for its part."""
        variables = part.variables() | {
            name: choice.values[part.http_version] for name, choice in self.run.choose.items()
        }
        run = self.run
        return ProcessSpec(
            argv=tuple(template.fill(word, variables) for word in run.argv),
            host=part.host,
            root=self.install.suite,
            files={name: template.fill(text, variables) for name, text in run.files.items()},
            environment=run.environment,
            stdout=run.stdout,
            stderr=run.stderr,
            ready=Ports(tuple(run.ready.tcp), tuple(run.ready.udp)),
            timeout_s=part.time_limit_s if part.role == "client" else None,
            file_bytes=part.file_bytes,
        )

    def parse(self, folder: Path) -> Findings:
        """Read the files that it left."""
        return parsers.PARSERS[self.parse_.parser](folder / self.parse_.file)

    def mistakes(self) -> Iterator[Mistake]:
        """Yield what no single field can know to be wrong."""
        if self.parse_.parser not in parsers.PARSERS:
            known = ", ".join(sorted(parsers.PARSERS))
            yield Mistake("parse.parser", f"no parser {self.parse_.parser!r}; known: {known}")
        known_names = VARIABLES | set(self.run.choose)
        for place, text in self._templates():
            for name in sorted(set(template.names(text)) - known_names):
                known = ", ".join(sorted(known_names))
                yield Mistake(place, f"unknown variable {{{name}}}; known: {known}")
        for name, choice in self.run.choose.items():
            for version in sorted(set(self.http_versions) - set(choice.values)):
                yield Mistake(f"run.choose.{name}.values", f"has nothing for HTTP/{version}")

    def _templates(self) -> Iterator[tuple[str, str]]:
        yield from ((f"run.argv[{index}]", word) for index, word in enumerate(self.run.argv))
        yield from ((f"run.files.{name}", text) for name, text in self.run.files.items())


def digest_of(text: str) -> str:
    """SHA-256 of a recipe's text."""
    return hashlib.sha256(text.encode()).hexdigest()
