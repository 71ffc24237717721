"""Attacks on the bed, on another part or on the machine.

Each reports its ways as lines ``{"attack": ..., "way": ..., "succeeded": ..., "said": ...}`` to
``attacks.jsonl``. One that succeeds harms nothing: it opens what it could have written, and changes
a mode to what it is.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import resource
import signal
import socket
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
EVIDENCE = {"link-result.json", "evidence.json", "link.json", "offloads.txt"}
MAX_FOLDERS = 20_000
KNOWN = {"PATH", "HOME", "TZ", "LC_CTYPE"}
"""All variables of a program's environment; Python adds the last."""
CALLS = {  # of x86-64 and, where it differs, arm64
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "setns": (308, 268),
    "unshare": (272, 97),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "memfd_create": (319, 279),
    "clone": (56, 220),
}
ARM = os.uname().machine == "aarch64"
PTRACE_ATTACH, NEW_USER, NEW_NET, KEY_JOIN, KEY_DESCRIBE = 16, 0x10000000, 0x40000000, 1, 6
VSOCK = 40


def call(name: str, *words: Any) -> int:
    """Make a system call by its number.

    Raises:
        OSError: As the kernel says.
    """
    result = LIBC.syscall(CALLS[name][ARM], *words)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(result)


class Report:
    """The results of an attack's actions."""

    def __init__(self, attack: str) -> None:
        self.attack = attack
        self.file = Path("attacks.jsonl").open("a")

    def tried(self, way: str, do: Callable[[], Any]) -> None:
        """Try one action; it succeeds if it returns a value and raises no error."""
        try:
            said = do()
        except OSError as error:
            self.line(way, None, errno.errorcode.get(error.errno or 0, str(error)))
        else:
            self.line(way, said, "" if said is None else str(said)[:200])

    def line(self, way: str, got: object, said: str) -> None:
        """Log the result at once, because the next action may end this process."""
        told = {"attack": self.attack, "way": way, "succeeded": bool(got), "said": said}
        self.file.write(json.dumps(told) + "\n")
        self.file.flush()


def signalled(pid: int, number: int) -> str:
    """Send a signal."""
    os.kill(pid, number)
    return "sent"


def opened_socket(family: int, kind: int) -> str:
    """Make a socket without connecting it."""
    socket.socket(family, kind).close()
    return "made"


def same_mode(path: Path) -> str:
    """Set the mode of a file to its present mode."""
    path.chmod(path.stat().st_mode & 0o7777)
    return "changed"


def made(path: Path) -> str:
    """Make a folder."""
    path.mkdir()
    return "made"


def node() -> str:
    """Make a device node of a disk."""
    os.mknod("/tmp/disk", 0o60600, os.makedev(254, 0))
    return "made"


def named() -> str:
    """Rename the host."""
    socket.sethostname("mine")
    return "renamed"


def traced(pid: int) -> str:
    """Trace a process."""
    call("ptrace", PTRACE_ATTACH, pid, 0, 0)
    return "traced"


def processes() -> dict[int, str]:
    """Return every visible process except this one."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                found[int(entry.name)] = (entry / "comm").read_text().strip()
            except OSError:
                found[int(entry.name)] = "?"
    return found


def forger(report: Report) -> None:
    """Search all paths for the attempt's evidence, and open it to write."""
    tops = [Path("/"), *(Path(f"/proc/{pid}/root") for pid in processes())]
    tops += [Path(f"/proc/{pid}/cwd") for pid in processes()]
    for top in tops:
        for way in (top, top / "..", top / "../..", top / "../../.."):
            report.tried(f"walk {way}", partial(evidence_below, way))


def evidence_below(top: Path) -> list[str] | None:
    """Find files of the bed."""
    found = []
    os.listdir(top)
    for _, (place, folders, names) in zip(range(MAX_FOLDERS), os.walk(top), strict=False):
        folders[:] = [
            folder for folder in folders if folder not in {"proc", "usr", "lib", "sys", "dev"}
        ]
        found += [f"{place}/{name}" for name in names if name in EVIDENCE]
    opened = []
    for name in found:
        try:
            with open(name, "r+"):
                opened.append(name)
        except OSError:
            continue
    return opened or None


def killer(report: Report) -> None:
    """Signal every process, especially the emulator."""
    seen = {pid: name for pid, name in processes().items() if pid != 1}
    report.line("see other processes", seen, str(seen))
    for pid, name in seen.items():
        report.tried(f"kill {name}", partial(signalled, pid, signal.SIGKILL))
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
        report.tried(f"signal {number} to the first process", partial(os.kill, 1, number))
    report.tried("signal everybody", partial(os.kill, -1, signal.SIGKILL))
    for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS):
        report.tried(f"limit {limit} of the first process", partial(limited, 1, limit))
    for name in ("limits", "oom_score_adj", "mem", "environ", "root", "cwd", "fd", "maps"):
        report.tried(f"/proc/1/{name}", partial(opened, Path("/proc/1", name)))


