"""All known recipes: those that come with httpbed, and those in the user's folders."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from httpbed.base import user_file
from httpbed.base.errors import ConfigError, Mistake, collected, did_you_mean, require_none
from httpbed.bed.toolbox.root_filesystem import Contents
from httpbed.experiment import validation_messages
from httpbed.experiment.parser import format_path
from httpbed.programs import install, recipe_checks
from httpbed.programs.recipe import Recipe, digest_of
from httpbed.programs.shipped_programs import shipped_folders

# A recipe that inherits from another one, and states only what differs.
#
# ``like = "nginx"`` inherits every setting of that recipe. Tables are merged key by key; any other
# value replaces the inherited one. ``install`` is replaced as a whole: a program has one origin.


LIKE = "like"
WHOLE = frozenset({"install"})
"""Tables that are never merged."""


@dataclass(frozen=True)
class RecipeSource:
    """A recipe as its author wrote it."""

    file: str
    """What messages call it: its path, or its name if it comes with httpbed."""
    folder: Path
    """Folder that paths in ``install`` are relative to."""
    text: str
    document: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name in the source; empty if it has none."""
        return str(self.document.get("name", ""))

    @property
    def like(self) -> str | None:
        """The name of the recipe that it inherits from."""
        base = self.document.get(LIKE)
        return None if base is None else str(base)

    def over(self, base: RecipeSource) -> RecipeSource:
        """Return this source merged over ``base``; its text is both texts."""
        own = {key: value for key, value in self.document.items() if key != LIKE}
        folder = self.folder if "install" in own else base.folder
        return RecipeSource(self.file, folder, base.text + self.text, merged(base.document, own))


def merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``base`` with the values of ``own`` added or replaced."""
    result = dict(base)
    for key, value in own.items():
        before = base.get(key)
        is_table = isinstance(before, Mapping) and isinstance(value, Mapping) and key not in WHOLE
        result[key] = merged(before, value) if is_table and before is not None else value
    return result


MAX_BYTES = 2**20
"""Largest size of a recipe file."""


@dataclass(frozen=True)
class Catalog:
    """Recipes by name."""

    recipes: Mapping[str, Recipe]
    replaced: Mapping[str, str] = field(default_factory=dict)
    """Name of each recipe that replaces an earlier one -> the folder that it comes from."""

    def __getitem__(self, name: str) -> Recipe:
        return self.recipes[name]

    def tunnel_ends(self) -> frozenset[str]:
        """Return the names of the proxies that form tunnels; such a proxy only forwards."""
        pairs = ((recipe.name, recipe.next_proxy) for recipe in self.recipes.values())
        return frozenset(end for near, far in pairs if far for end in (near, far))

    def installs(self, names: Iterable[str] | None = None) -> dict[Contents, list[str]]:
        """Return the contents of each needed root filesystem -> the recipes that use it.

        Recipes that need none are left out. ``names`` defaults to all recipes, except those that
        are installed on demand, and the user's images.
        """
        if names is None:
            names = (recipe.name for recipe in self.recipes.values() if recipe.install.is_unasked)
        needed: dict[Contents, list[str]] = {}
        for name in sorted(set(names)):
            if contents := self.recipes[name].install.contents():
                needed.setdefault(contents, []).append(name)
        return needed

    def with_programs(self, programs: Mapping[str, str], option: str = "--program") -> Catalog:
        """Return a catalog in which the user's executables replace recipes' programs.

        Raises:
            ConfigError: A recipe does not exist or starts a script, or an executable cannot run.
        """
        mistakes = []
        for name in programs:
            if name not in self.recipes:
                mistakes.append(Mistake(option, *unknown(name, self.recipes)))
            elif script := _script(option, self[name]):
                mistakes.append(script)
        require_none(mistakes)
        changed = {name: self[name].with_program(path) for name, path in programs.items()}
        require_user_programs(changed.values(), option)
        return Catalog({**self.recipes, **changed}, self.replaced)

    def with_second_build(self, name: str, path: str) -> Catalog:
        """Return a catalog in which a program has a second build, the user's executable.

        Raises:
            ConfigError: As :meth:`with_programs`.
        """
        own = self.with_programs({name: path}, "--against")[name]
        twin = own.model_copy(update={"name": second_build(name)})
        return Catalog({**self.recipes, twin.name: twin}, self.replaced)


def second_build(name: str) -> str:
    """Return the name of the recipe of a program's second build."""
    return f"{name}-new"


