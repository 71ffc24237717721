"""What a user asks becomes a sender, or every mistake at once."""

from __future__ import annotations

import pytest

from httpbed.campaign import preparation
from httpbed.experiment.errors import ConfigError
from httpbed.experiment.sender import SCALES, Scale
from httpbed.programs import catalog
from httpbed.studies.conformance import competition, networks, sender_selection, session
from httpbed.studies.conformance.sender import Control, Sender, family
from httpbed.studies.conformance.sender_selection import SenderOptions, choose

CATALOG = catalog.load()
ONCE = {"replicates": 1}


def mistakes(asked: SenderOptions) -> str:
    """List what is wrong with what is asked."""
    with pytest.raises(ConfigError) as caught:
        choose(CATALOG, asked)
    return "\n".join(map(str, caught.value.mistakes))


def test_the_highest_version_and_its_own_control_are_the_default() -> None:
    """``httpbed conformance nginx`` asks about its QUIC, which is CUBIC by its documentation."""
    sender = choose(CATALOG, SenderOptions("nginx"))
    assert (sender.transport, sender.judged_as, sender.algorithm) == ("quic", "cubic", "cubic")
    assert sender.congestion_control is None


def test_all_mistakes_are_told() -> None:
    """Unknown client, control and knob together."""
    asked = SenderOptions("nginx", control="vegas", client="curly", knobs={"no_such": "1"})
    told = mistakes(asked)
    assert "did you mean 'curl'?" in told
    assert "known: fixed, cubic" in told
    assert "no knob 'no_such'" in told


def test_a_client_is_no_sender() -> None:
    """It is told what to test instead."""
    assert "test the server or proxy" in mistakes(SenderOptions("curl"))


def test_a_tunnel_is_no_sender() -> None:
    """It passes on what others send, under their congestion control."""
    assert "test the server behind it" in mistakes(SenderOptions("envoy-tunnel", judged_as="cubic"))


def test_unknown_names_get_the_nearest() -> None:
    """A slip of the finger."""
    assert "did you mean 'nginx'?" in mistakes(SenderOptions("ngnix"))


@pytest.mark.parametrize(
    ("name", "known"),
    [("newreno", "reno"), ("BBRv3", "bbr2"), ("bbr1", "bbr"), ("cubic", "cubic"), ("copa", None)],
)
def test_families(name: str, known: Control | None) -> None:
    """Several names promise the same behaviour."""
    assert family(name) == known


def test_knobs_are_pairs() -> None:
    """A value may have an equals sign; a name alone is refused."""
    assert sender_selection.pairs(("a=1=2",)) == {"a": "1=2"}
    with pytest.raises(ConfigError, match="NAME=VALUE"):
        sender_selection.pairs(("a", "b=1"))


@pytest.mark.parametrize("word", ["nginx:4", "nginx:2:reno:x", ":::"])
def test_competitors_are_named_in_one_word(word: str) -> None:
    """Name, version, control."""
    assert sender_selection.competitor("nginx:1.1:bbr", "curl").control == "bbr"
    with pytest.raises(ConfigError, match="--against"):
        sender_selection.competitor(word, "curl")


@pytest.mark.parametrize("word", ["ngin", "nginx:3:copa", "curl", "h2o:1.1:vegas"])
def test_a_mistake_in_a_competitor_is_placed_where_it_was_written(word: str) -> None:
    """The user wrote one word, and may have written several such."""
    with pytest.raises(ConfigError) as found:
        choose(CATALOG, sender_selection.competitor(word, "curl"))
    assert {mistake.place for mistake in found.value.mistakes} == {f"--against {word}"}


@pytest.mark.parametrize("name", ["envoy-tunnel", "envoy-masque"])
def test_neither_end_of_a_tunnel_can_be_tested_alone(name: str) -> None:
    """Each needs the other, and passes on what others send."""
    with pytest.raises(ConfigError, match="test the server behind it"):
        choose(CATALOG, SenderOptions(name, http_version="3"))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("control", ["reno", "bbr"])
def test_every_scale_is_an_experiment_without_mistakes(scale: Scale, control: Control) -> None:
    """What is run is an ordinary experiment file."""
    sender = choose(CATALOG, SenderOptions("nginx", control=control, http_version="1.1"))
    text = networks.experiment(sender, networks.networks(scale, control), replicates=2, seed=1)
    loaded = preparation.load(text, CATALOG)
    assert len(loaded.trials) == 2 * len(networks.networks(scale, control))


def senders() -> list[SenderOptions]:
    """Ask for every sender of every recipe that comes with httpbed, over every version."""
    return [
        SenderOptions(recipe.name, control=control, http_version=version, judged_as="cubic")
        for recipe in CATALOG.recipes.values()
        if {"server", "proxy"} & set(recipe.roles) and recipe.name not in CATALOG.tunnel_ends()
        for version in recipe.http_versions
        for control in recipe.congestion_control.allowed("quic" if version == "3" else "tcp")
    ]


@pytest.mark.parametrize("asked", senders(), ids=str)
def test_every_sender_of_every_recipe_can_be_asked(asked: SenderOptions) -> None:
    """Servers, and proxies in front of a server that does not matter."""
    text = networks.experiment(
        choose(CATALOG, asked), networks.networks("smoke", "cubic"), seed=1, **ONCE
    )
    assert preparation.load(text, CATALOG).trials


def test_words_of_users_stay_words() -> None:
    """A knob's value cannot become part of the file's grammar."""
    nasty = 'x" }\n[roles.client]\x7f\\'
    sender = Sender("nginx", "3", None, "cubic", "cubic", knobs={"k": nasty})
    text = networks.experiment(sender, networks.networks("smoke", "cubic"), replicates=1, seed=1)
    with pytest.raises(ConfigError, match="no knob 'k'"):
        preparation.load(text, CATALOG)


def test_a_competition_is_an_experiment_without_mistakes() -> None:
    """Three flows on one bottleneck, each with a link of its own."""
    controls = ("reno", "cubic", "bbr")
    senders = [
        choose(CATALOG, SenderOptions("nginx", control=one, http_version="1.1")) for one in controls
    ]
    loaded = session.prepare_competition(senders, CATALOG, "standard")
    scenario = loaded.trials[0].scenario()
    assert scenario.routers == {"left", "right"}
    links = scenario.topology.links
    assert links[competition.bottleneck(3) // 2].between == ("left", "right")
    assert [links[competition.access(flow) // 2].between[0] for flow in range(3)] == [
        "client",
        "client2",
        "client3",
    ]


def test_proxies_compete_with_an_origin_of_their_own() -> None:
    """The one in question and its competitors alike; the directions of the log stay as they are."""
    asked = [
        SenderOptions("haproxy", control="bbr"),
        SenderOptions("nginx", http_version="1.1"),
        SenderOptions("envoy"),
    ]
    chosen = [choose(CATALOG, one) for one in (*asked, SenderOptions("haproxy", http_version="2"))]
    scenario = session.prepare_competition(chosen, CATALOG, "smoke").trials[0].scenario()
    hosts = {name: host for name, host in scenario.hosts.items() if "proxy" in name}
    assert hosts == {"proxy": "proxy", "competitor-3-proxy": "proxy4"}
    links = scenario.topology.links
    assert links[competition.bottleneck(4) // 2].between == ("left", "right")
    assert links[competition.access(3) // 2].between == ("client4", "left")
    assert scenario.downstream() == competition.access(0)
