"""Guests with a script in the place of the kernel: it gets the kernel's words and confinement."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

from httpbed.addons.virtual import visible_files
from httpbed.addons.virtual.command import CONSOLE, Guest
from httpbed.bed.sandbox.sandbox_spec import SandboxSpec

LEFT_BYTES = 2**24


class ScriptedGuest(Guest):
    """A guest whose kernel is a script: the interpreter is where the kernel looks for programs."""

    def sandbox(self, folder: Path) -> SandboxSpec:
        """Return the sandbox of a guest, with this machine's programs beside the kernel."""
        spec = super().sandbox(folder)
        ((name, part),) = spec.parts.items()
        programs = {str(path): path for path in visible_files.of_python()}
        shared = {**part.shared, **programs}
        return replace(spec, parts={name: replace(part, shared=shared)})


def scripted(folder: Path, kernel: str, interpreter: str = "/bin/sh") -> ScriptedGuest:
    """Return a guest whose kernel is a script."""
    program, handed = folder / "kernel", folder / "handed"
    program.write_text(f"#!{interpreter}\n{kernel}\n")
    program.chmod(0o755)
    handed.mkdir()
    return ScriptedGuest(
        kernel=program,
        handed=handed,
        seed=7,
        memory_bytes=2**28,
        cpu=min(os.sched_getaffinity(0)),
        left_bytes=LEFT_BYTES,
    )


def python(folder: Path, kernel: str) -> ScriptedGuest:
    """Return a guest whose kernel is a Python program."""
    return scripted(folder, kernel, f"{sys.executable} -IB")


def console(left: Path) -> str:
    """Return what a kernel printed."""
    return (left / CONSOLE).read_text()
