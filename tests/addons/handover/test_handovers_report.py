"""Hand-overs in reports: in words, in tables, over time, and one trial by itself."""

from __future__ import annotations

import errno
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import reports
from campaigns import campaign
from handover_campaigns import MIGRATION, TrialCourse, handover_campaign, usual
from httpbed.addons.handover import handover_timelines_report as timelines
from httpbed.addons.handover import handovers_report as handovers
from httpbed.addons.handover.handover_samples import of_attempt
from httpbed.base.errors import ConfigError
from httpbed.cli import report
from httpbed.report import one_trial, terminal
from httpbed.results import attempts
from httpbed.results.findings import find
from httpbed.results.sample import by_treatment
from httpbed.store import campaign as campaigns
from httpbed.store import query
from httpbed.store.results import Results
from report_script import without_own_script

EVIL = "<script>alert('$x_1$')</script>"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Provide a campaign with hand-overs, and what its trials left."""
    return handover_campaign(usual, tmp_path_factory.mktemp("campaign"))


def shown(results: Results) -> str:
    """Print a campaign as into a pipe."""
    console = terminal.console()
    with console.capture() as captured:
        reports.show(results, find(results), None, console)
    return captured.get()


def test_the_terminal_tells_stall_and_what_became_of_connections(results: Results) -> None:
    """Beside the metric, and summed up among the evidence."""
    text = shown(results)
    assert re.search(r"quiche +changed .* 120 ms +migrated 3/3 +3/3\n", text)
    assert re.search(r"wget +changed .* 1 s +new connection 3/3 +3/3\n", text)
    words = " ".join(text.split())
    assert "hand-over address stable | changed" in words
    assert (
        "hand-overs: migrated, same connection on the wire 6/18, a new connection 10/18,"
        " nothing on the new path 2/18" in words
    )
    assert max(map(len, text.splitlines())) <= terminal.PIPED_WIDTH


def test_notes_name_what_limits_and_the_way_out(results: Results) -> None:
    """Once for each treatment, whatever the conditions."""
    texts = reports.notes(results, find(results))
    assert [text for text in texts if "silent on the new link in 2 of 6 hand-overs" in text]
    assert [text for text in texts if "wget (changed)" in text and "does not migrate" in text]
    assert [text for text in texts if "up to 2 MB of the body were fetched twice" in text]
    assert not [text for text in texts if "quiche (changed)" in text and "noise" not in text]


def test_a_median_of_fewer_trials_states_their_number(tmp_path: Path) -> None:
    """Those without a value may be the worst: a path that was never validated."""
    results = handover_campaign(
        lambda _, block: TrialCourse(verdict="migrated", validated=block != 2), tmp_path
    )
    columns = {
        column.header: [cell.text for cell in column.cells]
        for column in handovers.whole(find(results))
    }
    assert "55 ms (2/3)" in columns["validated"]
    assert not [cell for cell in columns["stall"] if "(" in cell]


def test_a_median_of_values_far_apart_has_its_interval(tmp_path: Path) -> None:
    """Some paths are validated at once, others after a time-out: none after the middle of both."""
    results = handover_campaign(
        lambda _, block: TrialCourse(verdict="migrated", stall_s=0.1 if block == 1 else 2.0),
        tmp_path,
    )
    columns = {
        column.header: [cell.text for cell in column.cells]
        for column in handovers.whole(find(results))
    }
    assert "2 s (100 ms .. 2 s)" in columns["stall"]


@pytest.mark.parametrize(
    ("kind", "retry", "word", "advised"),
    [
        ("address deleted", "none", "silent", True),
        ("address deleted", "resume", "silent", False),
        ("blackhole", "none", "silent", False),
        ("route", "none", "stayed", False),
    ],
)
def test_silence_is_reported_with_a_remedy(
    tmp_path: Path, kind: str, retry: str, word: str, *, advised: bool
) -> None:
    """No advice that is followed already, and none where nothing is wrong."""
    text = MIGRATION.replace('"address deleted"', f'"{kind}"')
    text = text if kind == "address deleted" else text.replace('sockets = "destroyed"', "")
    words = f'implementation = "curl"\nretry = "{retry}"'
    text = text.replace('implementation = "httpbed-quiche"', words)
    found = find(handover_campaign(lambda *_: TrialCourse(verdict="nothing"), tmp_path, text))
    assert f"{word} 3/3" in {
        cell.text for column in handovers.brief(found) for cell in column.cells
    }
    texts = list(handovers.silent(found))
    assert bool(texts) == (word == "silent")
    assert any("a retry starts" in one.remedy for one in texts) == advised


def test_hand_overs_at_the_clients_end_are_counted_apart(tmp_path: Path) -> None:
    """A hand-over after the client's end is not a failure to follow."""
    results = handover_campaign(lambda *_: TrialCourse(verdict="over before"), tmp_path)
    found = find(results)
    texts = reports.notes(results, found)
    assert [
        text for text in texts if "wget (changed)" in text and "6 trials were over before" in text
    ]
    assert not [text for text in texts if "silent" in text or "does not migrate" in text]
    assert list(handovers.evidence(found)) == ["hand-overs: 18 when the client was done"]
    assert {
        cell for column in handovers.brief(found) for cell in column.cells if "/" in cell.text
    } == set()


