"""Selects the entries of a HAR file that are replayed, and the host and path of each.

They are the HTTP requests of its first page. Dropped entries are counted by reason. Entries that
cannot be replayed as recorded are mistakes, and all mistakes are reported at once.

Browsers normalise a URL before they request it (URL Standard, 4.4). A recorded URL may be written
otherwise, so it is normalised in the same way: the server must know what the browser requests.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import quote, unquote, urljoin, urlsplit

from httpbed.addons.pages.har.har_file import HarDocument, HarEntry, first_mistakes
from httpbed.addons.pages.page import MAX_ORIGINS, OriginName
from httpbed.addons.pages.sites.replay import headers
from httpbed.addons.pages.sites.site import MAX_PATH, MAX_S
from httpbed.base.errors import ConfigError, Mistake
from httpbed.base.value import Value

RENAMED = "replayed.httpbed.test"
"""Suffix for the names of origins that a browser would not look up."""
_HAS_DOT_SEGMENT = re.compile(r"(^|/)(\.|%2e){1,2}(/|$)", re.IGNORECASE)
_OWN_RESOLUTION = ("localhost", "onion", "invalid")
"""Names that browsers resolve themselves, or never."""
_LEFT_IN_PATHS = "/:@!$&'()*+,;=-._~%[]"
_LEFT_IN_QUERIES = "/?:@!$&()*+,;=-._~%[]|^\\`{}"


class WrongUrlError(ValueError):
    """A URL that cannot be replayed; the message says why."""


class _Name(Value):
    name: OriginName


def place(url: str) -> tuple[str, str]:
    """Return host name, and path with query, of a URL on port 443.

    Raises:
        WrongUrlError: No browser would request it, or no server could answer.
    """
    split = urlsplit(re.sub(r"[\t\r\n]", "", url.strip()))
    return host(split.scheme, split.hostname or "", split.port), path(split.path, split.query)


def host(scheme: str, name: str, port: int | None) -> str:
    """Return the name under which an origin is replayed, its own if a browser would look it up.

    Raises:
        WrongUrlError: It is not a host name.
    """
    name = name.rstrip(".").lower()
    changed = _without_address(name)
    if port not in (None, 80 if scheme.lower() == "http" else 443):
        changed = f"port-{port}.{changed}"
    if "." not in changed or changed.rsplit(".", 1)[1] in _OWN_RESOLUTION:
        changed = f"{changed}.{RENAMED}"
    try:
        ascii_name = changed if changed.isascii() else changed.encode("idna").decode()
        return _Name(name=ascii_name).name
    except ValueError:
        raise WrongUrlError(f"{name!r} is not a host name") from None


def _without_address(name: str) -> str:
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name
    digits = re.sub(r"[^0-9a-f]+", "-", str(address)).strip("-")
    return f"address-{digits}.{RENAMED}"


def path(written: str, query: str) -> str:
    """Return path and query as browsers write them.

    Raises:
        WrongUrlError: The path is too long, or has a zero byte, which no server accepts.
    """
    normal = quote((written or "/").replace("\\", "/"), safe=_LEFT_IN_PATHS)
    if _HAS_DOT_SEGMENT.search(normal):
        normal = _without_dots(normal.split("/")[1:])
    if "%00" in normal or "\0" in unquote(normal):
        raise WrongUrlError("has a zero byte in its path")
    whole = normal + (f"?{quote(query, safe=_LEFT_IN_QUERIES)}" if query else "")
    if len(whole) > MAX_PATH:
        raise WrongUrlError(f"is longer than {MAX_PATH} bytes")
    return whole


def _without_dots(segments: Sequence[str]) -> str:
    kept: list[str] = []
    for number, segment in enumerate(segments, start=1):
        plain = segment.lower().replace("%2e", ".")
        if plain == "..":
            kept = kept[:-1]
        if plain not in (".", ".."):
            kept.append(segment)
        elif number == len(segments):
            kept.append("")
    return "/" + "/".join(kept)


METHODS = frozenset({"GET", "HEAD", "POST"})
"""Methods that a page may use on any origin without a preflight (Fetch Standard,
CORS-safelisted)."""
MIN_STATUS, MAX_STATUS = 200, 599
PROXY_AUTHENTICATION = 407
REDIRECTS = frozenset({301, 302, 303, 307, 308})
WITHOUT_BODY = frozenset({204, 205, 304})
_NO_HTTP = "not HTTP, such as data: URLs"
_CACHED = "from the browser's cache"


@dataclass(frozen=True)
class SelectedRequest:
    """An entry that is replayed."""

    entry: HarEntry
    host: str
    path: str
    follows: int | None = None
    """Index of the replayed redirect that led here."""
    is_redirect: bool = False
    """Whether its response redirects to another replayed request."""

    @property
    def target(self) -> tuple[str, str]:
        """Return its host and path."""
        return self.host, self.path


@dataclass(frozen=True)
class Selection:
    """The replayed part of a HAR file."""

    requests: tuple[SelectedRequest, ...]
    """In order of time, but first the document and its redirects."""
    document: int
    left_out: Counter[str] = field(default_factory=Counter)
    """Reason -> number of dropped entries."""
    changes: tuple[str, ...] = ()
    """Sentences about deviations from the HAR file."""
    unanswered: tuple[str, ...] = ()
    """Sentences about requests that the page would repeat without getting a response."""


def choose(document: HarDocument, name: str) -> Selection:
    """Select the entries of the first page; ``name`` is the file's.

    Raises:
        ConfigError: With everything that cannot be replayed as recorded.
    """
    entries, changes = _of_page(document)
    dropped: list[tuple[HarEntry, str]] = []
    requests: list[SelectedRequest] = []
    mistakes: list[Mistake] = []
    for entry in entries:
        if reason := _reason_against(entry):
            dropped.append((entry, reason))
            continue
        at = f"{name}: log.entries[{entry.index}]"
        mistakes += _mistakes(entry, at)
        try:
            requests.append(SelectedRequest(entry, *place(entry.url)))
        except WrongUrlError as error:
            mistakes.append(Mistake(f"{at}.request.url", str(error), "delete the entry"))
    mistakes += _mistakes_of_all(requests, name)
    if mistakes:
        raise ConfigError(first_mistakes(mistakes, name))
    left_out = Counter(reason for _, reason in dropped)
    unanswered = tuple(_unanswered(dropped, {request.target for request in requests}))
    return replace(_ordered(requests, left_out, changes, name), unanswered=unanswered)


def _unanswered(
    dropped: Sequence[tuple[HarEntry, str]], answered: Collection[tuple[str, str]]
) -> Iterator[str]:
    """Yield a sentence for each network request of the page that is not replayed."""
    for entry, reason in dropped:
        if reason == _NO_HTTP or (reason == _CACHED and _target(entry) in answered):
            continue
        yield f"{entry.method} {entry.url[:200]} is not replayed ({reason})"


def _target(entry: HarEntry) -> tuple[str, str] | None:
    try:
        return place(entry.url)
    except WrongUrlError:
        return None


def _of_page(document: HarDocument) -> tuple[list[HarEntry], tuple[str, ...]]:
    """Return the entries of the first page that has any, in order of time, and remarks."""
    with_entries = {entry.page for entry in document.entries}
    pages = [page.id for page in document.pages if page.id in with_entries]
    first = pages[:1]
    chosen = [entry for entry in document.entries if entry.page in (*first, "") or not first]
    remarks = (f"the first of its {len(pages)} pages is replayed",) if pages[1:] else ()
    return sorted(chosen, key=lambda entry: (entry.requested_at, entry.index)), remarks


def _reason_against(entry: HarEntry) -> str:
    """Return why an entry is not replayed; empty if it is."""
    kinds = {
        _NO_HTTP: not entry.url.lower().startswith(("http:", "https:")),
        "WebSockets": "websocket" in entry.kind.lower() or entry.status == 101,
        _CACHED: entry.from_cache,
        "failed": bool(entry.failed) or entry.status == 0,
        "not a final response, or a proxy's": entry.status < MIN_STATUS
        or entry.status > MAX_STATUS
        or entry.status == PROXY_AUTHENTICATION,
        f"methods other than {', '.join(sorted(METHODS))}": entry.method.upper() not in METHODS,
    }
    return next((reason for reason, applies in kinds.items() if applies), "")


def _mistakes(entry: HarEntry, place: str) -> Iterator[Mistake]:
    if (entry.timings.wait or 0) > MAX_S:
        reason = f"is longer than {MAX_S:.0f} s"
        yield Mistake(f"{place}.timings.wait", reason, "delete the entry")
    if headers.length(entry.response_headers) > headers.MAX_BYTES:
        reason = f"are longer than {headers.MAX_BYTES} bytes, which is too long to be checked"
        yield Mistake(f"{place}.response.headers", reason, "delete the entry")


def _mistakes_of_all(requests: Sequence[SelectedRequest], name: str) -> Iterator[Mistake]:
    hosts = {request.host for request in requests}
    if len(hosts) > MAX_ORIGINS:
        reason = f"has {len(hosts)} origins, more than {MAX_ORIGINS}"
        yield Mistake(name, reason, "leave some out")
    starts = [request.entry.requested_at for request in requests]
    if requests and max(starts) - min(starts) > MAX_S:
        reason = f"lasts longer than {MAX_S:.0f} s"
        yield Mistake(name, reason, "leave out later requests")


def _ordered(
    requests: list[SelectedRequest], left_out: Counter[str], changes: tuple[str, ...], name: str
) -> Selection:
    """Put the document and its redirects first, and link all redirects."""
    secured = [request for request in requests if not _only_secures(request)]
    left_out["redirects from http: to the same https: URL"] += len(requests) - len(secured)
    leading = _leading(secured)
    if not leading:
        reason, remedy = "has no document", "export a page load with its first request"
        raise ConfigError([Mistake(name, reason, remedy)])
    rest = [one for number, one in enumerate(secured) if number not in leading]
    linked = _linked([*(secured[number] for number in leading), *rest])
    document = linked[len(leading) - 1].entry
    if document.status in WITHOUT_BODY or document.method.upper() != "GET":
        place = f"{name}: log.entries[{document.index}]"
        reason = f"is the page's document, but {document.method} with status {document.status}"
        raise ConfigError(
            [Mistake(place, reason, "record a page that is loaded by GET and has a body")]
        )
    if any(request.entry.url.lower().startswith("http:") for request in linked):
        changes = (*changes, "requests over http: are replayed over https:")
    counted = Counter({reason: count for reason, count in left_out.items() if count})
    return Selection(tuple(linked), len(leading) - 1, counted, changes)


def _only_secures(one: SelectedRequest) -> bool:
    """Return whether a response redirects from http: to the same https: URL."""
    return one.entry.url.lower().startswith("http:") and _leads_to(one) == one.target


def _leads_to(request: SelectedRequest) -> tuple[str, str] | None:
    """Return a redirect's target; None for other responses and for redirects to nowhere."""
    if request.entry.status not in REDIRECTS:
        return None
    fields = {name.lower(): value for name, value in request.entry.response_headers}
    location = fields.get("location") or request.entry.redirected_to
    try:
        url = urljoin(request.entry.url, location) if location else ""
        return place(url) if url.lower().startswith(("http:", "https:")) else None
    except ValueError:
        return None


