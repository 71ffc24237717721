"""The seam: what an implementation is asked, and what it answers. Three pure methods.

``identify`` says how to ask the program its version, ``plan`` how to start it in a role, and
``parse`` what the files mean that it left. Starting is never an implementation's business.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from httpbed.model.metric import Observation
from httpbed.process.spec import ProcessSpec


@dataclass(frozen=True)
class Part:
    """What one role has to do in one trial."""

    role: str
    host: str
    http_version: str
    """The version that the client may speak; a server speaks all of its versions."""
    server_name: str
    server_address: str
    port: int
    target: str
    """Path of the file in the URL."""
    body: str
    """Where the client stores what it got, as the client sees it."""
    certificates: str
    """Folder with ca.pem, server.pem and server.key, as the program sees it."""
    content: str
    """Folder with the files to serve, as the program sees it."""
    time_limit_s: float
    file_bytes: int
    """Upper bound of any file the program writes."""

    def variables(self) -> dict[str, str]:
        """What a recipe's templates may name in braces."""
        return {
            "server_name": self.server_name,
            "server_address": self.server_address,
            "port": str(self.port),
            "url": f"https://{self.server_name}:{self.port}{self.target}",
            "resolve": f"{self.server_name}:{self.port}:{self.server_address}",
            "body": self.body,
            "ca": f"{self.certificates}/ca.pem",
            "certificate": f"{self.certificates}/server.pem",
            "certificate_key": f"{self.certificates}/server.key",
            "content": self.content,
            "trial": "/trial",
        }


VARIABLES = frozenset(
    Part("", "", "", "", "", 0, "", "", "", "", 0, 0).variables(),
)
"""Names that every template may use."""


@dataclass(frozen=True)
class Request:
    """One request as the program logged it."""

    http_version: str
    """As in an experiment file, or what the program called it."""
    status: int
    body_bytes: int


@dataclass(frozen=True)
class Findings:
    """What a program's files say."""

    observations: tuple[Observation, ...] = ()
    requests: tuple[Request, ...] = ()
    complaint: str = ""
    """What the program says went wrong, in its own words."""


class Implementation(Protocol):
    """A program that can take a role."""

    @property
    def name(self) -> str:
        """As experiment files call it."""
        ...

    def identify(self) -> ProcessSpec:
        """How to ask for its version."""
        ...

    def plan(self, part: Part) -> ProcessSpec:
        """How to start it for its part."""
        ...

    def parse(self, folder: Path) -> Findings:
        """Read the files that it left in the trial's folder."""
        ...
