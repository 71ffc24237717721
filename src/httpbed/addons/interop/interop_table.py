"""The result of a check of recipes as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from httpbed.cli.echo import aligned

if TYPE_CHECKING:  # it imports what runs trials, and lists of programs need none of it
    from httpbed.addons.interop.interop_session import CheckedProgram, InteropResult, PairingResult

OK, FAILED, NOT_RUN = "ok", "FAILED", "."


def lines(result: InteropResult) -> Iterator[str]:
    """Yield the result line by line."""
    yield from aligned([_program(one) for one in result.programs])
    for name, reason in sorted(result.absent.items()):
        yield f"not installed: {name}, {reason}"
    for title, pairings in _groups(result.pairings).items():
        yield ""
        yield title
        yield from _matrix(pairings)
    if failures := list(_failures(result)):
        yield ""
        yield from failures
    yield ""
    yield (
        f"{_passed(result.pairings)} pairings, {_passed(result.refusals)} refusals,"
        f" {len(result.programs)} implementations"
    )


def as_json(result: InteropResult) -> dict[str, Any]:
    """Return the result for :func:`json.dumps`."""
    return {
        "schema": 2,
        "passed": result.passed,
        "implementations": [
            {
                "name": one.recipe.name,
                "version": one.version.version,
                "roles": one.recipe.roles,
                "http_versions": one.recipe.http_versions,
                "upstream_http_versions": one.recipe.upstream_http_versions,
            }
            for one in result.programs
        ],
        "pairings": [
            {
                **asdict(one.pairing),
                "passed": one.passed,
                "downloads": list(map(asdict, one.downloads)),
            }
            for one in result.pairings
        ],
        "refusals": [{**asdict(one), "passed": one.passed} for one in result.refusals],
        "unchecked": list(map(asdict, result.unchecked)),
        "absent": result.absent,
    }


def verdict(result: PairingResult) -> str:
    """Return whether a pairing works, as one word."""
    return OK if result.passed else FAILED


def _passed(results: Sequence[Any]) -> str:
    return f"{sum(one.passed for one in results)} of {len(results)}"


def _program(program: CheckedProgram) -> list[str]:
    recipe = program.recipe
    upstream = f", upstream {', '.join(recipe.upstream_http_versions)}"
    versions = ", ".join(recipe.http_versions) + (upstream if "proxy" in recipe.roles else "")
    return [
        recipe.name,
        program.version.version or "unknown",
        "/".join(recipe.roles),
        f"HTTP {versions}",
    ]


def _groups(results: Iterable[PairingResult]) -> dict[str, list[PairingResult]]:
    """Group pairings by their proxies: those without a proxy first."""
    groups: dict[str, list[PairingResult]] = {}
    for result in sorted(results, key=_proxies):
        hops = ", ".join(
            f"{hop.proxy}, HTTP/{hop.upstream_http_version} upstream"
            for hop in result.pairing.proxies
        )
        groups.setdefault(f"through {hops}" if hops else "direct", []).append(result)
    return groups


def _proxies(result: PairingResult) -> list[tuple[str, str]]:
    return [(hop.proxy, hop.upstream_http_version) for hop in result.pairing.proxies]


def _matrix(results: Sequence[PairingResult]) -> Iterator[str]:
    """Yield a table of clients and servers."""
    pairings = [one.pairing for one in results]
    servers = sorted({one.server for one in pairings})
    clients = sorted({(one.client, one.http_version) for one in pairings})
    cells = {
        (one.pairing.client, one.pairing.http_version, one.pairing.server): verdict(one)
        for one in results
    }
    rows = [
        [*client, *(cells.get((*client, server), NOT_RUN) for server in servers)]
        for client in clients
    ]
    yield from aligned([["client", "HTTP", *servers], *rows])


def _failures(result: InteropResult) -> Iterator[str]:
    for program in result.programs:
        yield from program.failures()
    for one in result.pairings:
        for download in one.downloads:
            for failure in download.failures:
                yield f"{one.pairing.title()}, {download.size} bytes: {failure}"
    for refusal in result.refusals:
        if not refusal.passed:
            instead = "; ".join(map(str, refusal.failures)) or "everything passed"
            yield f"{refusal.client} did not refuse {refusal.what}: {instead}"
    for promise in result.unchecked:
        yield f"unchecked: {promise.title()}: no counterpart is installed"
