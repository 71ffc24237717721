"""A division by the timeline says what that by packets says, but for causes of single packets."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from computed_loads import CATALOG, LINK
from httpbed.addons.explain import outline
from httpbed.addons.explain.division import divide
from httpbed.addons.explain.evidence import NoTransferError
from httpbed.experiment.scenario import Scenario
from window_sender import DELAY, MS, WindowSender, result

DOCUMENT: dict[str, Any] = {
    "topology": {"hosts": ["client", "server"], "links": [LINK]},
    "roles": {
        "client": {"implementation": "curl", "http_version": "3"},
        "server": {"implementation": "nginx", "knobs": {"http3_stream_buffer_size": "14k"}},
    },
    "workload": {"kind": "download", "size": "1 MB"},
}
SCENARIO = Scenario.model_validate(DOCUMENT)


def outlined(folder: Path, kept: Any, described: Scenario = SCENARIO) -> dict[str, float]:
    (folder / "link-result.json").write_text(json.dumps(kept))
    division, _ = outline.read(folder, described, None, CATALOG)
    assert division.periods[0].begin == 0
    ends = [(period.begin, period.end) for period in division.periods]
    assert all(before[1] == after[0] for before, after in itertools.pairwise(ends))
    return {name: ns / division.whole for name, ns in division.costs().items()}


def _senders() -> Iterator[Any]:
    yield pytest.param(WindowSender(2000, lambda _: 10), {"fixed window"}, id="window")
    yield pytest.param(WindowSender(2000, lambda _: 60), {"link"}, id="full link")
    yield pytest.param(
        WindowSender(800, lambda acked: min(60, 10 + acked)),
        {"link", "slow start"},
        id="slow start",
    )
    yield pytest.param(
        WindowSender(600, lambda _: 60, available={300: 4000 * MS}), {"server"}, id="server"
    )
    yield pytest.param(
        WindowSender(100, lambda _: 60, lost=range(60, 100), timeout=900 * MS),
        {"timeout"},
        id="timeout",
    )


@pytest.mark.parametrize(("sender", "names"), [*_senders()])
def test_shares_are_those_of_the_packets(
    sender: WindowSender, names: set[str], tmp_path: Path
) -> None:
    transfer = sender.transfer()
    exact = divide(transfer)
    found = outlined(tmp_path, result(transfer))
    for name in names:
        assert exact.costs()[name] > 0.05 * exact.whole
        assert found.get(name, 0) == pytest.approx(exact.costs()[name] / exact.whole, abs=0.1)
    assert max(found, key=lambda one: found[one]) == max(
        exact.costs(), key=exact.costs().__getitem__
    )


def test_a_window_is_named_without_packets(tmp_path: Path) -> None:
    transfer = WindowSender(2000, lambda _: 10).transfer()
    (tmp_path / "link-result.json").write_text(json.dumps(result(transfer)))
    _, held = outline.read(tmp_path, SCENARIO, None, CATALOG)
    assert held is not None
    assert held.of is not None
    assert str(held.of) == "nginx's http3_stream_buffer_size = 14k"


def test_a_flight_of_no_known_window_is_unknown(tmp_path: Path) -> None:
    """A sender that paces has a constant flight, too."""
    transfer = WindowSender(2000, lambda _: 20).transfer()
    found = outlined(tmp_path, result(transfer))
    assert found["unknown"] > 0.3
    assert "fixed window" not in found


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sender=st.builds(
        lambda packets, window, ack_delay_ms: WindowSender(
            packets, lambda _: window, ack_delay=ack_delay_ms * MS, timeout=1000 * MS
        ),
        packets=st.integers(2, 400),
        window=st.integers(1, 400),
        ack_delay_ms=st.integers(0, 300),
    ),
    bins=st.integers(1, 255),
    delay_ms=st.sampled_from([1, 20, 200]),
)
def test_each_coarse_timeline_is_divided(
    sender: WindowSender, bins: int, delay_ms: int, tmp_path: Path
) -> None:
    """Late acknowledgements: a mean over four round trips begins before the answer."""
    transfer = sender.transfer()
    kept = result(transfer, width=max(1, transfer.ended // bins))
    link = LINK | {"delay": f"{delay_ms} ms"}
    described = Scenario.model_validate(
        DOCUMENT | {"topology": DOCUMENT["topology"] | {"links": [link]}}
    )
    assert sum(outlined(tmp_path, kept, described).values()) == pytest.approx(1)


@pytest.mark.parametrize(
    "damage",
    [
        {"bin_ns": 0},
        {"bin_ns": "soon"},
        {"sent_bytes": []},
        {"delivered_bytes": [1]},
        {"answered_bytes": None},
        {"rtt_us": [1e400]},
        {"dropped_packets": [-1]},
    ],
)
def test_a_damaged_timeline_is_no_division(damage: dict[str, Any], tmp_path: Path) -> None:
    kept = result(WindowSender(300, lambda _: 10).transfer())
    kept["directions"][1]["timeline"] |= damage
    with pytest.raises(NoTransferError, match="timeline"):
        outlined(tmp_path, kept)


@pytest.mark.parametrize("kept", [{}, {"directions": [], "connections": []}, []])
def test_a_result_without_a_timeline_is_no_division(kept: Any, tmp_path: Path) -> None:
    with pytest.raises(NoTransferError):
        outlined(tmp_path, kept)


def test_packets_that_the_receivers_own_link_drops_are_lost_as_well(tmp_path: Path) -> None:
    """Of two links of one rate the sender's is the narrow one, whose timeline has no drop."""
    own = {**LINK, "between": ["client", "router"], "delay": "0 ms"}
    inner = {**LINK, "between": ["router", "server"]}
    topology = {"hosts": ["client", "router", "server"], "links": [own, inner]}
    described = Scenario.model_validate({**DOCUMENT, "topology": topology})
    kept = result(WindowSender(100, lambda _: 60, lost=range(60, 100), timeout=900 * MS).transfer())
    expected = outlined(tmp_path, kept)
    up, down = kept["directions"]
    timeline = down["timeline"]
    without = {
        "timeline": {**timeline, "dropped_packets": [0 for _ in timeline["dropped_packets"]]}
    }
    (connection,) = kept["connections"]
    of_own = [{**connection, "link": "client-router"}]
    apart = {**kept, "connections": of_own, "directions": [up, down, up, without]}
    assert outlined(tmp_path, apart, described) == pytest.approx(expected, abs=0.01)
    assert expected["timeout"] > 0.05


def test_the_way_to_a_narrow_link_near_the_client_is_the_paths(tmp_path: Path) -> None:
    """A link before the narrow one has half of the delay: the same packets pass the narrow one."""
    half = f"{DELAY // (2 * MS)} ms"
    own = {**LINK, "between": ["client", "router"], "delay": half}
    inner = {**LINK, "between": ["router", "server"], "delay": half, "rate": "1 Gbit/s"}
    topology = {"hosts": ["client", "router", "server"], "links": [own, inner]}
    described = Scenario.model_validate({**DOCUMENT, "topology": topology})
    transfer = WindowSender(2000, lambda _: 10).transfer()
    expected = outlined(tmp_path, result(transfer))
    kept = result(transfer, before=DELAY // 2)
    kept["connections"][0]["link"] = "client-router"
    kept["directions"] += [{}, {}]
    found = outlined(tmp_path, kept, described)
    assert expected["fixed window"] > 0.3
    for name in found | expected:
        assert found.get(name, 0) == pytest.approx(expected.get(name, 0), abs=0.01)
