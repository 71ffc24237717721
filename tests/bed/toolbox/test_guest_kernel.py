"""The kernel of guests is built once, for one processor, and its build says how far it is."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from httpbed.addons.virtual import guest_kernel
from httpbed.base import disk
from httpbed.base.errors import HostError
from httpbed.bed.toolbox import root_filesystem
from httpbed.bed.toolbox.root_filesystem import Root

FILES = Path(guest_kernel.__file__).with_name("linux")
BUILT = "printf kernel >linux && printf library >linux.so"


@pytest.fixture(autouse=True)
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Use a temporary cache, and a toolbox that is there already; return what is said."""
    monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path / "cache"))
    source = guest_kernel.SOURCE
    root = Root(
        suite="sid",
        path=tmp_path / "root",
        packages=frozenset({source}),
        versions={source: guest_kernel.TESTED},
        built="2026-11-23",
        digests={source: guest_kernel.TESTED_SHA256},
    )
    monkeypatch.setattr(root_filesystem, "ensure", lambda *_, **__: root)
    return []


def building(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Replace the compiler by a script, which runs in the build's folder."""

    def command(_: Root, folder: Path, __: int) -> list[str]:
        return ["sh", "-c", f'cd "$1" && {script}', "sh", str(folder)]

    monkeypatch.setattr(guest_kernel, "_command", command)


def test_a_kernel_is_built_once_and_found_again(
    monkeypatch: pytest.MonkeyPatch, said: list[str], tmp_path: Path
) -> None:
    """Its record has the versions; the sources are deleted."""
    building(monkeypatch, f"{BUILT} && echo once >>../builds")
    assert guest_kernel.find() is None
    built = guest_kernel.ensure(said.append)
    assert guest_kernel.ensure(said.append) == built == guest_kernel.find()
    assert built.path.read_text() == "kernel"
    assert built.random_device.read_text() == "library"
    assert built.version == guest_kernel.TESTED
    folder = tmp_path / "cache/build"
    assert [path.name for path in folder.iterdir()] == ["builds"]
    assert (folder / "builds").read_text() == "once\n"


def test_an_interrupted_build_goes_on_where_it_stopped(
    monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    """A failure names the compiler's error and the log, and keeps what is compiled."""
    half = "echo half >half; echo 'net/tcp.c:1: error: no such thing' >&2; exit 2"
    building(monkeypatch, half)
    with pytest.raises(HostError, match="no such thing") as failure:
        guest_kernel.ensure(said.append)
    assert "httpbed-linux.log" in failure.value.remedy
    building(monkeypatch, "mv half linux; printf library >linux.so")
    assert guest_kernel.ensure(said.append).path.read_text() == "half\n"


def test_a_build_that_goes_on_quotes_no_error_of_its_earlier_runs(
    monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    """The log is that of the last run."""
    run = "echo '{0}: error'; exit 2"
    for name in ("first", "second"):
        building(monkeypatch, run.format(name))
        with pytest.raises(HostError) as failure:
            guest_kernel.ensure(said.append)
        assert f"could not be built: {name}: error" in failure.value.reason


def test_another_version_of_the_sources_is_said(
    monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    """The archive's newest version is not the tested one for long."""
    building(monkeypatch, BUILT)
    monkeypatch.setattr(guest_kernel, "TESTED_SHA256", "another")
    guest_kernel.ensure(said.append)
    assert any(line.startswith("note: building the guest's kernel from") for line in said)


def test_another_processor_has_no_guests(monkeypatch: pytest.MonkeyPatch, said: list[str]) -> None:
    """Nothing is downloaded for it."""
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine="aarch64"))
    with pytest.raises(HostError, match=r"x86_64; this one is aarch64; use clock"):
        guest_kernel.ensure(said.append)


def test_a_full_disk_is_found_before_the_build(
    monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    """The sources need gigabytes."""
    monkeypatch.setattr(guest_kernel, "MIN_DISK_BYTES", 2**62)
    with pytest.raises(HostError, match="set HTTPBED_CACHE"):
        guest_kernel.ensure(said.append)


def test_the_kernel_has_every_congestion_control_that_is_offered() -> None:
    """The list in Python and the options of the build agree."""
    options = (FILES / "guest.config").read_text()
    compiled = {
        line.removeprefix("CONFIG_TCP_CONG_").removesuffix("=y").lower()
        for line in options.splitlines()
        if line.startswith("CONFIG_TCP_CONG_") and "ADVANCED" not in line
    }
    assert compiled | {"reno"} == guest_kernel.CONTROLS
    guest_kernel.require_congestion({"bbr", "cubic"})
    with pytest.raises(HostError, match="no TCP dctcp"):
        guest_kernel.require_congestion({"bbr", "dctcp"})


@pytest.mark.parametrize("deleted", ["path", "random_device"])
def test_a_record_without_its_files_counts_for_nothing(
    deleted: str, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    """A user may delete what is large."""
    building(monkeypatch, BUILT)
    built = guest_kernel.ensure(said.append)
    assert json.loads(built.path.with_name(f"{built.path.name}.json").read_text())["sha256"]
    getattr(built, deleted).unlink()
    assert guest_kernel.find() is None


def shipped(folder: Path, monkeypatch: pytest.MonkeyPatch, **changed: str) -> None:
    """Put a kernel where a wheel has it, with a record of which some values are changed."""
    folder.mkdir()
    (folder / guest_kernel.NAME).write_text("kernel of the wheel")
    (folder / f"{guest_kernel.NAME}.so").write_text("library")
    record = {
        "version": guest_kernel.TESTED,
        "source_sha256": guest_kernel.TESTED_SHA256,
        "sha256": disk.sha256(folder / guest_kernel.NAME),
        guest_kernel.BUILD: guest_kernel.build_digest(),
    }
    (folder / f"{guest_kernel.NAME}.json").write_text(json.dumps(record | changed))
    monkeypatch.setattr(guest_kernel, "SHIPPED", folder)


def test_the_kernel_of_a_wheel_needs_no_compiler(
    monkeypatch: pytest.MonkeyPatch, said: list[str], tmp_path: Path
) -> None:
    """It is copied, may be executed, and stays when the wheel is gone."""
    building(monkeypatch, "exit 1")
    shipped(tmp_path / "wheel", monkeypatch)
    found = guest_kernel.ensure(said.append)
    assert said == []
    assert found.path.read_text() == "kernel of the wheel"
    assert os.access(found.path, os.X_OK)
    assert found.random_device.read_text() == "library"
    monkeypatch.setattr(guest_kernel, "SHIPPED", tmp_path / "nothing")
    assert guest_kernel.find() == found


@pytest.mark.parametrize("changed", [{guest_kernel.BUILD: "0" * 12}, {"sha256": "0" * 64}])
def test_another_or_a_damaged_kernel_of_a_wheel_is_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, changed: dict[str, str]
) -> None:
    """Its name in the cache would promise what it is not."""
    shipped(tmp_path / "wheel", monkeypatch, **changed)
    assert guest_kernel.find() is None
