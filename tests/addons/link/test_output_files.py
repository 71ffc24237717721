"""Which output files a link refuses, and that the check changes nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from httpbed.addons.link import link_output


def refused(
    outputs: dict[str, Path | None], inputs: tuple[tuple[str, Path], ...] = ()
) -> dict[str, str]:
    """Return the mistakes: option -> reason."""
    named = {flag: str(file) if file else None for flag, file in outputs.items()}
    found = link_output.file_mistakes(named, [(flag, str(file)) for flag, file in inputs])
    return {mistake.place: mistake.reason for mistake in found}


CAPTURE = (
    b"\n\r\r\n\x40\0\0\0\x4d\x3c\x2b\x1a\1\0\0\0" + b"\xff" * 8 + b"\4\0\x12\0httpbed-link 0.1.0"
)
LOG = b"in_ns\tout_ns\tbytes\tdirection\tnumber\tfate\n"


def test_the_check_leaves_the_content_of_an_output(tmp_path: Path) -> None:
    """Only the start of the link empties the file."""
    file = tmp_path / "kept"
    file.write_bytes(CAPTURE)
    assert not refused({"--pcap": file, "--log": None})
    assert file.read_bytes() == CAPTURE
    link_output.empty((file, None))
    assert not file.read_bytes()


@pytest.mark.parametrize(
    ("content", "replaced_by"),
    [
        (b"", {"--pcap", "--log"}),
        (CAPTURE, {"--pcap"}),
        (LOG + b"1\t2\t40\t0\t0\tdelivered\n", {"--log"}),
        (CAPTURE.replace(b"httpbed-link", b"dumpcap 4.0."), set()),
        (b'name = "loss"\n', set()),
    ],
)
def test_an_output_replaces_only_its_own_kind_of_file(
    tmp_path: Path, content: bytes, replaced_by: set[str]
) -> None:
    """An experiment file cannot be restored; an earlier log or capture can be measured again."""
    file = tmp_path / "there"
    file.write_bytes(content)
    for flag in ("--pcap", "--log"):
        reason = refused({flag: file}).get(flag, "")
        assert ("exists and is not" in reason) == (flag not in replaced_by)
    assert file.read_bytes() == content


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
