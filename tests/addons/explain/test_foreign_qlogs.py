from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from httpbed.addons.explain import qlog_trace
from httpbed.addons.explain.foreign import evidence_file
from httpbed.addons.explain.foreign.evidence_file import Evidence
from httpbed.addons.explain.transfer import Transfer
from httpbed.base.errors import ConfigError
from httpbed.programs import catalog as catalogs
from quic_records import WINDOW, Vantage, records, sequence
from window_sender import WindowSender


def held(lost: tuple[int, ...] = ()) -> Transfer:
    return WindowSender(300, lambda _: WINDOW, "quic", lost=lost).transfer()


def whole(events: list[dict[str, Any]], vantage: Vantage, version: str = "0.4") -> str:
    """Write one object (.qlog), its vantage point behind the events as aioquic does."""
    traces = [{"events": events, "vantage_point": {"type": vantage}}]
    return json.dumps({"qlog_version": version, "qlog_format": "JSON", "traces": traces})


def read(folder: Path, text: str) -> Evidence:
    path = folder / "trace.qlog"
    path.write_text(text)
    assert evidence_file.kind_of(path) == "qlog"
    return evidence_file.of_qlog(path, catalogs.load(), None)


@pytest.mark.parametrize("form", [sequence, whole])
def test_frames_make_a_receivers_window_seen(tmp_path: Path, form: Any) -> None:
    one = read(tmp_path, form(records(held(), "server"), "server")).answer
    costs = one.division.costs()
    assert costs["receiver's window"] > 0.5 * one.division.whole
    assert one.division.seen("receiver's window") > 0.9 * costs["receiver's window"]
    without = [
        {**event, "data": {}} if "parameters" in event["name"] else event
        for event in records(held(), "server", limits=False)
    ]
    blind = read(tmp_path, form(without, "server")).answer
    assert "receiver's window" not in blind.division.costs()
    assert blind.division.costs()["fixed window"] > 0.5 * blind.division.whole


def test_numbers_that_never_come_are_losses_at_a_client(tmp_path: Path) -> None:
    lost = (40, 90, 91)
    one = read(tmp_path, sequence(records(held(lost), "client"), "client")).answer
    assert int(one.transfer.data.lost.sum()) == len(lost)


def test_a_qlog_that_is_cut_off_is_read_up_to_there(tmp_path: Path) -> None:
    text = sequence(records(held(), "server"), "server")
    found = read(tmp_path, text[: len(text) // 2])
    assert any("cut off" in note for note in found.notes)
    assert found.answer.division.whole > 0


def test_damage_within_a_qlog_is_said(tmp_path: Path) -> None:
    events = records(held(), "server")
    events[50] = {"time": "noon", "name": "transport:packet_sent", "data": 3}
    assert read(tmp_path, sequence(events, "server")).notes


@pytest.mark.parametrize("version", ["draft-02", "0.2", "draft-00"])
def test_an_older_version_is_refused_with_its_name(tmp_path: Path, version: str) -> None:
    with pytest.raises(ConfigError, match=version):
        read(tmp_path, sequence(records(held(), "server"), "server", version))


def test_a_large_qlog_needs_no_more_memory_than_a_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qlog_trace, "PART", 1 << 12)
    monkeypatch.setattr(qlog_trace, "MAX_EVENT", 1 << 13)
    text = whole(records(held(), "server"), "server")
    assert len(text) > 20 * (1 << 12)
    assert not read(tmp_path, text).notes
