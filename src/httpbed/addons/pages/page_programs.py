"""Checks the programs that ``--browser`` and ``--server`` name, before a page is loaded."""

from __future__ import annotations

from httpbed.base.errors import ConfigError, Mistake
from httpbed.programs.catalog import Catalog, unknown


def require(catalog: Catalog, *, browser: str, server: str | None = None) -> None:
    """Raise ConfigError if a program is unknown, or cannot load or serve pages."""
    mistakes = [*_mistakes(catalog, "--browser", browser, "client")]
    if server is not None:
        mistakes += _mistakes(catalog, "--server", server, "server")
    if mistakes:
        raise ConfigError(mistakes)


def _mistakes(catalog: Catalog, option: str, name: str, role: str) -> list[Mistake]:
    able = [
        one.name
        for one in catalog.recipes.values()
        if role in one.roles and "page" in one.workloads
    ]
    if name in able:
        return []
    if name not in catalog.recipes:
        return [Mistake(option, *unknown(name, able))]
    action = "load" if role == "client" else "serve"
    return [Mistake(option, f"{name} cannot {action} pages", f"use one of: {', '.join(able)}")]
