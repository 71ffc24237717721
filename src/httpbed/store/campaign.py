"""A campaign: one execution of a design, in a folder that loses nothing.

::

    manifest.json         versions, digests, machine, command
    experiment.toml       the experiment
    design.jsonl          a line per trial, in order; in an archive design.jsonl.gz
    earlier/<n>/          these three as they were before the campaign grew for the n-th time
    links/<SHA-256>       copies of the traces and records that the experiment names
    runs.jsonl            a line per run
    machines.jsonl        a line per block that a machine of a cluster ran
    trials/<block>/<trial>/<attempt>/{trial.json, observations.jsonl, handovers.json, artifacts/}
    unfinished/           attempts that are running; cleared by the next run
    damaged/              damaged attempts that were set aside
    lock                  held by the run that works on it

An attempt joins the campaign by one rename, after all of it is on the disk, so it is complete or
missing. The manifest has the digests of experiment, design and links, ``trial.json`` those of an
attempt's files. An attempt that differs from its digests counts as missing. A resumed run executes
the trials of the design that have no finished attempt. A run that asks for more trials, or whose
file says something else about them, lets the campaign grow (:func:`resume_or_grow`).
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from httpbed.base import digests, disk, untrusted_files
from httpbed.base.digests import DifferentError, FileDigest
from httpbed.base.errors import ConfigError, Mistake, require_none
from httpbed.experiment import parser
from httpbed.experiment.design import Growth, Version, differences, grown
from httpbed.experiment.trial import Attempt, Record, Trial
from httpbed.store import attempts, campaign_files, campaign_folder, layout, manifest_form, resume
from httpbed.store.campaign_files import FirstFiles
from httpbed.store.layout import (
    ARCHIVED_DESIGN,
    DESIGN,
    EXPERIMENT,
    LINKS,
    MANIFEST,
    MANIFEST_SCHEMA,
    RUNS,
    SOURCES,
    Damage,
)

T = TypeVar("T")
ANOTHER = "choose another folder with -o"

artifacts = layout.artifacts


class Campaign:
    """An open campaign. Made by :func:`opened`, or :func:`open_existing` for reading."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.growth: Growth | None = None
        """How this run changed the campaign's files; None if it did not."""
        self._design: tuple[FileDigest, list[Trial]] | None = None
        """The design, parsed once, with the digest of its file."""

    @property
    def manifest(self) -> dict[str, Any]:
        """Return the manifest."""
        return {name: one for name, one in self._sealed_manifest().items() if name != "files"}

    @property
    def is_archive(self) -> bool:
        """Whether it has tables alone, and no attempts (:mod:`httpbed.store.archive`)."""
        return SOURCES in self.manifest

    def _sealed_manifest(self) -> dict[str, Any]:
        return self._parsed(MANIFEST, self._unsealed)

    def _unsealed(self, content: bytes) -> dict[str, Any]:
        document = digests.unsealed(content)
        if (found := document.get("schema")) != MANIFEST_SCHEMA:
            reason = f"has schema {found}, and this httpbed reads schema {MANIFEST_SCHEMA}"
            remedy = "use the httpbed that wrote the campaign"
            raise ConfigError([Mistake(str(self.directory / MANIFEST), reason, remedy)])
        if wrong := [*manifest_form.manifest_mistakes(document)]:
            remedy = "restore it from a copy, or use the httpbed that wrote the campaign"
            file = self.directory / MANIFEST
            raise ConfigError(
                Mistake(f"{file}: {place}", reason, remedy) for place, reason in wrong
            )
        return document

    @property
    def experiment_text(self) -> str:
        """Return the experiment file."""
        return self._parsed(
            EXPERIMENT, lambda content: self._as_written(EXPERIMENT, content).decode()
        )

    @property
    def design_file(self) -> str:
        """Return the name of the file that has the design."""
        return ARCHIVED_DESIGN if ARCHIVED_DESIGN in self.files() else DESIGN

    def design(self) -> list[Trial]:
        """Return every trial in order."""

        def parse(content: bytes) -> list[Trial]:
            written, digest = self._as_written(name, content), self.files()[name]
            if self._design is None or self._design[0] != digest:
                text = campaign_files.expanded(written) if name == ARCHIVED_DESIGN else written
                self._design = digest, campaign_files.parse_design(text.decode())
            return self._design[1]

        name = self.design_file
        return self._parsed(name, parse)

    def trials_by_id(self) -> dict[str, Trial]:
        """Return every trial in order, by its identifier."""
        return {trial.id: trial for trial in self.design()}

    def files(self) -> dict[str, FileDigest]:
        """Return the digests of the files beside the manifest and of links, by their names."""

        def parse(content: bytes) -> dict[str, FileDigest]:
            listed = self._unsealed(content)["files"].items()
            return {name: FileDigest.model_validate(one) for name, one in listed}

        return self._parsed(MANIFEST, parse)

    def list_files(self, names: Iterable[str]) -> None:
        """Add the digests of further files to the manifest; of ``tables.json``, of all tables."""
        listed = self.files()
        for name in names:
            content = untrusted_files.own_data(self.directory / name)
            listed[name] = digests.of_bytes(content)
        campaign_files.put_manifest(self.directory, self.manifest, listed)

    def link_names(self) -> list[str]:
        """Return the names of the copies of files that the experiment names."""
        return [name for name in self.files() if name.startswith(f"{LINKS}/")]

    def _as_written(self, name: str, content: bytes) -> bytes:
        digest = self.files().get(name)
        if digest is None:
            raise DifferentError(f"is not among the files that {MANIFEST} names")
        if difference := digest.difference(digests.of_bytes(content)):
            staged = campaign_files.staged_content(self.directory, name, digest)
            if staged is None:
                raise DifferentError(difference)
            return staged
        return content

    def records(self) -> Iterator[Record]:
        """Yield every finished attempt that is not damaged, by block, trial and number."""
        design, real = self.trials_by_id(), self.directory.resolve()
        for place in layout.attempts(real):
            one = attempts.parse(attempts.read_files(real, place), design)
            if isinstance(one, Record):
                yield one

    def set_aside_damaged(self, damaged: Iterable[Damage]) -> None:
        """Move damaged attempts to ``damaged``.

        Only the run that holds the campaign (:func:`opened`) may do so.
        """
        for damage in damaged:
            self._set_aside(self.directory / damage.place)

    def attempts(self) -> dict[str, Attempt]:
        """Return the last finished attempt at each trial, by the trial's identifier."""
        return {record.attempt.id: record.attempt for record in self.records()}

    def unfinished(self, attempt_of: Trial, number: int) -> Path:
        """Make the folder in which an attempt runs."""
        folder = self.directory / layout.UNFINISHED / f"{attempt_of.id}-{number}"
        if os.path.lexists(folder):
            self._set_aside(folder)
        folder.mkdir(parents=True)
        return folder

    def commit(self, record: Record, folder: Path) -> Path:
        """Make an attempt part of the campaign by one rename.

        A damaged attempt in its place is moved to ``damaged``.
        """
        attempts.write(record, folder)
        final = self.artifacts(record.attempt).parent
        self._make_way(final)
        folder.rename(final)
        above = [final.parents[level] for level in range(4)]  # trial, block, trials, campaign
        disk.settle([folder.parent, *above])
        return final

    def _make_way(self, final: Path) -> None:
        """Make the folders above an attempt's, and set aside anything in their places."""
        place = self.directory
        for name in final.parent.relative_to(self.directory).parts:
            place /= name
            if os.path.lexists(place) and not digests.is_folder(place):
                self._set_aside(place)
            place.mkdir(exist_ok=True)
        real = self.directory.resolve()
        if os.path.lexists(final):
            found = attempts.read_files(real, str(final.relative_to(self.directory)))
            if isinstance(attempts.parse(found, None), Damage):
                self._set_aside(final)

    def _set_aside(self, path: Path) -> None:
        """Move a damaged file or folder to ``damaged`` under an unused name."""
        folder = self.directory / layout.DAMAGED
        folder.mkdir(exist_ok=True)
        name = "-".join(path.relative_to(self.directory).parts)
        others = (f"{name}.{number}" for number in itertools.count(2))
        free = (one for one in itertools.chain([name], others) if not os.path.lexists(folder / one))
        path.rename(folder / next(free))
        disk.settle([folder])

    def artifacts(self, attempt: Attempt) -> Path:
        """Return the folder of an attempt's artifacts."""
        return artifacts(self.directory, attempt.trial.block, attempt.id, attempt.number)

    def artifact(self, attempt: Attempt, name: str) -> Path:
        """Return one artifact of an attempt, after verifying it.

        Raises:
            ValueError: It is missing or damaged.
        """
        place = layout.attempt(attempt.trial.block, attempt.id, attempt.number)
        if reasons := attempts.altered(self.directory.resolve(), place, name):
            raise ValueError("; ".join(reasons))
        return self.artifacts(attempt) / name

    def note_run(self, now: datetime, command: str, jobs: str) -> None:
        """Append a line that a run begins."""
        run = {"schema": 1, "started": now.isoformat(), "command": command, "jobs": jobs}
        disk.append_line(self.directory / RUNS, json.dumps(run))

    def note_runs(self, runs: Iterable[Mapping[str, Any]]) -> None:
        """Append the runs of another campaign to the log of this one."""
        for run in runs:
            disk.append_line(self.directory / RUNS, json.dumps(run))

    def runs(self) -> list[dict[str, Any]]:
        """Return every run in order; torn lines are left out."""
        return [run for run in map(_run, self._run_lines()) if run]

    def torn_runs(self) -> list[int]:
        """Return the numbers, from 1, of the torn lines of ``runs.jsonl``."""
        return [number for number, line in enumerate(self._run_lines(), start=1) if not _run(line)]

    def _run_lines(self) -> list[str]:
        if not os.path.lexists(self.directory / RUNS):
            return []
        return self._parsed(RUNS, lambda content: content.decode(errors="replace").splitlines())

    def clear_unfinished(self) -> int:
        """Remove unfinished attempts of earlier runs; return their number.

        Other files in that folder stay.
        """
        leftovers = layout.under_way(self.directory)
        for folder in leftovers:
            shutil.rmtree(folder)
        return len(leftovers)

    def _parsed(self, name: str, parse: Callable[[bytes], T]) -> T:
        path = self.directory / name
        try:
            return parse(untrusted_files.own_data(self.directory.resolve() / name))
        except FileNotFoundError:
            reason = "is missing"
        except DifferentError as error:
            reason = f"is damaged: it {error}"
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            first, *_ = str(error).splitlines() or [type(error).__name__]
            reason = f"is damaged: {first}"
        raise ConfigError([Mistake(str(path), reason, "restore it from a copy")])


