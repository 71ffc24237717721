"""A real browser and a real server with a folder of files, at the ends of an emulated link."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from httpbed.addons.pages.page_run import end_connections
from httpbed.bed.network import network_plan, running_network
from httpbed.bed.network.network_commands import NO_NEIGHBOUR_DISCOVERY
from httpbed.bed.network.network_plan import NetworkPlan
from httpbed.bed.sandbox.sandbox_spec import (
    LINK,
    TOOLS,
    PartSpec,
    ProcessSpec,
    SandboxSpec,
    executable,
)
from httpbed.bed.sandbox.supervisor import Supervisor, sandbox
from httpbed.bed.toolbox import root_filesystem
from httpbed.experiment.workload import PageVisit
from httpbed.programs import catalog as catalogs
from httpbed.programs.catalog import Catalog
from httpbed.programs.part import PageToLoad, Part
from httpbed.trial import tls_certificates
from httpbed.trial.tls_certificates import SERVER_NAME
from networks import topology

SHELL = "chromium-headless-shell"
CLIENT = "client"
"""The part that all loads of a setting are."""
MEMORY_BYTES = 2**29
FILE_BYTES = 2**26


@cache
def catalog() -> Catalog:
    """Read the recipes that come with httpbed."""
    return catalogs.load()


@dataclass(frozen=True)
class Setting:
    """The programs at both ends, the link and the loads."""

    site: Path
    parts: Sequence[str]
    """Names of the loads."""
    browser: str = SHELL
    server: str = "nginx"
    http_version: str = "2"
    """Of the server's requests."""
    rate: str = "10 Mbit/s"
    delay: str = "20 ms"
    visit: PageVisit = "cold"
    certificates: Path | None = None
    """Folder; httpbed's own by default."""

    def network(self) -> NetworkPlan:
        """Plan a link between two hosts."""
        queue = {"limit": "1000 packets"}
        ends = ["client", "server"]
        link = {"between": ends, "rate": self.rate, "delay": self.delay, "queue": queue}
        return network_plan.plan(topology([link]), {}, 7, 0)

    def page(self, path: str, *, net_log: bool = False) -> PageToLoad:
        """Describe what is loaded."""
        return PageToLoad(path, (SERVER_NAME,), self.visit, "1366x768", net_log=net_log)

    def sandbox(self, folder: Path, planned: NetworkPlan) -> SandboxSpec:
        """Describe the sandbox, whose folders are made."""
        trial, scratch = folder / "trial", folder / "sandbox"
        scratch.mkdir(parents=True)
        trial.mkdir()
        self.site.chmod(0o755)  # a test's own folder is closed, and the server may be another user
        roots = {name: _root(name) for name in (self.browser, self.server)}
        known = self.certificates or tls_certificates.ensure(datetime.now(UTC))
        return SandboxSpec(
            scratch=scratch,
            trial=trial,
            roots={TOOLS: root_filesystem.ensure(root_filesystem.TOOLS, say=print).path, **roots},
            shared={"/certificates": known, "/content": self.site},
            programs={LINK: executable(LINK)},
            hosts=planned.sysctls,
            sysctls=NO_NEIGHBOUR_DISCOVERY,
            tmpfs_bytes=MEMORY_BYTES,
            parts={
                "server": PartSpec(self.server, "server", {"server": FILE_BYTES}),
                CLIENT: PartSpec(self.browser, "client", dict.fromkeys(self.parts, FILE_BYTES)),
            },
        )


@dataclass(frozen=True)
class Place:
    """The sandbox in which a browser runs."""

    setting: Setting
    supervisor: Supervisor
    planned: NetworkPlan
    folder: Path
    """What the parts left, when the sandbox has ended."""

    async def load(self, name: str, spec: ProcessSpec) -> dict[str, Any]:
        """Run the driver; return how the load ended, and the CPU seconds of the driver."""
        is_over = asyncio.Event()
        attending = asyncio.create_task(end_connections(self.supervisor, {name: spec}, is_over))
        ended = await self.supervisor.run(spec)
        is_over.set()
        await attending
        left = self.supervisor.folder / name  # on disk when the sandbox has ended
        said = (left / "driver-output.txt").read_text()
        assert ended.clean, f"{ended}: {said}"
        told: dict[str, Any] = json.loads((left / "load.json").read_text())
        return {**told, "all_cpu_s": ended.cpu_s}

    def driver(
        self, name: str, path: str, http_version: str = "2", limit_s: float = 20
    ) -> ProcessSpec:
        """Plan the load of a page, by the browser's recipe."""
        page = self.setting.page(path, net_log=name.startswith("net-log"))
        part = replace(self.server(), name=name, role="client", host="client", page=page)
        part = replace(part, http_version=http_version, time_limit_s=limit_s)
        return replace(catalog()[self.setting.browser].plan(part), part=CLIENT)

    def server(self) -> Part:
        """Describe the server of the site."""
        quic = catalog()[self.setting.server].congestion_control.quic
        return Part(
            name="server",
            role="server",
            host="server",
            http_version=self.setting.http_version,
            server_name=SERVER_NAME,
            server_address=self.planned.address("server", "client"),
            port=443,
            fetches=(),
            certificates="/certificates",
            content="/content",
            time_limit_s=60,
            file_bytes=FILE_BYTES,
            resumption="early data" if self.setting.visit == "early data" else "none",
            page=self.setting.page("/"),
            congestion_control=quic.resolved("reno") if quic and not quic.fixed else "",
        )

    def events(self, name: str, method: str) -> list[dict[str, Any]]:
        """Return the parameters of the browser's events of one method during a load."""
        events = lines(self.folder / name / "cdp.jsonl")
        return [event["params"] for event in events if event["method"] == method]

    def requests(self, http_version: str = "") -> list[dict[str, Any]]:
        """Return the requests that nginx logged, all or those of one version."""
        logged = lines(self.folder / "server/nginx-access.jsonl")
        return [one for one in logged if one["protocol"].startswith(f"HTTP/{http_version}")]


@asynccontextmanager
async def place(folder: Path, setting: Setting) -> AsyncIterator[Place]:
    """Make a network of two hosts, with the server on one of them."""
    planned = setting.network()
    spec = setting.sandbox(folder, planned)
    async with sandbox(spec) as supervisor:
        await running_network.build(supervisor, planned.processes)
        made = Place(setting, supervisor, planned, folder / "trial")
        serving = catalog()[setting.server].plan(made.server())
        await supervisor.start(replace(serving, part="server"))
        yield made


def lines(file: Path) -> list[dict[str, Any]]:
    """Read a JSON object from each line."""
    return [json.loads(line) for line in file.read_text().splitlines()]


def _root(name: str) -> Path:
    contents = catalog()[name].install.contents()
    assert contents
    return root_filesystem.ensure(contents, say=print).path
