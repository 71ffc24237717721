"""Finds the programs under test: in a root filesystem of the toolbox, or on this machine.

A program of the user's, or a dynamically linked one of httpbed's own, sees of this machine itself,
its loader and libraries, and what its recipe names. Program and libraries are shown in one folder,
which is on its library path. Each trial mounts these files anew, so a trial in which one of them
was replaced is not believed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from httpbed.base.errors import HostError
from httpbed.bed.sandbox import sandbox_spec
from httpbed.bed.sandbox.sandbox_spec import TOOLS, PartSpec
from httpbed.bed.toolbox import compiled, elf, root_filesystem
from httpbed.bed.toolbox.root_filesystem import Contents, ProgramIdentity, Root
from httpbed.programs import install
from httpbed.programs.catalog import Catalog, require_user_programs
from httpbed.programs.recipe import Recipe

_AT_ONCE = 4
"""Roots that are built at once: a build mostly waits for the network or uses one core."""

Say = Callable[[str], None]
Stamp = tuple[int, int, int, int]
"""Device, inode, size and modification time of a file; a build or an upgrade changes one."""


@dataclass(frozen=True)
class Place:
    """The place of one implementation's program."""

    root: Root | None
    """Its root filesystem; None: this machine's."""
    program: Path | None = None
    """Its executable on this machine, if it runs there."""
    libraries: Mapping[str, Path] = field(default_factory=dict)
    """The libraries of the executable, by name."""
    shown: Mapping[str, Path] = field(default_factory=dict)
    """The executable, its libraries and further files: path in the sandbox -> path here."""
    stamps: Mapping[Path, Stamp] = field(default_factory=dict)
    """What was there when its programs and libraries were found."""


@dataclass(frozen=True)
class Programs:
    """The programs that a campaign's processes run."""

    tools: Root
    """The tools that set up and read the network."""
    places: Mapping[str, Place]
    """By the name of the implementation."""
    own: Mapping[str, Root] = field(default_factory=dict)
    """Roots of the bed's own programs, by the names that these use."""

    def only(self, names: Collection[str], own: Collection[str] = ()) -> Programs:
        """Return the programs of these implementations, with the bed's tools and ``own`` roots."""
        places = {name: place for name, place in self.places.items() if name in names}
        roots = {name: root for name, root in self.own.items() if name in own}
        return Programs(self.tools, places, roots)

    def roots(self) -> dict[str, Path]:
        """Return every root filesystem of the sandbox, by the name that processes use."""
        roots = {name: place.root.path for name, place in self.places.items() if place.root}
        own = {name: root.path for name, root in self.own.items()}
        return {**roots, **own, TOOLS: self.tools.path}

    def part(self, seen: PartSpec) -> PartSpec:
        """Return a part with its program: a root filesystem, or files of this machine."""
        place = self.places.get(seen.root or "")
        if place is None or place.root:
            return seen
        return replace(seen, root=None, shared={**seen.shared, **place.shown})

    def identity(self, name: str, program: str) -> ProgramIdentity:
        """Return the identity of the program that an implementation starts as ``program``."""
        place = self.places[name]
        if place.root:
            return root_filesystem.program_identity(place.root, program)
        if place.program and program.startswith(f"{install.PROGRAMS}/"):
            return root_filesystem.user_program_identity(place.program, place.libraries)
        path = shutil.which(program)
        if path is None:
            raise HostError(f"this machine has no {program}", f"correct the recipe of {name}")
        return root_filesystem.user_program_identity(Path(path), elf.libraries(Path(path)))

    def require_unchanged(self) -> None:
        """Check that programs and libraries of this machine are those that were identified.

        Raises:
            HostError: One was replaced or changed since; the trial may have run another one.
        """
        for name, place in self.places.items():
            for file, stamp in place.stamps.items():
                if _stamp(file) != stamp:
                    raise HostError(
                        f"{file} of {name} was replaced or changed while trials ran",
                        "leave it as it is during a campaign, and begin another for the new one",
                    )

    def wheels(self, name: str) -> dict[str, str]:
        """Return the versions of the wheels in its root."""
        root = self.places[name].root
        return dict(root.wheels) if root else {}


