"""The live page in a real browser: it shows what the run does, and obeys no word of a program.

The published reports in a real browser: every column of every table is visible.
"""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import open_page
from campaigns import Ending, campaign, timed
from families import until
from httpbed.addons.live import serve_option, server, status
from httpbed.addons.live.watch import document
from orchestrator import Run
from real_runs import SmallExperiment

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]


HOSTILE = "</script><script>window.evil = 1</script><img src=x onerror='window.evil = 1'>\x1b[31m"


def described(blocks: int, *, running: bool = True) -> dict[str, Any]:
    """Describe a campaign of which so many blocks have ended, with a hostile client."""

    def ends(levels: dict[str, str], block: int) -> Ending | None:
        if block > blocks:
            return None
        if levels["http_version"] == "3" and block == 1:
            return Ending({}, "failed", HOSTILE, invalid_first=[HOSTILE])
        return timed(1.0 + block / 50)

    return document(status.of(campaign(ends), "request_time"), running=running)  # type: ignore[arg-type]


def test_the_page_changes_with_the_status_and_shows_hostile_words_as_text() -> None:
    """No script but its own runs, the policy blocks nothing of its own, and the end is said."""
    with server.serving(serve_option.listen(0), "secret") as serving:
        serving.show(described(2))
        with open_page.opened(serve_option.address(serving.socket, "secret")) as page:
            page.until("document.getElementById('bar').value === 12")
            assert page.text("#progress").startswith("12 of 30 trials ended; a run is in progress")
            assert page.text("#failures tbody").count("<script>window.evil = 1</script>") == 1
            assert r"\x1b[31m" in page.text("#events")
            assert (
                len(
                    page.value("[...document.querySelectorAll('#treatments tbody tr')].map(String)")
                )
                == 6
            )
            assert page.value("document.querySelectorAll('script').length") == 1
            assert page.value("document.querySelectorAll('img').length") == 0
            serving.show(described(5, running=False))
            page.until("document.getElementById('bar').value === 30")
            assert "no run is in progress" in page.text("#progress")
            assert "no run is in progress" in page.value(
                "document.getElementById('spoken').textContent"
            )
            assert page.value("typeof window.evil") == "undefined"
            for width in (320, 1280):
                page.picture(width, 900)
                assert page.value("document.documentElement.scrollWidth") <= width
            assert page.errors() == []


def test_the_page_of_a_run_follows_its_trials_to_the_end(tmp_path: Path) -> None:
    """Served by `httpbed run --serve`, read while trials run, told when the run has ended."""
    experiment = tmp_path / "experiment.toml"
    experiment.write_text(SmallExperiment(replicates=2, rate="2 Mbit/s").text())
    with Run(experiment, tmp_path / "campaign", "--serve") as run:
        until(lambda: "live: http://" in run.log or run.is_over())
        found = re.search(r"live: (http://127\.0\.0\.1:\d+/[\w-]{22}/)", run.log)
        assert found, run.log
        with open_page.opened(found[1]) as page:
            page.until("document.getElementById('bar').max === 6")
            page.until("/completed/.test(document.getElementById('counts').textContent)")
            page.until(
                "/no run is in progress/.test(document.getElementById('progress').textContent)"
            )
            assert page.text("#progress").startswith("6 of 6 trials ended")
            assert page.text("#treatments tbody").count("2 of 2") == 3
            assert page.errors() == []
        assert run.wait() == 0, run.log


RESULTS = Path(__file__).resolve().parents[2] / "results"
DESKTOP, PHONE = 1280, 390
CUT = """[...document.querySelectorAll('.scroll')]
.filter(one => one.querySelector('table') && one.scrollWidth > one.clientWidth + 1)
.map(one => one.getAttribute('aria-label'))"""
"""Names of the tables that a reader has to push aside to see their last column."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on the loopback address."""
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    "campaign", ["liu2024/migration", "liu2024/pages", "liu2024/single-stream"]
)
def test_no_table_is_wider_than_the_window(campaign: str) -> None:
    """Those with most columns: hand-overs, metrics of pages, and clients side by side."""
    with served(RESULTS / campaign) as address, open_page.opened(f"{address}/report.html") as page:
        for width in (DESKTOP, PHONE):
            page.picture(width, 900)
            assert page.value(CUT) == [], width
            assert page.value("document.documentElement.scrollWidth") <= width
