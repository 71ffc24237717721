"""Programs and libraries that tests compile and link, honest and hostile ones."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

MARKER = """
#include <fcntl.h>
#include <unistd.h>
static void leave_a_mark(void) {{ close(open("{mark}", O_CREAT | O_WRONLY, 0666)); }}
"""
"""C code that shows that it ran."""
AUDITOR = "unsigned la_version(unsigned version) { leave_a_mark(); return version; }"
CONSTRUCTOR = "__attribute__((constructor)) static void begin(void) { leave_a_mark(); }"
MAIN = "int main(void) { leave_a_mark(); return 0; }"
NOTHING = "int main(void) { return 0; }"


def linked(file: Path, source: str, *options: str) -> Path:
    """Compile a C source, and link it with options of the linker's driver."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "cargo needs a C compiler, too"
    file.parent.mkdir(parents=True, exist_ok=True)
    command = [compiler, "-x", "c", "-", "-x", "none", "-o", str(file), *options]
    subprocess.run(command, input=source.encode(), check=True, capture_output=True)
    return file


def library(file: Path, source: str = "", *options: str) -> Path:
    """Link a shared library under its file's name."""
    return linked(file, source, "-shared", "-fPIC", f"-Wl,-soname,{file.name}", *options)


def hostile(folder: Path, way: str, mark: Path) -> Path:
    """Link a program that makes whoever lists its libraries by running something make a mark."""
    marking = MARKER.format(mark=mark)
    if way == "loader":
        loader = linked(folder / "ld-evil", marking + MAIN, "-static")
        return linked(folder / "by-loader", NOTHING, f"-Wl,--dynamic-linker={loader}")
    if way in ("audit", "depaudit"):
        auditor = library(folder / "auditor.so", marking + AUDITOR)
        return linked(folder / f"by-{way}", NOTHING, f"-Wl,--{way}={auditor}")
    assert way == "constructor"
    library(folder / "libbegins.so", marking + CONSTRUCTOR)
    found = ("-Wl,--no-as-needed", f"-L{folder}", "-lbegins", "-Wl,-rpath,$ORIGIN")
    return linked(folder / "by-constructor", NOTHING, *found)


WAYS = ("loader", "audit", "depaudit", "constructor")
"""How the file of a program can name code that a loader runs before it."""
