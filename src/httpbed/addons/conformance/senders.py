"""The exact senders of an experiment, by which records of conformance tests are kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from httpbed.addons.conformance import sender
from httpbed.addons.conformance.sender import SenderKey
from httpbed.addons.virtual import guest_kernel
from httpbed.campaign.addition import CampaignAddition
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.campaign.settings import RunSettings
from httpbed.experiment.roles import HttpVersion, Role, Transport, transport_below
from httpbed.experiment.scenario import Scenario
from httpbed.programs.catalog import Catalog
from httpbed.programs.recipe import Recipe
from httpbed.programs.settings import settings

Manifest = Mapping[str, Any]


def key(recipe: Recipe, role: Role, version: HttpVersion, manifest: Manifest) -> SenderKey:
    """Return a sender's key from its role in an experiment and the campaign's manifest."""
    programs = {program["name"]: program for program in manifest.get("programs", ())}
    program = programs.get(recipe.name, {})
    transport = transport_below(version)
    control = recipe.congestion_control.resolved(transport, role.congestion_control)
    return SenderKey(
        implementation=recipe.name,
        version=str(program.get("version", "")),
        sha256=str(program.get("sha256", "")),
        libraries=_digest(program.get("packages") or program.get("libraries", {})),
        http_version=version,
        transport=transport,
        congestion_control=control or "unknown",
        knobs=tuple(sorted(settings(recipe.knobs, role.knobs).items())),
        kernel=_kernel(manifest, transport),
    )


def _kernel(manifest: Manifest, transport: Transport) -> str:
    """Return the kernel that sends over TCP; in virtual time the guest's, also over QUIC.

    There a program's timers are exact and its computing takes no time, so it is another sender.
    """
    if manifest.get("clock") != "virtual":
        return str(manifest.get("host", {}).get("kernel", "")) if transport == "tcp" else ""
    guests = [one for one in manifest.get("programs", ()) if one["name"] == guest_kernel.NAME]
    return " ".join(
        f"{guest['name']} {guest['version']} {guest['sha256'][:12]}" for guest in guests
    )


def _digest(libraries: Mapping[str, str]) -> str:
    text = json.dumps(dict(libraries), sort_keys=True).encode()
    return hashlib.sha256(text).hexdigest() if libraries else ""


def standings(
    scenarios: Iterable[Scenario], catalog: Catalog, manifest: Manifest
) -> list[dict[str, Any]]:
    """Return every sender of a campaign with the verdict of its conformance test, if there is one.

    Each has what a test of it needs: the knobs that the experiment ``set``, whether its congestion
    control was ``chosen`` among several, and whether it is ``testable``.
    """
    details, ends = dict[SenderKey, dict[str, Any]](), catalog.tunnel_ends()
    for scenario in scenarios:
        roles = {name: role for name, role, _ in scenario.parts()}
        for hop, part in scenario.senders_of_bodies():
            role = roles[part]
            recipe = catalog[role.implementation]
            details[key(recipe, role, hop.http_version, manifest)] = {
                "set": dict(role.knobs),
                "chosen": not recipe.congestion_control.is_fixed(hop.transport),
                "testable": recipe.name not in ends and part == hop.server,
            }
    return [sender.standing(sender_key) | known for sender_key, known in details.items()]


@dataclass(frozen=True)
class SendersAddition(CampaignAddition):
    """Every campaign says how each of its senders did in its conformance test."""

    name: str = "conformance"

    def describe(
        self,
        manifest: dict[str, Any],
        loaded: LoadedExperiment,
        catalog: Catalog,
        settings: RunSettings,
    ) -> None:
        """List the campaign's senders."""
        del settings
        manifest["senders"] = standings(loaded.scenarios(), catalog, manifest)


ADDITION = SendersAddition()
