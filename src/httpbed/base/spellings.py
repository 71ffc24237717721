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
VIEWPORT = r"^[1-9][0-9]{1,3}x[1-9][0-9]{1,3}$"
HEADER_VALUE = r"^[ -~]+$"
RECIPE = r"^[a-z][a-z0-9.-]*$"
PACKAGE = r"^[a-z0-9][a-z0-9+.-]+$"
"""A package's name (Debian Policy 5.6.7). apt-get would take other words as options, and options
can name commands to be run on this machine."""
SUITE = r"^[a-z][a-z0-9-]*$"
VERSION_NUMBER = r"^[0-9]+(\.[0-9]+)*$"
OWN_PROGRAM = r"^httpbed-[a-z]+$"
DIGEST = r"^sha256:[0-9a-f]{64}$"
CONTRACT = r"^[a-z]+(-[a-z]+)*$"
FILE_HERE = r"^[^/]*$"

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
    VIEWPORT: "a width and a height in pixels, each from 10 to 9999, such as '412x823'",
    HEADER_VALUE: "a header's value: printable ASCII characters",
    RECIPE: "lower-case letters, digits, '.' and '-', the first a letter, such as 'my-server'",
    PACKAGE: "a Debian package: lower-case letters, digits, '+', '.' and '-', such as"
    " 'nghttp2-server'",
    SUITE: "a Debian suite, such as 'trixie'",
    VERSION_NUMBER: "numbers with dots between them, such as '1.64.0'",
    OWN_PROGRAM: "a program that comes with httpbed, such as 'httpbed-quiche'",
    DIGEST: "'sha256:' with 64 digits and letters from a to f",
    CONTRACT: "lower-case letters and hyphens, such as 'quic-interop'",
    FILE_HERE: "the name of a file, without a folder",
}
"""What each pattern accepts."""