def require(catalog: Catalog, names: Iterable[str], place: str = "IMPLEMENTATION") -> None:
    """Check the names of implementations that the command line gives in a place.

    Raises:
        ConfigError: With every name that no recipe has.
    """
    absent = [name for name in names if name not in catalog.recipes]
    if absent:
        raise ConfigError(Mistake(place, *unknown(name, catalog.recipes)) for name in absent)


def require_user_programs(recipes: Iterable[Recipe], option: str = "--program") -> None:
    """Check that the user's executables among some recipes, or of an option, can be run.

    Raises:
        ConfigError: With every one that cannot, and why.
    """
    mistakes: list[Mistake | None] = []
    for recipe in recipes:
        if recipe.install.binary:
            binary = recipe.install.binary
            mistakes.append(install.user_program_mistake(recipe.name, binary, option))
            mistakes += install.missing_needs(recipe.name, recipe.install)
    require_none(filter(None, mistakes))


def unknown(name: str, known: Iterable[str]) -> tuple[str, str]:
    """Return reason and remedy of the mistake that no recipe has this name."""
    names = sorted(known)
    program = next((known_name for known_name in names if name == second_build(known_name)), "")
    if not program:
        return f"no recipe {name!r}", did_you_mean(name, names, f"known: {', '.join(names)}")
    remedy = (
        f"compare and gate have this build by --against {program}=PATH; other verbs need a recipe"
        f' with name = "{name}", like = "{program}" and, in [install], binary = "PATH": --recipes'
        " DIR names its folder"
    )
    return f"no recipe {name!r}", remedy


def load(folders: Iterable[Path] = ()) -> Catalog:
    """Read every recipe; a recipe of a later folder replaces an earlier one of the same name.

    Raises:
        ConfigError: With every mistake in every recipe.
    """
    chosen = tuple(folders)
    return _read(chosen) if chosen else _shipped()


@functools.cache
def _shipped() -> Catalog:
    """Read the recipes that come with httpbed, which do not change while it runs."""
    return _read(())


def _read(folders: Iterable[Path]) -> Catalog:
    known: dict[str, RecipeSource] = {}
    recipes, replaced = dict[str, Recipe](), dict[str, str]()
    mistakes: list[Mistake] = []
    shipped = shipped_folders("recipes")
    groups: list[list[Traversable]] = [shipped]
    groups += [[folder] for folder in folders]
    for several in groups:
        sources, wrong = _sources(several, is_shipped=several is shipped)
        mistakes += [*wrong, *_named_twice(sources)]
        for source in sorted(sources, key=lambda source: source.like is not None):
            recipe, wrong = _recipe(source, known)
            mistakes += wrong
            if recipe and recipe.name in recipes:
                replaced[recipe.name] = str(several[0])
            if recipe:
                recipes[recipe.name] = recipe
    require_none(mistakes)
    return Catalog(recipes, replaced)


def _sources(
    folders: Iterable[Traversable], *, is_shipped: bool
) -> tuple[list[RecipeSource], list[Mistake]]:
    """Read every recipe of some folders as TOML."""
    files = list[tuple[Traversable, Traversable]]()
    sources, mistakes = list[RecipeSource](), list[Mistake]()
    for folder in folders:
        with collected(mistakes):
            files += [(folder, file) for file in _recipe_files(folder)]
    for folder, file in files:
        text, place = "", file.name if is_shipped else str(file)
        try:
            text = _text(file)
            sources.append(RecipeSource(place, Path(str(folder)), text, tomllib.loads(text)))
        except (OSError, ValueError, RecursionError) as error:  # not UTF-8, not TOML, too deep
            mistakes.append(Mistake(place, _why_unread(error, text)))
    return sources, mistakes


def _why_unread(error: Exception, text: str) -> str:
    match error:
        case UnicodeDecodeError():
            return f"is not a TOML file: byte {error.start} is not UTF-8"
        case tomllib.TOMLDecodeError():
            return f"is not valid TOML: {validation_messages.toml_error(error, text)}"
        case _:
            return f"cannot be read: {error}"