def _run(line: str) -> dict[str, Any] | None:
    """Parse a line of the log of runs; None for a line that a power cut tore."""
    try:
        run = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return run if isinstance(run, dict) and isinstance(run.get("jobs"), str) else None


def require_place(directory: Path, experiment_text: str, design: Sequence[Trial]) -> None:
    """Check whether a run of an experiment may use a folder, before anything is built for it.

    Raises:
        ConfigError: It is no folder, cannot be written to, or has other files or a campaign of
            another experiment.
        OSError: This machine cannot now, for example because the disk is full.
    """
    campaign_folder.require_usable(directory)
    if os.path.lexists(directory / MANIFEST):
        mistakes = [*other_experiment(Campaign(directory), experiment_text, design)]
        require_none(mistakes)


@contextmanager
def opened(
    directory: Path,
    experiment_text: str,
    design: Sequence[Trial],
    manifest: Mapping[str, Any],
    files: Mapping[str, Path] | None = None,
) -> Iterator[Campaign]:
    """Open a campaign for a run, a new one or one to be resumed, and lock it meanwhile.

    A campaign of the same experiment with another design grows to contain this one. A new campaign
    copies each of ``files`` under its digest, a growing one those that it lacks.

    Raises:
        ConfigError: It belongs to another experiment, used other programs, or is locked by another
            run.
    """
    campaign_folder.refuse_foreign(directory)
    campaign_folder.make(directory)
    with campaign_folder.locked(directory):
        campaign = Campaign(directory)
        wanted = FirstFiles(experiment_text, design, manifest, files or {})
        if os.path.lexists(directory / MANIFEST):
            campaign_files.settle(directory, campaign.files())
            campaign.growth = resume_or_grow(campaign, wanted)
        else:
            campaign_files.write_first(directory, wanted)
        yield campaign


