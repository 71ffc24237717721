"""What httpbed sets in its own environment for libraries, unless the user has set it."""

from __future__ import annotations

import logging
import os

from httpbed.host import folders


def apply() -> None:
    """Set the variables and levels, before the libraries are imported."""
    for name, value in _settings().items():
        os.environ.setdefault(name, value)
    # It warns of a cache that it cannot write to, which costs a second and is no mistake.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)


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
