"""From the command line to the sender under test, or all mistakes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from httpbed.addons.conformance import conformance_session, networks, sender_selection
from httpbed.addons.conformance.sender import (
    Control,
    Sender,
    SenderKey,
    family,
)
from httpbed.addons.conformance.sender_selection import SenderOptions, choose, untested
from httpbed.base.errors import ConfigError
from httpbed.campaign import preparation
from httpbed.experiment.scenario import Scenario
from httpbed.programs import catalog

CATALOG = catalog.load()
ONCE: dict[str, Any] = {"replicates": 1, "seed": 1, "question": "Does it?"}


def mistakes(options: SenderOptions) -> str:
    """Return the mistakes in a description of a sender."""
    with pytest.raises(ConfigError) as caught:
        choose(CATALOG, options)
    return "\n".join(map(str, caught.value.mistakes))


def test_the_highest_version_and_the_default_control_are_tested_by_default() -> None:
    """``httpbed conformance nginx`` tests its QUIC, which uses CUBIC by its documentation."""
    sender = choose(CATALOG, SenderOptions("nginx"))
    assert (sender.transport, sender.judged_as, sender.algorithm) == ("quic", "cubic", "cubic")
    assert sender.congestion_control is None


def test_all_mistakes_are_reported() -> None:
    """An unknown client, control and knob are reported together."""
    options = SenderOptions("nginx", control="vegas", client="curly", knobs={"no_such": "1"})
    told = mistakes(options)
    assert "did you mean 'curl'?" in told
    assert "known: fixed, cubic" in told
    assert "no knob 'no_such'" in told


@pytest.mark.parametrize(
    ("name", "known"),
    [("newreno", "reno"), ("BBRv3", "bbr2"), ("bbr1", "bbr"), ("cubic", "cubic"), ("copa", None)],
)
def test_names_of_controls_map_to_their_behaviour(name: str, known: Control | None) -> None:
    """Several names promise the same behaviour."""
    assert family(name) == known


def test_a_knob_is_a_name_with_a_value() -> None:
    """A value may have an equals sign; a name alone is refused."""
    assert sender_selection.pairs(("a=1=2",)) == {"a": "1=2"}
    with pytest.raises(ConfigError, match="NAME=VALUE"):
        sender_selection.pairs(("a", "b=1"))


def test_a_knob_has_one_value() -> None:
    """A test is of one sender, so the last of several values must not win unseen."""
    assert sender_selection.pairs(("a=1", "a=1", "b=2")) == {"a": "1", "b": "2"}
    with pytest.raises(ConfigError, match="a has 2 values"):
        sender_selection.pairs(("a=1", "a=2", "b=2"))


def test_a_client_of_another_version_is_a_mistake_of_its_option() -> None:
    """And not of the experiment, which the user never wrote."""
    options = SenderOptions("nginx", client="wget", knobs={"no_such": "1"})
    told = mistakes(options)
    assert "--client: wget speaks 1.1" in told
    assert "no knob 'no_such'" in told
    assert choose(CATALOG, replace(options, http_version="1.1", knobs={})).client == "wget"


@pytest.mark.parametrize("name", ["envoy-tunnel", "envoy-masque"])
def test_neither_end_of_a_tunnel_can_be_tested_alone(name: str) -> None:
    """It forwards what others send under their congestion control."""
    with pytest.raises(ConfigError, match="test the server behind it"):
        choose(CATALOG, SenderOptions(name, http_version="3"))


NEW = """
schema = 1
name = "new"
roles = ["server"]
http_versions = ["3"]
workloads = ["download"]
install = { suite = "trixie", packages = ["new"] }
version = { argv = ["new"], pattern = '(?P<version>.+)' }
congestion_control = { quic = { fixed = "copa" } }
run = { argv = ["new"], ready = { udp = [443] } }
"""


def test_a_control_that_httpbed_does_not_know_is_judged_where_all_are_judged_alike(
    tmp_path: Path,
) -> None:
    """By the criteria of BCP 133; elsewhere the user says as which control."""
    (tmp_path / "new.toml").write_text(NEW)
    known, options = catalog.load([tmp_path]), SenderOptions("new")
    with pytest.raises(ConfigError, match="--judged-as"):
        choose(known, options)
    sender = choose(known, replace(options, unknown_as="reno"))
    assert (sender.algorithm, sender.judged_as) == ("copa", "reno")


def test_the_untested_senders_of_a_campaign_are_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that passed, failed or cannot be tested are left out."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    key = SenderKey("nginx", "1", "a", "", "3", "quic", "cubic", (("gso", "on"),))
    node = {"sender": key.as_json(), "passed": None, "chosen": False, "set": {"gso": "on"}}
    others = [node | {"passed": True}, node | {"passed": False}, node | {"testable": False}]
    (options,) = untested({"senders": [node, *others]}, "curl")
    assert options == SenderOptions("nginx", http_version="3", knobs={"gso": "on"})
    assert untested({}, "curl") == []


def senders() -> list[SenderOptions]:
    """Return a sender of every shipped recipe in every HTTP version, of the last control."""
    return [
        SenderOptions(recipe.name, control=controls[-1], http_version=version, judged_as="cubic")
        for recipe in CATALOG.recipes.values()
        if {"server", "proxy"} & set(recipe.roles) and recipe.name not in CATALOG.tunnel_ends()
        for version in recipe.http_versions
        if (controls := recipe.congestion_control.allowed("quic" if version == "3" else "tcp"))
    ]


@pytest.mark.parametrize("options", senders(), ids=str)
def test_every_sender_of_every_recipe_has_an_experiment(options: SenderOptions) -> None:
    """Servers, and proxies with an origin."""
    planned = networks.networks("smoke", "cubic")
    sender = choose(CATALOG, options)
    text = networks.experiment({"one": sender}, planned, **ONCE)
    assert preparation.load(text, CATALOG).trials


def test_a_knobs_value_is_quoted() -> None:
    """It cannot change the structure of the file."""
    nasty = 'x" }\n[roles.client]\x7f\\'
    sender = Sender("nginx", "3", None, "cubic", "cubic", knobs={"k": nasty})
    planned = networks.networks("smoke", "cubic")
    text = networks.experiment({"one": sender}, planned, **ONCE)
    with pytest.raises(ConfigError, match="no knob 'k'"):
        preparation.load(text, CATALOG)


def shared_by_four(implementation: str) -> Scenario:
    sender = choose(CATALOG, SenderOptions(implementation, http_version="2"))
    loaded = conformance_session.prepare(sender, CATALOG, "smoke", "real", "bcp133").loaded
    return next(
        trial.scenario()
        for trial in loaded.trials
        if trial.levels[networks.FACTOR] == "four alike"
        and trial.levels[networks.SENDER] == conformance_session.UNDER_TEST
    )


def test_flows_share_one_bottleneck_and_each_has_its_own_link() -> None:
    scenario = shared_by_four("nginx")
    assert scenario.routers == {"left", "right"}
    links = scenario.topology.links
    assert links[networks.bottleneck(4) // 2].between == ("left", "right")
    assert [links[networks.access(flow) // 2].between[0] for flow in range(4)] == [
        "client",
        "client2",
        "client3",
        "client4",
    ]


def test_each_competing_proxy_has_its_own_origin() -> None:
    """The directions of the packet log are those of servers."""
    scenario = shared_by_four("haproxy")
    hosts = {name: host for name, host in scenario.hosts.items() if "proxy" in name}
    assert hosts == {
        "proxy": "proxy",
        "competitor-1-proxy": "proxy2",
        "competitor-2-proxy": "proxy3",
        "competitor-3-proxy": "proxy4",
    }
    links = scenario.topology.links
    assert links[networks.bottleneck(4) // 2].between == ("left", "right")
    assert links[networks.access(3) // 2].between == ("client4", "left")
    assert scenario.downstream() == networks.access(0)
