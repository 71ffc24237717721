"""A campaign: one execution of a design, in a directory that is only ever added to.

::

    manifest.json         what made it: versions, digests, host, command
    experiment.toml       the experiment as it was
    design.jsonl          a line per trial, in order
    links/<SHA-256>       copies of the traces and records that the experiment names
    runs.jsonl            a line per run that worked on it
    trials/<block>/<trial>/<attempt>/{trial.json, observations.jsonl, handovers.json, artifacts/}
    unfinished/           attempts under way; cleared when the campaign is next opened
    lock                  held while a run works on it

An attempt becomes part of the campaign by one rename: it is there whole or not at all. What
is left to do is the design minus the finished directories.
"""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from httpbed.model.errors import ConfigError, Mistake
from httpbed.model.metric import Observation
from httpbed.model.moment import Moment
from httpbed.model.trial import Attempt, Record, Trial
from httpbed.store import handed_over
from httpbed.store.handed_over import HANDOVERS

T = TypeVar("T")

FILES = ("manifest.json", "experiment.toml", "design.jsonl")
LINKS = "links"
MACHINE = ("kernel", "architecture", "cpu", "cores", "memory_bytes")
"""What must be the same in a resumed run: comparisons stay within a machine."""


class Campaign:
    """An open campaign. Made by :func:`opened`, or :func:`existing` for reading."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @property
    def manifest(self) -> dict[str, Any]:
        """What made it."""
        return self._parsed("manifest.json", lambda text: dict(json.loads(text)))

    @property
    def experiment_text(self) -> str:
        """The experiment file, as it was."""
        return self._parsed("experiment.toml", str)

    def design(self) -> list[Trial]:
        """Every trial, in order."""
        return self._parsed(
            "design.jsonl", lambda text: [*map(Trial.model_validate_json, text.splitlines())]
        )

    def records(self) -> Iterator[Record]:
        """Yield every finished attempt, by block, trial and number."""
        for folder in self._attempt_folders():
            if record := _read(folder):
                yield record

    def attempts(self) -> dict[str, Attempt]:
        """The last finished attempt at each trial, by the trial's identifier."""
        return {record.attempt.id: record.attempt for record in self.records()}

    def unfinished(self, attempt_of: Trial, number: int) -> Path:
        """Make the folder in which an attempt is under way."""
        folder = self.directory / "unfinished" / f"{attempt_of.id}-{number}"
        folder.mkdir(parents=True)
        return folder

    def commit(self, record: Record, folder: Path) -> Path:
        """Make an attempt part of the campaign, at once and for ever."""
        attempt = record.attempt
        lines = [_observation_line(observation) for observation in record.observations]
        (folder / "observations.jsonl").write_text("".join(lines))
        text = attempt.model_dump_json(by_alias=True, indent=1)
        (folder / "trial.json").write_text(text + "\n")
        if record.handovers is not None:
            (folder / HANDOVERS).write_text(handed_over.moments_text(record.handovers))
        final = self._home(attempt)
        final.parent.mkdir(parents=True, exist_ok=True)
        if final.exists() and _read(final) is None:
            shutil.rmtree(final)  # torn by a power cut: it counts as never made
        return folder.rename(final)

    def artifacts(self, attempt: Attempt) -> Path:
        """Return the folder with what a finished attempt left."""
        return artifacts(self.directory, attempt.trial.block, attempt.id, attempt.number)

    def _home(self, attempt: Attempt) -> Path:
        return self.artifacts(attempt).parent

    def note_run(self, now: datetime, command: str, jobs: int) -> None:
        """Write down that a run begins to work on it."""
        said = {"schema": 1, "started": now.isoformat(), "command": command, "jobs": jobs}
        with (self.directory / "runs.jsonl").open("a") as file:
            file.write(json.dumps(said) + "\n")

    def runs(self) -> list[dict[str, Any]]:
        """Every run that worked on it, the first one first."""
        if not (self.directory / "runs.jsonl").exists():
            return []
        return self._parsed("runs.jsonl", lambda text: [*map(json.loads, text.splitlines())])

    def clear_unfinished(self) -> int:
        """Remove what an earlier run left under way; return how many attempts that were."""
        leftovers = list((self.directory / "unfinished").glob("*"))
        for folder in leftovers:
            shutil.rmtree(folder)
        return len(leftovers)

    def _parsed(self, name: str, parse: Callable[[str], T]) -> T:
        path = self.directory / name
        try:
            return parse(path.read_text(encoding="utf-8"))
        except (ValueError, TypeError) as error:
            reason = f"is damaged: {str(error).splitlines()[0]}"
            raise ConfigError([Mistake(str(path), reason, "restore it from a copy")]) from None

    def _attempt_folders(self) -> list[Path]:
        found = self.directory.glob("trials/*/*/*")
        folders = (folder for folder in found if folder.name.isdecimal())
        return sorted(folders, key=lambda path: (*path.parts[-3:-1], int(path.name)))


def artifacts(directory: Path, block: int, trial: str, attempt: int) -> Path:
    """Return the folder with what an attempt left, in a campaign's folder."""
    return directory / "trials" / f"{block:04d}" / trial / str(attempt) / "artifacts"


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
    directory.mkdir(parents=True, exist_ok=True)
    with _locked(directory):
        campaign = Campaign(directory)
        if (directory / "manifest.json").exists():
            _refuse_other(campaign, experiment_text, design, manifest)
        else:
            _keep(directory, files or {})
            _write_new(directory, experiment_text, design, manifest)
        yield campaign


