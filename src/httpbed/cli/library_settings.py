"""What httpbed sets in its own environment for libraries, unless the user has set it."""

from __future__ import annotations

import os

from httpbed.base import folders


def apply() -> None:
    """Set the variables, before the libraries are imported."""
    for name, value in _settings().items():
        os.environ.setdefault(name, value)


def remove() -> None:
    """Remove the variables, so that a command of the user does not see them."""
    for name, value in _settings().items():
        if os.environ.get(name) == value:
            del os.environ[name]


def _settings() -> dict[str, str]:
    return {
        # Without this, matplotlib writes its font cache outside httpbed's folders.
        "MPLCONFIGDIR": str(folders.cache() / "matplotlib"),
        # Otherwise pydantic reads the metadata of every installed package to find plugins.
        "PYDANTIC_DISABLE_PLUGINS": "__all__",
    }
