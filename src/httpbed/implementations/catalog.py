"""All recipes that are known: those that come with httpbed, and those in folders of the user."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from httpbed.implementations.recipe import Recipe, digest_of
from httpbed.model.errors import ConfigError, Mistake
from httpbed.model.reading import dotted
from httpbed.model.scenario import HttpVersion, Role, Roles

TCP_CONGESTION_CONTROLS = ("reno", "cubic", "bbr")
"""What the studies compare; the kernel may have others."""
_KNOWN = frozenset(Role.model_fields)


@dataclass(frozen=True)
class Catalog:
    """Recipes by name."""

    recipes: Mapping[str, Recipe]

    def __getitem__(self, name: str) -> Recipe:
        return self.recipes[name]

    def installs(self) -> dict[str, frozenset[str]]:
        """The packages that all recipes together need, by suite."""
        needed: dict[str, set[str]] = {}
        for recipe in self.recipes.values():
            needed.setdefault(recipe.install.suite, set()).update(recipe.install.packages)
        return {suite: frozenset(packages) for suite, packages in needed.items()}

    def mistakes(self, roles: Mapping[str, Any]) -> Iterator[Mistake]:
        """Yield what is wrong with who is to take which role, according to a document.

        What the models refuse is passed over: it is reported anyway, and hides nothing here.
        """
        version = _texts(roles.get("client")).get("http_version")
        for role in Roles.model_fields:
            said = {key: text for key, text in _texts(roles.get(role)).items() if key in _KNOWN}
            if "implementation" in said:
                known = version if version in get_args(HttpVersion) else None
                yield from self._role_mistakes(role, Role.model_validate(said), known)

    def _role_mistakes(self, role: str, said: Role, version: str | None) -> Iterator[Mistake]:
        place = f"roles.{role}.implementation"
        recipe = self.recipes.get(said.implementation)
        if recipe is None:
            yield Mistake(place, f"no recipe {said.implementation!r}; known: {self._names()}")
        elif role not in recipe.roles:
            yield Mistake(
                place, f"{recipe.name} cannot be a {role}, only {', '.join(recipe.roles)}"
            )
        elif version and version not in recipe.http_versions:
            speaks = ", ".join(recipe.http_versions)
            field = "roles.client.http_version"
            yield Mistake(field, f"{recipe.name} speaks {speaks} as a {role}, not {version}")
        elif version == "3":
            yield from _quic_mistakes(role, said, recipe)
        if said.congestion_control not in TCP_CONGESTION_CONTROLS:
            known = ", ".join(TCP_CONGESTION_CONTROLS)
            reason = f"unknown algorithm {said.congestion_control!r}; known: {known}"
            yield Mistake(f"roles.{role}.congestion_control", reason)

    def _names(self) -> str:
        return ", ".join(sorted(self.recipes))


def _quic_mistakes(role: str, said: Role, recipe: Recipe) -> Iterator[Mistake]:
    """Refuse a level that would be a label only: a program may have its own fixed for QUIC."""
    fixed = recipe.congestion_control.quic
    if fixed and said.congestion_control != fixed:
        reason = f"{recipe.name} has {fixed} fixed for HTTP/3, not {said.congestion_control}"
        remedy = f"say {fixed}, or vary it in an experiment without HTTP/3"
        yield Mistake(f"roles.{role}.congestion_control", reason, remedy)


def _texts(node: object) -> dict[str, str]:
    """Keep the texts of a table; there are none in what is no table."""
    items = node.items() if isinstance(node, Mapping) else ()
    return {key: value for key, value in items if isinstance(value, str)}


def load(folders: Iterable[Path] = ()) -> Catalog:
    """Read every recipe; a later folder's recipe replaces an earlier one of that name.

    Raises:
        ConfigError: With every mistake in every recipe.
    """
    shipped = resources.files("httpbed.implementations") / "recipes"
    recipes: dict[str, Recipe] = {}
    mistakes: list[Mistake] = []
    for folder in (shipped, *folders):
        for file in _recipe_files(folder):
            recipe, wrong = _read(file)
            mistakes += wrong
            if recipe:
                recipes[recipe.name] = recipe
    if mistakes:
        raise ConfigError(mistakes)
    return Catalog(recipes)


def _recipe_files(folder: Traversable) -> list[Traversable]:
    if not folder.is_dir():
        raise ConfigError([Mistake(str(folder), "is not a folder of recipes")])
    files = (file for file in folder.iterdir() if file.name.endswith(".toml"))
    return sorted(files, key=lambda file: file.name)


def _read(file: Traversable) -> tuple[Recipe | None, list[Mistake]]:
    try:
        text = file.read_text(encoding="utf-8")
        said = tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:  # not UTF-8, not TOML, too deep
        return None, [Mistake(file.name, f"cannot be read as TOML: {error}")]
    try:
        recipe = Recipe.model_validate(said | {"digest": digest_of(text)})
    except ValidationError as error:
        return None, [
            Mistake(f"{file.name}: {dotted(detail['loc'])}", detail["msg"])
            for detail in error.errors()
        ]
    found = recipe.mistakes()
    return recipe, [Mistake(f"{file.name}: {one.place}", one.reason) for one in found]
