"""Which programs of an experiment write what its trials shall keep (``--keep``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import get_args

from httpbed.base.errors import ConfigError, Mistake
from httpbed.campaign.preparation import LoadedExperiment
from httpbed.experiment.kept import ProgramRecord
from httpbed.experiment.roles import ClientRole, Hop, ProxyRole, Role, ServerRole
from httpbed.programs.catalog import Catalog
from httpbed.programs.protocol import RoleName

OPTION = "--keep"
_ROLES: Mapping[type[Role], RoleName] = {
    ClientRole: "client",
    ProxyRole: "proxy",
    ServerRole: "server",
}
Writes = Callable[[Role, Hop, bool], bool]
"""Whether a program records its end of a hop; the last argument says that it is the client's."""


def notes(loaded: LoadedExperiment, catalog: Catalog, kept: frozenset[str]) -> list[str]:
    """Return what will be missing or useless of what is to be kept.

    A program that does not write a record is no mistake while another one does: a comparison of
    HTTP/2 with HTTP/3 has QUIC connections in half of its trials only.

    Raises:
        ConfigError: With each kind that no program of the experiment writes.
    """
    found, mistakes = list[str](), list[Mistake]()
    for kind in (one for one in get_args(ProgramRecord) if one in kept):
        written = dict(_written(kind, loaded, catalog))
        missing = sorted(name for name, is_written in written.items() if not is_written)
        if len(missing) == len(written):
            mistakes.append(_mistake(kind, missing, catalog))
        elif missing:
            found.append(f"{OPTION} {kind}: not written {', '.join(missing)}")
    if mistakes:
        raise ConfigError(mistakes)
    if "keylog" in kept and "pcap" not in kept:
        found.append(f"{OPTION} keylog: keys without packets decrypt nothing; add pcap")
    return found


def _written(
    kind: ProgramRecord, loaded: LoadedExperiment, catalog: Catalog
) -> Iterator[tuple[str, bool]]:
    """Yield whether each record is written, by its name: a connection's keys, a program's qlog.

    The keys of either end decrypt a connection. Behind the far end of a tunnel there is none: the
    packets are those of the client's connection with the next hop.
    """
    far_ends = {one.next_proxy for one in catalog.recipes.values()}

    def writes(role: Role, hop: Hop, is_client: bool) -> bool:
        recipe, its = catalog[role.implementation], _ROLES[type(role)]
        return recipe.writes(kind, its, hop.http_version, upstream=is_client and its == "proxy")

    for scenario in loaded.scenarios():
        roles = {name: role for name, role, _ in scenario.parts()}
        for hop in scenario.hops():
            ends = roles[hop.client], roles[hop.server]
            if kind == "qlog":
                yield from _qlogs(hop, ends, writes)
            elif ends[0].implementation not in far_ends:
                yield _keys(hop, ends, writes)


def _keys(hop: Hop, ends: tuple[Role, Role], writes: Writes) -> tuple[str, bool]:
    client, server = ends
    name = f"by either of {client.implementation} and {server.implementation}"
    is_written = writes(client, hop, True) or writes(server, hop, False)
    return f"{name} over HTTP/{hop.http_version}", is_written


def _qlogs(hop: Hop, ends: tuple[Role, Role], writes: Writes) -> Iterator[tuple[str, bool]]:
    if hop.transport != "quic":
        return
    for role, is_client in zip(ends, (True, False), strict=True):
        yield f"by {role.implementation} as a {_ROLES[type(role)]}", writes(role, hop, is_client)


def _mistake(kind: ProgramRecord, missing: list[str], catalog: Catalog) -> Mistake:
    if not missing:
        reason = f"{kind} is about QUIC, and no trial has a connection over it"
        return Mistake(OPTION, reason, f"omit {kind}, or add HTTP/3")
    recipes = catalog.recipes.values()
    able = sorted(one.name for one in recipes if any(kind in one.run_in(r).keep for r in one.roles))
    reason = f"{kind} is not written {', '.join(missing)}"
    return Mistake(OPTION, reason, f"omit it, or use a program that writes it: {', '.join(able)}")
