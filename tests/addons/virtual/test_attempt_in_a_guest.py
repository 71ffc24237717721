"""An attempt that is handed over to a guest."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from httpbed.addons.virtual import inside, job, outside
from httpbed.addons.virtual.inside import ARTIFACTS, ATTEMPT, PHASES
from httpbed.base.errors import BedError
from httpbed.bed.sandbox.sandbox_spec import TOOLS
from httpbed.bed.toolbox.root_filesystem import Root
from httpbed.programs import catalog
from httpbed.programs.install import OF_THE_USER
from httpbed.trial import plan
from httpbed.trial.attempt_plan import CampaignSetup
from httpbed.trial.program_roots import Place, Programs
from recorded import ALL, H2_LOSS, trial


def setup(place: Path) -> CampaignSetup:
    root = Root("trixie", place / "root", frozenset(), {}, "2026-11-23")
    return CampaignSetup(catalog.load(), Programs(root, {}), place / "certificates", {})


def test_the_plan_of_an_attempt_arrives_as_it_was_made(tmp_path: Path) -> None:
    """With its sandbox, whose folders are the guest's."""
    prepared = setup(tmp_path)
    planned = plan.by_setup(trial(H2_LOSS).model_copy(update={"clock": "virtual"}), prepared)
    job.write_work(tmp_path, outside.handed(planned, prepared)[0])
    arrived = job.read_work(tmp_path)
    assert arrived.attempt == planned.attempt
    assert arrived.sandbox == plan.sandbox_spec(prepared, planned, ATTEMPT / ARTIFACTS)


def test_a_guest_gets_only_what_its_trial_needs(tmp_path: Path) -> None:
    """The kernel's randomness depends on what is mounted."""
    prepared = setup(tmp_path)
    root = prepared.programs.tools
    places = dict.fromkeys(("curl", "nginx", "caddy"), Place(root))
    prepared = replace(prepared, programs=Programs(root, places, {"replay-origin": root}))
    handed, placed = outside.handed(plan.by_setup(trial(H2_LOSS), prepared), prepared)
    assert not placed
    assert handed.sandbox.roots.keys() == {"curl", "nginx", TOOLS}


def test_a_guest_does_not_see_where_an_executable_of_the_user_lies(tmp_path: Path) -> None:
    """The length of its path would change the random numbers, and so the time of a copy."""
    prepared = setup(tmp_path)
    root, program = Place(prepared.programs.tools), f"{OF_THE_USER}/program"
    works, places = [], []
    for here in (tmp_path / "a", tmp_path / "a-longer/name"):
        server = Place(None, here, shown={program: here, "/etc/needed": tmp_path})
        programs = Programs(prepared.programs.tools, {"curl": root, "nginx": server})
        prepared = replace(prepared, programs=programs)
        work, placed = outside.handed(plan.by_setup(trial(H2_LOSS), prepared), prepared)
        works.append(work)
        places.append(placed)
    assert works[0] == works[1]
    assert [list(placed.values()) for placed in places] == [
        [tmp_path / "a"],
        [tmp_path / "a-longer/name"],
    ]
    (part,) = (part for part in works[0].sandbox.parts.values() if program in part.shared)
    assert {str(part.shared[program])} == places[0].keys() == places[1].keys()
    assert part.shared["/etc/needed"] == tmp_path


@pytest.mark.parametrize("described", ALL)
def test_a_guest_begins_without_what_prepares_campaigns(tmp_path: Path, described: str) -> None:
    """Each import costs every trial in virtual time; the handed plan imports nothing more."""
    prepared = setup(tmp_path)
    job.write_work(tmp_path, outside.handed(plan.by_setup(trial(described), prepared), prepared)[0])
    script = f"""
import sys, pathlib, {inside.__name__}
{inside.__name__}.job.read_work(pathlib.Path(sys.argv[1]))
print(*sys.modules)"""
    listed = subprocess.run(
        [sys.executable, "-c", script, tmp_path], check=True, capture_output=True, text=True
    )
    unneeded = {
        "httpbed.experiment.scenario",
        "httpbed.bed.toolbox.root_filesystem",
        "httpbed.programs.catalog",
        "numpy",
        "pydantic",
    }
    assert not unneeded & set(listed.stdout.split())


def test_the_watchdog_waits_longer_for_a_trial_with_a_longer_time_limit() -> None:
    """At least ten minutes, for a machine on which many guests share a processor."""
    short = trial(H2_LOSS).model_copy(update={"time_limit_s": 1.0})
    long = short.model_copy(update={"time_limit_s": 1000.0})
    assert outside.limit_s(short) == 602.0
    assert outside.limit_s(long) == 2600.0


@pytest.mark.parametrize(
    "phases",
    [
        *(None, [], {"client": "1"}, {"client": -1.0}, {"client": 1e300}, {"client": 10**400}),
        *({"\x1b": 1.0}, {"a" * 1000: 1.0}, {str(number): 1.0 for number in range(1000)}),
    ],
)
def test_phases_of_another_form_are_an_error_of_the_bed(phases: object) -> None:
    """A program may have taken the guest over, and then it writes the result."""
    with pytest.raises(BedError, match="the guest's result cannot be read"):
        outside.read_phases({PHASES: phases})
