"""The modules of a guest's job in one file: written here, imported there.

To import a module from a file of its own, Python makes 16 system calls. Each costs a guest some
15 us of CPU, and a job imports 200 modules. So this is the first program of a guest, and imports
little before it has the file (docs/decisions/0090).
"""

from __future__ import annotations

import importlib
import marshal
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from types import ModuleType

FILE = "modules.marshal"
ABSENT = ("ssl",)
"""No job needs TLS of Python, and asyncio does without: OpenSSL is a tenth of what it imports."""


class ModulesFile:
    """Finds and runs the modules of a file that :func:`write` made."""

    def __init__(self, path: str) -> None:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib is in the file
            self._modules: dict[str, tuple[str, list[str] | None, bytes]]
            self._modules = marshal.load(file)  # noqa: S302 - written by httpbed

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        """Describe a module; None if the file does not have it."""
        if name not in self._modules:
            return None
        origin, folders, _code = self._modules[name]
        spec = ModuleSpec(name, self, origin=origin)  # type: ignore[arg-type]
        spec.has_location, spec.submodule_search_locations = True, folders
        return spec

    def create_module(self, _: ModuleSpec) -> None:
        """Have Python create the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run a module's code in it, as every import does."""
        _, _, code = self._modules[module.__name__]
        exec(marshal.loads(code), module.__dict__)  # noqa: S102, S302 - as above


def write(names: Collection[str]) -> None:
    """Write modules, and all that they import, to the standard output.

    One that cannot be imported is left out: it fails again in the guest, which reports it.
    """
    _leave_out()
    for name in names:
        try:
            importlib.import_module(name)
        except Exception:  # noqa: BLE001, S112 - see above
            continue
    kept = {}
    for module in list(sys.modules.values()):
        spec = getattr(module, "__spec__", None)
        if spec and isinstance(spec.loader, SourceFileLoader):
            code = marshal.dumps(spec.loader.get_code(spec.name))
            kept[spec.name] = (spec.origin, spec.submodule_search_locations, code)
    marshal.dump(kept, sys.stdout.buffer)


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
