"""The resolvers of a machine, as a command behind a link asks them."""

from __future__ import annotations

import pytest

from httpbed.addons.link import far_end


def index(name: str) -> int:
    """Return the number of the only interface."""
    if name != "eth0":
        raise OSError
    return 2


@pytest.mark.parametrize(
    ("text", "resolvers"),
    [
        ("nameserver 192.0.2.53\n", ["192.0.2.53:53"]),
        ("nameserver 127.0.0.53\nnameserver\t192.0.2.1", ["127.0.0.53:53", "192.0.2.1:53"]),
        ("nameserver 2001:db8::1\n", ["[2001:db8::1]:53"]),
        ("nameserver fe80::1%eth0\nnameserver fe80::2%7", ["[fe80::1%2]:53", "[fe80::2%7]:53"]),
        ("nameserver fe80::1%gone\nnameserver ::1", ["[::1]:53"]),
        ("", ["127.0.0.1:53"]),
        ("search example.org\n# nameserver 192.0.2.1\n", ["127.0.0.1:53"]),
        ("nameserver\nnameserver none\n nameserver 192.0.2.1\n", ["127.0.0.1:53"]),
        ("".join(f"nameserver 192.0.2.{n}\n" for n in range(5)),
         ["192.0.2.0:53", "192.0.2.1:53", "192.0.2.2:53"]),
    ],
)  # fmt: skip
def test_resolvers_are_those_that_the_c_library_asks(text: str, resolvers: list[str]) -> None:
    """At most three, in their order; without any, the one on the loopback."""
    read = far_end.read_names(text, index)
    assert list(read.resolvers) == resolvers
    places = [line for line in read.resolv_conf.splitlines() if line.startswith("nameserver")]
    assert places == [f"nameserver {address}" for address in far_end.ADDRESSES[: len(resolvers)]]


def test_other_lines_of_resolv_conf_stay() -> None:
    """Domains and options hold behind the link, too."""
    text = "search example.org\nnameserver 127.0.0.53\noptions edns0 trust-ad\n"
    seen = "nameserver 10.79.0.3\nsearch example.org\noptions edns0 trust-ad\n"
    assert far_end.read_names(text).resolv_conf == seen
