"""Which addresses are inside, and which no server can have."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from httpbed.base.addresses import is_inside, is_never_a_server

INSIDE = [
    *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
    *("0.0.0.0", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fd00::1", "ff02::1"),  # noqa: S104 - an address to look at
    *("::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "::7f00:1", "::ffff:0:7f00:1"),
    *("64:ff9b:1::7f00:1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "fec0::1", "fd00:ec2::254"),
    *("0.1.2.3", "192.0.0.8", "192.0.2.1", "198.18.0.1", "240.0.0.1", "168.63.129.16", "3fff::1"),
    *("fe80::1%2", "2001:db8::1", "4000::1", "100::1", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1"),
]
NEVER = [
    *("169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "0.0.0.0", "0.1.2.3"),  # noqa: S104 - an address to look at
    *("224.0.0.1", "255.255.255.255", "240.0.0.1", "::", "fe80::1", "ff02::1", "fd00:ec2::254"),
    *("::ffff:169.254.169.254", "::ffff:10.0.0.1", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1"),
    *("64:ff9b:1::a9fe:a9fe", "fe80::1%2", "4000::1"),
]


@pytest.mark.parametrize("address", INSIDE)
def test_addresses_outside_the_public_internet_are_inside(address: str) -> None:
    """This includes IPv4 addresses embedded in IPv6."""
    assert is_inside(ip_address(address))


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"])
def test_public_addresses_are_not_inside(address: str) -> None:
    """This holds for both IP versions."""
    assert not is_inside(ip_address(address))


@pytest.mark.parametrize("address", NEVER)
def test_no_server_of_the_users_has_such_an_address(address: str) -> None:
    """Each of them is inside, too."""
    assert is_never_a_server(ip_address(address))
    assert is_inside(ip_address(address))


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "::1", "10.1.2.3", "192.168.1.1", "100.64.0.1", "fd00::1", "8.8.8.8"]
)
def test_the_users_own_servers_may_have_private_addresses(address: str) -> None:
    """They are measured if the user says so."""
    assert not is_never_a_server(ip_address(address))