def existing(directory: Path) -> Campaign:
    """Open a campaign to read it.

    Raises:
        ConfigError: There is none.
    """
    absent = [name for name in FILES if not (directory / name).is_file()]
    if absent:
        reason = f"is not a campaign: {', '.join(absent)} not found"
        raise ConfigError([Mistake(str(directory), reason, "httpbed run makes one")])
    return Campaign(directory)


def _write_new(
    directory: Path, experiment_text: str, design: Sequence[Trial], manifest: Mapping[str, Any]
) -> None:
    (directory / "experiment.toml").write_text(experiment_text)
    (directory / "design.jsonl").write_text("".join(f"{t.model_dump_json()}\n" for t in design))
    unnamed = directory / ".manifest"
    unnamed.write_text(json.dumps(manifest, indent=1) + "\n")
    unnamed.rename(directory / "manifest.json")


def _keep(directory: Path, files: Mapping[str, Path]) -> None:
    for digest, path in files.items():
        (directory / LINKS).mkdir(exist_ok=True)
        shutil.copyfile(path, directory / LINKS / digest)


def _refuse_foreign(directory: Path) -> None:
    if directory.exists() and not directory.is_dir():
        raise ConfigError([Mistake(str(directory), "is not a folder", "choose another with -o")])
    names = {path.name for path in directory.iterdir()} if directory.is_dir() else set()
    begun = "lock" in names and names <= {"lock", ".manifest", LINKS, *FILES}  # and then broken off
    if names and not names >= set(FILES) and not begun:
        reason = "holds other files than a campaign's"
        raise ConfigError([Mistake(str(directory), reason, "choose another folder with -o")])


def _refuse_other(
    campaign: Campaign, experiment_text: str, design: Sequence[Trial], manifest: Mapping[str, Any]
) -> None:
    place, another = str(campaign.directory), "choose another folder with -o"
    scale, asked = (said.get("scale") for said in (campaign.manifest, manifest))
    if campaign.experiment_text == experiment_text and scale != asked:
        holds = f"holds a campaign at scale {scale}" if scale else "holds a campaign of all of it"
        at = f"--scale {scale}" if scale else "no --scale"
        raise ConfigError([Mistake(place, holds, f"resume it with {at}, or {another}")])
    foreign = ConfigError([Mistake(place, "holds a campaign of another experiment", another)])
    if campaign.experiment_text != experiment_text:
        raise foreign
    made_by = campaign.manifest
    mistakes = [
        Mistake(place, f"{name} was {before or 'not there'} and is now {now or 'gone'}", another)
        for identities in (_programs, _recipes, _sites, _machine, _link)
        for name, before, now in _differences(identities(made_by), identities(manifest))
    ]
    if mistakes:
        raise ConfigError(mistakes)
    if campaign.design() != list(design):
        raise foreign


def _differences(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    for name in sorted(set(old) | set(new)):
        if old.get(name) != new.get(name):
            yield name, old.get(name, "")[:40], new.get(name, "")[:40]


def _programs(manifest: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for program in manifest.get("programs", ()):
        name, libraries = program["name"], program.get("libraries", {})
        found |= {f"{path} of {name}": digest for path, digest in libraries.items()}
        found[f"program {name}"] = f"{program['version']} ({program['sha256'][:12]})"
    return found


def _recipes(manifest: Mapping[str, Any]) -> dict[str, str]:
    return {f"recipe {name}": digest for name, digest in manifest.get("recipes", {}).items()}


def _sites(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Name the sites that were served; several may have the same name."""
    found: dict[str, str] = {}
    for site in manifest.get("sites", ()):
        name = f"site {site['name']}"
        found[name] = " ".join(filter(None, (found.get(name), site["sha256"])))
    return found


def _machine(manifest: Mapping[str, Any]) -> dict[str, str]:
    host = manifest.get("host", {})
    return {f"machine's {name}": str(host.get(name)) for name in MACHINE}


def _link(manifest: Mapping[str, Any]) -> dict[str, str]:
    backend = manifest.get("link", {}).get("backend", "af_packet")  # the first had no other
    return {"link's backend": backend}


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
    with (directory / "lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            reason = "another run works on this campaign"
            remedy = "wait for it, or choose another folder with -o"
            raise ConfigError([Mistake(str(directory), reason, remedy)]) from None
        yield


def _observation_line(observation: Observation) -> str:
    said = {"schema": 1, **observation.model_dump(), "unit": observation.unit}
    return json.dumps(said) + "\n"


def _read(folder: Path) -> Record | None:
    """Read a finished attempt; one torn by a power cut counts as never made."""
    try:
        attempt = Attempt.model_validate_json((folder / "trial.json").read_text())
        lines = (folder / "observations.jsonl").read_text().splitlines()
        observations = [
            Observation(**{name: said[name] for name in Observation.model_fields})
            for said in map(json.loads, lines)
        ]
    except (OSError, ValueError, KeyError, ValidationError):
        return None
    return Record(attempt=attempt, observations=observations, handovers=_handovers(folder))


def _handovers(folder: Path) -> list[Moment] | None:
    file = folder / HANDOVERS
    return handed_over.read_moments(file.read_text()) if file.exists() else None
