"""Seeds: each impairment of each block has its own stream, which all treatments share."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from httpbed.base import seeds
from httpbed.bed.network import network_plan
from httpbed.experiment.scenario import Scenario
from recorded import H2_LOSS, artifacts, trial

names = st.text(alphabet="abcdefgh-> ", min_size=1, max_size=12)
streams = st.tuples(st.integers(0, 2**63 - 1), st.integers(1, 10_000), names, names, names)


@given(st.sets(streams, min_size=2, max_size=6))
def test_another_block_direction_or_impairment_has_another_stream(
    several: set[tuple[int, int, str, str, str]],
) -> None:
    """A change in any part of a stream's name changes its key."""
    assert len({seeds.stream_key(*one) for one in several}) == len(several)


def test_the_key_derivation_never_changes() -> None:
    """A later httpbed must be able to repeat a campaign."""
    recorded = json.loads((artifacts(H2_LOSS) / "link.json").read_text())["links"][0]
    assert [way["loss"]["key"] for way in recorded["directions"]] == [
        str(seeds.stream_key(20261121, 1, "client-server", way, "loss"))
        for way in ("client->server", "server->client")
    ]
    assert seeds.content(20261121, 10**6, 1) == 17395437096426009709


def test_the_parts_of_a_name_are_separated() -> None:
    """Block 1 of link ``2`` is not block 12 of a link without a name."""
    assert seeds.derive(1, "a", "b") != seeds.derive(1, "ab")
    assert seeds.derive(1, 12) != seeds.derive(11, 2)


def keys(document: dict[str, object], block: int) -> list[object]:
    topology = Scenario.model_validate(document).topology
    config = network_plan.plan(topology, {}, 20261121, block).emulator_config
    return [way["loss"]["key"] for way in config["links"][0]["directions"]]


def test_all_treatments_of_a_block_have_the_same_streams() -> None:
    """HTTP version, rate and amount of loss do not change a stream; block and direction do."""
    document = trial(H2_LOSS).document
    other = {**document, "roles": {**document["roles"]}}
    other["roles"] = {**other["roles"], "client": {"implementation": "curl", "http_version": "3"}}
    link = {**document["topology"]["links"][0], "loss": "4 %", "rate": "1 Mbit/s"}
    lossier = {**document, "topology": {**document["topology"], "links": [link]}}
    assert keys(document, 1) == keys(other, 1) == keys(lossier, 1)
    assert len({*keys(document, 1), *keys(document, 2)}) == 4
