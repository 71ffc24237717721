"""Names the test files nearest to what changed, for `make quick`.

    python setup/affected_tests.py [BASE]

What changed is what git sees since BASE; without it, what is not committed, else the last commit.
A changed module is near to a test file if that imports it, or imports a module that imports it, and
so on. A module of many users is near to all tests, so only the nearest MAX_FILES are named; CI runs
all of them. Any other changed file is near to the test files that contain its name or a folder's.
Standard library only.
"""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
FOLDERS = {
    "src": "src",
    "tests/support": "tests/support",
    "tests": ".",
    "docs": "docs",
    "setup": "setup",
}
"""Where modules lie, and the folder that their names are relative to."""
MAX_FILES = 40
GENERIC = frozenset({"src", "httpbed", "tests"})
"""Folders whose names say nothing about the files in them."""


def main(words: list[str]) -> int:
    """Print the paths on stdout, and what was left out on stderr."""
    changed = changed_files(*words)
    found = nearest(changed)
    chosen, others = found[:MAX_FILES], len(found[MAX_FILES:])
    left = f"; {others} more depend on them, and CI runs those" if others else ""
    print(f"{len(changed)} changed files, {len(chosen)} test files{left}", file=sys.stderr)
    print("\n".join(chosen))
    return 0


def changed_files(base: str = "") -> list[str]:
    """Return the paths of changed and new files."""
    if base:
        return git("diff", "--name-only", base) + git("ls-files", "--others", "--exclude-standard")
    changed = changed_files("HEAD")
    return changed or changed_files("HEAD~1")


def git(*words: str) -> list[str]:
    """Return the lines that git prints."""
    run = subprocess.run(["git", *words], cwd=CHECKOUT, check=True, capture_output=True, text=True)
    return run.stdout.splitlines()


def nearest(changed: Iterable[str]) -> list[str]:
    """Return test files, those that import a changed module themselves first."""
    importers = users()
    level = {path for path in changed if (CHECKOUT / path).is_file()}
    level |= {test for path in level - set(importers) for test in tests_that_name(Path(path))}
    seen: dict[str, None] = {}
    while level:
        seen.update(dict.fromkeys(sorted(level)))
        level = {user for path in level for user in importers.get(path, ())} - set(seen)
    tests = (Path(path) for path in seen if Path(path).match("test_*.py"))
    return [str(path) for path in tests if not {"virtual", "install"} & {*path.parts}]


def tests_that_name(path: Path) -> list[str]:
    """Return the test files that contain the name of a file, or of a folder that it lies in."""
    words = {f"{quote}{name}" for name in set(path.parts) - GENERIC for quote in ('"', "/")}
    return [test for test, text in sources().items() if any(word in text for word in words)]


@functools.cache
def sources() -> dict[str, str]:
    """Return the text of every test file by its path."""
    paths = (CHECKOUT / "tests").rglob("test_*.py")
    return {str(path.relative_to(CHECKOUT)): path.read_text() for path in sorted(paths)}


def users() -> dict[str, set[str]]:
    """Return for each module's path the paths of the modules and tests that import it."""
    modules = {name_of(path): str(path.relative_to(CHECKOUT)) for path in python_files()}
    importers: dict[str, set[str]] = {path: set() for path in modules.values()}
    for path in python_files():
        for name in imported(path):
            if name in modules:
                importers[modules[name]].add(str(path.relative_to(CHECKOUT)))
    return importers


def python_files() -> list[Path]:
    """Return the modules of the package, of the tests and of what the tests import."""
    return sorted({path for folder in FOLDERS for path in (CHECKOUT / folder).rglob("*.py")})


def name_of(path: Path) -> str:
    """Return the name by which a module is imported."""
    relative = path.relative_to(CHECKOUT).with_suffix("")
    for folder, root in FOLDERS.items():
        if relative.is_relative_to(folder):
            parts = relative.relative_to(root).parts
            return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    raise ValueError(path)


def imported(path: Path) -> set[str]:
    """Return the names of modules that a module imports, anywhere in it."""
    names = set[str]()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
