"""The link backend: the requested one, else the best that this machine has."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

import pytest

from httpbed.base.errors import HostError
from httpbed.bed.machine import backend


def without_packet_sockets(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """Make the kernel refuse packet sockets with an error."""

    def refuse(*_: object) -> None:
        raise OSError(code, "refused")

    monkeypatch.setattr(socket, "socket", refuse)


@pytest.mark.parametrize("code", [errno.EPERM, errno.EACCES])
def test_a_kernel_that_only_refuses_this_user_has_packet_sockets(
    monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """The sandbox's own user namespace permits them."""
    without_packet_sockets(monkeypatch, code)
    assert backend.choose(None) == backend.choose("af_packet") == "af_packet"


def test_a_kernel_without_packet_sockets_uses_tun(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A request for packet sockets is rejected with the remedy."""
    without_packet_sockets(monkeypatch, errno.EAFNOSUPPORT)
    (tmp_path / "tun").touch()
    monkeypatch.setattr(backend, "TUN", tmp_path / "tun")
    assert backend.choose(None) == "tun"
    with pytest.raises(HostError, match="no packet sockets"):
        backend.choose("af_packet")


def test_tun_needs_its_device(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The error comes before anything runs, with the remedy."""
    monkeypatch.setattr(backend, "TUN", tmp_path / "tun")
    with pytest.raises(HostError, match="modprobe tun"):
        backend.choose("tun")
    (tmp_path / "tun").mkdir()  # as a device that this user may not open: root may open any file
    with pytest.raises(HostError, match=f"{tmp_path}/tun: ") as closed:
        backend.choose("tun")
    assert "chmod 666" in closed.value.remedy
    (tmp_path / "tun").rmdir()
    (tmp_path / "tun").touch()
    assert backend.choose("tun") == "tun"
