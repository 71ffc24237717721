"""Tests, inside namespaces of its own, the kernel features that a trial needs.

    python -m httpbed.bed.machine.capability_tests REQUEST-AS-JSON

prints one JSON object that maps each test to its ``figure`` or its ``error``. It runs in a process
of its own, because the kernel refuses a user namespace to a process with several threads. Nothing
outside the namespaces changes.

Standard library only.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from httpbed.bed.machine.unprivileged import NOBODY

_NEWNS, _NEWUSER, _NEWPID, _NEWNET = 0x00020000, 0x10000000, 0x20000000, 0x40000000
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000
_ETH_P_ALL = 3
_SIOCETHTOOL, _ETHTOOL_STXCSUM = 0x8946, 0x17
_UDP_SEGMENT = 103
_SO_TIMESTAMPNS = 35

_FULL_FRAME = 1514
"""Bytes of the largest Ethernet frame at an MTU of 1500."""
_SEGMENT, _SEGMENTS = 1200, 10
_NEAR, _FAR = "10.254.0.1", "10.254.0.2"
_FAR_MAC = "02:00:00:00:00:02"
_WAIT_S = 2.0

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Run all tests in order; without a user namespace no other test can run."""
    request = json.loads(sys.argv[1])
    ip: list[str] | None = request["ip"]
    findings = {"ordinary": _test(_ordinary)} if request["root"] else {}
    findings["user"] = _test(_user)
    if "figure" in findings["user"]:
        findings["network"] = _test(lambda: _unshare(_NEWNET))
        findings["mount"] = _test(_mounts)
        findings["veth"] = _test(lambda: _veth(ip))
        findings["packet"] = _test(lambda: _stamps(ip))
        findings["gso"] = _test(lambda: _gso(ip))
        for name in request["congestion"]:
            findings[f"congestion {name}"] = _test(lambda name=name: _congestion(ip, name))  # type: ignore[misc]
        # After all tests that run programs of the toolbox, because it hides /tmp.
        findings["overlay"] = _test(lambda: _overlay(request["lower"]))
        findings["pid"] = _test(_pid)  # last: later children would be in the new namespace
    sys.stdout.write(json.dumps(findings))


def _test(step: Callable[[], Any]) -> dict[str, Any]:
    try:
        return {"figure": step()}
    except OSError as error:
        return {"error": error.strerror or str(error)}
    except subprocess.CalledProcessError as error:
        lines = (error.stderr or "").strip().splitlines()
        exited = f"{error.cmd[0]} exited with code {error.returncode}"
        return {"error": lines[-1] if lines else exited}


