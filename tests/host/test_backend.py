"""The link's backend: what was asked for, else what this machine has."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

import pytest

from httpbed.experiment.errors import HostError
from httpbed.host import backend


def without_packet_sockets(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """Let the kernel refuse packet sockets with an error."""

    def refuse(*_: object) -> None:
        raise OSError(code, "refused")

    monkeypatch.setattr(socket, "socket", refuse)


@pytest.mark.parametrize("code", [errno.EPERM, errno.EACCES])
def test_a_kernel_that_only_refuses_this_user_has_packet_sockets(
    monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """In the sandbox's own user namespace it will not refuse."""
    without_packet_sockets(monkeypatch, code)
    assert backend.choose(None) == backend.choose("af_packet") == "af_packet"


def test_a_kernel_without_packet_sockets_takes_tun(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And who insists on packet sockets is told."""
    without_packet_sockets(monkeypatch, errno.EAFNOSUPPORT)
    (tmp_path / "tun").touch()
    monkeypatch.setattr(backend, "TUN", tmp_path / "tun")
    assert backend.choose(None) == "tun"
    with pytest.raises(HostError, match="no packet sockets"):
        backend.choose("af_packet")


def test_tun_needs_its_device(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Told before anything is run, with the remedy."""
    monkeypatch.setattr(backend, "TUN", tmp_path / "tun")
    with pytest.raises(HostError, match="modprobe tun"):
        backend.choose("tun")
    (tmp_path / "tun").touch()
    assert backend.choose("tun") == "tun"


def test_the_kernels_links_are_chosen_by_name_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """And need packet sockets, to be observed."""
    assert (backend.choose("tbf"), backend.choose("netem")) == ("tbf", "netem")
    without_packet_sockets(monkeypatch, errno.EAFNOSUPPORT)
    with pytest.raises(HostError, match="no packet sockets"):
        backend.choose("tbf")


def test_a_kernel_without_ipv6_is_told_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Only to those who want it."""
    monkeypatch.setattr(backend, "IPV6", tmp_path / "conf")
    backend.require_ip("4")
    with pytest.raises(HostError, match="does not support IPv6"):
        backend.require_ip("6")
    (tmp_path / "conf").mkdir()
    backend.require_ip("6")
