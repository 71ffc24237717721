"""Versions that programs report, and what recipes need of them."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from httpbed.base.errors import ConfigError, HostError
from httpbed.campaign.program_versions import ReportedVersion, required_versions
from httpbed.programs import catalog
from httpbed.programs.recipe import Recipe
from httpbed.programs.settings import VersionCommand

CATALOG = catalog.load()
# Debian 12's, shortened.
OLD_CURL = """curl 7.88.1 (x86_64-pc-linux-gnu) libcurl/7.88.1 OpenSSL/3.0.19 nghttp2/1.52.0
Protocols: ftp ftps http https
Features: alt-svc AsynchDNS brotli HSTS HTTP2 HTTPS-proxy IPv6 SSL TLS-SRP zstd"""
NEW_CURL = """curl 8.23.0 (x86_64-pc-linux-gnu) libcurl/8.23.0 OpenSSL/3.6.5 nghttp3/1.17.0
Features: alt-svc HTTP2 HTTP3 HTTPS-proxy IPv6"""
NGINX = """nginx version: nginx/1.30.6
configure arguments: --prefix=/usr/share/nginx --with-http_v2_module --with-http_v3_module"""


def lacking(name: str, output: str, *versions: str) -> list[str]:
    """Return what a program lacks that printed this."""
    command = CATALOG[name].version
    assert isinstance(command, VersionCommand)
    return [*command.lacking(output, versions)]


@pytest.mark.parametrize(
    ("name", "output", "versions", "expected"),
    [
        ("curl", NEW_CURL, ("1.1", "2", "3"), []),
        ("curl", NEW_CURL.replace(" HTTP3", ""), ("2",), []),
        ("curl", NEW_CURL.replace(" HTTP3", ""), ("3",), ["was built without HTTP/3"]),
        (
            "curl",
            OLD_CURL,
            ("2", "3", "download", "parallel"),
            [
                "is version 7.88.1, and fetching several files needs 8.16.0 or later",
                "was built without HTTP/3",
            ],
        ),
        ("curl", OLD_CURL, ("2", "download", "none"), []),
        (
            "curl",
            OLD_CURL,
            ("2", "resume"),
            ['is version 7.88.1, and retry = "resume" needs 8.16.0 or later'],
        ),
        (
            "curl",
            OLD_CURL.replace("7.88.1", "7.74"),
            ("2",),
            ["is version 7.74, and its recipe needs 7.75.0 or later"],
        ),
        ("nginx", NGINX, ("1.1", "2", "3"), []),
        ("nginx", NGINX.replace("--with-http_v3_module", ""), ("3",), ["was built without HTTP/3"]),
        (
            "nginx",
            NGINX.replace("1.30.6", "1.29"),
            ("2",),
            ["is version 1.29, and its recipe needs 1.29.4 or later"],
        ),
        ("nginx-1.26", NGINX.replace("1.30.6", "1.26.3"), ("2",), []),
        (
            "haproxy",
            "HAProxy version 3.1.14-1 2026/01/01",
            ("2",),
            ["is version 3.1.14, and its recipe needs 3.2.0 or later"],
        ),
        ("curl", "no such file", ("3",), []),
    ],
)
def test_what_a_program_lacks_is_found_in_its_output(
    name: str, output: str, versions: tuple[str, ...], expected: list[str]
) -> None:
    """An unknown version is never too old; only the HTTP versions in use matter."""
    assert lacking(name, output, *versions) == expected


def refused(recipe: Recipe, output: str) -> str:
    """Return the refusal of a program that printed this, for several files over HTTP/3."""
    assert recipe.version is not None
    found = {recipe.name: ReportedVersion(recipe.version.reported(output), output)}
    with pytest.raises((ConfigError, HostError)) as caught:
        required_versions({recipe.name: recipe}, found, {recipe.name: {"3", "parallel"}})
    return f"{type(caught.value).__name__}: {caught.value}"


def test_a_users_own_program_is_refused_with_everything_that_it_lacks() -> None:
    """The remedy is the option that named it."""
    remedy = "name another one: --program curl=PATH, or omit --program"
    assert refused(CATALOG["curl"].with_program("/usr/bin/curl"), OLD_CURL) == (
        "ConfigError: curl: /usr/bin/curl is version 7.88.1, and fetching several files"
        " needs 8.16.0 or later;"
        f" {remedy}\ncurl: /usr/bin/curl was built without HTTP/3; {remedy}"
    )


def test_another_program_is_refused_as_a_fault_of_the_machine() -> None:
    """Debian's archive may have become older, or a recipe's suite changed."""
    assert refused(CATALOG["curl"], OLD_CURL).startswith("HostError: curl is version 7.88.1")


@pytest.mark.parametrize("least", ["8", "8.16", "8.16.0", "8.16.0.1"])
def test_versions_are_compared_by_their_numbers(least: str) -> None:
    """Versions with more numbers than needed, and with fewer."""
    command = VersionCommand(argv=["x"], pattern=r"x (?P<version>\S+)", least=least)
    assert [*command.lacking("x 8.16.0.1-rc2", ())] == []
    assert [*command.lacking("x 7.99", ())]
    assert [*command.lacking("x 10.1", ())] == []


def test_a_least_version_has_numbers_only() -> None:
    """A word could not be compared."""
    with pytest.raises(ValidationError):
        VersionCommand(argv=["x"], pattern=r"(?P<version>\S+)", least="sid")
