"""How names are spelled: the pattern that accepts them, and the words for it."""

from __future__ import annotations

NAME = r"^[a-z0-9][a-z0-9-]{0,60}$"
FACTOR = r"^[a-z][a-z0-9_]{0,40}$"
HOST = r"^[a-z][a-z0-9]{0,14}$"
LINK = r"^[a-z][a-z0-9-]{0,40}$"
KNOB = r"^[a-z][a-z0-9_]{0,60}$"
_LABEL = "[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
ORIGIN = rf"^{_LABEL}(\.{_LABEL})+$"
FIGURE = r"^[a-z0-9][a-z0-9-]{0,40}$"
CLAIM = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,40}$"
PAGE = r"^[a-z0-9][a-z0-9.-]{0,80}$"
SHA256 = r"^[0-9a-f]{64}$"
URL_PATH = "^/"
FILE = r"^[^\x00-\x1f\x7f]+$"

_HYPHENS = "lower-case letters, digits and hyphens, at most"
WORDS = {
    NAME: f"{_HYPHENS} 61, the first no hyphen, such as 'loss-by-version'",
    FACTOR: "lower-case letters, digits and underscores, at most 41, the first a letter, such as"
    " 'http_version'",
    HOST: "lower-case letters and digits, at most 15, the first a letter, such as 'client2'",
    LINK: f"{_HYPHENS} 41, the first a letter, such as 'access-1'",
    KNOB: "lower-case letters, digits and underscores, at most 61, the first a letter",
    ORIGIN: "a host name with a dot, in lower case, such as 'www.example.org'",
    FIGURE: f"{_HYPHENS} 41, the first no hyphen, such as 'time-by-loss'",
    CLAIM: "letters, digits, '.', '_' and '-', at most 41, the first a letter or digit, such as"
    " 'h3-at-4'",
    PAGE: "lower-case letters, digits, '.' and '-', at most 81, as httpbed pages lists them",
    SHA256: "a SHA-256: 64 digits and letters from a to f",
    URL_PATH: "a path that begins with '/'",
    FILE: "the name of a file, without control characters",
}
"""What each pattern accepts."""