def test_an_answer_is_no_migration(tmp_path: Path) -> None:
    """A stateless reset has a note of its own, which says how to find its size."""
    results = handover_campaign(
        lambda *_: TrialCourse(verdict="answered only", outcome="failed"), tmp_path
    )
    found = find(results)
    (note,) = [
        one
        for one in reports.notes(results, found)
        if "answered on the new link in 6 of 6 hand-overs" in one
    ]
    assert note.startswith("quiche (changed), ")
    assert "stateless reset" in note
    assert list(handovers.evidence(found)) == [
        "hand-overs: answered on the new path, without data 18/18"
    ]


def test_who_cannot_tell_of_a_validation_is_not_asked_to(tmp_path: Path) -> None:
    """Behind a NAT it is the server that validates, and some clients tell nothing at all."""
    silent = TrialCourse(verdict="migrated", validated=False)
    results = handover_campaign(lambda *_: silent, tmp_path)
    for row in attempts.valid(results):
        path = campaigns.artifacts(tmp_path, row["block"], row["trial"], row["attempt"])
        text = json.loads((path.parent / "handovers.json").read_text())
        for one in text:
            one["to"] = one["from"]
        (path.parent / "handovers.json").write_text(json.dumps(text))
    assert not [note for note in reports.notes(results, find(results)) if "no client" in note]


def test_a_path_that_nobody_validated_is_noted(tmp_path: Path) -> None:
    """A server need not send much there."""
    silent = TrialCourse(verdict="migrated", validated=False)
    results = handover_campaign(lambda *_: silent, tmp_path)
    texts = [note for note in reports.notes(results, find(results)) if "no client" in note]
    assert texts[0].startswith("quiche (changed), ")
    assert ": in 6 of 6 hand-overs that migrated, no client reported" in texts[0]


def test_the_page_has_a_section_with_figures(results: Results) -> None:
    """A figure for each condition, and the way to one trial."""
    text = reports.saved(results).read_text()
    assert '<a href="#handovers">' in text
    assert 'data-label="on the wire"><span>migrated 3/3</span></td>' in text
    assert text.count("A dashed line is a hand-over.") == 2
    trial = re.search(r"httpbed report DIR --trial (\S+?)<", text)
    assert trial
    assert len(trial[1].partition("/")[2]) == 12
    assert (results.directory / "figures/handovers-2.svg").is_file()


def test_a_campaign_without_them_has_none_of_it() -> None:
    """No section, no column, no figure."""
    plain = campaign(lambda _levels, block: 1 + block / 100)
    found = find(plain)
    assert timelines.plots(found, plain) == []
    assert list(handovers.brief(found)) == []
    assert "handovers" not in reports.page(plain, found)


