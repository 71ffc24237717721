"""When the network changed, by a real hand-over's files and by altered ones."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from httpbed.addons.handover import handover_evidence
from httpbed.addons.handover.handover_evidence import HandoverEvidence
from httpbed.addons.handover.handover_model import Handover, handover_of
from recorded import HANDED_OVER, artifacts, planned, trial

MS = 10**6
HOP = planned(HANDED_OVER).hops[0]


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """Return a copy of the recorded attempt's files."""
    return Path(shutil.copytree(artifacts(HANDED_OVER), tmp_path / "artifacts"))


def read(folder: Path, **changes: Any) -> HandoverEvidence:
    """Read a folder, of the recorded hand-over or a changed one."""
    said = {**trial(HANDED_OVER).document["handover"], **changes}
    evidence = json.loads((folder / "evidence.json").read_text())
    link = json.loads((folder / "link-result.json").read_text())
    described = Handover.model_validate(said)
    found = handover_evidence.read(described, HOP, evidence, link, folder)
    assert found is not None
    return found


def rewritten(file: Path, change: Callable[[Any], Any]) -> None:
    file.write_text(json.dumps(change(json.loads(file.read_text()))))


def test_a_change_has_the_time_of_the_kernels_message(left: Path) -> None:
    """The message's time lies within the step that made the change."""
    found = read(left)
    (change,) = found.changes
    detach, destroy = found.done
    assert (change.number, change.left, change.entered) == (1, "wifi", "cellular")
    assert change.by == "the kernel"
    assert change.due_ns < change.ordered_ns == detach.began_ns
    assert detach.began_ns <= change.at_ns <= detach.ended_ns <= destroy.began_ns
    assert found.began_ns < change.due_ns < destroy.ended_ns < found.ended_ns


def test_a_deleted_address_is_absent_until_it_returns(left: Path) -> None:
    """Its absence begins shortly after its routes go."""
    found = read(left)
    ((since_ns, until_ns),) = found.absences["wifi"]
    assert 0 <= since_ns - found.changes[0].at_ns < 5 * MS
    assert until_ns == handover_evidence.FOR_GOOD_NS


def test_sockets_left_after_destruction_are_counted(left: Path) -> None:
    """None is left in the recorded attempt."""
    assert read(left).sockets_left == {1: 0}
    (left / "sockets-left-1.txt").write_text("ESTAB 0 0 10.77.0.1:5 10.77.2.2:443\n")
    assert read(left).sockets_left == {1: 1}


def test_sockets_that_were_not_read_are_unknown(left: Path) -> None:
    """An empty entry would claim that there were none."""
    (left / "sockets-left-1.txt").unlink()
    assert read(left).sockets_left == {}


def test_without_a_kernel_message_the_commands_end_counts(left: Path) -> None:
    """The source says so."""
    (left / "network-monitor.txt").write_text("[2026-11-21T22:14:08.0] torn off")
    (change,) = read(left).changes
    assert (change.at_ns, change.by) == (read(left).done[0].ended_ns, "the command's end")


def test_messages_are_ignored_where_the_clock_was_set(left: Path) -> None:
    """Their times could be anything."""

    def set_back(evidence: Any) -> Any:
        evidence["clocks"][1]["realtime_ns"] -= 2 * handover_evidence.CLOCKS_APART_NS
        return evidence

    rewritten(left / "evidence.json", set_back)
    assert read(left).changes[0].by == "the command's end"


def test_a_step_ignores_the_message_of_the_previous_one(left: Path) -> None:
    """A preferred route is no deleted address."""
    before, first = read(left).changes[0], min(_stamps(left))
    early = (first - timedelta(microseconds=200)).isoformat()
    monitor = left / "network-monitor.txt"
    said = f"[{early}] default via 10.77.1.2 dev cellular metric 50 \n"
    monitor.write_text(said + monitor.read_text())
    assert read(left).changes[0] == before


def test_a_slewed_clock_is_accepted(left: Path) -> None:
    """A slewed clock moves by less than a millisecond."""
    before = read(left).changes[0]

    def slewed(evidence: Any) -> Any:
        evidence["clocks"][1]["realtime_ns"] += handover_evidence.CLOCKS_APART_NS // 2
        return evidence

    rewritten(left / "evidence.json", slewed)
    after = read(left).changes[0]
    assert after.by == "the kernel"
    assert abs(after.at_ns - before.at_ns) <= handover_evidence.CLOCKS_APART_NS // 2


