"""The published reports in a real browser: every column of every table is visible."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import open_page

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]


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
            page.resize(width, 900)
            assert page.value(CUT) == [], width
            assert page.value("document.documentElement.scrollWidth") <= width