def _user() -> str:
    """Make a user namespace in which this process is root."""
    uid, gid = os.geteuid(), os.getegid()
    _unshare(_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
    Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
    return f"uid {uid}"


def _ordinary() -> str:
    """Make namespaces as the unprivileged user of root's trials."""
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY[1])
            os.setuid(NOBODY[0])
            _unshare(_NEWUSER | _NEWNS | _NEWPID | _NEWNET)
        except OSError as error:
            os._exit(error.errno or 1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise OSError(code, os.strerror(code))
    return f"as uid {NOBODY[0]}"


def _mounts() -> str:
    _unshare(_NEWNS)
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
    return "allowed"


def _overlay(folder: str) -> str:
    """Mount an overlay with a writable layer over a folder, as a trial does over its root."""
    lower = os.open(folder, os.O_PATH)  # the private /tmp may hide it
    _mount("httpbed", "/tmp", "tmpfs")  # noqa: S108 - in this namespace only
    place = Path(tempfile.mkdtemp(prefix="overlay-", dir="/tmp"))
    for name in ("upper", "work", "merged"):
        (place / name).mkdir()
    layers = f"lowerdir=/proc/self/fd/{lower},upperdir={place}/upper,workdir={place}/work"
    _mount("httpbed", f"{place}/merged", "overlay", 0, f"{layers},userxattr")
    (place / "merged" / "file").touch()
    return "userxattr"


def _veth(ip: list[str] | None) -> str:
    """Join two interfaces, so that packets from ``near`` to the far address arrive at ``far``."""
    for words in (
        "link set dev lo up",
        "link add name near type veth peer name far",
        f"link set dev far address {_FAR_MAC} up",
        "link set dev near up",
        f"address add {_NEAR}/24 dev near",
        f"neighbour replace {_FAR} lladdr {_FAR_MAC} dev near nud permanent",
    ):
        _ip(ip, words)
    return "veth"


def _stamps(ip: list[str] | None) -> str:
    """Test that a frame received at the far end has the kernel's receive timestamp."""
    _require_ip(ip)
    with _far_end() as far, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as near:
        near.sendto(b"test", (_FAR, 9))
        _, stamps = _frames(far, 1)
    if stamps != 1:
        raise OSError("frames arrive without the kernel's receive timestamp")
    return "every frame has one"


def _gso(ip: list[str] | None) -> str:
    """Send one large UDP packet for the kernel to segment, without the interface's offload."""
    _require_ip(ip)
    with _far_end() as far, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as near:
        value = ctypes.create_string_buffer(struct.pack("II", _ETHTOOL_STXCSUM, 0))
        request = struct.pack("16sP16x", b"near", ctypes.addressof(value))
        fcntl.ioctl(near, _SIOCETHTOOL, request)
        segment = [(socket.SOL_UDP, _UDP_SEGMENT, struct.pack("H", _SEGMENT))]
        near.sendmsg([bytes(_SEGMENT * _SEGMENTS)], segment, 0, (_FAR, 9))
        lengths, _ = _frames(far, _SEGMENTS)
    if len(lengths) != _SEGMENTS or max(lengths) > _FULL_FRAME:
        raise OSError(f"{_SEGMENTS} segments arrived as frames of {lengths} bytes")
    return f"{len(lengths)} frames of {max(lengths)} bytes"


def _far_end() -> socket.socket:
    """Open a packet socket; binding it later than creating it saves a wait in the kernel."""
    far = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    far.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    far.bind(("far", _ETH_P_ALL))
    return far


def _frames(far: socket.socket, count: int) -> tuple[list[int], int]:
    """Receive UDP frames; return their lengths in bytes, and how many have a timestamp."""
    lengths, stamped = list[int](), 0
    far.settimeout(_WAIT_S)
    deadline = time.monotonic() + _WAIT_S
    while len(lengths) < count and time.monotonic() < deadline:
        frame, ancillary, _, _ = far.recvmsg(65536, 256)
        if frame[12:14] == b"\x08\x00" and frame[23] == socket.IPPROTO_UDP:
            lengths.append(len(frame))
            stamped += any(kind == _SO_TIMESTAMPNS for _, kind, _ in ancillary)
    return lengths, stamped


def _congestion(ip: list[str] | None, name: str) -> str:
    """Set a congestion control for a route, and read it from a socket accepted over the route."""
    _ip(ip, f"route replace table local local 127.0.0.1 dev lo congctl {name}")
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()[:2], _WAIT_S),
        server.accept()[0] as accepted,
    ):
        name_bytes = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    used = name_bytes.rstrip(b"\0").decode()
    if used != name:
        raise OSError(f"an accepted socket uses {used}")
    return "by route"


def _pid() -> str:
    """Make a PID namespace and mount its /proc, which some containers forbid."""
    _unshare(_NEWPID)
    child = os.fork()
    if child == 0:
        failed = _test(lambda: _mount("proc", "/proc", "proc")).get("error")
        os._exit(0 if failed is None and os.getpid() == 1 else 1)
    if os.waitpid(child, 0)[1] != 0:
        raise OSError("a new /proc cannot be mounted")
    return "with its own /proc"


def _require_ip(ip: list[str] | None) -> list[str]:
    """Return the command of ip, without which there are no interfaces to test."""
    if ip is None:
        raise OSError("not tested: no ip program")
    return ip


def _ip(ip: list[str] | None, words: str) -> None:
    ip = _require_ip(ip)
    subprocess.run([*ip, *words.split()], check=True, capture_output=True, text=True)


def _unshare(flags: int) -> str:
    if _libc.unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "allowed"


def _mount(
    source: str | None, target: str, kind: str | None, flags: int = 0, data: str = ""
) -> None:
    words = [None if word is None else word.encode() for word in (source, target, kind)]
    if _libc.mount(*words, ctypes.c_ulong(flags), data.encode() or None) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    main()