def test_a_message_outside_its_step_is_ignored(left: Path) -> None:
    """The command's end counts then."""
    monitor = left / "network-monitor.txt"
    stamps = [*_stamps(left)]
    text = monitor.read_text()
    for stamp in dict.fromkeys(stamps):
        later = stamp + timedelta(seconds=2)
        text = text.replace(stamp.isoformat(), later.isoformat())
    monitor.write_text(text)
    assert read(left).changes[0].by == "the command's end"


def _stamps(left: Path) -> list[datetime]:
    found = re.findall(r"^\[(\S+)\]", (left / "network-monitor.txt").read_text(), re.MULTILINE)
    return [datetime.fromisoformat(one) for one in found]


def commanded(change: dict[str, Any], at_ns: int, link: str = "wifi") -> dict[str, Any]:
    """Return a change in the emulator's result."""
    return {"at_ns": at_ns, "link": link, "direction": 0, "change": change, "by": "command"}


@pytest.mark.parametrize(
    ("kind", "step", "change"),
    [("blackhole", "down", {"down": True}), ("NAT rebinding", "rebind", {"rebind": True})],
)
def test_the_emulators_changes_have_its_own_times(
    left: Path, kind: str, step: str, change: dict[str, Any]
) -> None:
    """Changes by others, or ordered earlier, do not count."""
    first = json.loads((left / "handover.jsonl").read_text().splitlines()[0])
    (left / "handover.jsonl").write_text(json.dumps({**first, "step": step}) + "\n")
    before = read(left, kind=kind, sockets="kept").done[0]
    at_ns = before.began_ns + MS // 2
    made = [
        commanded(change, before.began_ns - 50 * MS),
        commanded(change, at_ns, "cellular"),
        {**commanded(change, at_ns), "by": "schedule"},
        commanded(change, at_ns),
    ]
    rewritten(left / "link-result.json", lambda said: {**said, "changes": made})
    found = read(left, kind=kind, sockets="kept")
    (told,) = found.changes
    assert (told.at_ns, told.by) == (at_ns, "the emulator")
    assert told.entered == ("wifi" if kind == "NAT rebinding" else "cellular")
    assert found.absences == {}


def steps(*said: tuple[int, str, str, int]) -> str:
    """Write steps: number, what, link, time in ms of the recorded attempt's clock."""
    zero_ns = json.loads((artifacts(HANDED_OVER) / "link-result.json").read_text())
    zero_ns = zero_ns["origin_ns"] + zero_ns["started_ns"]
    return "".join(
        json.dumps(
            {
                "handover": number,
                "step": what,
                "link": link,
                "status": 0,
                **dict.fromkeys(("due_ns", "began_ns", "ended_ns"), zero_ns + at * MS),
            }
        )
        + "\n"
        for number, what, link, at in said
    )


def test_alternating_links_have_one_change_and_absence_each(left: Path) -> None:
    """An absence ends when the address is back."""
    (left / "handover.jsonl").write_text(
        steps(
            (1, "detach", "wifi", 100),
            (1, "attach", "cellular", 120),
            (2, "detach", "cellular", 200),
            (2, "attach", "wifi", 220),
            (3, "detach", "wifi", 300),
        )
    )
    found = read(left, when={"every": "100 ms"}, gap="20 ms", sockets="kept")
    told = [
        (change.number, change.left, change.entered, change.at_ns // MS) for change in found.changes
    ]
    wifi, cellular = "wifi", "cellular"
    assert told == [(1, wifi, cellular, 100), (2, cellular, wifi, 200), (3, wifi, cellular, 300)]
    assert found.absences == {
        wifi: [(100 * MS, 220 * MS), (300 * MS, handover_evidence.FOR_GOOD_NS)],
        cellular: [(200 * MS, handover_evidence.FOR_GOOD_NS)],
    }


def test_an_attempt_without_a_client_has_no_hand_overs(left: Path) -> None:
    """An attempt without the emulator's result has none either."""
    described = handover_of(trial(HANDED_OVER).scenario())
    assert described is not None
    evidence = json.loads((left / "evidence.json").read_text())
    assert handover_evidence.read(described, HOP, {"failures": {"server": "no"}}, {}, left) is None
    assert handover_evidence.read(described, HOP, evidence, {}, left) is None


def test_a_hand_over_that_never_came_has_no_change(left: Path) -> None:
    """The client's times are known."""
    (left / "handover.jsonl").write_text("")
    (left / "link-events.jsonl").unlink()
    found = read(left)
    assert (found.changes, found.done) == ((), ())
    assert found.ended_ns > found.began_ns
