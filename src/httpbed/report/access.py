"""Hand-overs as their author described them, factors and all, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from httpbed.experiment.document import is_reference
from httpbed.report import roles
from httpbed.report.phrasing import title

Document = Mapping[str, Any]

_WHEN = {"delivered": "after {}", "at": "at {}", "every": "every {}"}


def line(document: Document) -> str:
    """Say what becomes of the client's links in a line; nothing where there is no hand-over."""
    said = document.get("handover")
    if is_reference(said) and isinstance(said, Mapping):
        return f"{title(said['factor'])} {roles.said(document, said)}"
    return sentence(document, said) if isinstance(said, Mapping) else ""


def told(document: Document) -> list[tuple[str, str]]:
    """Say the same with what each level stands for, where a factor stands for all of it."""
    said = document.get("handover")
    if not (is_reference(said) and isinstance(said, Mapping)):
        return [("hand-over", line(document))]
    factor = said["factor"]
    levels = document.get("factors", {}).get(factor, {})
    tables = levels if isinstance(levels, Mapping) else {}
    return [
        (f"{title(factor)} {level}", sentence(document, value))
        for level, value in tables.items()
        if isinstance(value, Mapping)
    ]


def sentence(document: Document, said: Document) -> str:
    """Say what a table ``handover`` describes; of several kinds, each."""
    kinds = _levels(document, said.get("kind", "?"))
    told = dict.fromkeys(_of_kind(document, {**said, "kind": kind}) for kind in kinds)
    return " | ".join(told)


def _of_kind(document: Document, said: Document) -> str:
    kind = said["kind"]
    names = [str(name) for name in said["links"]] if isinstance(said.get("links"), list) else []
    repeated = isinstance(said.get("when"), Mapping) and "every" in said["when"]
    used = "the link in use" if repeated else (names or ["the first link"])[0]
    following = "the next one" if repeated else (names[1:] or ["the next one"])[0]
    form = _FORMS.get(kind)
    what = form.format(used=used, next=following) if form else str(kind)
    told = [f"{_when(document, said.get('when'))}{what}{_destroyed(document, said)}"]
    told += _beside(document, said, following if not repeated else ", ".join(names[1:]))
    order = " -> ".join([*names, names[0]]) if repeated and len(names) > 1 else ""
    return "; ".join(told) + (f" ({order})" if order else "")


_FORMS = {
    "none": "the client stays on {used}",
    "address deleted": "the address of {used} is deleted",
    "make before break": "{next} gets its address and is preferred to {used}",
    "route": "{next} is preferred to {used}, and nothing is deleted",
    "blackhole": "{used} drops everything in both directions, and the client is told nothing",
    "NAT rebinding": "a NAT at the far end of {used} forgets: what the client sends then has"
    " another source port",
}


def _when(document: Document, said: object) -> str:
    if is_reference(said):
        return f"{roles.said(document, said)}: "
    if not isinstance(said, Mapping):
        return ""
    forms = (
        form.format(roles.said(document, said[key])) for key, form in _WHEN.items() if key in said
    )
    return " ".join([*forms, ""])


def _destroyed(document: Document, said: Document) -> str:
    """Tell what the operating system does to TCP sockets, where an address is deleted at once."""
    if said["kind"] != "address deleted":
        return ""
    return f" and its TCP sockets are {roles.said(document, said.get('sockets', 'kept'))}"


def _beside(document: Document, said: Document, others: str) -> Iterator[str]:
    """Tell what is up besides, and what comes later."""
    kind = said["kind"]
    if kind == "make before break":
        later, sockets = (
            roles.said(document, said.get(key, "?")) for key in ("overlap", "sockets")
        )
        kept = f", and its TCP sockets are {sockets}" if sockets != "?" else ""
        yield f"the old address is deleted {later} later{kept}"
    elif "gap" in said and kind != "none":
        yield f"{others} has no address until {roles.said(document, said['gap'])} later"
    elif kind != "NAT rebinding" and others and others != "the next one":
        yield f"{others} is up all along"


def _levels(document: Document, said: object) -> list[str]:
    if is_reference(said) and isinstance(said, Mapping):
        return [str(level) for level in document.get("factors", {}).get(said["factor"], ("?",))]
    return [str(said)]