def _text(file: Traversable) -> str:
    """Read a recipe file; in a user's folder the name may belong to a pipe, device or huge file."""
    if not isinstance(file, Path):
        return file.read_text(encoding="utf-8")
    content = user_file.read(file, MAX_BYTES)
    if len(content) > MAX_BYTES:
        raise ValueError(f"has more than {MAX_BYTES} bytes, too large for a recipe")
    return content.decode()


def _named_twice(sources: Iterable[RecipeSource]) -> Iterator[Mistake]:
    """Yield a mistake for each name that several files of one folder use."""
    files: dict[str, list[str]] = {}
    for source in sources:
        files.setdefault(source.name, []).append(source.file)
    for name, claimed in files.items():
        if name and len(claimed) > 1:
            reason = f"the recipe {name!r} is in {' and in '.join(claimed)}"
            yield Mistake(claimed[-1], reason, "give one of them another name")


def _recipe_files(folder: Traversable) -> list[Traversable]:
    if not folder.is_dir():
        remedy = "give --recipes a folder with a file NAME.toml for each recipe"
        raise ConfigError([Mistake(str(folder), "is not a folder", remedy)])
    files = (file for file in folder.iterdir() if file.name.endswith(".toml"))
    recipes = sorted(files, key=lambda file: file.name)
    if not recipes:
        remedy = "put a file NAME.toml into it for each recipe"
        raise ConfigError([Mistake(str(folder), "has no recipes", remedy)])
    return recipes


def _recipe(
    written: RecipeSource, known: dict[str, RecipeSource]
) -> tuple[Recipe | None, list[Mistake]]:
    """Validate a recipe, with the settings that it inherits, and add its source to ``known``."""
    source = written
    if source.like is not None:
        base = known.get(source.like)
        if base is None:
            return None, [Mistake(f"{source.file}: {LIKE}", *unknown(source.like, known))]
        source = source.over(base)
    try:
        recipe = Recipe.model_validate({**source.document, "digest": digest_of(source.text)})
    except ValidationError as error:
        return None, [
            Mistake(
                f"{source.file}: {format_path(detail['loc'])}",
                *_reason_and_remedy(detail),
            )
            for detail in error.errors()
        ]
    known[recipe.name] = source
    recipe = recipe.model_copy(update={"install": recipe.install.beside(source.folder)})
    if LIKE in written.document and recipe.install.binary is not None:
        if mistake := _script(f"{source.file}: install.binary", recipe):
            return None, [mistake]
        recipe = recipe.with_program(recipe.install.binary)
    return recipe, [
        Mistake(f"{source.file}: {mistake.place}", mistake.reason, mistake.remedy)
        for mistake in recipe_checks.mistakes(recipe)
    ]


def _reason_and_remedy(detail: ErrorDetails) -> tuple[str, str]:
    """Return reason and remedy of a validation error, in the words of all other mistakes."""
    if detail["type"] == "missing":
        return "is missing", ""
    if detail["type"] == "extra_forbidden":
        *table, key = detail["loc"]
        known = _keys(table)
        return "unknown key", did_you_mean(str(key), known, f"known here: {', '.join(known)}")
    return validation_messages.reason_and_remedy(detail)


def _keys(table: Iterable[str | int]) -> list[str]:
    """Return the keys that a table of a recipe may have, by the schema of recipes."""
    schema = Recipe.model_json_schema()
    node = schema
    for part in table:
        named = node.get("patternProperties", {}).values()
        inner = node.get("properties", {}).get(part) or node.get("additionalProperties")
        inner = inner or node.get("items") or next(iter(named))
        form, *_ = inner.get("anyOf", (inner,))
        node = schema["$defs"][form["$ref"].rpartition("/")[2]] if "$ref" in form else form
    return sorted(node["properties"].keys() - {"digest"})


def _script(place: str, recipe: Recipe) -> Mistake | None:
    """Return a mistake for a script: an executable would replace only its interpreter."""
    if (interpreter := recipe.interpreter()) is None:
        return None
    reason = f"{recipe.name} is a script for {interpreter}, which a program cannot replace"
    return Mistake(place, reason, "write a recipe for your program")
