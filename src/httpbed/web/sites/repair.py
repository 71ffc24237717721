"""Pages are repaired so that a load asks nobody outside, and for nothing that is not there.

What each change is, in the page and in its style sheets:

* what is outside (web fonts, scripts of CDNs, analytics, maps, videos) is taken out, and so is
  what a page prepares to ask outside (preconnect, prefetch) or later (manifest, refresh);
* a link to a file that is not there leads to the only file of that name, where there is one, and
  is taken out else;
* images and frames that load when they come near the view load at once: how near is near
  depends on how fast the browser believes its network to be;
* the icon is an empty data URL: some browsers ask for an icon and some do not.

Equal pages give equal repairs. Inline scripts that write further scripts into the page are taken
out where they name an outside host.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import unquote, urljoin, urlsplit

from httpbed.web.sites.markup import Element, change_elements, change_references
from httpbed.web.sites.site import url_path

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
"""Behind which a page's head begins. What has none of them may be a part of a page."""

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
"""Attributes with the URL of something that the page needs."""
_ASKED = frozenset(("img", "script", "iframe", "frame", "embed", "body"))
"""Elements whose source every load asks for."""


@dataclass(frozen=True)
class Reference:
    """Something of the site that a text refers to."""

    path: str
    """In its URL, with its query."""
    kind: str
    """``needed`` by every load, ``sheet`` or ``frame`` likewise, or ``perhaps``."""


@dataclass
class Repaired:
    """A text as it became."""

    text: str
    references: list[Reference] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    """In words, in the order of the text."""


@dataclass(frozen=True)
class LinkTarget:
    """Where a URL of a text leads."""

    path: str | None
    """On the site's own origin, with its query; None where it leads nowhere."""
    url: str = ""
    """What to write in its place."""
    note: str = ""
    """What is changed, in words; empty where the text stays as it is."""


class LinkResolver(Protocol):
    """Who knows where the URLs of one text lead."""

    def find(self, url: str) -> LinkTarget:
        """Look up a URL as it stands in the text."""
        ...


class FileIndex:
    """The names of a site's files, as URLs find them."""

    def __init__(self, paths: Iterable[str]) -> None:
        """Take the paths, each from the site's root, without a leading slash."""
        self._paths = frozenset(paths)
        self._by_name: dict[str, str | None] = {}
        for path in sorted(self._paths):
            name = posixpath.basename(path).lower()
            self._by_name[name] = None if name in self._by_name else path

    def __contains__(self, path: str) -> bool:
        """Tell whether a path of a URL leads to a file."""
        return unquote(urlsplit(path).path).lstrip("/") in self._paths

    def alone(self, path: str) -> str | None:
        """Return the path of the only file that is called like a missing one."""
        found = self._by_name.get(posixpath.basename(unquote(urlsplit(path).path)).lower())
        return url_path(found) if found else None


@dataclass(frozen=True)
class SiteLinks:
    """Finds what is in the site itself."""

    at: str
    """Path of the text, in a URL."""
    files: FileIndex

    def find(self, url: str) -> LinkTarget:
        """Look up a URL as it stands in the text."""
        path = self._resolved(url)
        if path is None:
            return LinkTarget(None, note="outside")
        note = ""
        if "//" in urlsplit(url).path:  # servers disagree on what that is
            path = url = re.sub("/{2,}", "/", path)
            note = "slashes made one"
        if path in self.files:
            return LinkTarget(path, url, note)
        other = self.files.alone(path)
        return LinkTarget(other, other or "", f"led to {other}" if other else "not there")

    def _resolved(self, url: str) -> str | None:
        """Return the path of a URL on the page's own origin, with its query."""
        try:
            found = urlsplit(urljoin(self.at, url))
        except ValueError:  # as of unbalanced brackets
            return None
        if found.scheme or found.netloc:
            return None
        return url_path(unquote(found.path)) + (f"?{found.query}" if found.query else "")


def page(
    text: str,
    finder: LinkResolver,
    keep: Callable[[str], bool] = lambda _: True,
    *,
    scripts_may_load: bool = False,
) -> Repaired:
    """Repair a page.

    Args:
        text: The page.
        finder: Knows where its URLs lead.
        keep: Says of an image's path whether the page keeps it; it keeps all by default.
        scripts_may_load: Whether inline scripts stay that load further ones from outside.
    """
    done = _Page(finder, keep, scripts_may_load=scripts_may_load)
    done.repaired.text = _with_icon(change_elements(text, done.element))
    return done.repaired


def sheet(text: str, finder: LinkResolver) -> Repaired:
    """Repair a style sheet."""
    done = _Page(finder, lambda _: True, scripts_may_load=False)
    done.repaired.text = change_references(text, done.style)
    return done.repaired


