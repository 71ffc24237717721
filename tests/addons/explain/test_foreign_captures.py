from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from foreign_capture import Segment, pcap, pcapng, segments
from httpbed.addons.explain import capture
from httpbed.addons.explain.capture import Ending
from httpbed.addons.explain.division import divide
from httpbed.addons.explain.foreign import evidence_file
from httpbed.addons.explain.foreign.evidence_file import Evidence
from httpbed.addons.explain.transfer import Transfer
from httpbed.base.errors import ConfigError
from httpbed.programs import catalog as catalogs
from side_capture import Side
from window_sender import MS, PAYLOAD, RATE, ROUND_TRIP, WindowSender

SIDES: tuple[Side, ...] = ("client", "server")


def held() -> Transfer:
    """Return a transfer that a window of ten packets holds."""
    return WindowSender(400, lambda _: 10).transfer()


def evidence(folder: Path, data: bytes, chosen: str | None = None) -> Evidence:
    path = folder / "one.pcapng"
    path.write_bytes(data)
    return evidence_file.of_capture(path, catalogs.load(), chosen, None)


def shares(transfer: Transfer) -> dict[str, float]:
    division = divide(transfer)
    return {name: cost / division.whole for name, cost in division.costs().items()}


@pytest.mark.parametrize("side", SIDES)
def test_a_window_is_found_from_one_side_with_rate_and_round_trip(
    tmp_path: Path, side: Side
) -> None:
    truth = held()
    one = evidence(tmp_path, pcapng(segments(truth, side))).answer
    assert any(f"at the {side}" in remark for remark in one.transfer.remarks)
    assert one.transfer.path.round_trip_ns == pytest.approx(ROUND_TRIP, rel=0.03)
    assert one.transfer.path.rate_bit_s == pytest.approx(RATE, rel=0.02)
    assert one.held is not None
    assert one.held.plateau.payload == pytest.approx(10 * PAYLOAD, abs=PAYLOAD)
    found, known = shares(one.transfer), shares(truth)
    assert found["fixed window"] == pytest.approx(known["fixed window"], abs=0.05)
    assert found["link"] == pytest.approx(known["link"], abs=0.05)
    assert not one.division.seen("link")  # nobody watched the link


@pytest.mark.parametrize("side", SIDES)
def test_a_pause_of_the_server_is_found_from_one_side(tmp_path: Path, side: Side) -> None:
    truth = WindowSender(200, lambda _: 100, available={100: 700 * MS}).transfer()
    one = evidence(tmp_path, pcapng(segments(truth, side))).answer
    assert shares(one.transfer)["server"] == pytest.approx(shares(truth)["server"], abs=0.05)


def test_a_lost_tail_is_seen_at_the_server_and_said_to_be_hidden_at_the_client(
    tmp_path: Path,
) -> None:
    truth = WindowSender(60, lambda _: 100, lost={59}).transfer()
    server = evidence(tmp_path, pcapng(segments(truth, "server"))).answer
    assert shares(server.transfer)["timeout"] == pytest.approx(shares(truth)["timeout"], abs=0.05)
    client = evidence(tmp_path, pcapng(segments(truth, "client"))).answer
    assert any("lost last packet" in remark for remark in client.transfer.remarks)


@pytest.mark.parametrize("side", SIDES)
def test_losses_are_counted_from_either_side(tmp_path: Path, side: Side) -> None:
    lost = (40, 90, 91, 200)
    truth = WindowSender(300, lambda _: 30, lost=lost).transfer()
    one = evidence(tmp_path, pcapng(segments(truth, side))).answer
    assert int(one.transfer.data.lost.sum()) == len(lost)


def test_super_packets_are_split_and_said(tmp_path: Path) -> None:
    """Generic segmentation offload: up to four packets are one when the server is captured."""
    truth = held()
    joined = list[Segment]()
    for segment in segments(truth, "server"):
        last = joined[-1] if joined else segment
        is_next = (
            last.is_down and segment.is_down and last.sequence + last.payload == segment.sequence
        )
        if is_next and segment.payload == PAYLOAD and PAYLOAD <= last.payload < 4 * PAYLOAD:
            joined[-1] = replace(last, payload=last.payload + segment.payload)
        else:
            joined.append(segment)
    assert any(one.payload > PAYLOAD for one in joined)
    found = evidence(tmp_path, pcapng(joined)).answer
    assert any("offload" in remark for remark in found.transfer.remarks)
    assert len(found.transfer.content) == len(truth.content) + 1  # the server's hello
    expected = shares(truth)["fixed window"]
    assert shares(found.transfer)["fixed window"] == pytest.approx(expected, abs=0.08)


@pytest.mark.parametrize("is_down", [True, False])
def test_a_missing_direction_is_said_with_the_remedy(tmp_path: Path, *, is_down: bool) -> None:
    some = [segment for segment in segments(held(), "client") if segment.is_down == is_down]
    with pytest.raises(ConfigError, match="both directions"):
        evidence(tmp_path, pcapng(some))


def test_a_capture_that_begins_and_ends_in_the_middle_says_so(tmp_path: Path) -> None:
    some = segments(held(), "client")[100:]
    found = evidence(tmp_path, pcapng(some)[:-30])
    one = found.answer
    assert any("cut off" in note for note in found.notes)
    assert any("handshake is not in the file" in remark for remark in one.transfer.remarks)
    assert "set-up" not in one.division.costs()
    assert shares(one.transfer)["fixed window"] > 0.5
    assert one.sentences()[0].startswith("The file ends within the connection; its first ")


def test_of_twenty_connections_each_has_a_line_and_one_is_chosen(tmp_path: Path) -> None:
    some = [
        replace(segment, at=segment.at + port * MS)
        for port in range(20)
        for segment in segments(
            WindowSender(60 + port, lambda _: 10).transfer(), "client", port=40_000 + port
        )
    ]
    data = pcapng(sorted(some, key=lambda segment: segment.at))
    found = evidence(tmp_path, data)
    assert len(found.lines) == 20
    assert found.answer.trial == found.lines[0].name
    assert ":40019 " in found.lines[0].name  # the one with most bytes
    assert ":40007 " in evidence(tmp_path, data, "40007").answer.trial
    assert ":40017 " in evidence(tmp_path, data, "3").answer.trial
    with pytest.raises(ConfigError, match="1 to 20"):
        evidence(tmp_path, data, "99")


@pytest.mark.parametrize(("order", "unit"), [("<", 1000), (">", 1000), ("<", 1), (">", 1)])
def test_the_older_format_is_read_in_both_orders_and_units(
    tmp_path: Path, order: str, unit: int
) -> None:
    some = segments(held(), "client")
    one = evidence(tmp_path, pcap(some, order, unit)).answer
    assert one.transfer.path.rate_bit_s == pytest.approx(RATE, rel=0.02)


def test_a_large_capture_is_read_in_parts() -> None:
    some = segments(WindowSender(20, lambda _: 10).transfer(), "client")
    data = pcapng(some * (1 + capture.CHUNK // len(some)))
    parts = [*capture.frames(data, Ending())]
    assert len(parts) == 2
    assert max(len(part) for part in parts) == capture.CHUNK