def limited(pid: int, limit: int) -> str:
    """Set a limit of another process to its present value."""
    resource.prlimit(pid, limit, resource.prlimit(pid, limit))
    return "set"


def special(make: Callable[[], Any]) -> str:
    """Make a set-user-ID file, and remove it."""
    make()
    return "made"


def opened(path: Path) -> str:
    """Open a file to write it or to read private data, or list a folder."""
    if path.is_dir():
        return str(os.listdir(path))
    public = path.stat().st_mode & 0o004
    os.close(os.open(path, os.O_WRONLY if public else os.O_RDONLY))
    return "opened"


def second_link(report: Report) -> None:
    """Make a link that bypasses the emulator, change routes, open packet sockets."""
    report.tried("veth", partial(netlink, 16, veth()))
    report.tried(
        "delete a route", partial(netlink, 25, struct.pack("8BI", 2, 0, 0, 0, 254, 3, 0, 1, 0))
    )
    for family, kind, name in ((17, 3, "packet socket"), (2, 3, "raw socket"), (VSOCK, 1, "vsock")):
        report.tried(name, partial(opened_socket, family, kind))
    report.tried("AF_ALG", partial(opened_socket, 38, 5))
    report.tried("tun", tun)


def tun() -> str:
    """Make a network device."""
    with open("/dev/net/tun", "r+b", buffering=0) as device:
        fcntl.ioctl(device, 0x400454CA, struct.pack("16sH", b"past", 0x1002))
    return "made"


