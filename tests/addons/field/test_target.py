"""Which URLs and addresses field mode measures."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from httpbed.addons.field import target
from httpbed.addons.field.target import Target, Url


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("https://example.org/file", "example.org", 443),
        ("https://example.org:8443/a?b=c%20d", "example.org", 8443),
        ("https://20.1.0.1/file", "20.1.0.1", 443),
        ("https://[2600:1::1]:444/", "2600:1::1", 444),
        ("https://xn--bcher-kva.example", "xn--bcher-kva.example", 443),
        ("https://4.example/", "4.example", 443),
    ],
)
def test_https_urls_are_read(text: str, host: str, port: int) -> None:
    """Names and addresses of both IP versions, with and without a port."""
    assert not [*target.url_mistakes(text)]
    assert target.read_url(f"{text}#part") == Url(text, host, port)


@pytest.mark.parametrize(
    "text",
    [
        *("http://example.org/", "ftp://example.org/", "https://", "https:///file", "example.org"),
        *("https://user:secret@example.org/", "https://@example.org/", "https://example.org:0/"),
        *("https://example.org:99999/", "https://example.org:x/", "https://[::1", "https://[x]/"),
        *("https://exa mple.org/", "https://example.org/\r\nX: y", "https://example.org\\@b/"),
        *("https://2130706433/", "https://0x7f.1/", "https://127.1/", "https://a.0x7f/"),
        *(
            "https://0177.0.0.1/",
            "https://b\u00fccher.example/",
            "https://-a/",
            "https://[fe80::1%251]/",
        ),
        "https://example.org/" + "a" * 3000,
    ],
)
def test_other_urls_are_refused(text: str) -> None:
    """Among them those that URL parsers read in different ways."""
    mistakes = [*target.url_mistakes(text)]
    assert mistakes
    assert all(mistake.remedy for mistake in mistakes)


@pytest.mark.parametrize("own", [False, True])
def test_a_link_local_address_is_refused_whoever_owns_it(own: bool) -> None:
    """The metadata service of a cloud is there."""
    assert target.permission_mistake("a.example", ip_address("169.254.169.254"), is_own=own)


def test_a_private_address_needs_the_users_word() -> None:
    """A public one does not."""
    private, public = ip_address("192.168.1.1"), ip_address("20.1.0.1")
    assert target.permission_mistake("a.example", private, is_own=False)
    assert not target.permission_mistake("a.example", private, is_own=True)
    assert not target.permission_mistake("a.example", public, is_own=False)


def test_a_name_that_lost_its_address_is_noticed() -> None:
    """A name that cannot be resolved for once has not moved."""
    measured = Target(Url("https://a.example/", "a.example", 443), ip_address("20.1.0.1"))
    assert target.changed(measured, [ip_address("20.1.0.2")])
    assert not target.changed(measured, [ip_address("20.1.0.2"), measured.address])
    assert not target.changed(measured, [])
