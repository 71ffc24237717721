"""The modules of a guest's job in one file: written here, imported there.

To import a module from its source's file, Python makes eleven system calls more than from this file
(docs/decisions/0090), and each costs a guest some 15 us of CPU. So this is the first program of a
guest, and imports little before it has the file.
"""

from __future__ import annotations

import importlib
import marshal
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from types import CodeType

FILE = "modules.marshal"
ABSENT = ("ssl",)
"""A job cannot import these. asyncio does without TLS, which would load OpenSSL."""


class ModulesFile:
    """Finds the modules of a file that :func:`write` made."""

    def __init__(self, path: str) -> None:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib is in the file
            self._modules: dict[str, tuple[str, list[str] | None, bytes]]
            self._modules = marshal.loads(file.read())  # noqa: S302 - written by httpbed

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        """Describe a module; None if the file does not have it."""
        if name not in self._modules:
            return None
        origin, folders, code = self._modules[name]
        loader = _Loader(name, origin, code)
        return spec_from_file_location(
            name, origin, loader=loader, submodule_search_locations=folders
        )


class _Loader(SourceFileLoader):
    """Loads a module from its source, but with its code from the file."""

    def __init__(self, name: str, origin: str, code: bytes) -> None:
        super().__init__(name, origin)
        self._code = code

    def get_code(self, _: str) -> CodeType:
        """Return the module's code."""
        code: CodeType = marshal.loads(self._code)  # noqa: S302 - as above
        return code


def write(path: str, names: Collection[str]) -> None:
    """Write modules, and all that they import, into a file.

    A module that cannot be imported, or whose code cannot be had, is left out: the guest imports it
    from its own file, and reports what fails there.
    """
    _leave_out()
    for name in names:
        try:
            importlib.import_module(name)
        except BaseException:  # noqa: BLE001, S112 - a module may exit, too
            continue
    kept = {}
    for name, module in list(sys.modules.items()):
        try:
            spec = module.__spec__
            if spec and spec.name == name and isinstance(spec.loader, SourceFileLoader):
                code = marshal.dumps(spec.loader.get_code(name))
                kept[name] = (spec.origin, spec.submodule_search_locations, code)
        except Exception:  # noqa: BLE001, S112 - see above
            continue
    with open(path, "wb") as file:  # noqa: PTH123 - see above
        marshal.dump(kept, file)


def main() -> None:
    """Run the first process of a guest, with the file that the first argument names."""
    _leave_out()
    sys.meta_path.insert(0, ModulesFile(sys.argv.pop(1)))
    importlib.import_module("httpbed.addons.virtual.first_process").main()


def _leave_out() -> None:
    for name in ABSENT:
        sys.modules[name] = None  # type: ignore[assignment]


if __name__ == "__main__":
    main()