def veth() -> bytes:
    """Ask for a pair of interfaces (RTM_NEWLINK, rtnetlink(7))."""

    def attribute(kind: int, data: bytes) -> bytes:
        return struct.pack("HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)

    kind = attribute(1, b"veth\0")
    return struct.pack("BxHiII", 0, 0, 0, 0, 0) + attribute(18, kind)


def netlink(kind: int, data: bytes) -> str | None:
    """Send a request to rtnetlink and read its answer."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
        kernel.send(struct.pack("IHHII", 16 + len(data), kind, 0x605, 1, 0) + data)
        kernel.settimeout(2)
        answer = kernel.recv(65536)
    number = -struct.unpack_from("i", answer, 16)[0]
    if number:
        raise OSError(number, os.strerror(number))
    return "done"


def keyring(report: Report) -> None:
    """Read the keys of the user."""
    report.tried("join", partial(called, "keyctl", KEY_JOIN, None, 0, 0, 0))
    report.tried("describe the user's", partial(called, "keyctl", KEY_DESCRIBE, -4, None, 0, 0))
    report.tried("add", partial(called, "add_key", b"user", b"mine", b"x", 1, -4))


def shadow(report: Report) -> None:
    """Read files that only root of the host may read."""
    places = ["/etc/shadow", "/etc/gshadow", "/root", "/home", "/etc/ssh", "/etc/ssl/private"]
    for pid in [*processes(), "self"]:
        places += [f"/proc/{pid}/root{place}" for place in places[:4]]
    for place in places:
        report.tried(place, partial(secret, Path(place)))


def secret(path: Path) -> str | None:
    """Read a file, or find files in a folder."""
    if path.is_dir():
        return ", ".join(name for name in os.listdir(path) if not name.startswith(".")) or None
    return path.read_text()[:20]


def sysctl(report: Report) -> None:
    """Open the kernel's settings to write them, and change devices."""
    names = ["kernel/core_pattern", "kernel/pid_max", "kernel/shmall", "vm/overcommit_memory"]
    names += ["vm/drop_caches", "net/ipv4/tcp_congestion_control", "net/ipv4/ip_forward"]
    places = [f"/proc/sys/{name}" for name in names] + ["/proc/sysrq-trigger", "/sys/kernel/mm"]
    for place in places:
        report.tried(place, partial(opened_to_write, place))
    for device in ("null", "zero", "random"):
        report.tried(f"/dev/{device}", partial(same_mode, Path("/dev", device)))
    report.tried("a name in /dev", partial(made, Path("/dev/mine")))
    report.tried("a device", node)
    report.tried("host's name", named)


def opened_to_write(place: str) -> str:
    """Open a file to write to it, and write nothing."""
    os.close(os.open(place, os.O_WRONLY))
    return "opened"


def tracer(report: Report) -> None:
    """Trace and read other processes."""
    for pid, name in processes().items():
        report.tried(f"trace {name}", partial(traced, pid))
        report.tried(f"memory of {name}", partial(remote_memory, pid))
        report.tried(f"descriptors of {name}", partial(os.listdir, f"/proc/{pid}/fd"))


def called(name: str, *words: Any) -> str:
    """Make a system call; return its result."""
    return f"returned {call(name, *words)}"


def entered(place: str) -> str:
    """Enter a namespace by its file."""
    return called("setns", os.open(place, os.O_RDONLY), 0)


def remote_memory(pid: int) -> str:
    """Read no bytes of another process; the kernel still checks the permission."""
    call("process_vm_readv", pid, None, 0, None, 0, 0)
    return "read"


def namespaces(report: Report) -> None:
    """Leave the namespaces, or make new ones with all privileges."""
    own = os.open("/proc/self/ns/net", os.O_RDONLY)
    report.tried("unshare user", partial(called, "unshare", NEW_USER))
    report.tried("clone user", partial(cloned, NEW_USER))
    report.tried("unshare net", partial(called, "unshare", NEW_NET))
    report.tried("setns", partial(called, "setns", own, 0))
    report.tried("setns of the first", partial(entered, "/proc/1/ns/net"))
    report.tried("mount", partial(called, "mount", b"x", b"/tmp", b"tmpfs", 0, None))
    report.tried("umount", partial(called, "umount2", b"/proc/sys", 2))
    report.tried("pivot_root", partial(called, "pivot_root", b"/tmp", b"/tmp"))
    report.tried("chroot", partial(called, "chroot", b"/tmp"))
    report.tried("open_tree", partial(called, "open_tree", -100, b"/", 1))
    report.tried("fsopen", partial(called, "fsopen", b"tmpfs", 0))
    report.tried("bpf", partial(called, "bpf", 0, None, 0))
    report.tried("perf", partial(called, "perf_event_open", bytes(128), 0, -1, -1, 0))
    report.tried("userfaultfd", partial(called, "userfaultfd", 1))
    report.tried("io_uring", partial(called, "io_uring_setup", 1, bytes(120)))


def cloned(flags: int) -> str:
    """Fork into new namespaces; the child ends at once."""
    pid = call("clone", flags | signal.SIGCHLD, None, None, None, None)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return "cloned"


def rights(report: Report) -> None:
    """Report the privileges of this process, and try to gain more."""
    status = dict(line.split(":\t") for line in Path("/proc/self/status").read_text().splitlines())
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        report.line(name, int(status[name], 16), status[name])
    report.line("no_new_privs is off", status["NoNewPrivs"] != "1", status["NoNewPrivs"])
    report.line("no filter", status["Seccomp"] != "2", status["Seccomp"])
    extra = [one for one in os.listdir("/proc/self/fd") if int(one) > 2]
    inherited = {one: os.readlink(f"/proc/self/fd/{one}") for one in extra if is_open(one)}
    inherited = {one: to for one, to in inherited.items() if "attacks" not in to}
    report.line("inherited descriptors", inherited, str(inherited))
    for name in ("RLIMIT_NPROC", "RLIMIT_FSIZE", "RLIMIT_DATA"):
        number = getattr(resource, name)
        hard = resource.getrlimit(number)[1]
        report.tried(f"raise {name}", partial(raised, number, hard))
    Path("plain").touch()
    create = os.O_CREAT | os.O_WRONLY
    ways: dict[str, Callable[[], Any]] = {
        "chmod setuid": partial(os.chmod, "plain", 0o4755),
        "chmod setgid": partial(os.chmod, "plain", 0o2755),
        "open setuid": partial(os.open, "setuid", create, 0o4755),
        "open setgid": partial(os.open, "setgid", create, 0o2755),
        "mkdir setgid": partial(os.mkdir, "folder", 0o2755),
        "mknod setuid": partial(os.mknod, "node", 0o104755),
    }
    for way, make in ways.items():
        report.tried(way, partial(special, make))
    unknown = {name for name in os.environ if name not in KNOWN}
    report.line("environment", unknown, str(unknown))


def raised(number: int, hard: int) -> str | None:
    """Raise a limit above its maximum."""
    if hard == resource.RLIM_INFINITY:
        return "is infinite"
    try:
        resource.setrlimit(number, (hard + 1, hard + 1))
    except ValueError as error:
        raise PermissionError(errno.EPERM, str(error)) from None
    return "raised"


def is_open(number: str) -> bool:
    """Whether it still is: the list itself was one."""
    return os.path.lexists(f"/proc/self/fd/{number}")


ATTACKS: dict[str, Callable[[Report], None]] = {
    attack.__name__: attack
    for attack in (
        *(forger, killer, second_link, keyring, shadow, sysctl, tracer, namespaces, rights),
    )
}
