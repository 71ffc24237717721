"""Repairs pages so that a load sends no request to other hosts, and none for missing files.

Changes in the page and its style sheets:

* References to other hosts (web fonts, scripts of CDNs, analytics, maps, videos) are removed, and
  so are hints for requests in advance (preconnect, prefetch) or later (manifest, refresh).
* A link to a missing file is replaced by the only file of the same name; without one it is removed.
* Images and frames that load when they come near the viewport load at once, because how near that
  is depends on the browser's estimate of the network.
* The icon becomes an empty data URL, because only some browsers request one.

Equal pages give equal repairs. Inline scripts that insert further scripts are removed if they name
another host.

A parser that builds a tree would write another page than it read. So tags and ``url(...)`` are
found in the text, and all that is not changed stays byte for byte. Every pattern is possessive, and
takes an unclosed construct to the end, as browsers do: no text needs more than one pass.
"""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import unquote, urljoin, urlsplit

from httpbed.addons.pages.sites.site import url_path

_INERT_SCHEMES = re.compile(r"(data|blob|about|javascript|mailto|tel):|#", re.IGNORECASE)
_HINTS = frozenset(
    ("preconnect", "dns-prefetch", "prefetch", "preload", "modulepreload", "prerender", "manifest")
)
_ICONS = frozenset(("icon", "apple-touch-icon", "mask-icon", "apple-touch-startup-image"))
_EMPTY_ICON = '<link rel="icon" href="data:,">'
_INSERTS = re.compile(
    r"createElement\(\s*[\"'](?:script|iframe|img|link)|document\.write|new Image"
)
_NAMES_OUTSIDE = re.compile(r"[\"'](?:https?:)?//[\w-]+\.|google-analytics|googletagmanager")
_HEAD = re.compile(r"<head(?:\s[^>]*+)?>", re.IGNORECASE)
_HTML = re.compile(r"<html(?:\s[^>]*+)?>", re.IGNORECASE)
_DOCTYPE = re.compile(r"<!doctype[^>]*+>", re.IGNORECASE)
"""A page's head begins behind one of these; a text without any may be part of a page."""

_SOURCES = {
    "img": ("src",),
    "script": ("src",),
    "iframe": ("src",),
    "frame": ("src",),
    "embed": ("src",),
    "audio": ("src",),
    "video": ("src", "poster"),
    "source": ("src",),
    "track": ("src",),
    "input": ("src",),
    "object": ("data",),
    "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
    "body": ("background",),
    "table": ("background",),
    "td": ("background",),
}
"""Element -> attributes with the URL of a resource."""
_REQUESTED = frozenset(("img", "script", "iframe", "frame", "embed", "body"))
"""Elements whose resource every load requests."""


@dataclass(frozen=True)
class Reference:
    """A file of the site that a text refers to."""

    path: str
    """Path in the URL, with its query."""
    is_requested: bool
    """Whether every load requests it, rather than some."""


class FileIndex:
    """The files of a site, by the paths of URLs."""

    def __init__(self, paths: Iterable[str]) -> None:
        """``paths`` are relative to the site's root, without a leading slash."""
        self._paths = frozenset(paths)
        self._by_name: dict[str, str | None] = {}
        for path in sorted(self._paths):
            name = posixpath.basename(path).lower()
            self._by_name[name] = None if name in self._by_name else path

    def __contains__(self, path: str) -> bool:
        """Return whether a URL's path leads to a file."""
        return unquote(urlsplit(path).path).lstrip("/") in self._paths

    def alone(self, path: str) -> str | None:
        """Return the path of the only file with the name of a missing one."""
        only = self._by_name.get(posixpath.basename(unquote(urlsplit(path).path)).lower())
        return url_path(only) if only else None