@contextmanager
def made(
    directory: Path,
    experiment_text: str,
    design: Sequence[Trial],
    manifest: Mapping[str, Any],
    files: Mapping[str, Path],
) -> Iterator[Campaign]:
    """Make a campaign in a new or empty folder, completely or not at all.

    Raises:
        ConfigError: The folder is not empty, or belongs to another campaign.
    """
    require_none(campaign_folder.not_new(directory))
    campaign_folder.require_usable(directory)
    target = directory.resolve()
    campaign_folder.make(target.parent)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as name:
        place = Path(name) / "made"
        place.mkdir()
        with campaign_folder.locked(place):
            wanted = FirstFiles(experiment_text, design, manifest, files)
            campaign_files.write_first(place, wanted)
            yield Campaign(place)
            place.replace(target)
    disk.settle([target.parent])


def open_existing(directory: Path) -> Campaign:
    """Open a campaign to read it.

    Raises:
        ConfigError: The folder is not a campaign.
    """
    campaign_folder.require_campaign(directory)
    campaign_folder.require_own(directory)
    return Campaign(directory)


# What a campaign becomes that exists already.


def resume_or_grow(campaign: Campaign, wanted: FirstFiles) -> Growth | None:
    """Make a campaign contain what a run asks for; return how it changed, None if it did not.

    Raises:
        ConfigError: It is an archive, or a campaign of another experiment, machine or programs.
    """
    place = str(campaign.directory)
    if campaign.is_archive:
        raise ConfigError([Mistake(place, "holds an archive, which no run continues", ANOTHER)])
    old = campaign.design()
    ran = layout.trials_with_attempts(campaign.directory.resolve())
    other = other_experiment(campaign, wanted.experiment_text, wanted.design)
    require_none([*other, *_other_programs(campaign, wanted.manifest)])
    step = grown(old, wanted.design, ran)
    manifest = campaign.manifest
    same_text = campaign.experiment_text == wanted.experiment_text
    if same_text and not step.changes_trials and resume.is_same_part(manifest, wanted.manifest):
        return None
    merged = resume.grown_manifest(manifest, wanted.manifest)
    content = FirstFiles(wanted.experiment_text, step.design, merged, wanted.files)
    number = resume.generation(manifest)
    campaign_files.write_grown(campaign.directory, content, campaign.files(), number)
    return step


def other_experiment(campaign: Campaign, text: str, design: Sequence[Trial]) -> Iterator[Mistake]:
    """Yield each difference that keeps an experiment out of a campaign, with the way out."""
    place = str(campaign.directory)
    ran = layout.trials_with_attempts(campaign.directory.resolve())
    earlier = Version(parser.read_valid(campaign.experiment_text).document, campaign.design())
    later = Version(parser.read_valid(text).document, design)
    for difference in differences(earlier, later, ran):
        reason = f"holds a campaign of another experiment: {difference}"
        yield Mistake(place, reason, f"{difference.remedy}, or {ANOTHER}")


def _other_programs(campaign: Campaign, manifest: Mapping[str, Any]) -> Iterator[Mistake]:
    """Yield each program that is another one than in earlier runs."""
    for name, before, now in resume.conflicts(campaign.manifest, manifest):
        reason = f"{name} was {before or 'not there'} and is now {now or 'gone'}"
        remedy = f"give the same --keep, or {ANOTHER}" if name == resume.KEPT else ANOTHER
        yield Mistake(str(campaign.directory), reason, remedy)
