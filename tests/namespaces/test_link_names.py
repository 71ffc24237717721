"""Names behind ``httpbed link``, wherever the resolver of the machine is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import resolvers
from httpbed.bed.machine.backend import TUN, tun_fault
from link_command import LINK, PATIENCE_S

pytestmark = pytest.mark.namespaces


def looked_up(words: list[str], environment: dict[str, str]) -> tuple[str, str]:
    """Look a name up behind a link; return the output and stderr."""
    command = [*words, *LINK, "--json", "--", sys.executable, "-c", resolvers.LOOKUP]
    ended = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=PATIENCE_S, env=environment
    )
    return ended.stdout, ended.stderr


@pytest.mark.parametrize(
    ("resolv_conf", "address"),
    [
        ("nameserver 192.0.2.9", "192.0.2.9"),
        ("nameserver 127.0.0.53\noptions edns0 trust-ad", "127.0.0.53"),
        ("nameserver 127.0.0.1\noptions use-vc", "127.0.0.1"),
        ("nameserver 2001:db8::9", "2001:db8::9"),
        ("nameserver ::1", "::1"),
        ("nameserver 127.0.0.2\nnameserver 2001:db8::9", "2001:db8::9"),
        ("", "127.0.0.1"),
    ],
)
def test_names_are_resolved_over_the_link(tmp_path: Path, resolv_conf: str, address: str) -> None:
    """By datagram or stream, over IPv4 or IPv6, by the second resolver if the first fails."""
    if fault := tun_fault(TUN):
        pytest.skip(fault[0])
    out, said = looked_up(*resolvers.on_machine(tmp_path, f"{resolv_conf}\n", address))
    assert out == f"{resolvers.KNOWN}\n", said
    ways = json.loads(said.splitlines()[-1])["link"]["directions"]
    assert all(way["packets"]["delivered"] > 0 for way in ways), "the query passed the link by"


def test_a_machine_without_resolv_conf_is_named(tmp_path: Path) -> None:
    """The command still runs."""
    if fault := tun_fault(TUN):
        pytest.skip(fault[0])
    out, said = looked_up(*resolvers.on_machine(tmp_path, Path("/nowhere/resolv.conf")))
    assert out.startswith("[Errno"), said
    named = "httpbed: the command resolves no names: /etc/resolv.conf: leads to no file"
    assert said.splitlines()[0] == named
