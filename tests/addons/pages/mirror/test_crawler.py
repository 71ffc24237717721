from __future__ import annotations

from collections.abc import Sequence

import pytest

from httpbed.addons.pages.mirror import crawler
from httpbed.addons.pages.mirror.crawler import CollectedPage, MirrorLimits
from httpbed.addons.pages.mirror.curl import Fetched
from httpbed.base.errors import ConfigError

WEB = {
    "https://page.test/start": (
        "text/html",
        (
            '<base href="/sub/"><link rel=stylesheet href="https://cdn.test/css?a"><img src=a.png>'
            '<script src="//cdn.test/app.js"></script><img src=gone.png>'
        ),
    ),
    "https://cdn.test/css?a": ("text/css", "@import 'deep.css';p{b:url(bg.png)}"),
    "https://cdn.test/deep.css": ("text/css", "@import 'css?a'"),
    "https://cdn.test/bg.png": ("image/png", "image"),
    "https://cdn.test/app.js": ("text/javascript", "ask('https://cdn.test/bg.png')"),
    "https://page.test/sub/a.png": ("image/png", "another"),
    "https://page.test/file.pdf": ("application/pdf", ""),
}
MOVED = {"https://page.test/": "https://page.test/start"}
AMPLE = MirrorLimits(10_000, 100, 60.0)


def _fetch(urls: Sequence[str], most_bytes: int, time_limit_s: float) -> dict[str, Fetched]:
    assert most_bytes > 0
    assert time_limit_s > 0
    return {url: _got(MOVED.get(url, url)) for url in urls}


def _got(url: str) -> Fetched:
    if url not in WEB:
        return Fetched(url, "", b"", "its server answered 404")
    kind, body = WEB[url]
    return Fetched(url, kind, body.encode())


def _written(found: CollectedPage) -> dict[str, str]:
    return {path: body.decode() for path, body, _, _ in crawler.rewritten(found, strip=False)}


def test_a_page_is_collected_after_redirects_with_everything_it_refers_to() -> None:
    """Absolute URLs in scripts lead to the mirrored files, too."""
    found = crawler.collect("https://page.test/", _fetch, AMPLE)
    assert _written(found) == {
        "start.html": '<link rel=stylesheet href="/-/cdn.test/css.css"><img src="/sub/a.png">'
        '<script src="/-/cdn.test/app.js"></script>',
        "sub/a.png": "another",
        "-/cdn.test/css.css": "@import '/-/cdn.test/deep.css';p{b:url(/-/cdn.test/bg.png)}",
        "-/cdn.test/deep.css": "@import '/-/cdn.test/css.css'",
        "-/cdn.test/bg.png": "image",
        "-/cdn.test/app.js": "ask('/-/cdn.test/bg.png')",
    }


def test_a_file_that_cannot_be_fetched_is_reported() -> None:
    """The reason is that of the download."""
    found = crawler.collect("https://page.test/", _fetch, AMPLE)
    changes = [one for *_, changed in crawler.rewritten(found, strip=False) for one in changed]
    assert changes == ["base removed: /sub/", "its server answered 404: gone.png"]


@pytest.mark.parametrize(
    ("bounds", "option"),
    [(MirrorLimits(100, 100, 60.0), "--bytes"), (MirrorLimits(10_000, 3, 60.0), "--files")],
)
def test_a_page_that_exceeds_a_limit_is_refused(bounds: MirrorLimits, option: str) -> None:
    """The message names the option that raises the limit."""
    with pytest.raises(ConfigError, match=f"raise {option}"):
        crawler.collect("https://page.test/", _fetch, bounds)


def test_fetching_ends_at_the_time_limit() -> None:
    """The time counts from the first request."""
    with pytest.raises(ConfigError, match="raise --time-limit"):
        crawler.collect("https://page.test/", _fetch, MirrorLimits(10_000, 100, 1e-9))


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://page.test/nobody", "answered 404"),
        ("https://page.test/file.pdf", "not an HTML page"),
    ],
)
def test_a_url_that_is_not_an_html_page_is_refused(url: str, reason: str) -> None:
    """A missing page, and a document of another type."""
    with pytest.raises(ConfigError, match=reason):
        crawler.collect(url, _fetch, AMPLE)
