from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from httpbed.addons.explain import qlog_trace
from httpbed.addons.explain.division import divide
from httpbed.addons.explain.transfer import Transfer
from quic_records import ANSWER_BYTES, Vantage, records, sequence
from window_sender import WindowSender

PARTS = ("client", "server")


def held() -> Transfer:
    transfer = WindowSender(300, lambda _: 10, "quic").transfer()
    sizes = np.full(len(transfer.answers), ANSWER_BYTES)
    return replace(transfer, answers=replace(transfer.answers, payload=sizes))


def kept(folder: Path, part: Vantage, text: str) -> Transfer:
    (folder / part).mkdir()
    (folder / part / "trace.sqlog").write_text(text)
    return qlog_trace.with_credit(held(), folder, PARTS)


@pytest.mark.parametrize("part", PARTS)
def test_a_window_of_a_kept_qlog_is_seen(tmp_path: Path, part: Vantage) -> None:
    found = divide(kept(tmp_path, part, sequence(records(held(), part), part)))
    inferred = divide(held())
    assert "receiver's window" not in inferred.costs()
    assert found.seen("receiver's window") == pytest.approx(
        inferred.costs()["fixed window"], rel=0.1
    )


@pytest.mark.parametrize("part", PARTS)
def test_what_the_sender_says_that_is_blocked_is_counted(tmp_path: Path, part: Vantage) -> None:
    events = records(held(), part)
    said = {"frame_type": "stream_data_blocked", "stream_id": 0, "limit": 1}
    of_data = [one for one in events if one["data"].get("raw", {}).get("length", 0) > ANSWER_BYTES]
    for event in of_data[:3]:
        event["data"]["frames"].append(said)
    assert kept(tmp_path, part, sequence(events, part)).blocked == {"STREAM_DATA_BLOCKED": 3}


def test_a_qlog_of_another_connection_is_left_out(tmp_path: Path) -> None:
    events = records(held(), "client")
    for event in events[1:]:
        event["data"]["raw"]["length"] += 1
    assert not kept(tmp_path, "client", sequence(events, "client")).has_credit


def test_a_link_in_place_of_a_qlog_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(sequence(records(held(), "client"), "client"))
    (tmp_path / "client").mkdir()
    (tmp_path / "client/trace.sqlog").symlink_to(tmp_path / "secret")
    assert not qlog_trace.with_credit(held(), tmp_path, PARTS).has_credit


def test_a_qlog_that_is_cut_off_gives_what_it_has(tmp_path: Path) -> None:
    text = sequence(records(held(), "server"), "server")
    assert kept(tmp_path, "server", text[: len(text) * 19 // 20]).has_credit


def test_a_damaged_qlog_changes_nothing(tmp_path: Path) -> None:
    assert not kept(tmp_path, "client", json.dumps({"qlog_version": "0.2"})).has_credit