def test_scripts_in_what_trials_left_are_text(tmp_path: Path) -> None:
    """The HTML report, the figures and the terminal escape the text of programs."""
    text = MIGRATION.replace('["0 %", "2 %"]', '["0 %"]').replace(
        "replicates = 3", "replicates = 1"
    )
    results = handover_campaign(usual, tmp_path, text)
    for row in attempts.valid(results):
        path = campaigns.artifacts(tmp_path, row["block"], row["trial"], row["attempt"]).parent
        words = json.loads((path / "handovers.json").read_text())
        for word in words:
            word |= {"verdict": EVIL, "from": EVIL, "to": EVIL}
        (path / "handovers.json").write_text(json.dumps(words))
    text = reports.saved(results).read_text()
    assert "<script" not in without_own_script(text)
    assert "script" not in shown(results)
    row = next(row for row in attempts.valid(results) if of_attempt(results, row))
    trial = one_trial.find(results, f"{row['block']}/{row['trial']}")
    figure, _ = trial.save(results.directory)
    assert "<script" not in figure.read_text()
    assert "&lt;script&gt;" in figure.read_text()


def test_a_figure_stays_small_whatever_the_campaign(tmp_path: Path) -> None:
    """Panels by the factor that leaves few in each; what is left out is said."""
    clients = [f"client-{number}" for number in range(10)]
    text = MIGRATION.replace('["quiche", "wget", "curl-h3"]', json.dumps(clients))
    text = text.replace('["0 %", "2 %"]', '["0 %"]').replace("replicates = 3", "replicates = 12")
    results = handover_campaign(lambda *_: TrialCourse(size=60_000), tmp_path, text)
    found = find(results)
    rows = by_treatment(results, attempts.valid(results))
    panels, left_out = timelines.choose(found, results, found.conditions[0], rows)
    assert [panel.title for panel in panels] == clients[:8]
    assert list(panels[0].treatments) == ["stable", "changed"]
    assert left_out == [
        "2 further panels are not drawn: client-8, client-9.",
        "Of 12 replicates the first 10 are drawn.",
    ]
    (plot,) = timelines.plots(found, results)
    assert len(plot.svg()) < 400_000
    assert plot.caption.endswith(" ".join(left_out))


@pytest.fixture
def directory(results: Results, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide the campaign's folder, which reads back as it."""
    monkeypatch.setattr(query, "read", lambda _path: results)
    return results.directory


def test_one_trial_of_a_read_only_campaign(
    directory: Path, results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is printed without its figures."""

    def refused(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(one_trial.ShownTrial, "save", refused)
    done = CliRunner().invoke(report.command, [str(directory), "--trial", changed(results)])
    assert done.exit_code == 0, done.output
    assert "no figures, because the campaign's folder is read-only" in done.stderr
    assert "migrated: same connection" in done.stdout


def changed(results: Results) -> str:
    """Name a trial in which the client migrated."""
    row = next(
        row
        for row in attempts.valid(results)
        if (row["client"], row["address"]) == ("quiche", "changed")
    )
    return f"{row['block']}/{row['trial']}"


def test_one_trial_alone(directory: Path, results: Results) -> None:
    """When what happened, and its figure, of which each hand-over is seen from close by."""
    name = changed(results)
    done = CliRunner().invoke(report.command, [str(directory), "--trial", name[:-4]])
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == f"trial      {name}, attempt 1: completed"
    assert re.fullmatch(
        r"delivered  2 MB over wifi, 3\.2 MB over cellular; the last .* s", lines[2]
    )
    assert re.fullmatch(
        r"hand-over  1, wifi to cellular at 1\.\d+ s: first packet sent \+2 ms, path validated"
        r" \+55 ms, first packet delivered \+110 ms",
        lines[3],
    )
    assert lines[4] == "wire       migrated: same connection"
    figure = Path(lines[5].split()[1])
    assert "hand-over 1: wifi to cellular" in figure.read_text()


def test_one_trial_as_values(directory: Path, results: Results) -> None:
    """The JSON values contain every point of the delivery curve."""
    done = CliRunner().invoke(
        report.command, [str(directory), "--trial", changed(results), "--json"]
    )
    found = json.loads(done.stdout)
    assert found["handovers"][0]["verdict"] == "migrated"
    assert found["delivered"][-1][1] == sum(found["bytes_by_link"].values())


@pytest.mark.parametrize("wrong", ["", "1", "1/", "9/abc", "x/y"])
def test_a_trial_that_is_none_is_refused(directory: Path, wrong: str) -> None:
    """The message says how a trial is written, and names some."""
    with pytest.raises(ConfigError, match="matches no trial with a valid attempt; write BLOCK/"):
        CliRunner().invoke(
            report.command, [str(directory), "--trial", wrong], catch_exceptions=False
        )
