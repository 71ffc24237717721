"""SIGTERM and SIGHUP end a verb in order, with their own message and exit code.

A verb that a signal does not end goes on for a minute and exits with another code, so no test has a
time limit of its own.
"""

from __future__ import annotations

import os
import pty
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SCRIPT = """
import asyncio, sys, time
from httpbed.cli import main as command_line

async def work():
    try:
        print("ready", flush=True)
        await asyncio.sleep(60)
    finally:
        print("cleared", flush=True)

def verb(**_):
    if "asyncio" in sys.argv:
        asyncio.run(work())
    try:
        print("ready", flush=True)
        for _ in range(600):  # CPython sleeps on if a signal comes just before the system call
            time.sleep(0.1)
    finally:
        print("cleared", flush=True)

command_line.cli.main = verb
command_line.main()
"""
KEPT = "; finished work is kept, and the same command resumes"


@contextmanager
def verb(*words: str, ignoring: signal.Signals | None = None) -> Iterator[subprocess.Popen[str]]:
    """Run a verb that waits; one signal may be ignored from the start."""

    def ignore() -> None:
        if ignoring:
            signal.signal(ignoring, signal.SIG_IGN)

    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=ignore,  # noqa: PLW1509 - there is one thread only
    )
    with process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


ENDINGS = [
    (signal.SIGTERM, 143, "ended by SIGTERM"),
    (signal.SIGHUP, 129, "ended by SIGHUP"),
    (signal.SIGINT, 130, "interrupted"),
]
CASES = [
    (*ending, ignoring)
    for ending in ENDINGS
    for ignoring in (None, signal.SIGINT)
    if ignoring != ending[0]
]


@pytest.mark.parametrize("way", ["asyncio", "at once"])
@pytest.mark.parametrize(
    ("number", "code", "said", "ignoring"), CASES, ids=lambda one: getattr(one, "name", None)
)
def test_a_signal_ends_a_verb_in_order(
    number: signal.Signals, code: int, said: str, ignoring: signal.Signals | None, way: str
) -> None:
    """What runs is cleared, and one line says why it ended."""
    with verb("run", way, ignoring=ignoring) as process:
        process.send_signal(number)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (code, "cleared\n", f"httpbed: {said}{KEPT}\n")


def test_link_promises_no_resumption_after_a_signal() -> None:
    """A link keeps no work that could be resumed."""
    with verb("link") as process:
        process.terminate()
        _, err = process.communicate()
    assert (process.returncode, err) == (143, "httpbed: ended by SIGTERM\n")


@pytest.mark.parametrize("ignored", [signal.SIGINT, signal.SIGHUP], ids=lambda one: one.name)
def test_a_verb_started_with_a_signal_ignored_continues(ignored: signal.Signals) -> None:
    """Shells start background jobs with SIGINT ignored, ``nohup`` commands with SIGHUP."""
    with verb("run", "asyncio", ignoring=ignored) as process:
        process.send_signal(ignored)
        process.send_signal(signal.SIGTERM)
        process.communicate()
    assert process.returncode == 143


def test_a_lost_terminal_gives_no_traceback() -> None:
    """The end of the terminal sends SIGHUP, and no message can be printed."""
    parent, terminal = pty.openpty()
    os.set_inheritable(terminal, True)
    reader, writer = os.pipe()
    script = SCRIPT.replace('"ready", flush=True', f'"ready", file=open({writer}, "w"), flush=True')
    with subprocess.Popen(
        [sys.executable, "-c", script, "run", "asyncio"],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        pass_fds=[writer],
        start_new_session=True,
    ) as process:
        os.close(terminal)
        assert os.read(reader, 5) == b"ready"
        os.close(parent)
        process.send_signal(signal.SIGHUP)
        assert process.wait() == 129
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize("closed", ["2>&-", ">&-", "<&- >&- 2>&-"])
def test_a_verb_needs_no_open_stream(closed: str, tmp_path: Path) -> None:
    """The null device takes the place of closed ones, so no other file gets their descriptors."""
    code = "from httpbed.cli import main; main.main()"
    line = f"exec {shlex.quote(sys.executable)} -c {shlex.quote(code)} validate nothing {closed}"
    ended = subprocess.run(["/bin/sh", "-c", line], cwd=tmp_path, check=False)
    assert ended.returncode == 2
    assert not [*tmp_path.iterdir()]


def test_ctrl_c_during_the_imports_gives_no_traceback() -> None:
    """They take up to a second on a busy machine; here one of them is interrupted."""
    script = """
import sys

class Interrupted:
    def find_spec(self, name, *_):
        if name == "httpbed.cli.verb":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
from httpbed.cli.start import main
main()
"""
    argv = [sys.executable, "-c", script, "run", "loss.toml"]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, "\nhttpbed: interrupted\n")
