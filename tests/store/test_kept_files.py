"""What a run says of the files that its trials keep."""

from __future__ import annotations

from pathlib import Path

from httpbed.store import kept_files


def test_attempts_with_each_kind_are_counted(tmp_path: Path) -> None:
    """With the size of all; a folder or another file of a program is no qlog."""
    for number, names in enumerate((["link.pcapng", "server/a.qlog"], ["client/b.sqlog"], []), 1):
        artifacts = tmp_path / f"trials/0001/{number:012x}/1/artifacts"
        for name in ["client/c.txt", *names]:
            (artifacts / name).parent.mkdir(parents=True, exist_ok=True)
            (artifacts / name).write_bytes(bytes(1000))
        (artifacts / "client/folder.qlog").mkdir()
    keys, packets, qlogs = kept_files.lines(tmp_path, {"qlog", "pcap", "keylog"})
    assert keys.startswith("kept: keylog of 0 of 3 attempts, 0 B, in ")
    assert packets.startswith("kept: pcap of 1 of 3 attempts, 1 kB, in ")
    assert packets.endswith("/trials/BLOCK/TRIAL/ATTEMPT/artifacts/link.pcapng")
    assert qlogs.startswith("kept: qlog of 2 of 3 attempts, 2 kB, in ")


def test_a_run_that_keeps_nothing_says_nothing(tmp_path: Path) -> None:
    """Also where there are no attempts."""
    assert list(kept_files.lines(tmp_path, frozenset())) == []
