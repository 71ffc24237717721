"""Clients that follow a hand-over by means of their own: aioquic's socket, wget's patience."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from handover_experiments import HandoverExperiment
from httpbed.store import campaign as campaigns
from httpbed.trial.run import clients_and_servers
from real_runs import check, stage, values

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

GONE = 'kind = "address deleted"\nsockets = "destroyed"\nwhen = { delivered = "150 kB" }'
GAP_S = 0.35
LINE_BYTES = 500
"""Of what is told of one event, however many there were before it."""
REBIND = 'knobs = { migration = "rebind" }'


@pytest.mark.parametrize("version", ["4", "6"])
def test_aioquic_goes_on_from_another_address(tmp_path: Path, version: Literal["4", "6"]) -> None:
    """The connection stays the same, and aioquic reports the new path.

    nginx drops its answer about a path when its window is full, and then the download may stop.
    """
    roaming = HandoverExperiment(
        handover=GONE,
        client="aioquic",
        server="aioquic",
        versions=("3",),
        ip_version=version,
        on_client=REBIND,
    )
    (record,) = stage(roaming).results(tmp_path / "campaign")
    assert record.attempt.outcome.kind == "completed", record.attempt.outcome.reason
    assert check(record, "hand-over followed").figure.startswith("migrated: same connection")
    taken = values(record)
    assert (taken["connections"], taken["migrations"], taken["migrations_failed"]) == (1, 1, 0)
    assert taken["validation_delay"] > 0
    attempt = record.attempt
    artifacts = campaigns.artifacts(
        tmp_path / "campaign", attempt.trial.block, attempt.id, attempt.number
    )
    said = (artifacts / "client/aioquic.jsonl").read_text().splitlines()
    moving = [line for line in said if "path_event" in line]
    assert len(moving) > 1
    assert max(map(len, moving)) < LINE_BYTES


@pytest.mark.parametrize(("refused", "outcome"), [("on", "completed"), ("off", "failed")])
def test_wget_gives_up_where_there_is_no_network(
    tmp_path: Path, refused: str, outcome: str
) -> None:
    """It goes on only if an option says that the error may pass."""
    knobs = f'knobs = {{ waitretry = "0", tries = "0", retry_connrefused = "{refused}" }}'
    roaming = HandoverExperiment(
        handover=f'{GONE}\ngap = "200 ms"',
        client="wget",
        versions=("1.1",),
        on_client=f'retry = "resume"\n{knobs}',
    )
    (record,) = stage(roaming).results(tmp_path / "campaign")
    assert record.attempt.outcome.kind == outcome, record.attempt.outcome.reason
    assert values(record)["client_runs"] == 1


def test_a_gap_is_outlasted_by_starting_again(tmp_path: Path) -> None:
    """Each run without a network fails at once, and the next one starts a little later."""
    roaming = HandoverExperiment(
        handover=f'{GONE}\ngap = "{GAP_S} s"', versions=("2",), on_client='retry = "resume"'
    )
    (record,) = stage(roaming).results(tmp_path / "campaign")
    assert record.attempt.outcome.kind == "completed", record.attempt.outcome.reason
    taken = values(record)
    assert taken["delivery_silence"] > GAP_S * 0.9
    lasted_s = record.attempt.phases_s["client"]
    assert 2 <= taken["client_runs"] <= 2 + lasted_s / clients_and_servers.APART_S
    assert taken["bytes_fetched_twice"] == 0
