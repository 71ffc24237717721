"""What a backend cannot do is told at the place where its author can mend it."""

from __future__ import annotations

from pathlib import Path

import pytest

from httpbed.base.errors import ConfigError, HostError
from httpbed.bed.machine import backend as backends
from httpbed.bed.machine.backend import Backend
from httpbed.campaign import preparation
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.programs import catalog
from real_runs import SmallExperiment


def loaded(text: str) -> LoadedExperiment:
    return preparation.load(text, catalog.load())


def refused(text: str, backend: Backend) -> dict[str, str]:
    with pytest.raises(ConfigError) as caught:
        preparation.require_backend(loaded(text), backend)
    return {mistake.place: str(mistake).partition(": ")[2] for mistake in caught.value.mistakes}


def test_everything_is_reported_at_once() -> None:
    """Of both directions, each where it is said."""
    settings = SmallExperiment(loss="1 %", link='down = { jitter = "1 ms" }\n')
    assert set(refused(settings.text(), "tbf")) == {
        "topology.links[0].delay",
        "topology.links[0].loss",
        "topology.links[0].down.jitter",
    }


def test_a_mistake_in_a_level_is_reported_at_the_level() -> None:
    """Only the level that the backend cannot provide is named, with the place of its use."""
    text = (
        SmallExperiment(delay="0 ms").text().replace('loss = "0 %"', 'loss = { factor = "loss" }')
    )
    text = text.replace("[factors]", '[factors]\nloss = ["0 %", "1 %"]')
    found = refused(text, "tbf")
    assert list(found) == ["factors.loss[1]"]
    assert "no loss (used at topology.links[0].loss); " in found["factors.loss[1]"]


def test_a_profile_is_blamed_for_what_it_fills_in() -> None:
    """The author said no more than its name."""
    text = SmallExperiment().text()
    for line in ('rate = "10 Mbit/s"', 'delay = "5 ms"', 'loss = "0 %"'):
        text = text.replace(line, "")
    text = text.replace('queue = { limit = "1000 packets" }', 'profile = "geo"')
    assert "topology.links[0].profile" in refused(text, "tbf")


def test_the_emulator_can_do_everything() -> None:
    """It is never refused here; and what the kernel can do is not either."""
    for backend in ("af_packet", "tun"):
        preparation.require_backend(loaded(SmallExperiment(loss="1 %").text()), backend)
    preparation.require_backend(loaded(SmallExperiment(delay="0 ms").text()), "tbf")


MOVING = """
[handover]
links = ["client-router", "cellular"]
kind = { factor = "kind" }
when = { at = "1 s" }
[[topology.links]]
name = "cellular"
between = ["client", "router"]
rate = "10 Mbit/s"
"""


def test_what_happens_on_the_path_needs_the_emulator() -> None:
    """A silent hole or a NAT; what happens on the client is the same with all."""
    settings = SmallExperiment(delay="0 ms", way=("client", "router", "server"))
    text = settings.text() + MOVING
    kinds = ["route", "address deleted", "blackhole", "NAT rebinding"]
    text = text.replace("[factors]", f"[factors]\nkind = {kinds}")
    found = refused(text, "tbf")
    assert set(found) == {"factors.kind[2]", "factors.kind[3]"}
    assert "used at handover.kind" in found["factors.kind[2]"]
    assert "no NAT" in found["factors.kind[3]"]


def test_every_link_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Links behind a router count, and a machine without IPv6 is refused before anything runs."""
    text = (
        SmallExperiment(delay="0 ms")
        .text()
        .replace(
            'hosts = ["client", "server"]',
            'hosts = ["client", "router", "server"]\nip_version = "6"',
        )
    )
    text = text.replace('between = ["client", "server"]', 'between = ["client", "router"]')
    second = '[[topology.links]]\nbetween = ["router", "server"]\ndelay = "1 ms"\n\n[roles.client]'
    text = text.replace("[roles.client]", second)
    assert set(refused(text, "tbf")) == {"topology.links[1].delay", "topology.links[1].rate"}
    monkeypatch.setattr(backends, "IPV6", Path("/absent"))
    with pytest.raises(HostError):
        preparation.require_backend(loaded(text), "af_packet")
