"""Versions of HTTP, in everybody's words."""

from __future__ import annotations

import re

_DRAFT = re.compile(r"(?:h3|quic|http/2\+quic)[-/+].*")
_NAMES = {
    "h1": "1.1",
    "http/1": "1.0",
    "http/1.0": "1.0",
    "http/1.1": "1.1",
    "h2": "2",
    "h2c": "2",
    "http/2": "2",
    "http/2.0": "2",
    "h3": "3",
    "http/3": "3",
    "http/3.0": "3",
    "quic": "3",
}


def version_of(said: str) -> str:
    """Return ``1.0``, ``1.1``, ``2`` or ``3``; else what was said, empty where that is ``unknown``.

    Understood are the names of RFC 9110 to 9114, those of TLS (ALPN, with drafts of HTTP/3 as the
    version they became) and ``http/2.0``, which Chrome writes into a HAR.
    """
    word = said.strip().lower()
    if word in ("unknown", "undefined", "null", "none"):
        return ""
    return "3" if _DRAFT.fullmatch(word) else _NAMES.get(word, said.strip())


def name_of(version: str) -> str:
    """Return the name that RFC 9110 gives a version: ``HTTP/2``; else what was said."""
    return f"HTTP/{version}" if version in _NAMES.values() else version