class Repair:
    """The repair of one page or style sheet."""

    def __init__(
        self, at: str, files: FileIndex, keeps: Callable[[str], bool] = lambda _: True
    ) -> None:
        """Repair the text at a URL path.

        ``keeps`` returns whether the page keeps an image, by its path; by default all.
        """
        self.references: list[Reference] = []
        self.changes: list[str] = []
        """Descriptions of the changes, in the order of the text."""
        self._at, self._files, self._keeps = at, files, keeps

    def page(self, text: str) -> str:
        """Return a repaired page."""
        return _with_icon(change_elements(text, self._element))

    def sheet(self, text: str) -> str:
        """Return a repaired style sheet."""
        return change_references(text, self._style)

    def _element(self, element: Element) -> str:
        special = {"link": self._link, "meta": self._meta, "base": self._base}
        if element.name in special:
            return special[element.name](element)
        if element.name == "script" and "src" not in element.attributes:
            return self._inline_script(element)
        if element.name == "style" and element.text:
            return element.with_text(self.sheet(element.text))
        return self._with_sources(element)

    def _style(self, url: str) -> str | None:
        return self._resolved_url(url, is_requested=urlsplit(url).path.endswith(".css"))

    def _with_sources(self, element: Element) -> str:
        now = element
        for name in _SOURCES.get(element.name, ()):
            url = element.attributes.get(name)
            if not url or not self._fetches(element):
                continue
            resolved = self._resolved_url(
                url, is_requested=element.name in _REQUESTED, is_image=element.name == "img"
            )
            if resolved is None:
                return self._without(element, name)
            if resolved != url:
                now = replace(now, source=now.with_value(name, resolved))
        return self._eager(self._inline_style(self._without_sets(now)))

    def _fetches(self, element: Element) -> bool:
        return element.name != "input" or element.attributes.get("type", "").lower() == "image"

    def _without(self, element: Element, name: str) -> str:
        """Return an element without its resource; elements that are nothing else are removed."""
        return "" if element.name in {"img", "script", "source", "embed"} else element.without(name)

    def _without_sets(self, element: Element) -> Element:
        """Remove image sets, so that every screen loads the same image."""
        if "srcset" not in element.attributes:
            return element
        self._note("image set removed", element.attributes["srcset"])
        if element.name == "source":
            return replace(element, source="")
        return replace(element, source=element.without("srcset", "sizes"))

    def _inline_style(self, element: Element) -> Element:
        style = element.attributes.get("style", "")
        if "url(" not in style.lower():
            return element
        now = self.sheet(style)
        return (
            element if now == style else replace(element, source=element.with_value("style", now))
        )

    def _eager(self, element: Element) -> str:
        if element.attributes.get("loading", "").lower() != "lazy":
            return element.source
        self._note("loads at once", element.attributes.get("src", ""))
        return element.without("loading")

    def _link(self, element: Element) -> str:
        relations = frozenset(element.attributes.get("rel", "").lower().split())
        url = element.attributes.get("href", "")
        if relations & _ICONS:
            return ""
        if relations & _HINTS:
            self._note("hint removed", url)
            return ""
        if "stylesheet" not in relations or not url:
            return element.source
        resolved = self._resolved_url(url, is_requested="alternate" not in relations)
        if resolved is None:
            return ""
        return (
            element.without("integrity")
            if resolved == url
            else element.with_value("href", resolved)
        )

    def _meta(self, element: Element) -> str:
        if element.attributes.get("http-equiv", "").lower() == "refresh":
            self._note("refresh removed", element.attributes.get("content", ""))
            return ""
        return element.source

    def _base(self, element: Element) -> str:
        self._note("base removed", element.attributes.get("href", ""))
        return ""

    def _inline_script(self, element: Element) -> str:
        text = element.text or ""
        if not (_INSERTS.search(text) and _NAMES_OUTSIDE.search(text)):
            return element.source
        named = re.search(r"//[\w.-]+", text)
        self._note("script removed that loads from", named[0] if named else "another host")
        return ""

    def _resolved_url(self, url: str, *, is_requested: bool, is_image: bool = False) -> str | None:
        """Return the URL to use instead; None without a target."""
        if _INERT_SCHEMES.match(url):
            return url
        path, now = self._path(url), url
        if path is None:
            self._note("other host", url)
            return None
        is_repeated = "//" in urlsplit(url).path  # servers interpret repeated slashes differently
        if is_repeated:
            path = now = re.sub("/{2,}", "/", path)
        if path not in self._files:
            other = self._files.alone(path)
            self._note(f"replaced by {other}" if other else "missing", url)
            if other is None:
                return None
            path = now = other
        elif is_repeated:
            self._note("repeated slashes removed", url)
        if is_image and not self._keeps(path):
            return None
        self.references.append(Reference(path, is_requested))
        return now

    def _path(self, url: str) -> str | None:
        """Return the path of a URL on the page's own origin, with its query."""
        try:
            parts = urlsplit(urljoin(self._at, url))
        except ValueError:  # for example unbalanced brackets
            return None
        if parts.scheme or parts.netloc:
            return None
        return url_path(unquote(parts.path)) + (f"?{parts.query}" if parts.query else "")

    def _note(self, what: str, url: str) -> None:
        self.changes.append(f"{what}: {url[:200]}")


