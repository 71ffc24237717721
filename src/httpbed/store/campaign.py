"""A campaign: one execution of a design, in a directory that is only ever added to.

::

    manifest.json         what made it: versions, digests, host, command
    experiment.toml       the experiment as it was
    design.jsonl          a line per trial, in order
    links/<SHA-256>       copies of the traces and records that the experiment names
    runs.jsonl            a line per run that worked on it
    trials/<block>/<trial>/<attempt>/{trial.json, observations.jsonl, handovers.json, artifacts/}
    unfinished/           attempts under way; cleared when the campaign is next opened
    damaged/              what was in the place of an attempt, and was not as it was written
    lock                  held while a run works on it

An attempt becomes part of the campaign by one rename, after all of it is on the disk: it is there
whole or not at all. The manifest has the digests of the experiment, the design and the links, and
``trial.json`` those of an attempt's files; an attempt that differs from them counts as not there.
What is left to do is the design minus the finished attempts.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from httpbed.experiment.errors import ConfigError, Mistake
from httpbed.experiment.trial import Attempt, Record, Trial
from httpbed.host.sandbox import removal, untrusted_files
from httpbed.store import attempts, digests, durable_files, layout, resume
from httpbed.store.damage import Damage
from httpbed.store.digests import DifferentError, FileDigest

T = TypeVar("T")

MANIFEST, EXPERIMENT, DESIGN = FILES = ("manifest.json", "experiment.toml", "design.jsonl")
LINKS = "links"
RUNS = "runs.jsonl"
artifacts = layout.artifacts


class Campaign:
    """An open campaign. Made by :func:`opened`, or :func:`open_existing` for reading."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @property
    def manifest(self) -> dict[str, Any]:
        """What made it."""
        return {name: one for name, one in self._sealed_manifest().items() if name != "files"}

    def _sealed_manifest(self) -> dict[str, Any]:
        return self._parsed(MANIFEST, digests.unsealed)

    @property
    def experiment_text(self) -> str:
        """The experiment file, as it was."""
        return self._parsed(EXPERIMENT, lambda content: self._as_written(EXPERIMENT, content))

    def design(self) -> list[Trial]:
        """Every trial, in order."""

        def parse(content: bytes) -> list[Trial]:
            lines = self._as_written(DESIGN, content).splitlines()
            return [Trial.model_validate_json(line) for line in lines]

        return self._parsed(DESIGN, parse)

    def files(self) -> dict[str, FileDigest]:
        """Return the digests of the experiment, the design and the links, by their names."""

        def parse(content: bytes) -> dict[str, FileDigest]:
            said = digests.unsealed(content)["files"].items()
            return {name: FileDigest.model_validate(one) for name, one in said}

        return self._parsed(MANIFEST, parse)

    def _as_written(self, name: str, content: bytes) -> str:
        said = self.files().get(name)
        if said is None:
            raise DifferentError(f"is not among the files that {MANIFEST} names")
        if difference := said.difference(digests.of_bytes(content)):
            raise DifferentError(difference)
        return content.decode()

    def examined(self) -> Iterator[Record | Damage]:
        """Yield every finished attempt by block, trial and number, or what is wrong with it."""
        design = {trial.id: trial for trial in self.design()}
        real = self.directory.resolve()
        for place in layout.attempts(real):
            yield attempts.parse(attempts.read_files(real, place), design)

    def records(self) -> Iterator[Record]:
        """Yield every finished attempt that is as it was written."""
        return (one for one in self.examined() if isinstance(one, Record))

    def damages(self) -> list[Damage]:
        """List the attempts that are not as they were written; they count as not there."""
        return [one for one in self.examined() if isinstance(one, Damage)]

    def set_aside_damaged(self) -> list[Damage]:
        """Move what is in attempts' places, and is not as it was written, to ``damaged``.

        Only who holds the campaign (:func:`opened`) may do so.
        """
        found = self.damages()
        for one in found:
            self._set_aside(self.directory / one.place)
        return found

    def attempts(self) -> dict[str, Attempt]:
        """The last finished attempt at each trial, by the trial's identifier."""
        return {record.attempt.id: record.attempt for record in self.records()}

    def unfinished(self, attempt_of: Trial, number: int) -> Path:
        """Make the folder in which an attempt is under way."""
        folder = self.directory / layout.UNFINISHED / f"{attempt_of.id}-{number}"
        if os.path.lexists(folder):
            self._set_aside(folder)
        folder.mkdir(parents=True)
        return folder

    def commit(self, record: Record, folder: Path) -> Path:
        """Make an attempt part of the campaign, at once and for ever.

        What is in its place, and is not as it was written, is moved to ``damaged``.
        """
        attempts.write(record, folder)
        final = self._home(record.attempt)
        self._make_way(final)
        folder.rename(final)
        above = [final.parents[level] for level in range(4)]  # trial, block, trials, campaign
        durable_files.settle([folder.parent, *above])
        return final

    def _make_way(self, final: Path) -> None:
        """Make the folders above an attempt's, and move away what is in the way."""
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
        """Move what is not as it was written to ``damaged``, under a name of its own."""
        folder = self.directory / layout.DAMAGED
        folder.mkdir(exist_ok=True)
        name = "-".join(path.relative_to(self.directory).parts)
        others = (f"{name}.{number}" for number in itertools.count(2))
        free = (one for one in itertools.chain([name], others) if not os.path.lexists(folder / one))
        path.rename(folder / next(free))
        durable_files.settle([folder])

    def artifacts(self, attempt: Attempt) -> Path:
        """Return the folder with what a finished attempt left."""
        return artifacts(self.directory, attempt.trial.block, attempt.id, attempt.number)

    def artifact(self, attempt: Attempt, name: str) -> Path:
        """Return one file that a finished attempt left, after reading it whole to verify it.

        Raises:
            ValueError: It is not there, or not as it was written.
        """
        place = layout.attempt(attempt.trial.block, attempt.id, attempt.number)
        if reasons := attempts.altered(self.directory.resolve(), place, name):
            raise ValueError("; ".join(reasons))
        return self.artifacts(attempt) / name

    def _home(self, attempt: Attempt) -> Path:
        return self.artifacts(attempt).parent

    def note_run(self, now: datetime, command: str, jobs: int) -> None:
        """Write down that a run begins to work on it."""
        said = {"schema": 1, "started": now.isoformat(), "command": command, "jobs": jobs}
        durable_files.append_line(self.directory / RUNS, json.dumps(said))

    def runs(self) -> list[dict[str, Any]]:
        """Every run that worked on it, the first one first; torn lines are left out."""
        return [said for said in map(_run, self._run_lines()) if said]

    def torn_runs(self) -> list[int]:
        """Return the numbers, from 1, of the lines of ``runs.jsonl`` that tell of no run."""
        return [number for number, line in enumerate(self._run_lines(), start=1) if not _run(line)]

    def _run_lines(self) -> list[str]:
        if not os.path.lexists(self.directory / RUNS):
            return []
        return self._parsed(RUNS, lambda content: content.decode(errors="replace").splitlines())

    def clear_unfinished(self) -> int:
        """Remove what an earlier run left under way; return how many attempts that were.

        What is no attempt's folder is not ours, and stays.
        """
        leftovers = layout.under_way(self.directory)
        for folder in leftovers:
            removal.remove(folder)
        return len(leftovers)

    def _parsed(self, name: str, parse: Callable[[bytes], T]) -> T:
        path = self.directory / name
        try:
            return parse(
                untrusted_files.data(
                    self.directory.resolve() / name, most=untrusted_files.OWN_BYTES
                )
            )
        except FileNotFoundError:
            reason = "is missing"
        except DifferentError as error:
            reason = f"is damaged: it {error}"
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            first, *_ = str(error).splitlines() or [type(error).__name__]
            reason = f"is damaged: {first}"
        raise ConfigError([Mistake(str(path), reason, "restore it from a copy")])