def _leading(requests: Sequence[SelectedRequest]) -> list[int]:
    """Return the indices of the document and of the redirects that led to it."""
    numbered = [(number, one.entry) for number, one in enumerate(requests)]
    of_kind = [number for number, entry in numbered if entry.kind.lower() == "document"]
    html = [
        number
        for number, entry in numbered
        if "html" in entry.mime_type.lower() and entry.method.upper() == "GET"
    ]
    first = min(
        (numbers[0] for numbers in (of_kind, html) if numbers), default=0 if requests else None
    )
    if first is None:
        return []
    # A redirect may have no resource type, so the tool may not call it a document.
    leading = [first]
    for number in range(first - 1, -1, -1):
        if _leads_to(requests[number]) == requests[leading[0]].target:
            leading.insert(0, number)
    for number in range(first + 1, len(requests)):
        if _leads_to(requests[leading[-1]]) == requests[number].target:
            leading.append(number)
    return leading


def _linked(requests: Sequence[SelectedRequest]) -> list[SelectedRequest]:
    """Link each redirect's target to the first redirect that leads there and is free."""
    waiting: dict[tuple[str, str], list[int]] = {}
    follows: dict[int, int] = {}
    for number, request in enumerate(requests):
        if waiting.get(request.target):
            follows[number] = waiting[request.target].pop(0)
        if (target := _leads_to(request)) is not None:
            waiting.setdefault(target, []).append(number)
    redirects = set(follows.values())
    return [
        SelectedRequest(
            request.entry, request.host, request.path, follows.get(number), number in redirects
        )
        for number, request in enumerate(requests)
    ]
