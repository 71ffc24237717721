"""What an attempt left in its folder, read back into one value; pure but for the reading."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from httpbed.implementations.catalog import Catalog
from httpbed.implementations.protocol import Findings
from httpbed.model.roles import Roles
from httpbed.process.spec import Exit
from httpbed.trial.runner import EVIDENCE, LINK_RESULT

_PING_TIME = re.compile(r"time=(?P<ms>[0-9.]+) ms")
_SOCKET_ALGORITHM = re.compile(r"^\s+(?:\S+ )*?(?P<name>reno|cubic|bbr\d?)\b")


@dataclass(frozen=True)
class Seen:
    """Everything that was observed in one attempt."""

    server_failure: str
    """Why the server did not start; empty when it did."""
    client: Exit | None
    client_s: float
    body: Mapping[str, Any] | None
    """``bytes`` and ``sha256`` of what the client stored; None when it stored nothing."""
    server_survived: bool
    pressure: Mapping[str, Any]
    """``source`` and ``seconds`` of waiting for a CPU while the client ran."""
    link: Mapping[str, Any]
    """The emulator's result; empty when the server did not start."""
    pings_s: tuple[float, ...]
    algorithms: frozenset[str]
    """TCP congestion control of the server's accepted sockets, as the kernel says."""
    client_findings: Findings
    server_findings: Findings
    qdiscs: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """The kernel's counters by the time at which they were read; empty where it carries nothing."""

    @property
    def connections(self) -> list[dict[str, Any]]:
        """What the emulator saw of each connection."""
        return list(self.link.get("connections", []))


def read(roles: Roles, catalog: Catalog, artifacts: Path) -> Seen:
    """Read the folder that an attempt left."""
    evidence = _json(artifacts / EVIDENCE)
    client = evidence.get("client")
    return Seen(
        server_failure=evidence.get("server_failure", ""),
        client=Exit(**client) if client else None,
        client_s=evidence.get("client_s", 0.0),
        body=evidence.get("body"),
        server_survived=evidence.get("server_survived", False),
        pressure=evidence.get("pressure", {}),
        link=_json(artifacts / LINK_RESULT),
        pings_s=_pings(_text(artifacts / "ping.txt")),
        algorithms=algorithms(_text(artifacts / "sockets.txt")),
        client_findings=catalog[roles.client.implementation].parse("client", artifacts / "client"),
        server_findings=catalog[roles.server.implementation].parse("server", artifacts / "server"),
        qdiscs=_qdiscs(artifacts),
    )


def algorithms(text: str) -> frozenset[str]:
    """Names of the congestion controls in the output of ``ss --tcp --info``."""
    matches = (_SOCKET_ALGORITHM.match(line) for line in text.splitlines())
    return frozenset(match["name"] for match in matches if match)


def _pings(text: str) -> tuple[float, ...]:
    return tuple(float(match["ms"]) / 1e3 for match in _PING_TIME.finditer(text))


def _qdiscs(artifacts: Path) -> dict[str, list[dict[str, Any]]]:
    files = artifacts.glob("qdiscs-*.json")
    return {file.stem.removeprefix("qdiscs-"): json.loads(_text(file)) for file in files}


def _json(path: Path) -> dict[str, Any]:
    text = _text(path)
    return dict(json.loads(text)) if text else {}


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