def _run(line: str) -> dict[str, Any] | None:
    """Read a line of the log of runs; None where it is none, as a power cut may leave it."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) and isinstance(said.get("jobs"), int) else None


@contextmanager
def opened(
    directory: Path,
    experiment_text: str,
    design: Sequence[Trial],
    manifest: Mapping[str, Any],
    files: Mapping[str, Path] | None = None,
) -> Iterator[Campaign]:
    """Open a campaign to work on it: a new one, or one to be resumed. Nobody else may meanwhile.

    It keeps a copy of each of ``files``, under the digest that is its name there.

    Raises:
        ConfigError: It belongs to another experiment, other programs ran in it, or another
            run works on it now.
    """
    _refuse_foreign(directory)
    _make_folder(directory)
    with _locked(directory):
        campaign = Campaign(directory)
        if os.path.lexists(directory / MANIFEST):
            _refuse_other(campaign, experiment_text, design, manifest)
        else:
            _write_new(directory, experiment_text, design, manifest, files or {})
        yield campaign


def open_existing(directory: Path) -> Campaign:
    """Open a campaign to read it.

    Raises:
        ConfigError: There is none.
    """
    absent = [name for name in FILES if not os.path.lexists(directory / name)]
    if absent:
        reason = f"is not a campaign: {', '.join(absent)} not found"
        raise ConfigError([Mistake(str(directory), reason, "httpbed run makes one")])
    _require_folders(directory)
    return Campaign(directory)


def _require_folders(directory: Path) -> None:
    """Refuse links in the place of a campaign's folders: what they lead to is not verified."""
    strange = [
        directory / name
        for name in layout.FOLDERS
        if os.path.lexists(directory / name) and not digests.is_folder(directory / name)
    ]
    if strange:
        reason, remedy = "is not a folder of its own", "move the folder itself here"
        raise ConfigError([Mistake(str(path), reason, remedy) for path in strange])