def with_icon(body: bytes) -> bytes:
    """Give a page an empty icon, and change nothing else."""
    return _with_icon(body.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _with_icon(text: str) -> str:
    found = (one.search(text) for one in (_HEAD, _HTML, _DOCTYPE))
    at = next((one.end() for one in found if one), None)
    return text if at is None else text[:at] + _EMPTY_ICON + text[at:]


class _Page:
    """One text under repair."""

    def __init__(
        self, finder: LinkResolver, keep: Callable[[str], bool], *, scripts_may_load: bool
    ) -> None:
        self.repaired = Repaired("")
        self._finder, self._keep, self._scripts_may_load = finder, keep, scripts_may_load

    def element(self, element: Element) -> str:
        """Return what becomes of an element."""
        special = {"link": self._link, "meta": self._meta, "base": self._base}
        if element.name in special:
            return special[element.name](element)
        if element.name == "script" and "src" not in element.attributes:
            return self._inline_script(element)
        if element.name == "style" and element.text:
            return element.with_text(change_references(element.text, self.style))
        return self._with_sources(element)

    def style(self, url: str) -> str | None:
        """Return what becomes of a URL in a style sheet."""
        kind = "sheet" if urlsplit(url).path.endswith(".css") else "perhaps"
        return self._mended(url, kind)

    def _with_sources(self, element: Element) -> str:
        now = element
        for name in _SOURCES.get(element.name, ()):
            url = element.attributes.get(name)
            if not url or not self._fetches(element):
                continue
            mended = self._mended(
                url, _kind(element.name), self._keep if element.name == "img" else None
            )
            if mended is None:
                return self._without(element, name)
            if mended != url:
                now = _again(now, now.with_value(name, mended))
        return self._eager(self._inline_style(self._without_sets(now)))

    def _fetches(self, element: Element) -> bool:
        return element.name != "input" or element.attributes.get("type", "").lower() == "image"

    def _without(self, element: Element, name: str) -> str:
        """Take an element out; of one that has more than its source, only the source."""
        return "" if element.name in {"img", "script", "source", "embed"} else element.without(name)

    def _without_sets(self, element: Element) -> Element:
        """Let one image be the same on every screen."""
        if "srcset" not in element.attributes:
            return element
        self._tell("one size", element.attributes["srcset"])
        if element.name == "source":
            return _again(element, "")
        return _again(element, element.without("srcset", "sizes"))

    def _inline_style(self, element: Element) -> Element:
        said = element.attributes.get("style", "")
        if "url(" not in said.lower():
            return element
        now = change_references(said, self.style)
        return element if now == said else _again(element, element.with_value("style", now))

    def _eager(self, element: Element) -> str:
        if element.attributes.get("loading", "").lower() != "lazy":
            return element.source
        self._tell("made eager", element.attributes.get("src", ""))
        return element.without("loading")

    def _link(self, element: Element) -> str:
        relations = frozenset(element.attributes.get("rel", "").lower().split())
        url = element.attributes.get("href", "")
        if relations & _ICONS:
            return ""
        if relations & _HINTS:
            self._tell("hint taken out", url)
            return ""
        if "stylesheet" not in relations or not url:
            return element.source
        mended = self._mended(url, "perhaps" if "alternate" in relations else "sheet")
        if mended is None:
            return ""
        return element.without("integrity") if mended == url else element.with_value("href", mended)

    def _meta(self, element: Element) -> str:
        if element.attributes.get("http-equiv", "").lower() == "refresh":
            self._tell("refresh taken out", element.attributes.get("content", ""))
            return ""
        return element.source

    def _base(self, element: Element) -> str:
        self._tell("base taken out", element.attributes.get("href", ""))
        return ""

    def _inline_script(self, element: Element) -> str:
        text = element.text or ""
        loads = _INSERTS.search(text) and _NAMES_OUTSIDE.search(text)
        if self._scripts_may_load or not loads:
            return element.source
        named = re.search(r"//[\w.-]+", text)
        self._tell("script taken out that loads from", named[0] if named else "outside")
        return ""

    def _mended(self, url: str, kind: str, keep: Callable[[str], bool] | None = None) -> str | None:
        """Return the URL to use instead; None where there is nothing to be had."""
        if _INERT_SCHEMES.match(url):
            return url
        found = self._finder.find(url)
        if found.note:
            self._tell(found.note, url)
        if found.path is None or (keep and not keep(found.path)):
            return None
        self.repaired.references.append(Reference(found.path, kind))
        return found.url

    def _tell(self, what: str, url: str) -> None:
        self.repaired.changes.append(f"{what}: {url[:200]}")


def _kind(element: str) -> str:
    if element in {"iframe", "frame"}:
        return "frame"
    return "needed" if element in _ASKED else "perhaps"


def _again(element: Element, source: str) -> Element:
    """Return an element whose start tag was changed."""
    return Element(element.name, element.attributes, source, element.text)


def needed(references: Iterable[Reference]) -> Iterator[str]:
    """Yield the paths that every load asks for, each once."""
    yield from dict.fromkeys(one.path for one in references if one.kind != "perhaps")
