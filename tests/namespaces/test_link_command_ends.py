"""How ``httpbed link`` starts and ends: exit status, signals, terminals, mistakes."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import process_tree
from families import until
from link_command import (
    LINK,
    PATIENCE_S,
    family,
    link,
    python,
    terminal,
)

pytestmark = pytest.mark.namespaces

ASK_STATUS = (
    "import os, urllib.request as u;"
    "print('status', u.urlopen('http://' + os.environ['HTTPBED_PEER'] + ':8080').status)"
)


@pytest.mark.parametrize(("script", "status"), [("exit 7", 7), ("true", 0), ("kill -9 $$", 137)])
def test_the_exit_status_is_that_of_the_command(script: str, status: int) -> None:
    """A command that a signal ended gives 128 plus the signal's number."""
    assert link("--", "sh", "-c", script).returncode == status


def test_signals_are_as_outside() -> None:
    """No further signal is blocked or ignored, so shells can wait for their children."""
    words = ("grep", "^Sig[BIC]", "/proc/self/status")
    outside_link = subprocess.run(words, check=True, capture_output=True, text=True)
    assert link(*words).stdout == outside_link.stdout


def test_no_process_survives_a_kill() -> None:
    """When the orchestrator, the sandbox or the emulator is killed, the command ends at once."""
    for victim in ("orchestrator", "httpbed-sandbox", "httpbed-link"):
        process = subprocess.Popen([*LINK, "sleep", "1000"], stderr=subprocess.DEVNULL)
        until(lambda process=process: "sleep" in family(process.pid))  # type: ignore[misc]
        processes = family(process.pid)
        os.kill(processes.get(victim, process.pid), signal.SIGKILL)
        status = process.wait(PATIENCE_S)
        assert status == (3 if victim in processes else -signal.SIGKILL)
        until(lambda: not process_tree.descendants(os.getpid()))


def test_a_request_to_end_goes_to_the_command() -> None:
    """SIGTERM reaches the command, and the counters are printed."""
    script = "trap 'exit 9' TERM; echo up; while :; do sleep 0.1; done"
    with subprocess.Popen(
        [*LINK, "sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n", process.communicate(timeout=PATIENCE_S)
        process.terminate()
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 9
    assert "httpbed link" in said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    ("script", "status"),
    [
        ("echo up; exec sleep 30", None),
        ("trap 'sleep 0.3; exit 9' TERM HUP; echo up; while :; do sleep 0.1; done", 9),
    ],
)
def test_a_request_to_the_whole_group_ends_the_command_only(
    number: int, script: str, status: int | None
) -> None:
    """As timeout(1) sends it: the link ends after the command and prints its counters."""
    with subprocess.Popen(
        [*LINK, "--isolated", "sh", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        os.killpg(process.pid, number)
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == (128 + number if status is None else status)
    assert "httpbed link" in said
    assert "--seed" in said
    assert "Traceback" not in said
    assert "exception" not in said


def test_the_command_handles_ctrl_c() -> None:
    """The link waits until a command that handles SIGINT has ended."""
    script = "trap 'echo caught; exit 5' INT; echo up; while :; do sleep 0.1; done"
    with terminal("sh", "-c", script) as tty:
        tty.see(b"up")
        tty.type(b"\x03")
        tty.see(b"caught")
        tty.see(b"httpbed link")
        assert tty.process.wait(PATIENCE_S) == 5


def test_ctrl_c_ends_a_command_without_a_handler() -> None:
    """The exit code is the shell's for SIGINT, and the counters are printed."""
    with terminal("sh", "-c", "echo up; exec sleep 1000") as tty:
        tty.see(b"up")
        tty.type(b"\x03")
        tty.see(b"httpbed link")
        assert tty.process.wait(PATIENCE_S) == 128 + signal.SIGINT


def test_ctrl_c_leaves_the_server_alone() -> None:
    """It is for the command, such as a shell whose user ends a download."""
    server = f"{shlex.quote(sys.executable)} -m http.server 8080"
    ask = f'{shlex.quote(sys.executable)} -c "{ASK_STATUS}"; echo; cat'
    with terminal("--isolated", "--server", server, "sh", "-c", f"trap : INT; {ask}; {ask}") as tty:
        tty.see(b"status 200")
        until(lambda: "cat" in family(tty.process.pid))
        tty.type(b"\x03")
        tty.see(b"status 200")
        until(lambda: "cat" in family(tty.process.pid))
        tty.type(b"\x04")
        assert tty.process.wait(PATIENCE_S) == 0


def test_job_control_works_in_a_shell() -> None:
    """Ctrl-C and Ctrl-Z reach the shell's jobs, and the shell goes on."""
    if not shutil.which("bash"):
        pytest.fail("bash is missing: the prompt's spelling is bash's")
    with terminal("bash", "--norc", "--noprofile", "-i") as tty:
        tty.see(b"ready> ")
        tty.type(b"sleep 1000\n")
        tty.see(b"sleep 1000")
        until(lambda: "sleep" in family(tty.process.pid))
        tty.type(b"\x1a")
        tty.see(b"Stopped")
        tty.type(b"fg\n")
        tty.see(b"sleep 1000")
        time.sleep(0.2)
        tty.type(b"\x03")
        tty.see(b"ready> ")
        tty.type(b"exit 6\n")
        tty.see(b"httpbed link")
        assert tty.process.wait(PATIENCE_S) == 6


def test_a_refused_command_keeps_the_files(tmp_path: Path) -> None:
    """Wrong options, a missing command and a log that replays itself change no file."""
    file, new = tmp_path / "a.log", tmp_path / "new"
    file.write_text(recorded := "in_ns\tout_ns\tbytes\tdirection\tnumber\tfate\n")
    for words, status in (
        (("--log", file, "--pcap", new, "--loss", "400%", "true"), 2),
        (("--log", file, "--pcap", new, "no-such-command"), 127),
        (("--loss-replay", file, "--log", file, "true"), 2),
        (("--log", file, "--pcap", file, "true"), 2),
    ):
        assert link(*words).returncode == status
        assert file.read_text() == recorded
        assert not new.exists()


def test_a_missing_command_has_the_shells_exit_code(tmp_path: Path) -> None:
    """127 if it is not found, 126 if it cannot be executed."""
    assert link("no-such-command").returncode == 127
    (tmp_path / "text").write_text("words")
    assert link(tmp_path / "text").returncode == 126


def test_closed_streams_are_empty() -> None:
    """The link runs with closed standard streams, as under cron."""
    script = "import os, sys; sys.exit(len(os.read(0, 9)) + 4)"
    closed = 'exec "$0" "$@" <&- >&-'
    words = ["sh", "-c", closed, *LINK, *python(script)]
    ended = subprocess.run(words, check=False, stderr=subprocess.PIPE, timeout=PATIENCE_S)
    assert ended.returncode == 4, ended.stderr


def test_without_a_command_the_users_shell_runs() -> None:
    """As in mahimahi's shells."""
    shell = shutil.which("sh") or "/bin/sh"
    ended = link(stdin=None, input="echo $HTTPBED_PEER\n", env={**os.environ, "SHELL": shell})
    assert ended.stdout == "10.77.0.2\n"
