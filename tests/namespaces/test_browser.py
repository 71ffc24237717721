"""A real browser loads pages from nginx: what it leaves is true, and every load has an end."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import pages
from browsing import CLIENT, SHELL, Place, Setting, catalog, lines, place
from httpbed.bed.sandbox.sandbox_spec import ProcessSpec
from httpbed.bed.toolbox import root_filesystem
from httpbed.bed.toolbox.root_filesystem import program_identity
from httpbed.trial import tls_certificates

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

PROTOCOLS = {"1.1": "http/1.1", "2": "h2", "3": "h3"}
CONNECTIONS = {"1.1": 6, "2": 1, "3": 1}
AT_ONCE = 3
PAGE = "/index.html"
Loads = dict[str, dict[str, Any]]
"""What the driver says of loads, by name or version."""
NEVER_S = 4.0
"""For a browser to begin on a machine that is busy, and to go on and on."""
SMALL_BYTES = 2**29
"""For the data of each process, so that a page that takes all soon has it."""
PARAMETERS = "QUIC_SESSION_TRANSPORT_PARAMETERS_SENT"
ANNOUNCED = {
    "2": {
        r"INITIAL_WINDOW_SIZE\) value:(\d+)": "HTTP2_SESSION_SEND_SETTINGS",
        r"'window_size': (\d+)": "HTTP2_SESSION_UPDATE_RECV_WINDOW",
    },
    "3": {
        r"initial_max_stream_data_bidi_local (\d+)": PARAMETERS,
        r"initial_max_data (\d+)": PARAMETERS,
    },
}
"""What Chromium's net log has of the windows of a stream and of the connection, by version."""
ENDINGS = {
    "never": ("time limit", "the network was not idle"),
    "dialogs": ("loaded", ""),
    "outside": ("left", "it navigated to https://outside.example/x"),
    "download": ("download", "it started a download of https://server.httpbed.test/file.bin"),
    "memory": ("crashed", "the tab crashed"),
}
MORE_ENDINGS = {
    "elsewhere": ("left", "it navigated to https://server.httpbed.test/index.html"),
    "refresh": ("left", "it navigated to https://outside.example/"),
    "name": ("loaded", ""),
    "frame": ("loaded", ""),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pages.write(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def whole(site: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, Loads]:
    """Load the ordinary page over each version."""

    async def load() -> tuple[Place, list[dict[str, Any]]]:
        setting = Setting(site, [f"net-log-{version}" for version in PROTOCOLS])
        async with place(tmp_path_factory.mktemp("whole"), setting) as made:
            loads = (
                made.load(f"net-log-{version}", made.driver(f"net-log-{version}", PAGE, version))
                for version in PROTOCOLS
            )
            return made, await asyncio.gather(*loads)

    made, told = asyncio.run(load())
    return made, dict(zip(PROTOCOLS, told, strict=True))


@pytest.mark.parametrize("http_version", PROTOCOLS)
def test_a_page_comes_whole_over_the_version_that_is_asked(
    whole: tuple[Place, Loads], http_version: str
) -> None:
    """The browser's events and the server's log agree to the last byte."""
    made, told, name = whole[0], whole[1][http_version], f"net-log-{http_version}"
    notes = [note for note in told["notes"] if not note.startswith("start ")]  # a busy machine's
    assert (told["ended"], told["reason"], notes) == ("loaded", "", [])
    assert not told["truncated"] | told["trace_cut"] | told["pictures_cut"]
    assert told["title"] == "A page"
    times = [told[f"{name}_ns"] for name in ("began", "ready", "navigated", "ended")]
    assert times == sorted(times)
    assert 0 < told["cpu_s"] < told["all_cpu_s"]
    answers = [told["response"] for told in made.events(name, "Network.responseReceived")]
    assert {answer["protocol"] for answer in answers} == {PROTOCOLS[http_version]}
    assert len({answer["connectionId"] for answer in answers}) == CONNECTIONS[http_version]
    logged = made.requests(http_version)
    assert len(logged) == len(answers) == pages.REQUESTS
    ended = made.events(name, "Network.loadingFinished")
    assert sum(one["wire_bytes"] for one in logged) == sum(
        one["encodedDataLength"] for one in ended
    )
    left = made.folder / name
    assert (left / lines(left / "frames.jsonl")[-1]["file"]).read_bytes().startswith(b"\xff\xd8")
    marks = {event["name"] for event in lines(left / "trace.jsonl")}
    assert {"navigationStart", "firstContentfulPaint"} <= marks


@pytest.mark.parametrize("http_version", ANNOUNCED)
def test_chromium_announces_the_windows_that_its_recipe_names(
    whole: tuple[Place, Loads], http_version: str
) -> None:
    log = json.loads((whole[0].folder / f"net-log-{http_version}/net-log.json").read_text())
    kinds, announced = log["constants"]["logEventTypes"], list[int]()
    for pattern, name in ANNOUNCED[http_version].items():
        params = next(one["params"] for one in log["events"] if one["type"] == kinds[name])
        announced += map(int, re.findall(pattern, str(params)))
    windows = catalog().recipes[SHELL].windows
    assert announced == [one.bytes for one in windows if one.http_versions == [http_version]]


@pytest.fixture(scope="module")
def endings(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Loads:
    """Load pages that are not as others."""
    return all_of(ENDINGS, site, tmp_path_factory.mktemp("endings"))


@pytest.fixture(scope="module")
def more_endings(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Loads:
    return all_of(MORE_ENDINGS, site, tmp_path_factory.mktemp("more"))


def all_of(names: Collection[str], site: Path, folder: Path) -> Loads:
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(made: Place, name: str) -> dict[str, Any]:
        async with turns:
            return await made.load(name, _ending(made, name))

    async def load() -> list[dict[str, Any]]:
        setting = Setting(site, list(names), rate="100 Mbit/s", delay="1 ms")
        async with place(folder, setting) as made:
            return await asyncio.gather(*(one(made, name) for name in names))

    return dict(zip(names, asyncio.run(load()), strict=True))


def _ending(made: Place, name: str) -> ProcessSpec:
    spec = made.driver(name, f"/{name}.html", limit_s=NEVER_S if name == "never" else 30)
    return replace(spec, memory_bytes=SMALL_BYTES) if name == "memory" else spec


@pytest.mark.parametrize("name", ENDINGS)
def test_every_load_has_an_end(endings: Loads, name: str) -> None:
    """Every load ends with a reason, whatever the page does."""
    kind, reason = ENDINGS[name]
    assert endings[name]["ended"] == kind, endings[name]["reason"]
    assert reason in endings[name]["reason"]


@pytest.mark.parametrize("name", MORE_ENDINGS)
def test_further_loads_have_an_end(more_endings: Loads, name: str) -> None:
    """Every load of the second group ends with a reason."""
    kind, reason = MORE_ENDINGS[name]
    assert more_endings[name]["ended"] == kind, more_endings[name]["reason"]
    assert reason in more_endings[name]["reason"]


def test_a_page_that_moves_for_long_lacks_its_speed_index_only(tmp_path: Path, site: Path) -> None:
    """The number of pictures is bounded; all other metrics are complete.

    The page ends by its frames, not by a time: a slow machine draws fewer of them in a second.
    """
    page = site / "long.html"
    polls = "<script>const polls = setInterval(() => fetch('/style.css?' + Math.random()), 100);"
    polls += "let frames = 0; function draw() {"
    polls += " if (++frames < 800) requestAnimationFrame(draw); else clearInterval(polls); }"
    polls += " draw()</script>"
    page.write_text((site / "animation.html").read_text() + polls)

    async def load() -> tuple[Place, dict[str, Any]]:
        async with place(tmp_path, Setting(site, ["a"])) as made:
            return made, await made.load("a", made.driver("a", "/long.html", limit_s=60.0))

    made, told = asyncio.run(load())
    assert (told["ended"], told["pictures_cut"]) == ("loaded", True)
    found = catalog()[SHELL].parse("client", made.folder / "a")
    assert found.complaint == ""
    assert any("the pictures end at" in remark for remark in found.remarks)
    observed = {observation.metric for observation in found.observations}
    assert "largest_contentful_paint" in observed
    assert "speed_index" not in observed


@pytest.mark.parametrize("no_icon", [False, True])
def test_the_whole_browser_asks_for_no_icon_that_is_not_the_pages(
    tmp_path: Path, site: Path, no_icon: bool
) -> None:
    """Chromium requests /favicon.ico by default when the document names no icon."""

    async def load() -> Place:
        async with place(tmp_path, Setting(site, ["a"], browser="chromium")) as made:
            spec = made.driver("a", "/plain.html")
            more = ("--no-icon",) * no_icon
            told = await made.load("a", replace(spec, argv=(*spec.argv, *more)))
            assert told["ended"] == "loaded", told["reason"]
            return made

    made = asyncio.run(load())
    asked = ["/plain.html"] if no_icon else ["/plain.html", "/favicon.ico"]
    assert [request["path"] for request in made.requests()] == asked
    found = catalog()["chromium"].parse("client", made.folder / "a")
    assert [request.path for request in found.requests] == asked
    assert found.complaint == ""


@pytest.mark.parametrize("name", [SHELL, "chromium"])
def test_a_browser_is_cited_by_its_own_binary_and_packages(name: str) -> None:
    """The citation includes packages of libraries and of fonts."""
    recipe = catalog()[name]
    contents = recipe.install.contents()
    assert contents
    found = program_identity(root_filesystem.ensure(contents, say=print), recipe.command("client"))
    assert found.path == f"/usr/lib/chromium/{name}"
    assert {"libc6", "fonts-liberation"} <= found.packages.keys()


def test_dialogs_are_dismissed_and_reported(endings: Loads) -> None:
    """Dialogs are reported in order, with the text of the page."""
    told = [(one["type"], one["message"]) for one in endings["dialogs"]["dialogs"]]
    assert told == [("alert", "<b>&"), ("confirm", "sure?"), ("prompt", "what?")]


def test_an_expired_certificate_is_refused(tmp_path: Path, site: Path) -> None:
    """The browser refuses it although its key is on the list of accepted keys."""
    expired = _expired(tmp_path / "certificates")

    async def load() -> dict[str, Any]:
        async with place(tmp_path / "run", Setting(site, ["a"], certificates=expired)) as made:
            return await made.load("a", made.driver("a", "/index.html"))

    told = asyncio.run(load())
    assert told["ended"] == "refused"
    assert told["reason"] == "the certificate of httpbed test server is not valid at this time"


def _expired(folder: Path) -> Path:
    then = datetime.now(UTC) - 2 * tls_certificates.VALID
    folder.mkdir()
    made = tls_certificates._make(folder, then)
    assert made.name == f"until-{then + tls_certificates.VALID:%Y%m%d}"
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
driver = "-mbrowsers.chromium"
victims = {"driver": those(driver), "browser": those("--remote-debugging-pipe", "--type=")}
browsers = those("/usr/lib/chromium/", driver)
for pid in browsers:
    told = dict(line.split(":\t") for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    if int(told["CapEff"], 16) & 3 << 12:
        sys.exit("it could change the network")
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
    """The driver reports the browser's end, and no process survives the driver."""

    async def kill() -> tuple[Any, Place]:
        async with place(tmp_path, Setting(site, ["a", "b"])) as made:
            driver = made.driver("a", "/never.html")
            driver = replace(driver, argv=("python3", "-mbrowsers.chromium", *driver.argv[3:]))
            loading = await made.supervisor.start(driver)
            words = ("python3", "-c", KILL, whom, "/trial/a/cdp.jsonl")
            out = "b/out"
            killer = ProcessSpec(words, part=CLIENT, stdout=out, stderr=out, timeout_s=30)
            ended = await made.supervisor.run(killer)
            assert ended.clean, (made.supervisor.folder / "b/out").read_text()
            return await loading.exit, made

    ended, made = asyncio.run(kill())
    told = made.folder / "a/load.json"
    if whom == "driver":
        assert (ended.signal, told.exists()) == (9, False)
    else:
        assert ended.clean
        assert json.loads(told.read_text())["ended"] == "browser ended"
