"""Requests at intervals: when they are due, and the packets that show that the client waited."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from httpbed.experiment.experiment import LONGEST_TIME_LIMIT_S
from httpbed.experiment.trial import Check
from httpbed.experiment.workload import Download
from httpbed.trial import plan
from httpbed.trial.checks import subject
from planted import Fault, on_link
from recorded import CATALOG, PROXIED, judged_attempt, recorded_evidence, trial, with_additions


def download(**keys: object) -> Download:
    """Validate a download of several files."""
    return Download.model_validate({"kind": "download", "size": "1 kB", **keys})


def judged(interval: str, *faults: Fault) -> Check:
    """Judge the recorded attempt as if its files had been requested at an interval."""
    recorded, seen = trial(PROXIED), recorded_evidence(PROXIED)
    for fault in faults:
        seen = fault(seen)
    workload = {**recorded.document["workload"], "interval": interval}
    document = {**recorded.document, "workload": workload}
    planned = plan.plan(recorded.model_copy(update={"document": document}), CATALOG)
    setup = judged_attempt(seen, PROXIED).setup
    made = subject.checks(with_additions(planned, setup, seen))
    (check,) = (check for check in made if check.check == "requests at intervals")
    return check


@pytest.mark.parametrize(
    ("keys", "last_s"),
    [
        ({"files": 5}, 0.0),
        ({"files": 5, "interval": "20 ms"}, 0.08),
        ({"files": 40, "interval": "1 s", "wave": 20}, 1.0),
        ({"files": 41, "interval": "1 s", "wave": 20}, 2.0),
    ],
)
def test_the_last_request_is_due_at_the_last_interval(
    keys: dict[str, object], last_s: float
) -> None:
    """A wave begins together."""
    assert download(**keys).last_request_s == pytest.approx(last_s)


@pytest.mark.parametrize(
    "keys",
    [
        {"files": 5, "wave": 2},
        {"files": 1, "interval": "20 ms"},
        {"files": 20, "interval": "20 ms", "wave": 20},
        {"files": 5, "interval": "20 ms", "rounds": 2},
        {"files": 5, "interval": "0 ms"},
        {"files": 5, "interval": "0.1 us"},
    ],
)
def test_an_interval_without_effect_is_a_mistake(keys: dict[str, object]) -> None:
    """A setting that changes nothing would be a false label."""
    with pytest.raises(ValidationError):
        download(**keys)


def test_an_interval_is_bounded() -> None:
    """The default time limit follows the last request, so it bounds nothing by itself."""
    assert download(files=1000, interval="60 s").last_request_s < LONGEST_TIME_LIMIT_S
    with pytest.raises(ValidationError):
        download(files=2, interval="1e30 s")


def test_a_client_that_fetched_all_at_once_has_failed() -> None:
    """Its own log may say otherwise; its packets cannot."""
    assert judged("1 ms").passed
    assert judged("10 s").passed is False
    assert judged("1 ms", on_link("connections", to=[])).passed
    assert judged("1 s", on_link("connections", to=[])).passed is False
