"""Mistakes of a command line, with their messages and exit codes: the transcripts in ``mistakes``.

A transcript has one mistake in each paragraph::

    loss.toml: "10 Mbit/s" -> "10 Mbps"        edits the experiment first
    given: the name of a preparation           does something else first
    $ httpbed validate loss.toml
    httpbed: topology.links[0].rate: unknown unit 'Mbps' in '10 Mbps'; ...
    exit 2

A line of the message that ends in ``...`` is the beginning of a longer one; ``{here}`` is the
folder. A mistake changes no
file, and makes none.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import stored_campaigns
from command_line import Command
from httpbed.base import digests
from httpbed.base.errors import HostError
from httpbed.campaign import campaign_setup
from httpbed.store.layout import DESIGN, EXPERIMENT, MANIFEST

TRANSCRIPTS = sorted((Path(__file__).parent / "mistakes").glob("*.txt"))
FEWEST = 60
PROMPT, EDIT, GIVEN, EXIT = "$ httpbed ", "loss.toml: ", "given: ", "exit "
MORE, HERE = "...", "{here}"
TABLES = ("attempts", "checks", "observations", "trials")
CACHES = {"tables.json", *(f"{name}.parquet" for name in TABLES)}
"""Tables of a campaign that its first reader writes."""


@dataclass(frozen=True)
class Mistaken:
    """One mistake of a transcript."""

    edits: tuple[tuple[str, str], ...]
    """Texts of the experiment, each with its replacement."""
    given: tuple[str, ...]
    words: str
    message: tuple[str, ...]
    code: int


def mistakes() -> Iterator[Mistaken]:
    for file in TRANSCRIPTS:
        text = "\n".join(line for line in file.read_text().splitlines() if line[:1] != "#")
        for paragraph in filter(None, text.strip().split("\n\n")):
            yield _read(paragraph.strip().splitlines())


def _read(lines: list[str]) -> Mistaken:
    (prompt,) = (number for number, line in enumerate(lines) if line.startswith(PROMPT))
    before, last = lines[:prompt], lines[-1]
    edits = [one.removeprefix(EDIT).partition(" -> ") for one in before if one.startswith(EDIT)]
    return Mistaken(
        tuple((_lines(old), _lines(new)) for old, _, new in edits),
        tuple(one.removeprefix(GIVEN) for one in before if one.startswith(GIVEN)),
        lines[prompt].removeprefix(PROMPT.rstrip()).strip(),
        tuple(lines[prompt + 1 : -1]),
        int(last.removeprefix(EXIT)),
    )


def _lines(text: str) -> str:
    return text.replace("\\n", "\n")


MISTAKES = [*mistakes()]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make what the transcripts name: experiments, campaigns, a user's own files."""
    folder = tmp_path_factory.mktemp("mistakes") / "files"
    folder.mkdir()
    (folder / "loss.toml").write_text(stored_campaigns.SMALL)
    (folder / "claimed.toml").write_text(stored_campaigns.SMALL)
    (folder / "notes.txt").write_text("my notes\n")
    (folder / "empty.toml").write_text("")
    (folder / "latin.toml").write_bytes(b'name = "caf\xe9"\n')
    (folder / "object.har").write_text("{}")
    (folder / "folder").mkdir()
    (folder / "folder/mine.txt").write_text("mine")
    (folder / "folder/audit.json").write_text('{"mine": 1}')
    trials = stored_campaigns.loaded().trials
    stored_campaigns.make(folder / "done", map(stored_campaigns.record, trials[:2]))
    slower = stored_campaigns.SMALL.replace('"25 ms"', '"50 ms"')
    stored_campaigns.make(folder / "slower", text=slower)
    return folder


def _of_schema_9(folder: Path) -> None:
    manifest = digests.unsealed((folder / "done" / MANIFEST).read_bytes())
    (folder / "done" / MANIFEST).write_bytes(digests.sealed(manifest | {"schema": 9}))


def _edited(name: str) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        file = folder / "done" / name
        file.write_text(file.read_text().replace("1", "2", 1))

    return edit


def _without_manifest(folder: Path) -> None:
    (folder / "done" / MANIFEST).unlink()


PREPARATIONS: dict[str, Callable[[Path], None]] = {
    "the manifest of done has schema 9": _of_schema_9,
    "a figure in the manifest of done is edited": _edited(MANIFEST),
    "a line of the design of done is edited": _edited(DESIGN),
    "the experiment of done is edited": _edited(EXPERIMENT),
    "done has no manifest": _without_manifest,
}


def _content(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and path.name not in CACHES)
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def _is_as_expected(line: str, expected: str) -> bool:
    return line.startswith(expected.removesuffix(MORE)) if MORE in expected else line == expected


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: f"{one.words} {one.edits or ''}")
def test_a_mistake_has_its_message_and_exit_code_and_changes_nothing(
    httpbed: Command,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    files: Path,
    mistake: Mistaken,
) -> None:
    """Nothing is built or run: the message comes first."""
    folder = shutil.copytree(files, tmp_path / "files")
    experiment = (folder / "loss.toml").read_text()
    for old, new in mistake.edits:
        assert old in experiment
        experiment = experiment.replace(old, new)
    (folder / "loss.toml").write_text(experiment)
    for one in mistake.given:
        PREPARATIONS[one](folder)
    before = _content(folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(campaign_setup, "prepare", _refuse_to_build)
    code, out, err = httpbed(*shlex.split(mistake.words))
    lines = err.replace(str(folder), HERE).splitlines()
    assert (code, out) == (mistake.code, ""), err
    assert len(lines) == len(mistake.message), err
    for line, expected in zip(lines, mistake.message, strict=True):
        assert _is_as_expected(line, expected)
    assert _content(folder) == before


def _refuse_to_build(*_: object, **__: object) -> None:
    raise HostError("this test builds nothing", "report the mistake before")


def test_the_transcripts_have_many_mistakes_and_each_once() -> None:
    """They are the mistakes of users' first hours."""
    asked = [(mistake.edits, mistake.given, mistake.words) for mistake in MISTAKES]
    assert len(asked) >= FEWEST
    assert len(set(asked)) == len(asked)
