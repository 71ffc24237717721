"""Adds the Rust executables and the name of the commit to the wheel, beside the Python command.

``$HTTPBED_WHEEL_KERNEL`` names a folder with the kernel of guests (``setup/wheel_kernel.py``),
which `make build` adds, too.

Cargo builds them for this machine, or for the target triple in ``$HTTPBED_WHEEL_TARGET``, and links
them statically, because they run in root filesystems that do not contain this machine's libraries.
``$CARGO`` overrides the cargo on the PATH.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KERNEL_FOLDER = "HTTPBED_WHEEL_KERNEL"
TARGET = "HTTPBED_WHEEL_TARGET"
EXECUTABLES = ("httpbed-link", "httpbed-probe", "httpbed-sandbox")


class CargoHook(BuildHookInterface[Any]):
    """Builds the executables and adds them to the wheel as scripts."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Run cargo; hatchling calls this before it collects the wheel's files."""
        del version  # editable and standard wheels contain the same executables
        cargo = os.environ.get("CARGO", "cargo")
        triple = os.environ.get(TARGET) or _host_triple(cargo)
        folder = _build(Path(self.root), cargo, triple)
        build_data["shared_scripts"] |= {str(folder / name): name for name in EXECUTABLES}
        if commit := _commit(Path(self.root)):
            file = folder / "commit"
            file.write_text(commit)
            build_data["force_include"][str(file)] = "httpbed/commit"
        if kernel := os.environ.get(KERNEL_FOLDER):
            for file in sorted(Path(kernel).iterdir()):
                build_data["force_include"][str(file)] = (
                    f"httpbed/addons/virtual/kernel/{file.name}"
                )
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-linux_{triple.partition('-')[0]}"


def _commit(root: Path) -> str:
    """Return the commit of the checkout, with a plus if files differ; empty without git."""
    try:
        commit, changes = (
            subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True)
            for words in (("rev-parse", "HEAD"), ("status", "--porcelain"))
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return commit.stdout.strip() + ("+" if changes.stdout else "")


def _build(root: Path, cargo: str, triple: str) -> Path:
    """Build with the locked crates and return the folder of the executables."""
    flags = f"CARGO_TARGET_{triple.upper().replace('-', '_')}_RUSTFLAGS"
    static = f"{os.environ.get(flags, '')} -C target-feature=+crt-static".strip()
    target = Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))
    subprocess.run(
        [
            *(cargo, "build", "--quiet", "--release", "--locked"),
            *("--target", triple, "--target-dir", str(target)),
            *(argument for name in EXECUTABLES for argument in ("--bin", name)),
        ],
        cwd=root,
        env={**os.environ, flags: static},
        check=True,
    )
    return target / triple / "release"


def _host_triple(cargo: str) -> str:
    """Return this machine's Rust target triple, such as ``x86_64-unknown-linux-gnu``.

    An explicit target, even though it is the host, keeps the static flag away from build scripts
    and procedural macros, which cannot be linked statically.
    """
    version = subprocess.run([cargo, "-vV"], check=True, capture_output=True, text=True).stdout
    return next(line.split()[1] for line in version.splitlines() if line.startswith("host:"))
