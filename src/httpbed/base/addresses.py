"""Which addresses are not on the public Internet.

A program that fetches what a user, a page or a name server names must not be led to this machine,
to the networks behind the user's firewall, or to the metadata service of a cloud (server-side
request forgery).
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address

_TRANSLATED = IPv6Network("64:ff9b::/96")
"""IPv4 behind IPv6 (RFC 6052 section 2.1)."""
_GLOBAL_UNICAST = IPv6Network("2000::/3")
"""All that IANA has allocated of IPv6. Outside are the other forms of IPv4 within IPv6: compatible
(``::7f00:1``, RFC 4291), mapped, translated (``::ffff:0:7f00:1``, RFC 2765) and of local NAT64."""
_THIS_NETWORK = IPv4Network("0.0.0.0/8")
_SPECIAL: tuple[IPv4Network | IPv6Network, ...] = (
    _THIS_NETWORK,
    *map(IPv4Network, ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32")),
    *map(IPv6Network, ("2001::/23", "3fff::/20")),
)
"""Ranges of IANA's registries of special-purpose addresses that older versions of ``ipaddress``
count as global, Teredo among them; and the metadata service of Azure."""
_OWN_IPV6 = (IPv6Network("fc00::/7"), IPv6Network("::1/128"))
"""Unique local addresses (RFC 4193) and the loopback."""
_METADATA = frozenset(
    (
        *map(IPv4Address, ("100.100.100.200", "168.63.129.16", "192.0.0.192")),
        IPv6Address("fd00:ec2::254"),
    )
)
"""Metadata services of clouds that are not link-local: Alibaba, Azure, Oracle, Amazon."""


def is_inside(address: Address) -> bool:
    """Whether an address is not on the public Internet."""
    if isinstance(address, IPv6Address):
        if address in _TRANSLATED:
            return is_inside(IPv4Address(int(address) & 0xFFFFFFFF))
        if address not in _GLOBAL_UNICAST or (
            address.sixtofour is not None and is_inside(address.sixtofour)
        ):
            return True
    special = any(address in one for one in _SPECIAL if one.version == address.version)
    return not address.is_global or address.is_multicast or special


def is_never_a_server(address: Address) -> bool:
    """Whether no web server of the user's can have an address: link-local, metadata, multicast."""
    if isinstance(address, IPv6Address):
        if address in _TRANSLATED:
            return is_never_a_server(IPv4Address(int(address) & 0xFFFFFFFF))
        if address.sixtofour is not None:
            return is_never_a_server(address.sixtofour)
        if not any(address in network for network in (_GLOBAL_UNICAST, *_OWN_IPV6)):
            return True
    elif address.is_reserved or address in _THIS_NETWORK:
        return True
    return address.is_link_local or address.is_multicast or address in _METADATA
