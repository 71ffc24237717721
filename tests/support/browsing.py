"""A real browser at one end of a real link, nginx with a folder of files at the other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from httpbed.host import toolbox
from httpbed.implementations import catalog as catalogs
from httpbed.implementations.catalog import Catalog
from httpbed.implementations.protocol import Part
from httpbed.network import plan as network
from httpbed.network import running
from httpbed.network.plan import NO_NEIGHBOUR_DISCOVERY, TOOLS, NetworkPlan
from httpbed.process.binaries import LINK, executable
from httpbed.process.spec import Exit, ProcessSpec
from httpbed.process.supervisor import SandboxSpec, Supervisor, sandbox
from httpbed.trial import certificates
from httpbed.trial.certificates import SERVER_NAME
from networks import topology

SHELL = "chromium-headless-shell"
SERVER = "nginx"
MEMORY_BYTES = 2**29


@cache
def catalog() -> Catalog:
    """Read the recipes that come with httpbed."""
    return catalogs.load()


@dataclass(frozen=True)
class Place:
    """What a browser is started in."""

    supervisor: Supervisor
    planned: NetworkPlan
    folder: Path

    async def load(self, name: str, path: str, *more: str, limit_s: float = 20) -> dict[str, Any]:
        """Load a page, and return what the driver says of it."""
        ended = await self.supervisor.run(self.driver(name, path, *more, limit_s=limit_s))
        said = (self.folder / name / "errors.txt").read_text()
        assert ended.clean, f"{ended}: {said}"
        return {**json.loads((self.folder / name / "load.json").read_text()), "exit": ended}

    def driver(self, name: str, path: str, *more: str, limit_s: float = 20) -> ProcessSpec:
        """Plan the driver, for a path of the server's or a whole URL."""
        url = path if ":" in path else f"https://{SERVER_NAME}{path}"
        options = {
            "browser": f"/usr/lib/chromium/{SHELL}",
            "url": url,
            "http-version": "2",
            "address": self.planned.address("server", "client"),
            "port": "443",
            "names": SERVER_NAME,
            "spki": "/certificates/server.spki",
            "viewport": "1366x768",
            "time-limit": f"{limit_s:g}",
            "folder": f"/trial/{name}",
        }
        words = [f"--{option}={value}" for option, value in options.items()]
        shipped = catalog()[SHELL].run.left_files({})
        return ProcessSpec(
            argv=("python3", "-m", "chromium", *words, *more),
            host="client",
            root=SHELL,
            files={f"{name}/{file}": text for file, text in shipped.items()},
            environment={"PYTHONPATH": f"/trial/{name}", "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=f"{name}/output.txt",
            stderr=f"{name}/errors.txt",
            timeout_s=limit_s + 15,
            file_bytes=2**26,
            memory_bytes=2**32,
            processes=2048,
        )

    def requests(self) -> list[dict[str, Any]]:
        """Return what the server has logged."""
        lines = (self.folder / "server/nginx-access.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]


@asynccontextmanager
async def place(
    folder: Path,
    site: Path,
    parts: Sequence[str] = (),
    rate: str = "10 Mbit/s",
    delay: str = "20 ms",
    browser: str = SHELL,
    knobs: Mapping[str, str] | None = None,
) -> AsyncIterator[Place]:
    """Make a network of two hosts, with a server on one of them."""
    link = {
        "between": ["client", "server"],
        "rate": rate,
        "delay": delay,
        "queue": {"limit": "1000 packets"},
    }
    planned = network.plan(topology([link]), {}, 7, 0)
    trial, scratch = folder / "trial", folder / "sandbox"
    scratch.mkdir(parents=True)
    (trial / "server").mkdir(parents=True)
    part = Part(
        name="server",
        role="server",
        host="server",
        http_version="2",
        server_name=SERVER_NAME,
        server_address=planned.address("server", "client"),
        port=443,
        fetches=(),
        certificates="/certificates",
        content="/content",
        time_limit_s=60,
        file_bytes=2**26,
        knobs=knobs or {},
    )
    spec = SandboxSpec(
        scratch=scratch,
        trial=trial,
        roots={TOOLS: toolbox.ensure(toolbox.TOOLS, say=print).path, **_roots(browser)},
        shared={"/certificates": certificates.ensure(datetime.now(UTC)), "/content": site},
        programs={LINK: executable(LINK)},
        hosts=planned.sysctls,
        sysctls=NO_NEIGHBOUR_DISCOVERY,
        tmpfs_bytes=MEMORY_BYTES,
        folders={SERVER: ["server"], browser: list(parts)},
    )
    for name in parts:
        (trial / name).mkdir()
    async with sandbox(spec) as supervisor:
        await running.build(supervisor, planned)
        await supervisor.start(catalog()[SERVER].plan(part))
        yield Place(supervisor, planned, trial)


def _roots(browser: str) -> dict[str, Path]:
    found = {}
    for name in (browser, SERVER):
        contents = catalog()[name].install.contents()
        assert contents
        found[name] = toolbox.ensure(contents, say=print).path
    return found
