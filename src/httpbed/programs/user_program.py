"""The user's own executables: named by ``--program`` or by a recipe, and why one cannot run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from httpbed.base.errors import ConfigError, Mistake
from httpbed.bed.toolbox import elf
from httpbed.bed.toolbox.elf import DamagedError
from httpbed.programs.recipe import Recipe


def require(recipes: Iterable[Recipe]) -> None:
    """Check that the user's executables among some recipes can be run.

    Raises:
        ConfigError: With every one that cannot, and why.
    """
    own = [recipe for recipe in recipes if recipe.install.binary]
    mistakes = [*filter(None, map(mistake, own))]
    mistakes += [missing for recipe in own for missing in _missing(recipe)]
    if mistakes:
        raise ConfigError(mistakes)


def find(recipe: Recipe) -> Path:
    """Find the user's executable; a bare name is looked up as a shell does."""
    return named(recipe.install.binary or "")


def named(name: str) -> Path:
    """Return the absolute path of a path, or of a bare name of a program."""
    return Path((None if "/" in name else shutil.which(name)) or name).expanduser().absolute()


def is_started(needed: Path) -> bool:
    """Whether a file that a program needs is a program, and not a folder, a script or data."""
    try:
        return needed.is_file() and os.access(needed, os.X_OK) and elf.is_program(needed)
    except OSError:
        return False


def _missing(recipe: Recipe) -> Iterator[Mistake]:
    for name in recipe.install.needs:
        if not named(name).exists():
            place, where = f"{recipe.name}: install.needs", "is not there"
            where = where if "/" in name else "is not on the PATH"
            yield Mistake(place, f"{name} {where}", "install it, or take it out of the recipe")
        elif is_started(named(name)):
            wrong = _fault(f"{recipe.name}: install.needs", named(name), "name another one")
            yield from [wrong] if wrong else []


def mistake(recipe: Recipe) -> Mistake | None:
    """Return why the user's executable cannot be run; None if it can."""
    program = find(recipe)
    place, binary = f"{recipe.name}: install.binary", recipe.install.binary
    other = f"name another one: --program {recipe.name}=PATH"
    if not program.exists():
        where = "is not there" if binary and "/" in binary else "is not on the PATH"
        return Mistake(place, f"{binary} {where}", f"it is your own program: {other}")
    if not program.is_file():
        return Mistake(place, f"{program} is no file", other)
    if not os.access(program, os.X_OK):
        return Mistake(place, f"{program} may not be executed by you", f"chmod +x, or {other}")
    return _fault(place, program, other)


def _fault(place: str, program: Path, other: str) -> Mistake | None:
    """Return why an executable file is no program for this machine, or one that is refused."""
    try:
        if not elf.is_program(program):
            reason = f"{program} is a script, or no program at all"
            remedy = "name the program itself, as scripts hide what is measured"
            return Mistake(place, reason, remedy)
        file = elf.read(program)
    except DamagedError as error:
        return Mistake(place, f"{program} {error}", other)
    except OSError as error:
        return Mistake(place, f"{program} cannot be read by you: {error.strerror}", other)
    if file.processor != elf.this_processor():
        machine = os.uname().machine
        return Mistake(place, f"{program} is for another processor than {machine}", other)
    if refused := elf.loader_refusal(file):
        remedy = (
            "link it for the dynamic loader of this machine and without auditors, or statically"
        )
        return Mistake(place, f"{program} {refused}", remedy)
    return None
