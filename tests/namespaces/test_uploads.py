"""Uploads by real programs: the server's file proves each, and a refusal is the subject's."""

from __future__ import annotations

from pathlib import Path

import pytest

from httpbed.experiment.trial import Record
from real_runs import SmallExperiment, check, counting, stage, values

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

UPLOAD = SmallExperiment(kind="upload")
RATE_BIT_S = 10e6


def outcomes(settings: SmallExperiment, directory: Path) -> list[Record]:
    """Return the attempts that count and are not the bed's failures, at least one."""
    records = [
        record
        for record in counting(stage(settings).run(directory))
        if record.attempt.outcome.kind != "invalid"
    ]
    assert records
    return records


def uploaded(record: Record) -> None:
    """Assert what is certain of a whole upload, however busy the machine is."""
    assert record.attempt.outcome.kind == "completed", record.attempt.outcome
    assert check(record, "bodies as sent").passed
    assert check(record, "status").figure.startswith("201, by the server")
    seen = values(record)
    assert seen["goodput"] * (1 + seen["wire_overhead"]) < RATE_BIT_S


def test_curl_uploads_in_every_http_version(tmp_path: Path) -> None:
    """With the congestion control of the client's own sockets."""
    for record in outcomes(UPLOAD, tmp_path / "campaign"):
        uploaded(record)
        if record.attempt.trial.levels["http_version"] != "3":
            assert check(record, "sender's congestion control").passed is not False


@pytest.mark.parametrize(
    ("client", "version", "server", "method"),
    [
        ("wget", "1.1", "nginx", "PUT"),
        ("gtlsclient", "3", "nginx", "POST"),
        ("aioquic", "3", "aioquic", "POST"),
    ],
)
def test_other_programs_upload(
    tmp_path: Path, client: str, version: str, server: str, method: str
) -> None:
    """By the method that the server's log says."""
    settings = SmallExperiment(
        kind="upload",
        client=client,
        versions=(version,),
        server=server,
        workload=f'method = "{method}"',
    )
    for record in outcomes(settings, tmp_path / "campaign"):
        uploaded(record)
        assert check(record, "method of the requests").figure.startswith(f"1 of {method}, by")


def test_a_refused_upload_has_failed_with_the_status(tmp_path: Path) -> None:
    """The bed is not to blame, whatever part of the body was sent before."""
    settings = SmallExperiment(kind="upload", on_server='knobs = { client_max_body_size = "1k" }')
    for record in outcomes(settings, tmp_path / "campaign"):
        assert record.attempt.outcome.kind == "failed"
        assert "413" in record.attempt.outcome.reason
        assert "bodies as sent: the server stored nothing" in record.attempt.outcome.reason