def ensure(
    catalog: Catalog,
    names: Iterable[str],
    *,
    say: Say,
    added: Mapping[str, Contents] | None = None,
) -> Programs:
    """Find the programs of these implementations, and build what is missing.

    ``added`` are the roots of further programs of the bed, by the names that these use.

    Raises:
        HostError: A root cannot be built on this machine, or not now.
        ConfigError: The user's executables cannot be run; with every reason.
    """
    wanted = [catalog[name] for name in sorted(set(names))]
    places = _places_here((recipe for recipe in wanted if not recipe.install.has_root), say)
    installs = catalog.installs(recipe.name for recipe in wanted)
    added = added or {}
    roots, failures = build([root_filesystem.TOOLS, *added.values(), *installs], say=say)
    for contents, failure in failures.items():
        raise _unavailable(installs.get(contents, []), failure)
    for contents, recipes in installs.items():
        places |= dict.fromkeys(recipes, Place(roots[contents]))
    own_roots = {name: roots[contents] for name, contents in added.items()}
    return Programs(roots[root_filesystem.TOOLS], places, own_roots)


def _unavailable(recipes: list[str], failure: HostError) -> HostError:
    if not recipes:
        return failure
    remedy = f"{failure.remedy}; or leave {' and '.join(recipes)} out of the experiment"
    return HostError(f"{' and '.join(recipes)} cannot be installed: {failure.reason}", remedy)


def build(
    several: Iterable[Contents], *, say: Say, accept_expired: bool = False
) -> tuple[dict[Contents, Root], dict[Contents, HostError]]:
    """Build several roots at once; a failed build stops no other."""
    roots, failures = dict[Contents, Root](), dict[Contents, HostError]()

    def one(contents: Contents) -> None:
        try:
            roots[contents] = root_filesystem.ensure(
                contents, say=say, accept_expired=accept_expired
            )
        except HostError as error:
            failures[contents] = error

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(one, dict.fromkeys(several)))
    return roots, failures


def _places_here(recipes: Iterable[Recipe], say: Say) -> dict[str, Place]:
    """Find the programs of this machine; every mistake is reported before any build."""
    several = list(recipes)
    require_user_programs(several)
    programs = [
        (recipe, install.named_program(binary))
        for recipe in several
        if (binary := recipe.install.binary)
    ]
    programs += [(recipe, own_executable(recipe, say)) for recipe in several if recipe.install.own]
    return {recipe.name: _place(recipe, program) for recipe, program in programs}


def state(recipe: Recipe) -> tuple[bool, str]:
    """Return whether a recipe's program is installed, and a remark."""
    contents = recipe.install.contents()
    if contents:
        root = root_filesystem.find(contents)
        absent = "not imported yet" if recipe.install.image else "not built yet"
        return root is not None, f"in {root.name}" if root else absent
    if program := compiled.PROGRAMS.get(str(recipe.install.own)):
        built = program.find()
        return built is not None, str(built or "not built yet")
    if recipe.install.own:
        try:
            return True, str(sandbox_spec.executable(recipe.install.own))
        except HostError as error:
            return False, error.reason
    binary = str(recipe.install.binary)
    wrong = install.user_program_mistake(recipe.name, binary)
    return wrong is None, wrong.reason if wrong else str(install.named_program(binary))


def own_executable(recipe: Recipe, say: Say, *, accept_expired: bool = False) -> Path:
    """Find one of httpbed's own executables, and build it if it is built on demand."""
    if program := compiled.PROGRAMS.get(str(recipe.install.own)):
        if accept_expired and program.find() is None:
            root_filesystem.ensure(program.tools, say=say, accept_expired=True)
        return program.ensure(say)
    return sandbox_spec.executable(str(recipe.install.own))


def _place(recipe: Recipe, program: Path) -> Place:
    """Find the files of this machine that a program sees; stamp those that it executes."""
    needed = [install.named_program(name) for name in recipe.install.needs]
    programs = [program, *filter(install.is_started, needed)]
    libraries = {one: elf.libraries(one) for one in programs}
    shown = {str(recipe.install.program(recipe.name)): program.resolve()}
    shown |= {str(path): path.resolve() for path in needed}
    for several in libraries.values():
        shown |= {_seen(recipe, name): path.resolve() for name, path in several.items()}
    executed = {*programs, *(path for several in libraries.values() for path in several.values())}
    stamps = {file.resolve(): _stamp(file.resolve()) for file in sorted(executed)}
    return Place(None, program, libraries[program], shown, stamps)


def _seen(recipe: Recipe, library: str) -> str:
    """Return where a program sees a library that it needs by this name."""
    if library.startswith("/"):
        return os.path.normpath(library)
    return f"{recipe.install.folder(recipe.name)}/{Path(library).name}"


def _stamp(file: Path) -> Stamp:
    try:
        about = file.stat()
    except OSError:
        return (0, 0, 0, 0)
    return (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns)
