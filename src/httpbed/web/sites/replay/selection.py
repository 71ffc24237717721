"""Which entries of a HAR file are replayed: those of its page that went over the network by HTTP.

What is left out is told, with how often; what cannot be replayed as it was recorded is a mistake,
and all of them are told at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urljoin

from httpbed.experiment.errors import ConfigError, Mistake
from httpbed.experiment.page import MOST_ORIGINS
from httpbed.web.har.entries import HarDocument, HarEntry
from httpbed.web.sites.replay import headers, urls
from httpbed.web.sites.replay.urls import WrongUrlError
from httpbed.web.sites.site import MOST_S

METHODS = frozenset({"GET", "HEAD", "POST"})
"""Those that a page can use anywhere without asking for permission before (Fetch Standard,
CORS-safelisted methods)."""
LEAST_STATUS, MOST_STATUS = 200, 599
PROXY_AUTHENTICATION = 407
REDIRECTS = frozenset({301, 302, 303, 307, 308})
WITHOUT_BODY = frozenset({204, 205, 304})
MOST_MISTAKES = 40
_NO_HTTP = "no requests by HTTP, such as data: URLs"
_CACHED = "from the browser's cache"


@dataclass(frozen=True)
class ReplayedRequest:
    """An entry that is replayed."""

    entry: HarEntry
    host: str
    path: str
    follows: int | None = None
    """Index of the redirect that led here, among those that are replayed."""
    is_redirect: bool = False
    """Whether its answer leads to another that is replayed."""

    @property
    def target(self) -> tuple[str, str]:
        """Where it is asked for."""
        return self.host, self.path


@dataclass(frozen=True)
class Selection:
    """What is replayed of a recording."""

    asked: tuple[ReplayedRequest, ...]
    """In the order in which they were asked for, the document and what led to it first."""
    document: int
    """Index of the document."""
    left_out: Counter[str] = field(default_factory=Counter)
    """How many entries are not replayed, by the reason."""
    changes: tuple[str, ...] = ()
    """What is otherwise than recorded, in sentences."""
    unanswered: tuple[str, ...] = ()
    """What the page asked for besides, and would again, but nobody answers; in words."""


def choose(document: HarDocument, name: str) -> Selection:
    """Choose the entries of a recording's first page; ``name`` is the file's.

    Raises:
        ConfigError: With everything that cannot be replayed as it was recorded.
    """
    entries, changes = _of_page(document)
    dropped: list[tuple[HarEntry, str]] = []
    asked: list[ReplayedRequest] = []
    mistakes: list[Mistake] = []
    for entry in entries:
        if reason := _reason_against(entry):
            dropped.append((entry, reason))
            continue
        place = f"{name}: log.entries[{entry.index}]"
        mistakes += _mistakes(entry, place)
        try:
            asked.append(ReplayedRequest(entry, *urls.place(entry.url)))
        except WrongUrlError as error:
            mistakes.append(Mistake(f"{place}.request.url", str(error), "leave the entry out"))
    mistakes += _mistakes_of_all(asked, name)
    if mistakes:
        raise ConfigError(_bounded(mistakes, name))
    left_out = Counter(reason for _, reason in dropped)
    unanswered = tuple(_unanswered(dropped, {one.target for one in asked}))
    return replace(_ordered(asked, left_out, changes, name), unanswered=unanswered)


def _unanswered(
    dropped: Sequence[tuple[HarEntry, str]], answered: Collection[tuple[str, str]]
) -> Iterator[str]:
    """Say what a page asks the network for that is not replayed."""
    for entry, reason in dropped:
        if reason == _NO_HTTP or (reason == _CACHED and _target(entry) in answered):
            continue
        yield f"{entry.method} {entry.url[:200]} is not replayed ({reason})"


def _target(entry: HarEntry) -> tuple[str, str] | None:
    try:
        return urls.place(entry.url)
    except WrongUrlError:
        return None


def _of_page(document: HarDocument) -> tuple[list[HarEntry], tuple[str, ...]]:
    """Return the entries of the first page that has any, in order of time, and what to say."""
    with_entries = {entry.page for entry in document.entries}
    pages = [page.id for page in document.pages if page.id in with_entries]
    first = pages[:1]
    chosen = [one for one in document.entries if one.page in (*first, "") or not first]
    said = (f"it has {len(pages)} pages, of which the first is replayed",) if pages[1:] else ()
    return sorted(chosen, key=lambda one: (one.started_s, one.index)), said


def _reason_against(entry: HarEntry) -> str:
    """Say why an entry is not replayed; empty where it is."""
    kinds = {
        _NO_HTTP: not entry.is_http,
        "WebSockets": "websocket" in entry.kind.lower() or entry.status == 101,  # noqa: PLR2004
        _CACHED: entry.from_cache,
        "failed": bool(entry.failed) or entry.status == 0,
        "no final answers, or a proxy's": entry.status < LEAST_STATUS
        or entry.status > MOST_STATUS
        or entry.status == PROXY_AUTHENTICATION,
        f"by other methods than {', '.join(sorted(METHODS))}": entry.method.upper() not in METHODS,
    }
    return next((reason for reason, applies in kinds.items() if applies), "")


def _mistakes(entry: HarEntry, place: str) -> Iterator[Mistake]:
    if (entry.timings.wait or 0) > MOST_S:
        reason = f"is longer than {MOST_S:.0f} s"
        yield Mistake(f"{place}.timings.wait", reason, "leave the entry out")
    if headers.length(entry.response_headers) > headers.MOST_BYTES:
        reason = f"are longer than {headers.MOST_BYTES} bytes, more than can be checked"
        yield Mistake(f"{place}.response.headers", reason, "leave the entry out")


def _mistakes_of_all(asked: Sequence[ReplayedRequest], name: str) -> Iterator[Mistake]:
    hosts = {one.host for one in asked}
    if len(hosts) > MOST_ORIGINS:
        reason = f"has {len(hosts)} origins, more than {MOST_ORIGINS}"
        yield Mistake(name, reason, "leave some out")
    starts = [one.entry.started_s for one in asked]
    if asked and max(starts) - min(starts) > MOST_S:
        reason = f"lasts longer than {MOST_S:.0f} s"
        yield Mistake(name, reason, "leave out what was asked for later")


def _bounded(mistakes: list[Mistake], name: str) -> list[Mistake]:
    more = len(mistakes) - MOST_MISTAKES
    rest = [Mistake(name, f"has {more} more mistakes")] if more > 0 else []
    return mistakes[:MOST_MISTAKES] + rest


def _ordered(
    asked: list[ReplayedRequest], left_out: Counter[str], changes: tuple[str, ...], name: str
) -> Selection:
    """Put the document first, with the redirects that led to it, and link all redirects."""
    secured = [one for one in asked if not _only_secures(one)]
    left_out["redirects from http: to the same by https:"] += len(asked) - len(secured)
    leading = _leading(secured)
    if not leading:
        reason, remedy = "has no document to load", "export a page's load, with its first request"
        raise ConfigError([Mistake(name, reason, remedy)])
    rest = [one for number, one in enumerate(secured) if number not in leading]
    linked = _linked([*(secured[number] for number in leading), *rest])
    document = linked[len(leading) - 1].entry
    if document.status in WITHOUT_BODY or document.method.upper() != "GET":
        place = f"{name}: log.entries[{document.index}]"
        reason = f"is the page's document, but {document.method} with status {document.status}"
        raise ConfigError([Mistake(place, reason, "a page is loaded by GET and has a body")])
    if any(one.entry.url.lower().startswith("http:") for one in linked):
        changes = (*changes, "what was asked for over http: is asked for over https:")
    counted = Counter({reason: count for reason, count in left_out.items() if count})
    return Selection(tuple(linked), len(leading) - 1, counted, changes)


def _only_secures(one: ReplayedRequest) -> bool:
    """Whether an answer leads from http: to the same place, which all is asked for at anyway."""
    return one.entry.url.lower().startswith("http:") and _leads_to(one) == one.target


def _leads_to(one: ReplayedRequest) -> tuple[str, str] | None:
    """Return where a redirect leads; None of another answer, and of one that leads nowhere."""
    if one.entry.status not in REDIRECTS:
        return None
    fields = {name.lower(): value for name, value in one.entry.response_headers}
    said = fields.get("location") or one.entry.redirected_to
    try:
        url = urljoin(one.entry.url, said) if said else ""
        return urls.place(url) if url.lower().startswith(("http:", "https:")) else None
    except ValueError:
        return None


def _leading(asked: Sequence[ReplayedRequest]) -> list[int]:
    """Return the indices of the first request for the document, its redirects, and itself."""
    numbered = [(number, one.entry) for number, one in enumerate(asked)]
    of_kind = [number for number, entry in numbered if entry.kind.lower() == "document"]
    html = [
        number
        for number, entry in numbered
        if "html" in entry.mime_type.lower() and entry.method.upper() == "GET"
    ]
    first = min((found[0] for found in (of_kind, html) if found), default=0 if asked else None)
    if first is None:
        return []
    # What redirected to it may have no type of its own, and so be no document by the tool's word.
    leading = [first]
    for number in range(first - 1, -1, -1):
        if _leads_to(asked[number]) == asked[leading[0]].target:
            leading.insert(0, number)
    for number in range(first + 1, len(asked)):
        if _leads_to(asked[leading[-1]]) == asked[number].target:
            leading.append(number)
    return leading


def _linked(asked: Sequence[ReplayedRequest]) -> list[ReplayedRequest]:
    """Say of each redirect's target which redirect led there: the first that is free."""
    waiting: dict[tuple[str, str], list[int]] = {}
    follows: dict[int, int] = {}
    for number, one in enumerate(asked):
        if waiting.get(one.target):
            follows[number] = waiting[one.target].pop(0)
        if (target := _leads_to(one)) is not None:
            waiting.setdefault(target, []).append(number)
    redirects = set(follows.values())
    return [
        ReplayedRequest(one.entry, one.host, one.path, follows.get(number), number in redirects)
        for number, one in enumerate(asked)
    ]
