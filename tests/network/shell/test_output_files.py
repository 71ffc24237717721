"""What is refused of the files that a link is to write, and that the looking changes nothing."""

from __future__ import annotations

import os
from pathlib import Path

from httpbed.network.shell import output_files


def refused(
    outputs: dict[str, Path | None], inputs: tuple[tuple[str, Path], ...] = ()
) -> dict[str, str]:
    """Return the mistakes: option -> reason."""
    named = {flag: str(file) if file else None for flag, file in outputs.items()}
    found = output_files.mistakes(named, [(flag, str(file)) for flag, file in inputs])
    return {mistake.place: mistake.reason for mistake in found}


def test_what_is_there_keeps_its_content(tmp_path: Path) -> None:
    """Until it is known that there will be something else."""
    file = tmp_path / "kept"
    file.write_text("an hour's work")
    assert not refused({"--pcap": file, "--log": None})
    assert file.read_text() == "an hour's work"
    output_files.empty((file, None))
    assert not file.read_bytes()


def test_what_was_not_there_is_not_left(tmp_path: Path) -> None:
    """The target of a dangling link is not created."""
    (tmp_path / "link").symlink_to(tmp_path / "target")
    assert not refused({"--pcap": tmp_path / "new", "--log": tmp_path / "link"})
    assert [path.name for path in tmp_path.iterdir()] == ["link"]


def test_two_outputs_are_two_files(tmp_path: Path) -> None:
    """By whatever name, there already or not."""
    (tmp_path / "link").symlink_to(tmp_path / "one")
    for second in (tmp_path / "one", tmp_path / "." / "one", tmp_path / "link"):
        assert set(refused({"--pcap": tmp_path / "one", "--log": second})) == {"--log"}
    (tmp_path / "one").touch()
    os.link(tmp_path / "one", tmp_path / "hard")
    reason = refused({"--pcap": tmp_path / "one", "--log": tmp_path / "hard"})["--log"]
    assert "--pcap" in reason


def test_what_is_read_is_not_written(tmp_path: Path) -> None:
    """Replaying a recording into itself would empty it."""
    file = tmp_path / "a.log"
    file.write_text("recorded")
    wrong = refused({"--log": file}, (("--loss-replay", file), ("--trace", tmp_path / "absent")))
    assert "--loss-replay" in wrong["--log"]
    assert file.read_text() == "recorded"


def test_nowhere_may_be_named_twice() -> None:
    """It keeps nothing that the other could destroy."""
    assert not refused({"--pcap": Path("/dev/null"), "--log": Path("/dev/null")})


def test_an_output_file_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    """A folder, a place that is not there, a pipe that nobody reads."""
    os.mkfifo(tmp_path / "pipe")
    for file in (tmp_path, tmp_path / "no/such", tmp_path / "pipe"):
        assert set(refused({"--pcap": file})) == {"--pcap"}
