"""The key log of a trial: what its programs wrote, as far as it is a key log."""

from __future__ import annotations

import os
from pathlib import Path

from httpbed.experiment.kept import KEYS
from httpbed.trial.run import runner

RANDOM = "5d" * 32
CLIENT, SERVER = (f"{one}_TRAFFIC_SECRET_0 {RANDOM} {'a7' * 48}" for one in ("CLIENT", "SERVER"))


def wrote(artifacts: Path, part: str, content: str | bytes) -> None:
    """Write a program's key log."""
    (artifacts / part).mkdir(exist_ok=True)
    file = artifacts / part / KEYS
    file.write_bytes(content if isinstance(content, bytes) else content.encode())


def gathered(artifacts: Path, *parts: str) -> list[str]:
    """Return the lines of the trial's key log; none without a file."""
    runner.gather_keys(artifacts, parts)
    file = artifacts / KEYS
    return file.read_text().splitlines() if file.exists() else []


def test_each_secret_stands_once(tmp_path: Path) -> None:
    """Both ends of a connection write the same ones."""
    wrote(tmp_path, "client", f"{CLIENT}\n{SERVER}\n")
    wrote(tmp_path, "proxy", f"{SERVER}\n{CLIENT.replace('5d', '6e')}\n")
    found = gathered(tmp_path, "client", "proxy", "server")
    assert found == [CLIENT, SERVER, CLIENT.replace("5d", "6e")]


def test_only_secrets_are_taken_over(tmp_path: Path) -> None:
    """Comments, incomplete lines, terminal sequences and binary data are left out."""
    lines = ["# a comment", CLIENT, "\x1b[2J", SERVER[:-70], f"{SERVER} and more", f"x{SERVER}"]
    wrote(tmp_path, "client", "\n".join(lines).encode() + b"\xff\x00\n")
    assert gathered(tmp_path, "client") == [CLIENT]


def test_programs_without_secrets_leave_no_file(tmp_path: Path) -> None:
    """An empty file would look like a key log."""
    wrote(tmp_path, "client", "")
    assert gathered(tmp_path, "client", "server") == []
    assert not (tmp_path / KEYS).exists()


def test_a_link_a_pipe_and_an_endless_file_are_not_read(tmp_path: Path) -> None:
    """A program may leave anything under the name."""
    secret = tmp_path / "secret"
    secret.write_text(CLIENT)
    for part in ("link", "pipe", "long"):
        (tmp_path / part).mkdir()
    (tmp_path / "link" / KEYS).symlink_to(secret)
    os.mkfifo(tmp_path / "pipe" / KEYS)
    with (tmp_path / "long" / KEYS).open("wb") as file:
        file.truncate(runner.MAX_KEY_BYTES + 1)
    assert gathered(tmp_path, "link", "pipe", "long") == []
