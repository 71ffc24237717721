"""The suite of BBR's cases with real senders: the kernel's BBR passes, and Reno is caught."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from real_runs import httpbed

SUITE_S = 600.0
"""Far more than six trials take on a busy machine."""


def judged(
    tmp_path: Path, control: str, *words: str, sender: tuple[str, ...] = ()
) -> dict[str, bool | None]:
    sender = sender or ("nginx", "--http-version", "1.1", "--congestion-control", control, *words)
    suite = ("--suite", "bbr", "--scale", "smoke", "--clock", "virtual", "--json")
    kept = ("-o", tmp_path / control)
    done = httpbed("conformance", *sender, *suite, *kept, within_s=SUITE_S)
    assert done.returncode in {0, 1}, done.stderr
    assert "<svg" in (tmp_path / control / "conformance.html").read_text()
    record: dict[str, Any] = json.loads(done.stdout)
    assert record["unreadable"] == []
    return {one["name"]: one["passed"] for one in record["findings"]}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep records in the test's own folder, which stays empty: campaigns do not cite the suite."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_the_kernels_bbr_passes_every_case(tmp_path: Path) -> None:
    assert set(judged(tmp_path, "bbr").values()) == {True}
    assert not list((tmp_path / "state").rglob("nginx-*.json"))


def test_reno_fails_the_cases_that_tell_it_from_bbr(tmp_path: Path) -> None:
    cases = judged(tmp_path, "reno", "--judged-as", "bbr")
    failed = {name for name, passed in cases.items() if passed is False}
    assert {name.split()[0] for name in failed} == {"1", "10"}


QUICHE_FAILS = {"10 PROBE_RTT, in flight", "10 PROBE_RTT, first", "18 rate with reordering"}
"""Of quiche as it is; the first two are at the edge of the tolerance."""
BROKEN = {
    "startup_full_bw_rounds=30,startup_full_loss_count=1000": {"1 STARTUP ends on a plateau"},
    "startup_cwnd_gain=5,startup_pacing_gain=5": {"1 largest window in STARTUP"},
    # The rate of a path that becomes faster is found by the same drained queues.
    "drain_pacing_gain=1": {"1 STARTUP ends on a plateau", "15 ten times the rate is found"},
    "min_cwnd_packets=1": {"14 window floor"},
    "probe_bw_probe_up_pacing_gain=1,probe_bw_up_cwnd_gain=1": {"15 ten times the rate is found"},
    "loss_threshold=1,startup_full_loss_count=100000": {"17 lost behind a policer"},
}
"""A rule of quiche's BBR that these constants break -> the figures that show it."""


@pytest.mark.parametrize("constants", BROKEN)
def test_a_broken_rule_is_caught_by_its_case_alone(tmp_path: Path, constants: str) -> None:
    sender = ("httpbed-quiche", "--congestion-control", "bbr2", "--knob", f"bbr={constants}")
    cases = judged(tmp_path, "bbr2", sender=sender)
    failed = {name for name, passed in cases.items() if passed is False}
    assert failed - QUICHE_FAILS == BROKEN[constants]
