"""Completion of names in a shell; click completes verbs, options, choices and files itself.

Each function returns the known names that begin with what is typed. They import what they need when
a shell asks, which is once for each press of the tab key.
"""

from __future__ import annotations

from collections.abc import Iterable

import click


def profiles(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Return names of networks."""
    del context, parameter
    from httpbed.experiment import profiles as known  # noqa: PLC0415

    return _beginning(known.all_profiles(), typed)


def programs(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Return names of implementations."""
    del context, parameter
    from httpbed.programs import catalog  # noqa: PLC0415

    return _beginning(catalog.load().recipes, typed)


def clients(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Return clients with each of their HTTP versions, such as ``curl:h3``."""
    del context, parameter
    from httpbed.programs import catalog  # noqa: PLC0415

    recipes = [one for one in catalog.load().recipes.values() if "client" in one.roles]
    words = [f"{one.name}:h{version[0]}" for one in recipes for version in one.http_versions]
    return _beginning(words, typed)


def pages(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Return names of pages."""
    del context, parameter
    from httpbed.addons.pages.sites import catalog  # noqa: PLC0415

    return _beginning(catalog.names(), typed)


def _beginning(names: Iterable[str], typed: str) -> list[str]:
    return sorted(name for name in names if name.startswith(typed))