def _with_icon(text: str) -> str:
    heads = (pattern.search(text) for pattern in (_HEAD, _HTML, _DOCTYPE))
    at = next((head.end() for head in heads if head), None)
    return text if at is None else text[:at] + _EMPTY_ICON + text[at:]


_ATTRIBUTES = r"(?:=\s*+(?:\"[^\"]*+\"|'[^']*+')|[^>])*+"
_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)"
    rf"|<(?P<raw>script|style|title|textarea)(?P<raw_attributes>(?:[\s/]{_ATTRIBUTES})?+)(?:>|\Z)"
    r"(?P<text>.*?)(?:</(?P=raw)\s*+>|\Z)"
    rf"|<(?P<name>[a-z][^\s/>]*+)(?P<attributes>{_ATTRIBUTES})(?:>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_ATTRIBUTE = re.compile(
    r"(?P<before>[\s/]++)(?P<name>[^\s=/>\"']++)"
    r"(?:\s*+=\s*+(?:\"(?P<double>[^\"]*+)\"|'(?P<single>[^']*+)'|(?P<bare>[^\s>\"']++)))?+"
)
_CSS = re.compile(
    r"/\*.*?(?:\*/|\Z)"
    r"|(?P<import>@import\s++(?:url\(\s*+)?+[\"']?+(?P<sheet>[^\"'\s);]{1,2048}+)[\"']?+\s*+\)?+[^;]*+;?+)"
    r"|url\(\s*+(?:\"(?P<double>[^\"]{0,2048}+)\"|'(?P<single>[^']{0,2048}+)'|(?P<bare>[^\s\"'()]{1,2048}+))\s*+\)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True)
class Element:
    """A start tag; a script or style element also has its text."""

    name: str
    """In lower case."""
    attributes: Mapping[str, str]
    """Lower-case name -> value without character references; the first value of a repeated name."""
    source: str
    """Its text in the page."""
    text: str | None = None

    def without(self, *names: str) -> str:
        """Return its source without some attributes."""
        return self._start(lambda each: "" if each["name"].lower() in names else each[0])

    def with_value(self, name: str, value: str) -> str:
        """Return its source with another value of an attribute."""
        attribute = f'{name}="{html.escape(value)}"'
        return self._start(
            lambda each: each["before"] + attribute if each["name"].lower() == name else each[0]
        )

    def with_text(self, text: str) -> str:
        """Return its source with another element text."""
        match = _TAG.match(self.source)
        if match is None or not match["raw"]:
            return self.source
        start, end = match.span("text")
        return self.source[:start] + text + self.source[end:]

    def _start(self, change: Callable[[re.Match[str]], str]) -> str:
        """Return its source with changed attributes of the start tag."""
        match = _TAG.match(self.source)
        if match is None:
            return self.source
        at = match.span("raw_attributes" if match["raw"] else "attributes")
        changed = _ATTRIBUTE.sub(change, self.source[at[0] : at[1]])
        return self.source[: at[0]] + changed + self.source[at[1] :]


def change_elements(text: str, change: Callable[[Element], str]) -> str:
    """Return a page in which ``change`` replaces each element; comments stay."""
    return _TAG.sub(lambda match: _changed(match, change), text)


def _changed(match: re.Match[str], change: Callable[[Element], str]) -> str:
    name = match["raw"] or match["name"]
    if not name:
        return match[0]
    attributes: dict[str, str] = {}
    for each in _ATTRIBUTE.finditer(match["raw_attributes"] or match["attributes"] or ""):
        value = each["double"] or each["single"] or each["bare"] or ""
        attributes.setdefault(each["name"].lower(), html.unescape(value).strip())
    return change(Element(name.lower(), attributes, match[0], match["text"]))


def change_references(text: str, change: Callable[[str], str | None]) -> str:
    """Return a style sheet in which ``change`` replaces each URL.

    For ``None``, an ``@import`` is removed and any other URL becomes an empty ``data:`` URL.
    """
    return _CSS.sub(lambda match: _changed_reference(match, change), text)


def _changed_reference(match: re.Match[str], change: Callable[[str], str | None]) -> str:
    url = match["sheet"] or match["double"] or match["single"] or match["bare"]
    if url is None:
        return match[0]
    now = change(url)
    if now == url:
        return match[0]
    if now is None:
        return "" if match["import"] else 'url("data:,")'
    return match[0].replace(url, now, 1)
