"""Downloads that are cut in the middle, and what clients do about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from connection_cutter import cut_at
from real_runs import SmallExperiment, artifact, check, stage, values

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

SIZE, CUT = 600_000, 200_000
"""Bytes: of the file, and of what is stored when the connection is cut."""


def settings(client: str, version: str, retry: str, **more: str) -> SmallExperiment:
    """Ask for one download by a client that does something about its failure."""
    return SmallExperiment(
        client=client,
        versions=(version,),
        size=f"{SIZE // 1000} kB",
        on_client=f'retry = "{retry}"\n{more.pop("on_client", "")}',
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("client", "version", "retry", "runs", "answers"),
    [
        ("curl", "1.1", "restart", 2, "2 of 200"),
        ("curl", "2", "resume", 2, "200, 206"),
        ("wget", "1.1", "restart", 2, "2 of 200"),
        ("wget", "1.1", "resume", 1, "200, 206"),
    ],
)
def test_a_download_that_was_cut_is_completed(  # noqa: PLR0913, PLR0917 - a row of the table
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    client: str,
    version: str,
    retry: str,
    runs: int,
    answers: str,
) -> None:
    """The digest is right after a second connection; wget resumes by itself."""
    cut_at(monkeypatch, CUT)
    (record,) = stage(settings(client, version, retry)).results(tmp_path / "campaign")
    assert record.attempt.outcome.kind == "completed", record.attempt.outcome.reason
    assert check(record, "status of the answers").figure == f"{answers}, by the server's log"
    assert values(record)["client_runs"] == runs
    assert values(record)["connections"] == 2
    assert (
        artifact(tmp_path / "campaign", record, "evidence.json")["exits"]["client"]["runs"] == runs
    )


def test_without_a_retry_a_cut_download_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of the file is no file."""
    cut_at(monkeypatch, CUT)
    (record,) = stage(settings("curl", "2", "none")).results(tmp_path / "campaign")
    assert record.attempt.outcome.kind == "failed"
    assert "client_runs" not in values(record)


def test_a_proxy_is_not_blamed_for_a_client_that_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proxy logs an incomplete response and a complete one."""
    cut_at(monkeypatch, CUT)
    proxied = settings(
        "curl",
        "2",
        "resume",
        roles='proxies = [{ implementation = "nginx" }]',
        way=("client", "proxy", "server"),  # type: ignore[arg-type]
    )
    (record,) = stage(proxied).results(tmp_path / "campaign")
    assert record.attempt.outcome.kind == "completed", record.attempt.outcome.reason
    assert "1 response(s) that the client left" in check(record, "proxy passed on").figure


def test_several_cuts_are_survived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run resumes where the previous run was cut."""
    cut_at(monkeypatch, CUT, 2 * CUT)
    (record,) = stage(settings("curl", "1.1", "resume")).results(tmp_path / "campaign")
    assert record.attempt.outcome.kind == "completed", record.attempt.outcome.reason
    assert values(record)["client_runs"] == 3
    assert check(record, "status of the answers").figure == "200, 2 of 206, by the server's log"


def test_the_time_limit_is_for_all_runs_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that fails repeatedly times out like one that hangs."""
    hopeless = stage(settings("curl", "1.1", "restart", time_limit="2 s"))
    monkeypatch.setattr("httpbed.trial.plan.SERVER_NAME", "elsewhere.httpbed.test")
    (record,) = hopeless.results(tmp_path / "campaign")
    figure = check(record, "client ended well").figure
    assert figure.startswith("was stopped at its time limit, after ")
    assert 1 <= values(record)["client_runs"] <= 21
