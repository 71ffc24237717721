"""Comparing a new campaign with the published one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import reproduce
from reproduce import ComparedClaim, Selection

import stored_campaigns
from httpbed.store import archive

TRIALS = stored_campaigns.loaded().trials


def campaign(directory: Path, seconds: tuple[float, float]) -> Path:
    """Make a campaign whose two blocks took so long."""
    records = [stored_campaigns.record(trial, seconds=seconds[trial.block - 1]) for trial in TRIALS]
    stored_campaigns.make(directory, records)
    return directory


INTERRUPTED = """
import os, pathlib, signal, sys, time
def end(*_):
    pathlib.Path(sys.argv[-1] + ".ended").touch()
    sys.exit(128 + NUMBER)
signal.signal(signal.SIGTERM, end)
os.kill(os.getppid(), NUMBER)
time.sleep(1 if NUMBER == signal.SIGINT else 60)
end()
"""
"""A run that gets a signal together with the script, and ends by itself a second later.

Only Ctrl-C comes from the terminal to both; SIGTERM comes to the script alone.
"""


@pytest.fixture
def raising() -> Iterator[None]:
    """Make signals raise, as Ctrl-C does, instead of ending the tests."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    yield
    assert signal.signal(signal.SIGTERM, before) is interrupt


@pytest.mark.usefixtures("raising")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_in_order(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: signal.Signals
) -> None:
    """It is waited for, and its exit code is that of the script."""
    run = INTERRUPTED.replace("NUMBER", str(int(number)))
    monkeypatch.setattr(reproduce, "HTTPBED", (sys.executable, "-c", run))
    monkeypatch.setattr(reproduce, "REPRODUCED", tmp_path)
    with pytest.raises((SystemExit, KeyboardInterrupt)) as ended:
        reproduce.main(["--study", "ranjan2019", "--scale", "smoke"])
    assert isinstance(ended.value, SystemExit)
    assert ended.value.code == 128 + number
    assert [*tmp_path.rglob("*.ended")]


