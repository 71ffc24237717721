"""Lays out the kernel of guests as `make build` puts it into the wheel: wheel_kernel.py FOLDER.

The kernel is a program of its own, under GPL-2.0-only. So it is a file of its own, beside the text
of its licence and a page that names its sources. httpbed's own code starts it as a process.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import asdict
from pathlib import Path

import progress
from httpbed.addons.virtual import guest_kernel
from httpbed.addons.virtual.guest_kernel import BUILD, NAME, SOURCE, GuestKernel
from httpbed.bed.toolbox import root_filesystem

PATCHES = Path(guest_kernel.__file__).with_name("linux")
SOURCES = """# The kernel of guests

`{name}` is Linux as a program (User Mode Linux). Licence: GPL-2.0-only, in `COPYING`.
SHA-256: `{sha256}`.

Its complete sources:

- Debian's package `{source}`, version {version}. SHA-256 of the package's file: `{source_sha256}`.
  Debian's archive of snapshots keeps every version.
- the patches, the configuration and the script that builds it, in httpbed's folder
  `addons/virtual/linux`: {files}. Digest of these files and of the list of tools: `{build}`.

`httpbed toolbox kernel` builds the same from these sources. The compiler was gcc {gcc}. The program
contains parts of the GNU C library {libc} (package `libc6-dev` of Debian; LGPL-2.1-or-later).

`{name}.so` is `random_device.c` of the same folder, under httpbed's own licence.
"""


def main() -> None:
    """Build the kernel if it is missing, and lay it out; make an empty folder elsewhere."""
    folder = Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if os.uname().machine == guest_kernel.PROCESSOR:
        lay_out(guest_kernel.ensure(progress.say), folder)
    else:
        progress.say("the wheel gets no kernel of guests, which run on x86-64 only")


def lay_out(kernel: GuestKernel, folder: Path) -> None:
    """Copy a kernel with its library, licence, sources and record."""
    build = guest_kernel.build_digest()
    shutil.copy2(kernel.path, folder / NAME)
    shutil.copy2(kernel.random_device, folder / f"{NAME}.so")
    shutil.copyfile(PATCHES / "COPYING", folder / "COPYING")
    record = {name: one for name, one in asdict(kernel).items() if name != "path"}
    (folder / f"{NAME}.json").write_text(json.dumps({**record, BUILD: build}, indent=1) + "\n")
    root = root_filesystem.find(guest_kernel.TOOLS)
    versions = root.versions if root else {}
    files = ", ".join(f"`{one}`" for one in guest_kernel.BUILT_FROM)
    named = {"name": NAME, "source": SOURCE, "files": files, "build": build, **record}
    tools = {"gcc": versions.get("gcc", "of Debian"), "libc": versions.get("libc6-dev", "")}
    (folder / "SOURCES.md").write_text(SOURCES.format(**named, **tools))


if __name__ == "__main__":
    main()
