"""``httpbed plan --commands``: the same processes that ``httpbed run`` would start."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from click.testing import CliRunner

import stored_campaigns
from httpbed.bed.machine import backend as backends
from httpbed.bed.machine.backend import Backend
from httpbed.campaign import campaign_setup, settings
from httpbed.cli import plan as verb
from httpbed.programs import catalog
from httpbed.trial import content, plan, program_roots, tls_certificates
from httpbed.trial.attempt_plan import PlanOptions
from recorded import nothing_built


@pytest.fixture(autouse=True)
def every_backend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Pretend that this machine has every backend, and that all is built."""
    (tmp_path / "tun").touch()
    monkeypatch.delenv("HTTPBED_LINK_BACKEND", raising=False)
    monkeypatch.setattr(backends, "TUN", tmp_path / "tun")
    monkeypatch.setattr(backends, "_has_packet_sockets", lambda: True)
    monkeypatch.setattr(program_roots, "ensure", lambda *_, **__: nothing_built())
    monkeypatch.setattr(tls_certificates, "ensure", lambda *_: tmp_path)
    monkeypatch.setattr(content, "ensure_all", lambda *_: {})


@pytest.mark.parametrize("keep", ["", "pcap", "keylog", "keylog,pcap"])
@pytest.mark.parametrize("backend", ["af_packet", "tun"])
def test_plan_prints_the_processes_that_run_starts(
    tmp_path: Path, backend: Backend, keep: str
) -> None:
    """All of them, with their arguments, files and output, for every trial."""
    file = tmp_path / "experiment.toml"
    file.write_text(stored_campaigns.SMALL)
    words = [str(file), "--commands", "--json", "--link-backend", backend]
    words += ["--keep", keep] if keep else []
    result = CliRunner().invoke(verb.command, words, catch_exceptions=False)
    kept = frozenset(filter(None, keep.split(",")))
    known, loaded = catalog.load(), stored_campaigns.loaded(stored_campaigns.SMALL)
    bed = campaign_setup.make_setup(
        loaded, known, PlanOptions(keep=kept, backend=backend), say=print
    )
    started = [
        [asdict(spec) for spec in plan.by_setup(trial, bed).attempt.specs()]
        for trial in loaded.trials
    ]
    assert bed.options.backend == backend
    assert [trial["commands"] for trial in json.loads(result.stdout)] == json.loads(
        json.dumps(started, default=dict)
    )
    assert ("link.pcapng" in result.stdout) == ("pcap" in kept)
    assert ("SSLKEYLOGFILE" in result.stdout) == ("keylog" in kept)


def test_without_an_option_plan_chooses_the_backend_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel without packet sockets gets TUN devices."""
    monkeypatch.setattr(backends, "_has_packet_sockets", lambda: False)
    file = tmp_path / "experiment.toml"
    file.write_text(stored_campaigns.SMALL)
    result = CliRunner().invoke(verb.command, [str(file), "--commands"], catch_exceptions=False)
    assert '"backend": "tun"' in result.stdout


def summed_up(text: str, *words: str, folder: Path) -> list[str]:
    """Return what plan says of a whole experiment."""
    file = folder / "experiment.toml"
    file.write_text(text)
    result = CliRunner().invoke(verb.command, [str(file), *words], catch_exceptions=False)
    return result.stderr.splitlines()


def test_plan_estimates_both_clocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A guest takes a CPU, whatever the link; several run side by side."""
    monkeypatch.setattr(settings, "cpus", lambda: 4)
    real, virtual, *_ = summed_up(stored_campaigns.SMALL, "--all", folder=tmp_path)
    assert real.startswith("12 trials: 6 treatments in 2 blocks; about ")
    assert virtual.startswith("in virtual time (--clock virtual): about ")
    assert virtual.endswith(" on 4 CPUs")


def test_plan_names_the_treatments_that_virtual_time_makes_slower(tmp_path: Path) -> None:
    """A guest computes every packet, and a fast link does not wait for it."""
    fast = stored_campaigns.SMALL.replace("10 Mbit/s", "1 Gbit/s").replace("1 MB", "100 MB")
    assert "1 Gbit/s" in fast
    assert "100 MB" in fast
    (note,) = [one for one in summed_up(fast, folder=tmp_path) if "slower than real" in one]
    assert note.startswith("note: virtual time is slower than real time for ")
    assert "of CPU in place of" in note
    assert not any("slower" in one for one in summed_up(stored_campaigns.SMALL, folder=tmp_path))


def test_a_trial_has_another_identifier_by_another_clock(tmp_path: Path) -> None:
    """The plan lists those of the clock that run will use."""
    file = tmp_path / "experiment.toml"
    file.write_text(stored_campaigns.SMALL)
    listed = [
        CliRunner().invoke(verb.command, [str(file), "--json", "--clock", clock]).stdout
        for clock in ("real", "virtual")
    ]
    ids = [{trial["id"] for trial in json.loads(one)} for one in listed]
    assert len(ids[0]) == len(ids[1]) == 12
    assert not ids[0] & ids[1]


def test_a_scale_of_a_publication_says_what_that_has_and_what_is_absent_here(
    tmp_path: Path,
) -> None:
    """Its cells and runs, and each program that is lacking."""
    scale = """
[scales.paper]
replicates = 1
published = { cells = 7, runs = 70 }
absent = ["a program: no package has it"]
"""
    file = tmp_path / "paper.toml"
    file.write_text(stored_campaigns.SMALL + scale)
    said = CliRunner().invoke(verb.command, [str(file), "--scale", "paper"]).output
    assert "7 cells and 70 runs" in said
    assert "absent: a program: no package has it" in said
    assert "absent" not in CliRunner().invoke(verb.command, [str(file)]).output


def test_plan_lists_ten_trials_and_counts_the_others(tmp_path: Path) -> None:
    """A design may have thousands; --all lists every one."""
    file = tmp_path / "experiment.toml"
    file.write_text(stored_campaigns.SMALL)
    trials = len(stored_campaigns.loaded(stored_campaigns.SMALL).trials)
    assert trials > verb.FEW
    short = CliRunner().invoke(verb.command, [str(file)], catch_exceptions=False)
    assert len(short.stdout.splitlines()) == verb.FEW
    assert f"and {trials - verb.FEW} more trials" in short.stderr
    whole = CliRunner().invoke(verb.command, [str(file), "--all"], catch_exceptions=False)
    assert len(whole.stdout.splitlines()) == trials
