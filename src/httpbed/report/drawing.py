"""The topology as inline SVG: from left to right on a wide page, downwards on a phone.

Colours come from the page (``currentColor`` and its classes), so that the drawing follows dark
mode and print.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from markupsafe import Markup, escape

from httpbed.report import access, layout, network
from httpbed.report.network import Fact, HostFacts, LinkFacts

BOX_WIDTH = 190
MOST_IN_BOX = 24
"""Characters of a line in a box."""
LINE_HEIGHT = 17
GAP_WIDTH = 268
GAP_HEIGHT = 132
ROW_GAP = 104
UPRIGHT_WIDTH = 340
LEAST_HEIGHT = 116
INDENT = 42
"""From a box's left side to the link below it."""
MARGIN = 6
LANE_HEIGHT, LANE_WIDTH = 92, 16
"""Between links that join the same hosts: side by side, and one below the other."""
MOST_CHARACTERS = 36
"""Longest text that fits beside a link; a longer one is replaced by its short form."""


Lane = tuple[int, int]
"""Which of several links between the same hosts, from 0, and how many they are."""


@dataclass(frozen=True)
class _Box:
    """Where a host is drawn."""

    host: HostFacts
    x: float
    y: float
    height: float

    @property
    def middle(self) -> tuple[float, float]:
        """Its centre."""
        return self.x + BOX_WIDTH / 2, self.y + self.height / 2


@dataclass(frozen=True)
class _Grid:
    """Where boxes go."""

    lines: int
    """Most lines of a box, below its name."""
    lanes: int
    """Most links between the same two hosts."""
    upright: bool

    @property
    def height(self) -> float:
        """Height of each box: links side by side need room to begin."""
        return 44 + LINE_HEIGHT * self.lines + (0 if self.upright else self._more)

    def place(self, column: int, row: float) -> tuple[float, float]:
        """Return the upper left corner of a box."""
        if self.upright:
            return MARGIN + row * UPRIGHT_WIDTH, MARGIN + column * (self.height + self._gap)
        top = MARGIN + max(0.0, (self._least - self.height) / 2)
        return MARGIN + column * (BOX_WIDTH + GAP_WIDTH), top + row * (self.height + ROW_GAP)

    def size(self, places: Sequence[tuple[int, float]]) -> tuple[float, float]:
        """Return width and height of the drawing."""
        columns = 1 + max((column for column, _ in places), default=0)
        rows = 1 + max((row for _, row in places), default=0.0)
        if self.upright:
            tall = columns * self.height + (columns - 1) * self._gap
            return rows * UPRIGHT_WIDTH, 2 * MARGIN + tall
        wide = columns * BOX_WIDTH + (columns - 1) * GAP_WIDTH
        tall = (rows - 1) * (self.height + ROW_GAP) + max(self._least, self.height)
        return 2 * MARGIN + wide, 2 * MARGIN + tall

    @property
    def _more(self) -> float:
        return LANE_HEIGHT * (self.lanes - 1)

    @property
    def _least(self) -> float:
        return LEAST_HEIGHT + self._more

    @property
    def _gap(self) -> float:
        return GAP_HEIGHT * self.lanes


def topology(document: Mapping[str, Any], *, upright: bool) -> Markup:
    """Draw the topology; ``upright`` puts the hosts one below the other."""
    hosts = network.hosts(document)
    links = network.links(document)
    lanes = _lanes(links)
    lines = max((len(_role_lines(host)) for host in hosts), default=0)
    grid = _Grid(lines, max((count for _, count in lanes), default=1), upright)
    names, clients = [host.name for host in hosts], [one.name for one in hosts if one.is_client]
    places = layout.places(names, [link.hosts for link in links], clients)
    boxes = {host.name: _Box(host, *grid.place(*places[host.name]), grid.height) for host in hosts}
    parts = [
        _link(boxes, link, lane, upright=upright) for link, lane in zip(links, lanes, strict=True)
    ]
    parts += [_box(box) for box in boxes.values()]
    size = grid.size(list(places.values()))
    return Markup(
        '<svg class="{kind}" role="img" viewBox="0 0 {w:g} {h:g}" style="max-width:{w:g}px">'
        "<title>{title}</title>{body}</svg>"
    ).format(
        kind="upright" if upright else "wide",
        w=size[0],
        h=size[1],
        title=alternative(document),
        body=Markup("").join(parts),
    )


def alternative(document: Mapping[str, Any]) -> str:
    """Describe the drawing in words, for readers who cannot see it."""
    texts = [
        f"host {host.name} ({'; '.join(map(str, host.roles))})" for host in network.hosts(document)
    ]
    texts += [f"link {line}" for line in network.sentences(document)]
    texts += [f"hand-over: {line}" for line in [access.line(document)] if line]
    return "Topology: " + "; ".join(texts)


def _lanes(links: Sequence[LinkFacts]) -> list[Lane]:
    """Number the links that join the same hosts, and count them."""
    of_hosts = [frozenset(link.hosts) for link in links]
    return [
        (of_hosts[:index].count(hosts), of_hosts.count(hosts))
        for index, hosts in enumerate(of_hosts)
    ]


def _box(box: _Box) -> Markup:
    x, _ = box.middle
    lines = [
        Markup('<text class="name" x="{:g}" y="{:g}">{}</text>').format(
            x, box.y + 25, box.host.name
        )
    ]
    lines += [
        Markup('<text class="role" x="{:g}" y="{:g}">{}</text>').format(
            x, box.y + 25 + LINE_HEIGHT * number, line
        )
        for number, line in enumerate(_role_lines(box.host), start=1)
    ]
    outline = Markup('<rect x="{:g}" y="{:g}" width="{:g}" height="{:g}" rx="7"/>').format(
        box.x, box.y, BOX_WIDTH, box.height
    )
    return outline + Markup("").join(lines)