def _make_folder(directory: Path) -> None:
    if not directory.is_dir():
        directory.mkdir(parents=True, exist_ok=True)
        durable_files.settle([directory.resolve().parent])


def _write_new(
    directory: Path,
    experiment_text: str,
    design: Sequence[Trial],
    manifest: Mapping[str, Any],
    files: Mapping[str, Path],
) -> None:
    """Write what a campaign begins with, the manifest last: without it there is no campaign."""
    contents = {
        EXPERIMENT: experiment_text.encode(),
        DESIGN: "".join(f"{trial.model_dump_json()}\n" for trial in design).encode(),
    }
    for name, content in contents.items():
        durable_files.write(directory / name, content)
    written = {name: digests.of_bytes(content) for name, content in contents.items()}
    written |= _keep(directory, files)
    said = {**manifest, "files": {name: one.model_dump() for name, one in written.items()}}
    unnamed = directory / ".manifest"
    durable_files.write(unnamed, digests.sealed(said))
    unnamed.rename(directory / MANIFEST)
    durable_files.settle([directory])


def _keep(directory: Path, files: Mapping[str, Path]) -> dict[str, FileDigest]:
    """Copy the files that an experiment names; return their digests."""
    if files:
        (directory / LINKS).mkdir(exist_ok=True)
    for digest, path in files.items():
        durable_files.write(directory / LINKS / digest, path.read_bytes())
    return digests.of_folder(directory.resolve(), LINKS)


def _refuse_other(
    campaign: Campaign, experiment_text: str, design: Sequence[Trial], manifest: Mapping[str, Any]
) -> None:
    place, another = str(campaign.directory), "choose another folder with -o"
    made_by, same_text = campaign.manifest, campaign.experiment_text == experiment_text
    scale, asked = made_by.get("scale"), manifest.get("scale")
    if same_text and scale != asked:
        holds = f"holds a campaign at scale {scale}" if scale else "holds a campaign of all of it"
        at = f"--scale {scale}" if scale else "no --scale"
        raise ConfigError([Mistake(place, holds, f"resume it with {at}, or {another}")])
    foreign = ConfigError([Mistake(place, "holds a campaign of another experiment", another)])
    if not same_text:
        raise foreign
    mistakes = [
        Mistake(place, f"{name} was {before or 'not there'} and is now {now or 'gone'}", another)
        for name, before, now in resume.differences(made_by, manifest)
    ]
    if mistakes:
        raise ConfigError(mistakes)
    if campaign.design() != list(design):
        raise foreign


def _refuse_foreign(directory: Path) -> None:
    """Refuse a folder of something else; what may not be looked into is refused by the kernel."""
    if os.path.lexists(directory) and not directory.is_dir():
        raise ConfigError([Mistake(str(directory), "is not a folder", "choose another with -o")])
    names = {path.name for path in directory.iterdir()} if directory.is_dir() else set()
    begun = "lock" in names and names <= {"lock", ".manifest", LINKS, *FILES}  # and then broken off
    if names and not names >= set(FILES) and not begun:
        reason = "holds other files than a campaign's"
        raise ConfigError([Mistake(str(directory), reason, "choose another folder with -o")])
    _require_folders(directory)


def is_locked(directory: Path) -> bool:
    """Tell whether a run works on the campaign at this moment.

    It looks at the kernel's list (proc(5), /proc/locks): to try the lock would be to hold it.
    """
    try:
        inode = (directory / "lock").stat().st_ino
        held = Path("/proc/locks").read_text(encoding="ascii")
    except OSError:
        return False
    return any(f":{inode} " in line for line in held.splitlines() if " FLOCK " in line)


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Hold the campaign; the kernel lets go of it when the holder dies, however it dies."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(directory / "lock", flags, 0o666), "r+b", buffering=0) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            reason = "another run works on this campaign"
            remedy = "wait for it, or choose another folder with -o"
            raise ConfigError([Mistake(str(directory), reason, remedy)]) from None
        yield
