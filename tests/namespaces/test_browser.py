"""A real browser loads pages from nginx: what it leaves is true, and every load has an end."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import pages
from browsing import SHELL, Place, Setting, lines, place
from httpbed.process.spec import ProcessSpec
from httpbed.trial import certificates

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

PROTOCOLS = {"1.1": "http/1.1", "2": "h2", "3": "h3"}
CONNECTIONS = {"1.1": 6, "2": 1, "3": 1}
AT_ONCE = 3
NEVER_S = 6.0
"""For a browser to begin on a machine that is busy, and to go on and on."""
SMALL_BYTES = 2**29
"""For the data of each process, so that a page that takes all soon has it."""
ENDINGS = {
    "dialogs": ("loaded", ""),
    "outside": ("left", "it went on to https://outside.example/x"),
    "elsewhere": ("left", "it went on to https://server.httpbed.test/index.html"),
    "refresh": ("left", "it went on to https://outside.example/"),
    "download": ("download", "it began a download of https://server.httpbed.test/file.bin"),
    "never": ("time limit", "the network was not idle"),
    "name": ("loaded", ""),
    "frame": ("loaded", ""),
    "memory": ("crashed", "the tab crashed"),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the pages."""
    return pages.write(tmp_path_factory.mktemp("site"))


@pytest.mark.parametrize("http_version", PROTOCOLS)
def test_a_page_comes_whole_over_the_version_that_is_asked(
    tmp_path: Path, site: Path, http_version: str
) -> None:
    """The browser's word and the server's agree, to the last byte; its files are as promised."""

    async def load() -> tuple[Place, dict[str, Any]]:
        async with place(tmp_path, Setting(site, ["net-log"])) as made:
            spec = made.driver("net-log", "/index.html", http_version)
            return made, await made.load("net-log", spec)

    made, told = asyncio.run(load())
    assert (told["ended"], told["reason"], told["truncated"]) == ("loaded", "", False)
    assert told["title"] == "A page"
    times = [told[f"{name}_ns"] for name in ("began", "ready", "navigated", "ended")]
    assert times == sorted(times)
    assert 0 < told["cpu_s"] < told["all_cpu_s"]
    answers = [told["response"] for told in made.events("net-log", "Network.responseReceived")]
    assert {one["protocol"] for one in answers} == {PROTOCOLS[http_version]}
    assert len({one["connectionId"] for one in answers}) == CONNECTIONS[http_version]
    logged = made.requests(http_version)
    assert len(logged) == len(answers) == pages.REQUESTS
    ended = made.events("net-log", "Network.loadingFinished")
    assert sum(one["wire_bytes"] for one in logged) == sum(
        one["encodedDataLength"] for one in ended
    )
    left = made.folder / "net-log"
    assert (left / lines(left / "frames.jsonl")[-1]["file"]).read_bytes().startswith(b"\xff\xd8")
    marks = {event["name"] for event in lines(left / "trace.jsonl")}
    assert {"navigationStart", "firstContentfulPaint"} <= marks
    assert json.loads((left / "net-log.json").read_text())["events"]


@pytest.fixture(scope="module")
def endings(site: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Load every page that is not as others, some at once."""
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(made: Place, name: str) -> dict[str, Any]:
        async with turns:
            return await made.load(name, _ending(made, name))

    async def load() -> list[dict[str, Any]]:
        setting = Setting(site, list(ENDINGS), rate="100 Mbit/s", delay="1 ms")
        async with place(tmp_path_factory.mktemp("endings"), setting) as made:
            return await asyncio.gather(*(one(made, name) for name in ENDINGS))

    return dict(zip(ENDINGS, asyncio.run(load()), strict=True))


def _ending(made: Place, name: str) -> ProcessSpec:
    spec = made.driver(name, f"/{name}.html", limit_s=NEVER_S if name == "never" else 30)
    return replace(spec, memory_bytes=SMALL_BYTES) if name == "memory" else spec


@pytest.mark.parametrize("name", ENDINGS)
def test_every_load_has_an_end(endings: dict[str, dict[str, Any]], name: str) -> None:
    """Whatever the page does, it is told."""
    kind, reason = ENDINGS[name]
    assert endings[name]["ended"] == kind, endings[name]["reason"]
    assert reason in endings[name]["reason"]


def test_dialogs_are_dismissed_and_told(endings: dict[str, dict[str, Any]]) -> None:
    """In their order, as the page worded them."""
    told = [(one["type"], one["message"]) for one in endings["dialogs"]["dialogs"]]
    assert told == [("alert", "<b>&"), ("confirm", "sure?"), ("prompt", "what?")]


def test_an_expired_certificate_is_refused(tmp_path: Path, site: Path) -> None:
    """Although the browser was told to take the key whatever its certificate says."""
    expired = _expired(tmp_path / "certificates")

    async def load() -> dict[str, Any]:
        async with place(tmp_path / "run", Setting(site, ["a"], certificates=expired)) as made:
            return await made.load("a", made.driver("a", "/index.html"))

    told = asyncio.run(load())
    assert told["ended"] == "refused"
    assert told["reason"] == "the certificate of httpbed test server is not valid at this time"


def _expired(folder: Path) -> Path:
    then = datetime.now(UTC) - 2 * certificates.VALID
    folder.mkdir()
    made = certificates._make(folder, then)
    assert made.name == f"until-{then + certificates.VALID:%Y%m%d}"
    return made


KILL = """
import os, select, signal, sys
from pathlib import Path
def those(word, but="\\0\\0"):
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = entry.name.isdecimal() and (entry / "cmdline").read_text()
        except OSError:
            continue
        if words and word in words and but not in words and entry.name != str(os.getpid()):
            found.append(int(entry.name))
    return found
whom, log = sys.argv[1], Path(sys.argv[2])
while not (log.exists() and b"responseReceived" in log.read_bytes()):
    select.select([], [], [], 0.01)
victims = {"driver": those("-mchromium"), "browser": those("--remote-debugging-pipe", "--type=")}
watched = [os.pidfd_open(pid) for pid in those("/usr/lib/chromium/")]
for pid in victims[whom]:
    os.kill(pid, signal.SIGKILL)
while watched:
    gone = select.select(watched, [], [], 10)[0]
    if not gone:
        sys.exit("something lives on")
    watched = [one for one in watched if one not in gone]
print(len(victims[whom]))
"""


@pytest.mark.parametrize("whom", ["browser", "driver"])
def test_a_kill_leaves_nothing(tmp_path: Path, site: Path, whom: str) -> None:
    """The driver tells of its browser's end; its own is the end of all."""

    async def kill() -> tuple[Any, Place]:
        async with place(tmp_path, Setting(site, ["a", "b"])) as made:
            driver = made.driver("a", "/never.html")
            driver = replace(driver, argv=("python3", "-mchromium", *driver.argv[3:]))
            loading = await made.supervisor.start(driver)
            words = ("python3", "-c", KILL, whom, "/trial/a/cdp.jsonl")
            killer = ProcessSpec(words, root=SHELL, stdout="b/out", stderr="b/out", timeout_s=30)
            ended = await made.supervisor.run(killer)
            assert ended.clean, (made.folder / "b/out").read_text()
            return await loading.exit, made

    ended, made = asyncio.run(kill())
    told = made.folder / "a/load.json"
    if whom == "driver":
        assert (ended.signal, told.exists()) == (9, False)
    else:
        assert ended.clean
        assert json.loads(told.read_text())["ended"] == "browser ended"
