"""The log of a cluster's machines: appended to, read leniently."""

from __future__ import annotations

from pathlib import Path

from httpbed.store import layout, machine_log


def test_lines_are_read_back_in_order(tmp_path: Path) -> None:
    """Each has the machine, the block, the ending, and what is known of the machine."""
    machine_log.append(tmp_path, "alpha", 1, machine_log.LOST, {})
    machine_log.append(tmp_path, "beta", 1, machine_log.RETURNED, {"host": {"cores": 2}})
    first, second = machine_log.read(tmp_path)
    assert (first["machine"], first["block"], first["ending"]) == ("alpha", 1, "lost")
    assert machine_log.hosts([first, second]) == {"beta": {"cores": 2}}


def test_torn_and_foreign_lines_are_left_out(tmp_path: Path) -> None:
    """A power cut may tear the last line; the next one is whole."""
    machine_log.append(tmp_path, "alpha", 1, machine_log.RETURNED, {})
    path = tmp_path / layout.MACHINES
    path.write_text(path.read_text() + '[]\n{"machine": 3}\n{"machine": "be')
    machine_log.append(tmp_path, "gamma", 2, machine_log.RETURNED, {})
    assert [one["machine"] for one in machine_log.read(tmp_path)] == ["alpha", "gamma"]


def test_a_campaign_of_one_machine_has_no_log(tmp_path: Path) -> None:
    """Nor has a folder with a link in its place."""
    assert machine_log.read(tmp_path) == []
    (tmp_path / layout.MACHINES).symlink_to("/etc/hostname")
    assert machine_log.read(tmp_path) == []