def script(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the script as make does."""
    command = [sys.executable, reproduce.__file__, *words]
    env = os.environ | environment
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def test_an_interrupt_during_the_imports_gives_no_traceback(tmp_path: Path) -> None:
    """They take up to a second."""
    stub = "import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(60)"
    (tmp_path / "pyarrow.py").write_text(stub)
    ended = script("--study", "ranjan2019", PYTHONPATH=str(tmp_path))
    assert (ended.returncode, ended.stderr) == (-signal.SIGINT, "")


def test_every_mistake_is_reported_at_once() -> None:
    """Each with its place, the value and what is known."""
    ended = script("--study", "zhang", "--scale", "small", "--seed=-5")
    assert ended.returncode == 2
    lines = ended.stderr.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["STUDY", "SCALE", "SEED"]
    for line, value, known in zip(
        lines, ["zhang", "small", "-5"], ["zhang2023", "smoke", "published"], strict=True
    ):
        assert repr(value) in line
        assert known in line


def test_a_place_that_cannot_be_written_gives_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The message names it."""
    place = tmp_path / "reproduced"
    place.touch()
    monkeypatch.setattr(reproduce, "REPRODUCED", place)
    assert reproduce.main(["--study", "ranjan2019", "--scale", "smoke"]) == 2
    assert str(place) in capsys.readouterr().err


def test_claims_that_cannot_be_judged_end_the_script(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With the exit code of the verb, which has said why."""
    script = "import sys; sys.exit(2 * ('claims' in sys.argv))"
    monkeypatch.setattr(reproduce, "HTTPBED", (sys.executable, "-c", script))
    (experiment,) = reproduce.experiments("ranjan2019")
    with pytest.raises(SystemExit) as ended:
        reproduce.reproduced(experiment, Selection("smoke"), tmp_path / "new", tmp_path / "old", 7)
    assert ended.value.code == 2


def test_every_study_has_its_experiments() -> None:
    """Those of the folders that have published values, and no examples."""
    studies = {path.parent.name for path in reproduce.experiments(None)}
    assert studies == {"liu2024", "biswal2016", "zhang2023", "ranjan2019"}
    assert {path.stem for path in reproduce.experiments("zhang2023")} == {"losses", "rates"}


def test_what_is_published_is_run_again(tmp_path: Path) -> None:
    """At its scale; and at scale standard what is not published yet."""
    assert str(reproduce.selection_of(tmp_path)) == "standard"
    (tmp_path / "manifest.json").write_text('{"scale": "full", "for_claims": true}')
    found = reproduce.selection_of(tmp_path)
    assert found.options() == ["--scale", "full", "--for-claims", "--clock", "real"]
    assert str(found) == "full, for claims"


@pytest.mark.parametrize("scale", [None, "smoke"])
def test_the_clock_is_that_of_the_published_campaign(tmp_path: Path, scale: str | None) -> None:
    """Where the archive names none, it is real time."""
    assert reproduce.selection_of(tmp_path, scale).clock == "real"
    (tmp_path / "manifest.json").write_text('{"scale": "full"}')
    assert reproduce.selection_of(tmp_path, scale).clock == "real"
    (tmp_path / "manifest.json").write_text('{"scale": "full", "clock": "virtual"}')
    assert reproduce.selection_of(tmp_path, scale).options()[-2:] == ["--clock", "virtual"]


def test_another_seed_is_the_default(tmp_path: Path) -> None:
    """The published one is an option, and nothing but the seed differs in the file."""
    (experiment,) = [one for one in reproduce.experiments("zhang2023") if one.stem == "losses"]
    published = reproduce.seed_of(experiment, "published")
    assert reproduce.seed_of(experiment, None) != published
    assert reproduce.seed_of(experiment, "7") == 7
    written = reproduce.with_seed(experiment, 7, tmp_path / "files").read_text().splitlines()
    lines = experiment.read_text().splitlines()
    changed = [pair for pair in zip(lines, written, strict=True) if pair[0] != pair[1]]
    assert changed == [(f"seed = {published}", "seed = 7")]


def test_scale_smoke_cannot_judge(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its few trials contradict nothing, and find nothing again."""
    opposite = [ComparedClaim("A", "reproduced", "contradicted")]
    monkeypatch.setattr(reproduce, "reproduced", lambda *_: opposite)
    assert reproduce.main(["--study", "ranjan2019", "--scale", "smoke"]) == 0
    said = capsys.readouterr().out
    assert "smoke cannot judge" in said
    assert "found again" not in said
    monkeypatch.setattr(reproduce, "compared_values", lambda *_: "values")
    assert reproduce.main(["--study", "ranjan2019", "--scale", "standard"]) == 1


def test_verdicts_are_compared_by_claim() -> None:
    """A claim that was not published has no published verdict."""
    published = [
        {"id": "A", "verdict": "reproduced"},
        {"id": "B", "verdict": "open"},
        {"id": "C", "verdict": "contradicted"},
    ]
    now = [{"id": name, "verdict": "reproduced"} for name in "ABCD"]
    now += [{"id": name, "verdict": "not run"} for name in "EF"]
    compared = reproduce.compared_claims(published, now)
    assert [claim.is_opposite for claim in compared] == [False, False, True, False, False, False]
    assert list(reproduce.lines(compared)) == [
        "  B: published open, now reproduced",
        "  C: published contradicted, now reproduced  OPPOSITE",
        "  D: not published, now reproduced",
        "  not run: E, F",
        "1 of 3 published verdicts found again",
    ]


@pytest.mark.parametrize(
    ("published", "now", "is_opposite"),
    [
        ("reproduced", "contradicted", True),
        ("contradicted", "reproduced", True),
        ("not run", "contradicted", False),
        ("reproduced", "not run", False),
        ("reproduced", "open", False),
    ],
)
def test_only_settled_verdicts_are_opposite(published: str, now: str, is_opposite: bool) -> None:
    """A smoke run settles nothing, and so contradicts nothing."""
    assert ComparedClaim("A", published, now).is_opposite == is_opposite


def test_values_are_compared_with_the_published_range(tmp_path: Path) -> None:
    """With two published values a third lies between them in one of three cases."""
    published = campaign(tmp_path / "published", (1.0, 3.0))
    archive.merge([published], tmp_path / "archive")
    new = campaign(tmp_path / "new", (2.0, 4.0))
    found = reproduce.compared_values(tmp_path / "archive", new)
    assert (found.inside, found.values) == (6, 12)
    assert found.expected == pytest.approx(12 / 3)
    assert str(found) == ("6 of 12 values lie in the published range (about 33 % are expected to)")


def test_nothing_to_compare_is_said(tmp_path: Path) -> None:
    """An empty campaign has no values."""
    published = campaign(tmp_path / "published", (1.0, 3.0))
    stored_campaigns.make(tmp_path / "new")
    assert str(reproduce.compared_values(published, tmp_path / "new")).startswith("0 of 0 values")
