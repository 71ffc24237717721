"""The benchmark of exactness: by what two repetitions differ, and the table of programs."""

from __future__ import annotations

import json

import pytest
from bench.exactness import table
from bench.exactness.evidence import Evidence, difference
from bench.exactness.table import Row

from httpbed.addons.interop.pairings import Pairing


def evidence(outcome: str = "", times: tuple[int, ...] = (1, 2), **values: float) -> Evidence:
    """Return evidence with some observations, and times in the emulator's result."""
    lines = (
        json.dumps({"metric": metric, "item": None, "value": value})
        for metric, value in values.items()
    )
    result = {"directions": [{"times_ns": list(times)}], "schema": 1}
    return Evidence(outcome, "\n".join(lines).encode(), json.dumps(result).encode())


def row(pairing: Pairing, *repetitions: Evidence) -> Row:
    named = dict(zip(("alone", "busy", "another folder"), repetitions, strict=False))
    return Row("direct", pairing.title(), named, tuple(pairing.promises()))


def test_equal_bytes_do_not_differ() -> None:
    """Also those of a trial that fails in the same way."""
    assert difference(evidence(request_time=1.0), evidence(request_time=1.0)) == ""
    assert difference(evidence("failed: x"), evidence("failed: x")) == ""


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (evidence(request_time=0.99), "request_time by 1 %"),
        (evidence(request_time=1.0, bytes=3), "bytes once only"),
        (evidence(request_time=1.0, times=(1, 3)), "1 of 3 values of the emulator's result"),
        (
            evidence(request_time=1.0, times=(1,)),
            "the emulator's result has 3 and 2 values",
        ),
        (evidence("failed: x"), "once completed, once failed: x"),
    ],
    ids=str,
)
def test_a_difference_is_named_with_its_size(other: Evidence, words: str) -> None:
    """Metrics by per cent, the emulator's result by the number of values."""
    assert difference(evidence(request_time=1.0), other) == words


def test_the_greatest_differences_come_first() -> None:
    """Three metrics are named."""
    one, other = evidence(a=1, b=1, c=1, d=1), evidence(a=0.9, b=0.5, c=0.8, d=0.99)
    assert difference(one, other) == "b by 50 %, c by 20 %, a by 10 % and 1 more metrics"


def test_a_program_is_exact_if_any_trial_with_it_is() -> None:
    """A trial is exact only if all its programs are, so the other program is the cause."""
    good, bad = Pairing("curl", "3", "nginx"), Pairing("curl", "3", "gtlsserver")
    exact, other = evidence(request_time=1.0), evidence(request_time=1.1)
    rows = [row(good, exact, exact, exact), row(bad, exact, exact, other)]
    lines = table.markdown(rows).splitlines()
    assert "| curl | client | - | - | exact |" in lines
    assert "| nginx | server | - | - | exact |" in lines
    assert "| gtlsserver | server | - | - | differs [1] |" in lines
    assert "1 of 2 trials are exact." in lines
    assert lines[-1] == "1. another folder: request_time by 9.1 %"


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        ("timed out: the client was busy", "exact, timed out (the client was busy)"),
        ("invalid: the guest hung", "does not run (the guest hung)"),
    ],
)
def test_a_failure_is_exact_and_an_invalid_attempt_is_not(outcome: str, verdict: str) -> None:
    """The reason is a note."""
    same = evidence(outcome)
    found = row(Pairing("curl", "2", "nginx"), same, same)
    assert found.verdict() == verdict
    assert found.is_exact() == verdict.startswith("exact")
