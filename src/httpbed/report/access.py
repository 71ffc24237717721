"""Hand-overs in words, as the experiment file has them, factors included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from httpbed.experiment.document import is_reference
from httpbed.report import roles
from httpbed.report.phrasing import title

Document = Mapping[str, Any]

_WHEN = {"delivered": "after {}", "at": "at {}", "every": "every {}"}


def line(document: Document) -> str:
    """Describe the hand-over in one line; return an empty string where there is none."""
    handover = document.get("handover")
    if is_reference(handover) and isinstance(handover, Mapping):
        return f"{title(handover['factor'])} {roles.value_text(document, handover)}"
    return sentence(document, handover) if isinstance(handover, Mapping) else ""


def facts(document: Document) -> list[tuple[str, str]]:
    """Describe the hand-over, and explain each level where a factor stands for it."""
    handover = document.get("handover")
    if not (is_reference(handover) and isinstance(handover, Mapping)):
        return [("hand-over", line(document))]
    factor = handover["factor"]
    levels = document.get("factors", {}).get(factor, {})
    tables = levels if isinstance(levels, Mapping) else {}
    return [
        (f"{title(factor)} {level}", sentence(document, value))
        for level, value in tables.items()
        if isinstance(value, Mapping)
    ]


def sentence(document: Document, node: Document) -> str:
    """Describe a table ``handover``, with each kind of a list."""
    kinds = _levels(document, node.get("kind", "?"))
    texts = dict.fromkeys(_of_kind(document, {**node, "kind": kind}) for kind in kinds)
    return " | ".join(texts)


def _of_kind(document: Document, node: Document) -> str:
    kind = node["kind"]
    names = [str(name) for name in node["links"]] if isinstance(node.get("links"), list) else []
    repeated = isinstance(node.get("when"), Mapping) and "every" in node["when"]
    used = "the link in use" if repeated else (names or ["the first link"])[0]
    following = "the next one" if repeated else (names[1:] or ["the next one"])[0]
    form = _FORMS.get(kind)
    what = form.format(used=used, next=following) if form else str(kind)
    texts = [f"{_when(document, node.get('when'))}{what}{_destroyed(document, node)}"]
    texts += _beside(document, node, following if not repeated else ", ".join(names[1:]))
    order = " -> ".join([*names, names[0]]) if repeated and len(names) > 1 else ""
    return "; ".join(texts) + (f" ({order})" if order else "")


_FORMS = {
    "none": "the client stays on {used}",
    "address deleted": "the address of {used} is deleted",
    "make before break": "{next} gets its address and is preferred to {used}",
    "route": "{next} is preferred to {used}, and nothing is deleted",
    "blackhole": "{used} drops everything in both directions, without notice to the client",
    "NAT rebinding": "a NAT at the far end of {used} forgets: what the client sends then has"
    " another source port",
}


def _when(document: Document, node: object) -> str:
    if is_reference(node):
        return f"{roles.value_text(document, node)}: "
    if not isinstance(node, Mapping):
        return ""
    forms = (
        form.format(roles.value_text(document, node[key]))
        for key, form in _WHEN.items()
        if key in node
    )
    return " ".join([*forms, ""])


def _destroyed(document: Document, node: Document) -> str:
    """Describe what the operating system does to TCP sockets when it deletes their address."""
    if node["kind"] != "address deleted":
        return ""
    return f" and its TCP sockets are {roles.value_text(document, node.get('sockets', 'kept'))}"


def _beside(document: Document, node: Document, others: str) -> Iterator[str]:
    """Describe the other links, and what happens later."""
    kind = node["kind"]
    if kind == "make before break":
        later, sockets = (
            roles.value_text(document, node.get(key, "?")) for key in ("overlap", "sockets")
        )
        kept = f", and its TCP sockets are {sockets}" if sockets != "?" else ""
        yield f"the old address is deleted {later} later{kept}"
    elif "gap" in node and kind != "none":
        yield f"{others} has no address until {roles.value_text(document, node['gap'])} later"
    elif kind != "NAT rebinding" and others and others != "the next one":
        yield f"{others} is up all along"


def _levels(document: Document, node: object) -> list[str]:
    if is_reference(node) and isinstance(node, Mapping):
        return [str(level) for level in document.get("factors", {}).get(node["factor"], ("?",))]
    return [str(node)]