def _role_lines(host: HostFacts) -> list[str]:
    """Write each role, its name first, so that no line is wider than its box."""
    texts = [text for role in host.roles for text in (role.name, role.text)]
    lines = [text for text in texts if text != host.name]
    if not lines and host.name != "router":
        lines = ["router"]
    return [part for line in lines for part in wrap(line, MOST_IN_BOX)]


def _link(boxes: Mapping[str, _Box], link: LinkFacts, lane: Lane, *, upright: bool) -> Markup:
    here, there = (boxes[name] for name in link.hosts)
    way = _upright if upright else _wide
    return Markup("").join(way(here, there, link, lane))


def _wide(here: _Box, there: _Box, link: LinkFacts, lane: Lane) -> Iterator[Markup]:
    left, right = sorted((here, there), key=lambda box: box.x)
    start, end = left.x + BOX_WIDTH, right.x
    aside = LANE_HEIGHT * (lane[0] - (lane[1] - 1) / 2)
    yield _line(start, left.middle[1] + aside, end, right.middle[1] + aside)
    middle, y = (start + end) / 2, (left.middle[1] + right.middle[1]) / 2 + aside
    if link.symmetric:
        texts = _called(link, _pairs(link, link.up))
        yield _text(middle, y - 12, texts[0])
        yield from (_text(middle, y + 24 + 17 * i, text) for i, text in enumerate(texts[1:]))
        return
    for facts, other, sign in ((link.up, there, -1), (link.down, here, 1)):
        arrow = "→" if other is right else "←"
        first, *others = _called(link, _pairs(link, facts))
        texts = [f"{arrow} {first}", *others]
        offsets = (-46, -29, -12) if sign < 0 else (24, 41, 58)
        yield from (
            _text(middle, y + offset, text) for offset, text in zip(offsets, texts, strict=False)
        )


def _upright(here: _Box, there: _Box, link: LinkFacts, lane: Lane) -> Iterator[Markup]:
    top, bottom = sorted((here, there), key=lambda box: box.y)
    start, end = top.y + top.height, bottom.y
    aside = INDENT - LANE_WIDTH * (lane[1] - 1 - lane[0])
    yield _line(top.x + aside, start, bottom.x + aside, end)
    x = (top.x + bottom.x) / 2 + INDENT
    part = (end - start) / lane[1]
    start, end = start + lane[0] * part, start + (lane[0] + 1) * part
    if link.symmetric:
        each = f"{link.name}, each direction" if link.name else "each direction"
        texts = [each, *_pairs(link, link.up)]
    else:
        texts = [
            *_called(link, [f"to {link.hosts[1]}"]),
            *_pairs(link, link.up),
            *(f"to {link.hosts[0]}", *_pairs(link, link.down)),
        ]
    step = min(17.0, (end - start - 8) / max(1, len(texts)))
    first = (start + end) / 2 - step * (len(texts) - 1) / 2 + 4
    for number, text in enumerate(texts):
        yield _text(x + 14, first + step * number, text, anchor="start")


def _called(link: LinkFacts, texts: list[str]) -> list[str]:
    """Put the link's name, if any, before the texts; in a separate line if both are too long."""
    if not link.name:
        return texts
    text = f"{link.name}: {texts[0]}" if texts else link.name
    return [text, *texts[1:]] if len(text) <= MOST_CHARACTERS else [link.name, *texts]


FIRST, LAST = ("profile", "rate", "delay"), ("queue",)
CHANGING = Fact("changes", "then changing", varied=False, short="then changing")
LONGEST_FACT = MOST_CHARACTERS - len(", 9 more")


def _pairs(link: LinkFacts, facts: tuple[Fact, ...]) -> list[str]:
    """Lay a direction's facts on three lines: rate and delay, all that goes wrong, queue."""
    way = "up" if facts is link.up else "down"
    changing = any(change.direction in {None, way} for change in link.changes)
    later = [CHANGING] if changing or (link.symmetric and link.changes) else []
    lines = (
        [fact for fact in facts if fact.name in FIRST],
        [fact for fact in facts if fact.name not in {*FIRST, *LAST}],
        [*(fact for fact in facts if fact.name in LAST), *later],
    )
    return [_fitted(line) for line in lines if line]


def _fitted(facts: list[Fact]) -> str:
    """Write facts in one line: in full, else short, else some of them and the number of others.

    A line that ended in the middle of a word would say something else: ``0.0`` is not ``0.048 %``.
    """
    figures = [fact for fact in facts if fact.name != "profile"] or facts
    for texts in (
        [fact.text for fact in facts],
        [fact.short for fact in facts],
        [fact.short for fact in figures],
    ):
        if len(", ".join(texts)) <= MOST_CHARACTERS:
            return ", ".join(texts)
    names = [fact.short if len(fact.short) <= LONGEST_FACT else fact.name for fact in figures]
    for count in range(len(names), 1, -1):
        rest = [f"{len(names) - count} more"] if count < len(names) else []
        if len(phrase := ", ".join([*names[:count], *rest])) <= MOST_CHARACTERS:
            return phrase
    return ", ".join([names[0], *([f"{len(names) - 1} more"] if names[1:] else [])])


def _line(x1: float, y1: float, x2: float, y2: float) -> Markup:
    return Markup('<path class="link" d="M{:g} {:g}L{:g} {:g}"/>').format(x1, y1, x2, y2)


def _text(x: float, y: float, text: str, anchor: str = "middle") -> Markup:
    return Markup('<text class="fact" x="{:g}" y="{:g}" text-anchor="{}">{}</text>').format(
        x, y, anchor, escape(text)
    )
