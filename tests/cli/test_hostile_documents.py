"""Archives and campaigns whose documents somebody changed and sealed again: never a traceback."""

from __future__ import annotations

import copy
import gzip
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import stored_campaigns
from command_line import Command
from httpbed.base import digests
from httpbed.store import archive, query
from httpbed.store.layout import ARCHIVED_DESIGN, EXPERIMENT, INDEX, MANIFEST

CASES = 12
"""Changes of each document; which ones, the test's own seed decides."""
VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 1e308, 10**30, float("nan"), float("inf"), "", "x" * 5000),
    *("\x1b]0;x\x07", "../../etc", "2026-99-99", [], {}, [[]], {"a": {"b": [1]}}),
    json.loads("[" * 300 + "]" * 300),
)
LINES = ("inf", "nan", "-1", "1e999", "9" * 300, '"x"', "[]", "{}", "1979-05-27", '[[["a"]]]')
VERBS = ("report", "export", "claims", "verify", "report --status", "diff", "gate")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    stored_campaigns.make(
        folder / "campaign", map(stored_campaigns.record, stored_campaigns.loaded().trials)
    )
    query.read(folder / "campaign")
    archive.merge([folder / "campaign"], folder / "archive")
    return folder


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all members, of the first two of a list."""
    for key, child in node.items() if isinstance(node, dict) else enumerate(node[:2]):
        yield (*path, key)
        if isinstance(child, dict | list):
            yield from places(child, (*path, key))


def changed(document: Any, draw: random.Random) -> Any:
    """Return a document in which one member is missing or another value."""
    document = copy.deepcopy(document)
    *above, last = draw.choice([*places(document)])
    node = document
    for key in above:
        node = node[key]
    if draw.random() < 0.2:
        del node[last]
    else:
        node[last] = draw.choice(VALUES)
    return document


def of_sealed(file: Path, draw: random.Random) -> None:
    file.write_bytes(digests.sealed(changed(digests.unsealed(file.read_bytes()), draw)))


def of_lines(file: Path, draw: random.Random) -> None:
    """Change a line of JSON."""
    lines = file.read_text().splitlines()
    number = draw.randrange(len(lines))
    lines[number] = json.dumps(changed(json.loads(lines[number]), draw))
    file.write_text("\n".join(lines) + "\n")


def of_packed_lines(file: Path, draw: random.Random) -> None:
    """Change a line of JSON in a file of gzip."""
    plain = file.with_suffix("")
    plain.write_bytes(gzip.decompress(file.read_bytes()))
    of_lines(plain, draw)
    file.write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()


def of_toml(file: Path, draw: random.Random) -> None:
    """Delete a line, repeat it elsewhere, or change its value."""
    lines = file.read_text().splitlines()
    number = draw.randrange(len(lines))
    key, equals, _ = lines[number].partition("=")
    match draw.randrange(3):
        case 0:
            del lines[number]
        case 1:
            lines.insert(draw.randrange(len(lines)), lines[number])
        case _:
            lines[number] = f"{key}= {draw.choice(LINES)}" if equals else "[x"
    file.write_text("\n".join(lines) + "\n")


def reseal(directory: Path) -> None:
    """Compute the digests of the files that the manifest names again."""
    manifest = digests.unsealed((directory / MANIFEST).read_bytes())
    for name in manifest["files"]:
        manifest["files"][name] = digests.of_bytes((directory / name).read_bytes()).model_dump()
    (directory / MANIFEST).write_bytes(digests.sealed(manifest))


DOCUMENTS = {
    MANIFEST: ("archive", of_sealed),
    INDEX: ("archive", of_sealed),
    ARCHIVED_DESIGN: ("archive", of_packed_lines),
    EXPERIMENT: ("archive", of_toml),
    "trial.json": ("campaign", of_sealed),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_changed_document_ends_a_verb_in_a_traceback(
    whole: Path, tmp_path: Path, httpbed: Command, name: str
) -> None:
    """Each verb exits with 0, 1 or 2; an unexpected exception would end the test."""
    draw = random.Random(name)  # noqa: S311 - which cases are tried
    kind, change = DOCUMENTS[name]
    for number in range(CASES):
        directory = shutil.copytree(whole / kind, tmp_path / str(number))
        change(draw.choice(sorted(directory.rglob(name))), draw)
        if name not in {MANIFEST, "trial.json"}:
            reseal(directory)
        verb, *options = draw.choice(VERBS).split()
        other = [whole / "campaign"] if verb in {"diff", "gate"} else []
        code, _, err = httpbed(verb, directory, *other, *options)
        assert code in {0, 1, 2}
        assert (code != 2) or err.startswith("httpbed: ")


@pytest.mark.parametrize(
    "line", ['replicates = "x"', "[[[", "seed = 1e999", "[factors]\nloss = 3", ""]
)
def test_a_broken_experiment_is_named_with_its_place(
    whole: Path, tmp_path: Path, httpbed: Command, line: str
) -> None:
    """By the readers as a mistake in that file, by verify as damage."""
    directory = shutil.copytree(whole / "archive", tmp_path / "archive")
    (directory / EXPERIMENT).write_text(f"{line}\n")
    reseal(directory)
    code, _, err = httpbed("report", directory)
    assert (code, EXPERIMENT in err) == (2, True)
    code, out, _ = httpbed("verify", directory)
    assert (code, EXPERIMENT in out) == (1, True)
    assert "httpbed run" not in out  # no run continues an archive


def test_all_mistakes_of_a_design_are_listed(whole: Path, tmp_path: Path, httpbed: Command) -> None:
    """With the numbers of their lines."""
    directory = shutil.copytree(whole / "archive", tmp_path / "archive")
    packed = directory / ARCHIVED_DESIGN
    lines = [json.loads(line) for line in gzip.decompress(packed.read_bytes()).splitlines()]
    lines[0]["block"] = -1
    lines[1]["position"] = 0
    lines[2]["document"]["workload"] = {"kind": "no kind at all"}
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    packed.write_bytes(gzip.compress(text.encode()))
    reseal(directory)
    code, _, err = httpbed("report", directory)
    assert code == 2
    assert all(f"line {number}" in err for number in (1, 2, 3))


@pytest.mark.parametrize(
    "change",
    [
        ("trials", "started", "2026-99-99"),
        ("trials", "started", "2026-11-21T12:00:00"),
        ("trials", "wall_s", float("-inf")),
        ("trials", "outcome", "won"),
        ("trials", "block", -1),
        ("trials", "trial", "../../../../etc"),
        ("checks", "measured", float("nan")),
        ("observations", "value", float("inf")),
        ("observations", "trial", "0" * 12),
    ],
)
def test_a_value_that_no_table_has_is_named(
    whole: Path, tmp_path: Path, httpbed: Command, change: tuple[str, str, object]
) -> None:
    """With its table; a trial that has no row any more is named with the rows that it left."""
    table, column, value = change
    directory = shutil.copytree(whole / "archive", tmp_path / "archive")
    file = directory / f"{table}.parquet"
    read = pq.read_table(file)
    rows = read.to_pylist()
    rows[0][column] = value
    pq.write_table(pa.Table.from_pylist(rows, read.schema), file)
    index = digests.unsealed((directory / INDEX).read_bytes())
    index["tables"][table] = digests.of_bytes(file.read_bytes()).sha256
    (directory / INDEX).write_bytes(digests.sealed(index))
    reseal(directory)
    for verb in ("report", "export", "claims"):
        code, _, err = httpbed(verb, directory)
        assert (code, ".parquet: " in err) == (2, True)
