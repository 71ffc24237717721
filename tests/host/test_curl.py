from __future__ import annotations

import pytest

from httpbed.host import curl
from web import PNG, web

pytestmark = pytest.mark.toolbox


def test_what_came_is_told_and_what_did_not() -> None:
    """A redirect is followed; too many bytes, nobody there and a file are not had."""
    program = curl.command(print)
    with web() as (main, other):
        urls = [
            f"http://{main}/",
            f"http://{other}/a.png",
            f"http://{main}/gone.png",
            f"http://{main}/large",
            "http://127.0.0.1:1/nobody",
            "file:///etc/hostname",
        ]
        got = curl.fetch(program, urls, most_bytes=50_000, time_limit_s=20)
    first, image, gone, large, nobody, file = (got[url] for url in urls)
    assert (first.url, first.type, first.failed) == (f"http://{main}/start", "text/html", "")
    assert (image.type, image.body) == ("image/png", PNG)
    assert gone.failed == "its server answered 404"
    assert all(one.failed and not one.body for one in (large, nobody, file))
