"""Fetches a page and everything that its text and its style sheets refer to."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import urldefrag, urljoin, urlsplit

from httpbed.addons.pages.mirror.curl import Fetched
from httpbed.addons.pages.mirror.file_names import FileNames
from httpbed.addons.pages.sites import repair
from httpbed.addons.pages.sites.markup import Element, change_elements
from httpbed.addons.pages.sites.repair import LinkTarget
from httpbed.addons.pages.sites.site import url_path
from httpbed.base.errors import ConfigError, Mistake

Fetch = Callable[[Sequence[str], int, float], dict[str, Fetched]]
"""Fetches URLs; arguments are the limits in bytes and in seconds."""
_TEXTS = ("text/html", "text/css", "text/javascript")


@dataclass(frozen=True)
class MirrorLimits:
    """The limits of a mirrored page."""

    most_bytes: int
    most_files: int
    time_limit_s: float


@dataclass
class CollectedPage:
    """A page being collected; its files by URL."""

    entry: str
    """URL of the document after redirects."""
    bounds: MirrorLimits
    places: FileNames
    got: dict[str, Fetched] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    """URLs that could not be fetched, and why."""
    ends: float = 0.0
    """The deadline on the monotonic clock."""

    def add(self, urls: Iterable[str], fetch: Fetch) -> list[str]:
        """Fetch new URLs; return those that were fetched.

        Raises:
            ConfigError: The page exceeds its limits.
        """
        wanted = [url for url in dict.fromkeys(urls) if url not in self.got | self.missing]
        fetchable = [url for url in wanted if url.startswith(("http://", "https://"))]
        self._check(len(fetchable))
        room = self.bounds.most_bytes - self._weight()
        answers = fetch(fetchable, room, self.ends - time.monotonic()) if fetchable else {}
        for url in wanted:
            one = answers.get(url, Fetched(url, "", b"", "it is not an http or https URL"))
            if one.failed:
                self.missing[url] = one.failed
            else:
                self.got[url] = one
                self.places.add(url, one.type)
        self._check(0)
        return [url for url in wanted if url in self.got]

    def _weight(self) -> int:
        return sum(len(one.body) for one in self.got.values())

    def _check(self, more: int) -> None:
        files = len(self.got) + more
        wrong = [
            (
                files > self.bounds.most_files,
                f"has more than {self.bounds.most_files} files",
                "files",
            ),
            (
                self._weight() > self.bounds.most_bytes,
                f"has more than {self.bounds.most_bytes} bytes",
                "bytes",
            ),
            (
                time.monotonic() > self.ends,
                f"took more than {self.bounds.time_limit_s:g} s",
                "time-limit",
            ),
        ]
        if mistakes := [
            Mistake(self.entry, reason, f"raise --{option} if the page is meant to be so large")
            for is_wrong, reason, option in wrong
            if is_wrong
        ]:
            raise ConfigError(mistakes)


def collect(url: str, fetch: Fetch, bounds: MirrorLimits) -> CollectedPage:
    """Fetch a page and everything that it and its style sheets refer to.

    Raises:
        ConfigError: The page cannot be fetched, is not HTML, or exceeds its limits.
    """
    ends = time.monotonic() + bounds.time_limit_s
    first = fetch([url], bounds.most_bytes, bounds.time_limit_s)[url]
    if first.failed or first.type not in {"text/html", "application/xhtml+xml"}:
        reason = first.failed or f"is not an HTML page but {first.type or 'of unknown type'}"
        raise ConfigError([Mistake(url, reason, "give the URL of a page")])
    entry = urldefrag(first.url).url
    page = CollectedPage(entry, bounds, FileNames(urlsplit(entry).netloc), ends=ends)
    page.got[entry] = first
    page.places.add(entry, "text/html")
    follow(page, [entry], fetch)
    return page


def follow(page: CollectedPage, urls: Iterable[str], fetch: Fetch) -> None:
    """Fetch what these texts refer to, directly or not."""
    todo = list(urls)
    while todo:
        wanted = [one for url in todo for one in _wanted(page.got[url])]
        todo = page.add(wanted, fetch)


def rewritten(page: CollectedPage, *, strip: bool) -> Iterator[tuple[str, bytes, str, list[str]]]:
    """Yield path, content, URL and changes of each file; references point to the new paths."""
    outside = {url: "/" + url_path(path).lstrip("/") for url, path in _literal(page)}
    for url, one in page.got.items():
        path = page.places.add(url, one.type)
        body, changes = one.body, list[str]()
        if one.type in _TEXTS:
            finder = _Linked(one.url, page)
            text = one.body.decode("utf-8", "surrogateescape")
            done = _repaired(text, one.type, finder, strip=strip)
            text = _with_literals(done.text, outside)
            body, changes = text.encode("utf-8", "surrogateescape"), done.changes
        yield path, body, url, changes


def _wanted(one: Fetched) -> list[str]:
    """Return the URLs that a text refers to."""
    if one.type not in {"text/html", "text/css"}:
        return []
    finder = _Listed(one.url)
    _repaired(one.body.decode("utf-8", "surrogateescape"), one.type, finder, strip=False)
    return finder.wanted


def _repaired(text: str, kind: str, finder: repair.LinkResolver, *, strip: bool) -> repair.Repaired:
    if kind == "text/html":
        base = _base(text)
        if base and isinstance(finder, _Listed | _Linked):
            finder.base = urljoin(finder.base, base)
        return repair.page(text, finder, scripts_may_load=not strip)
    return repair.sheet(text, finder) if kind == "text/css" else repair.Repaired(text)


def _base(text: str) -> str:
    """Return the URL of a page's base element; empty if it has none."""
    urls: list[str] = []

    def look(element: Element) -> str:
        if element.name == "base" and "href" in element.attributes:
            urls.append(element.attributes["href"])
        return ""

    change_elements(text, look)
    return urls[0] if urls else ""


@dataclass
class _Listed:
    """Notes every reference, to know what to fetch."""

    base: str
    wanted: list[str] = field(default_factory=list)

    def find(self, url: str) -> LinkTarget:
        """Note a URL."""
        if absolute := _absolute(self.base, url):
            self.wanted.append(absolute)
        return LinkTarget(None)


@dataclass
class _Linked:
    """Replaces references by the paths of fetched files."""

    base: str
    found: CollectedPage

    def find(self, url: str) -> LinkTarget:
        """Look up a URL as it stands in the text."""
        absolute = _absolute(self.base, url)
        path = self.found.places.get(absolute)
        if path is None:
            return LinkTarget(None, note=self.found.missing.get(absolute, "not available"))
        fragment = urldefrag(url).fragment
        here = url_path(path)
        return LinkTarget(here, here + (f"#{fragment}" if fragment else ""))


def _absolute(base: str, url: str) -> str:
    """Return the absolute URL without its fragment; empty for an invalid one."""
    try:
        return urldefrag(urljoin(base, url)).url
    except ValueError:  # as of unbalanced brackets
        return ""


def _literal(found: CollectedPage) -> Iterator[tuple[str, str]]:
    """Yield URLs on other hosts with their paths, the longest first."""
    own = urlsplit(found.entry).netloc
    for url in sorted(found.got, key=len, reverse=True):
        if urlsplit(url).netloc != own:
            yield url, found.places.add(url, found.got[url].type)


def _with_literals(text: str, outside: dict[str, str]) -> str:
    """Replace absolute URLs in scripts by the paths of their copies."""
    for url, path in outside.items():
        text = text.replace(url, path)
        for quoted in ('"', "'"):
            text = text.replace(quoted + url.partition(":")[2], quoted + path)
    return text
