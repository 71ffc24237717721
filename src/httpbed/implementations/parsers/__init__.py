"""Readers of what programs leave, by the name that recipes give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from httpbed.implementations.parsers import access_log, curl
from httpbed.implementations.protocol import Findings

PARSERS: Mapping[str, Callable[[Path], Findings]] = {
    "curl-json": curl.parse,
    "access-log-json": access_log.parse,
}
"""Each takes the file that a recipe names; an absent one means that the program said nothing."""
