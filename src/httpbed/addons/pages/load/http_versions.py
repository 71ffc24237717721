"""Names of HTTP versions in browsers, HAR files and TLS."""

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


def version_of(name: str) -> str:
    """Return ``1.0``, ``1.1``, ``2`` or ``3``; another name unchanged; empty for ``unknown``.

    Known are the names of RFC 9110 to 9114, those of ALPN (drafts of HTTP/3 count as 3), and
    ``http/2.0``, which Chrome writes into HAR files.
    """
    word = name.strip().lower()
    if word in ("unknown", "undefined", "null", "none"):
        return ""
    return "3" if _DRAFT.fullmatch(word) else _NAMES.get(word, name.strip())


def name_of(version: str) -> str:
    """Return RFC 9110's name of a version, such as ``HTTP/2``; another text unchanged."""
    return f"HTTP/{version}" if version in _NAMES.values() else version
