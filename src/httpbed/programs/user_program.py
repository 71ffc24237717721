"""The user's own executables: named by ``--program`` or by a recipe, and why one cannot run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from httpbed.experiment.errors import ConfigError, Mistake
from httpbed.host.packages import elf
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


def _missing(recipe: Recipe) -> Iterator[Mistake]:
    for name in recipe.install.needs:
        if not named(name).exists():
            place, where = f"{recipe.name}: install.needs", "is not there"
            where = where if "/" in name else "is not on the PATH"
            yield Mistake(place, f"{name} {where}", "install it, or take it out of the recipe")


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
    if not elf.is_program(program):
        reason = f"{program} is a script, or no program at all"
        return Mistake(place, reason, "name the program itself, as scripts hide what is measured")
    if not elf.is_of_this_machine(program):
        machine = os.uname().machine
        return Mistake(place, f"{program} is for another processor than {machine}", other)
    return None
