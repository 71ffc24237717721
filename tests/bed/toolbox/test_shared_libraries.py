"""Libraries are found as the dynamic loader finds them, and no program is run for that."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import linking
from httpbed.base.errors import HostError
from httpbed.bed.toolbox import elf
from linking import library, linked


def listed_by_the_loader(program: Path) -> set[Path]:
    """Let the loader of this machine list the libraries of a program that the test has made."""
    loader = elf.read(Path("/proc/self/exe")).loader
    assert loader, sys.executable
    said = subprocess.run([loader, "--list", str(program)], check=True, capture_output=True)
    lines = [line.split(" => ") for line in said.stdout.decode().splitlines()]
    return {Path(line[1].rpartition(" (")[0]).resolve() for line in lines if len(line) > 1}


def found(program: Path) -> set[Path]:
    """Return the libraries that httpbed finds, without the loader."""
    by_name = elf.libraries(program)
    return {path.resolve() for name, path in by_name.items() if not name.startswith("/")}


def needing(folder: Path, *names: str) -> list[str]:
    """Return the linker's options for a need of libraries in a folder."""
    return ["-Wl,--no-as-needed", f"-L{folder}", *(f"-l{name}" for name in names)]


@pytest.mark.parametrize("way", linking.WAYS)
def test_listing_libraries_runs_nothing(tmp_path: Path, way: str) -> None:
    """No loader, auditor or constructor that a program's file names is started."""
    program = linking.hostile(tmp_path, way, tmp_path / "mark")
    elf.libraries(program)
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("way", ["loader", "audit", "depaudit"])
def test_a_program_that_brings_its_own_loader_is_refused(tmp_path: Path, way: str) -> None:
    """The reason names what it brings."""
    program = linking.hostile(tmp_path, way, tmp_path / "mark")
    reason = elf.loader_refusal(elf.read(program))
    assert reason
    assert str(tmp_path) in reason


def test_loaders_of_the_system_and_of_stores_are_accepted() -> None:
    """Nix and Guix keep the loader in a folder of its own."""
    processor, own = elf.this_processor(), elf.read(Path("/proc/self/exe")).loader
    for loader in (own, "/nix/store/a-glibc-2.40/lib/ld-linux-x86-64.so.2"):
        assert elf.loader_refusal(elf.Elf(processor, loader)) is None
    for loader in ("/lib64/../opt/ld-linux-x86-64.so.2", "/opt/ld-linux-x86-64.so.2", "ld.so.1"):
        assert elf.loader_refusal(elf.Elf(processor, loader))


@pytest.mark.parametrize("tag", ["--enable-new-dtags", "--disable-new-dtags"])
@pytest.mark.parametrize("stated", [False, True])
def test_folders_are_searched_in_the_loaders_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tag: str, *, stated: bool
) -> None:
    """DT_RPATH comes before LD_LIBRARY_PATH and is inherited; DT_RUNPATH does neither."""
    for folder in ("own", "stated"):
        library(tmp_path / folder / "libinner.so")
        library(tmp_path / folder / "libouter.so", "", *needing(tmp_path / folder, "inner"))
    if stated or "enable" in tag:
        monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path / "stated"))
    options = (f"-Wl,{tag}", "-Wl,-rpath,$ORIGIN/own")
    program = linked(tmp_path / "p", linking.NOTHING, *needing(tmp_path / "own", "outer"), *options)
    assert found(program) == listed_by_the_loader(program)
    first = "stated" if "enable" in tag else "own"
    assert tmp_path / first / "libouter.so" in found(program)
    assert tmp_path / first / "libinner.so" in found(program)


def test_a_library_for_another_processor_is_passed_over(tmp_path: Path) -> None:
    """As the loader does, the search goes on in the next folder."""
    real = library(tmp_path / "right/libx.so")
    content = bytearray(real.read_bytes())
    content[18:20] = b"\xf3\x00"  # RISC-V
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong/libx.so").write_bytes(content)
    rpath = "-Wl,-rpath,$ORIGIN/wrong:$ORIGIN/right"
    program = linked(tmp_path / "p", linking.NOTHING, *needing(tmp_path / "right", "x"), rpath)
    assert real in found(program)


@pytest.mark.parametrize("instead", ["nothing", "pipe", "text", "folder"])
def test_a_library_that_cannot_be_loaded_is_named(tmp_path: Path, instead: str) -> None:
    """Whatever is in its place, the message names the program and the library, with a way out."""
    real = library(tmp_path / "libx.so")
    program = linked(tmp_path / "p", linking.NOTHING, *needing(tmp_path, "x"), "-Wl,-rpath,$ORIGIN")
    real.unlink()
    if instead == "pipe":
        os.mkfifo(real)
    elif instead == "text":
        real.write_text("not ELF, and long enough to be read as a header" * 9)
    elif instead == "folder":
        real.mkdir()
    with pytest.raises(HostError, match=r"libx\.so") as caught:
        elf.libraries(program)
    assert str(program) in caught.value.reason
    assert "LD_LIBRARY_PATH" in caught.value.remedy


def test_libraries_that_need_each_other_end(tmp_path: Path) -> None:
    """A circle is followed once."""
    library(tmp_path / "liba.so")
    library(tmp_path / "libb.so", "", *needing(tmp_path, "a"), "-Wl,-rpath,$ORIGIN")
    library(tmp_path / "liba.so", "", *needing(tmp_path, "b"), "-Wl,-rpath,$ORIGIN")
    program = linked(tmp_path / "p", linking.NOTHING, *needing(tmp_path, "a"), "-Wl,-rpath,$ORIGIN")
    assert found(program) == listed_by_the_loader(program)


def test_a_static_program_has_none(tmp_path: Path) -> None:
    """It is loaded by the kernel alone."""
    assert elf.libraries(linked(tmp_path / "p", linking.NOTHING, "-static")) == {}
