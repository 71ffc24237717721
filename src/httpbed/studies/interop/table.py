"""What came of a check of recipes, as text: members, matrices, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, astuple
from typing import Any

from httpbed.studies.interop.refusals import Refusal
from httpbed.studies.interop.session import Member, Outcome, Tried

OK, WRONG, UNTRIED = "ok", "FAILED", "."
_Rows = Sequence[Sequence[str]]


def lines(outcome: Outcome) -> Iterator[str]:
    """Yield the whole of it, line by line."""
    yield from aligned([_member(one) for one in outcome.members])
    for name, reason in sorted(outcome.absent.items()):
        yield f"not here: {name}, {reason}"
    for title, tried in _groups(outcome.tried).items():
        yield ""
        yield title
        yield from _matrix(tried)
    wrong = [
        *_wrong_members(outcome.members),
        *_wrong_ways(outcome.tried),
        *_wrong_refusals(outcome.refusals),
        *(f"untried: {one.title()}: nobody is here to try it with" for one in outcome.untried),
    ]
    if wrong:
        yield ""
        yield from wrong
    yield ""
    ways, passed = len(outcome.tried), sum(one.passed for one in outcome.tried)
    refused, asked = sum(one.passed for one in outcome.refusals), len(outcome.refusals)
    members = f"{len(outcome.members)} implementations"
    yield f"{passed} of {ways} ways, {refused} of {asked} refusals, {members}"


def as_json(outcome: Outcome) -> dict[str, Any]:
    """Return the whole of it for scripts."""
    return {
        "schema": 1,
        "passed": outcome.passed,
        "implementations": [
            {
                "name": one.recipe.name,
                "version": one.version.found,
                "roles": one.recipe.roles,
                "http_versions": one.recipe.http_versions,
                "upstream_http_versions": one.recipe.upstream_http_versions,
            }
            for one in outcome.members
        ],
        "ways": [
            {**asdict(one.way), "passed": one.passed, "downloads": list(map(asdict, one.downloads))}
            for one in outcome.tried
        ],
        "refusals": [{**asdict(one), "passed": one.passed} for one in outcome.refusals],
        "untried": list(map(asdict, outcome.untried)),
        "absent": outcome.absent,
    }


def verdict(tried: Tried) -> str:
    """Say how a way went, in a word."""
    return OK if tried.passed else WRONG


def _member(member: Member) -> list[str]:
    recipe = member.recipe
    upstream = f", upstream {', '.join(recipe.upstream_http_versions)}"
    versions = ", ".join(recipe.http_versions) + (upstream if "proxy" in recipe.roles else "")
    return [
        recipe.name,
        member.version.found or "unknown",
        "/".join(recipe.roles),
        f"HTTP {versions}",
    ]


def _groups(tried: Iterable[Tried]) -> dict[str, list[Tried]]:
    """Put the direct ways first, then those through each proxy by what it asks in."""
    groups: dict[str, list[Tried]] = {}
    for one in sorted(tried, key=lambda one: astuple(one.way)[3]):
        legs = ", ".join(
            f"{proxy.proxy} asking in HTTP/{proxy.asks_in}" for proxy in one.way.through
        )
        groups.setdefault(f"through {legs}" if legs else "direct", []).append(one)
    return groups


def _matrix(tried: Sequence[Tried]) -> Iterator[str]:
    servers = sorted({one.way.server for one in tried})
    askers = sorted({(one.way.client, one.way.http_version) for one in tried})
    cells = {(one.way.client, one.way.http_version, one.way.server): one for one in tried}
    head = ["client", "HTTP", *servers]
    rows = [
        [client, version, *(_cell(cells.get((client, version, server))) for server in servers)]
        for client, version in askers
    ]
    yield from aligned([head, *rows])


def _cell(tried: Tried | None) -> str:
    return UNTRIED if tried is None else verdict(tried)


def aligned(rows: _Rows) -> Iterator[str]:
    """Yield rows as lines, their columns one below the other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        words = (word.ljust(width) for word, width in zip(row, widths, strict=True))
        yield ("  " + "  ".join(words)).rstrip()


def _wrong_members(members: Iterable[Member]) -> Iterator[str]:
    for member in members:
        name = member.recipe.name
        if not member.passed:
            yield f"{name} did not tell its version: {member.version.said!r}"


def _wrong_refusals(refusals: Iterable[Refusal]) -> Iterator[str]:
    for one in refusals:
        if not one.passed:
            instead = "; ".join(one.wrong) or "all went well"
            yield f"{one.client} did not refuse {one.what}: {instead}"


def _wrong_ways(tried: Iterable[Tried]) -> Iterator[str]:
    for one in tried:
        for download in one.downloads:
            for reason in download.wrong:
                yield f"{one.way.title()}, {download.size} bytes: {reason}"
