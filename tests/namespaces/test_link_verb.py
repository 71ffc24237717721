"""``httpbed link`` around real commands: what they meet, see, and leave."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import kin
from families import until
from httpbed.experiment import seeds
from httpbed.host.backend import TUN
from httpbed.network import fates
from httpbed.network.shell import outside, plan

pytestmark = pytest.mark.namespaces

LINK = (sys.executable, "-c", "from httpbed.cli.main import main; main()", "link")
PATIENCE_S = 60.0

# Prints the round-trip times of some echoes in seconds; no ping need be installed.
PING = """
import os, socket, struct, sys, time
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
peer.settimeout(5)
peer.connect((os.environ["HTTPBED_PEER"], 0))
for number in range(int(sys.argv[1])):
    began = time.perf_counter()
    peer.send(struct.pack("!BBHHH", 8, 0, 0, 0, number))
    peer.recv(100)
    os.write(1, f"{time.perf_counter() - began}\\n".encode())  # whole lines, whoever else writes
"""
# Sends datagrams to the far end's discard service, too slowly to be lost on the way.
SEND = """
import os, socket, sys, time
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(int(sys.argv[1])):
    peer.sendto(b"x" * 100, (os.environ["HTTPBED_PEER"], 9))
    time.sleep(0.0002)
"""
# Prints the answer of a server, or the reason for which there is none.
ASK = """
import os, socket, sys
try:
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=5) as server:
        print(server.recv(100).decode())
except OSError as error:
    print(error.errno)
"""


def python(program: str, *words: object) -> tuple[str, ...]:
    """Name a command that runs a Python program."""
    return (sys.executable, "-c", program, *map(str, words))


def link(*words: str | Path, **settings: Any) -> subprocess.CompletedProcess[str]:
    """Run the verb to its end."""
    settings = {"stdin": subprocess.DEVNULL, **settings}
    return subprocess.run(
        [*LINK, *words], check=False, capture_output=True, text=True, timeout=PATIENCE_S, **settings
    )


def round_trips(*options: str) -> list[float]:
    """Measure with ICMP echoes to $HTTPBED_PEER what options, up to a command, make of them."""
    ended = link(*options, *python(PING, 3))
    assert ended.returncode == 0, ended.stderr
    return [float(line) for line in ended.stdout.split()]


def counted(*words: str | Path) -> dict[str, Any]:
    """Run the verb and return its counters."""
    ended = link("--json", *words)
    counters: dict[str, Any] = json.loads(ended.stderr.splitlines()[-1])
    return counters


@pytest.mark.parametrize(("script", "status"), [("exit 7", 7), ("true", 0), ("kill -9 $$", 137)])
def test_the_exit_status_is_the_command_s(script: str, status: int) -> None:
    """Or 128 and the number of the signal that ended it."""
    assert link("--", "sh", "-c", script).returncode == status


def test_streams_and_folder_are_the_command_s(tmp_path: Path) -> None:
    """Nothing is added to what it writes, and nothing is lost of what it reads."""
    script = 'cat; pwd; id -u; echo "$GIVEN $MPLCONFIGDIR" >&2; echo made > made'
    environment = {**os.environ, "GIVEN": "as ever"}
    environment.pop("MPLCONFIGDIR", None)
    ended = link(
        "--isolated", "sh", "-c", script, stdin=None, input="read\n", cwd=tmp_path, env=environment
    )
    assert ended.stdout == f"read\n{tmp_path}\n{os.getuid()}\n"
    assert ended.stderr.startswith("as ever \nhttpbed link")
    assert (tmp_path / "made").stat().st_uid == os.getuid()


def test_signals_are_as_outside() -> None:
    """Nothing more is blocked or ignored: a shell that waits for its children is not made deaf."""
    words = ("grep", "^Sig[BIC]", "/proc/self/status")
    outside_link = subprocess.run(words, check=True, capture_output=True, text=True)
    assert link(*words).stdout == outside_link.stdout


def test_the_round_trip_is_both_delays() -> None:
    """Never less; more only by what a busy machine adds."""
    measured = round_trips("--up-delay", "20ms", "--down-delay", "10ms", "--")
    assert 0.030 <= min(measured) < 0.060


def test_every_backend_of_the_emulator_carries_packets() -> None:
    """The one that is named, by option or by environment; the kernel's are refused."""
    for name in ("af_packet", *(["tun"] if TUN.exists() else [])):
        options = ("--link-backend", name, "--delay", "10ms", "--json")
        ended = link(*options, *python(PING, 2))
        assert json.loads(ended.stderr.splitlines()[-1])["link"]["backend"] == name
        assert min(map(float, ended.stdout.split())) >= 0.02
        environment = {**os.environ, "HTTPBED_LINK_BACKEND": name}
        ended = link("--json", *LINK, "--json", *python(PING, 1), env=environment)
        told = [json.loads(line) for line in ended.stderr.splitlines() if line[0] == "{"]
        assert [each["link"]["backend"] for each in told] == [name] * 2
    refused = link("true", env={**os.environ, "HTTPBED_LINK_BACKEND": "netem"})
    assert refused.returncode == 2
    assert refused.stderr.startswith("httpbed: --link-backend: with netem the kernel")


def test_nested_links_add_up() -> None:
    """Delays of three, one of them in one direction, to the outermost's far end."""
    inner = ("link", "--delay", "20ms", "--", *LINK, "--up-delay", "5ms", "--")
    measured = round_trips("--delay", "10ms", "--", *LINK[:-1], *inner)
    assert 0.065 <= min(measured) < 0.120


def test_side_by_side_in_one_link() -> None:
    """Two links nested in the same one do not take each other's network."""
    one = f'{sys.executable} -c "$LINK" link --delay 5ms -- {sys.executable} -c "$PING" 2'
    environment = {**os.environ, "LINK": LINK[2], "PING": PING}
    ended = link("--delay", "5ms", "sh", "-c", f"{one} & {one}; wait", env=environment)
    measured = [float(line) for line in ended.stdout.split()]
    assert len(measured) == 4, ended.stderr
    assert min(measured) >= 0.020


def test_losses_are_the_seed_s() -> None:
    """The packets that their numbers and the seed name are lost, and no others."""
    count = 400
    told = counted("--seed", "11", "--up-loss", "20%", *python(SEND, count))
    up = next(way for way in told["link"]["directions"] if way["to"] == "far")
    key = seeds.stream_key(11, 0, "command-far", "command->far", "loss")
    assert up["packets"]["in"] == count
    assert up["lost_numbers"] == fates.lost_numbers(key, 0.2, count)
    assert told["seed"] == 11


def test_a_chosen_seed_is_told() -> None:
    """So that what was seen can be seen again."""
    assert " chosen: --seed " in link("true").stderr
    assert " chosen: --seed " not in link("--seed", "3", "true").stderr


def test_every_packet_is_kept(tmp_path: Path) -> None:
    """As pcapng, in a file of the user's."""
    file = tmp_path / "link.pcapng"
    told = counted("--pcap", file, *python(SEND, 20))
    assert told["link"]["directions"]
    content = file.read_bytes()
    assert content.startswith(b"\x0a\x0d\x0d\x0a")
    assert content.count(b"x" * 100) == 20
    assert file.stat().st_uid == os.getuid()


def test_every_packet_has_a_line(tmp_path: Path) -> None:
    """With its fate; and the losses of one run can be replayed in the next."""
    file = tmp_path / "packets.log"
    counted("--log", file, "--up-loss", "30%", *python(SEND, 50))
    header, *lines = [line.split("\t") for line in file.read_text().splitlines()]
    fates_seen = {int(line[header.index("number")]): line[header.index("fate")] for line in lines}
    assert len(fates_seen) == 50
    lost = [number for number, fate in sorted(fates_seen.items()) if fate == "lost"]
    again = counted("--loss-replay", file, *python(SEND, 50))
    up = next(way for way in again["link"]["directions"] if way["to"] == "far")
    assert up["lost_numbers"] == lost


def test_a_trace_is_replayed(tmp_path: Path) -> None:
    """One packet every 50 ms each way: the echo takes at least one such gap."""
    (tmp_path / "slow").write_text("50\n")
    slow = tmp_path / "slow"
    told = counted("--trace", slow, slow, *python(SEND, 10))
    up = next(way for way in told["link"]["directions"] if way["to"] == "far")
    assert up["packets"]["delivered"] < 10
    assert up["packets"]["in"] == 10


def test_the_meter_tells_while_the_command_runs() -> None:
    """On demand even where stderr is no terminal; and it is wiped away at the end."""
    said = link("--meter", "--rate", "1mbit", *python(SEND, 3000)).stderr
    assert "link  up" in said
    assert "\x1b[Khttpbed link" in said


def test_a_running_link_is_changed() -> None:
    """By the command behind it, from now on; and told in the counters."""
    change = '"$PYTHON" -c "$LINK" link --change'
    script = f"""
        ping() {{ "$PYTHON" -c "$PING" 2; }}
        ping; {change} --delay 60ms --down-delay 40ms; ping
        {change} --up-loss 100% --json; ! ping 2>&-; {change} --loss 0%; ping
        {change} --state down; ! ping 2>&-; {change} --state up --delay 0ms; ping
    """
    environment = {**os.environ, "LINK": LINK[2], "PING": PING.replace("(5)", "(0.5)")}
    environment["PYTHON"] = sys.executable
    ended = link("--delay", "5ms", "--json", "sh", "-ec", script, env=environment)
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    trips = [float(line) for line in lines if line[0].isdigit()]
    assert [trip > 0.0999 for trip in trips] == [False] * 2 + [True] * 4 + [False] * 2
    assert lines[2].startswith("up: delay 60 ms, ")
    assert lines[3].startswith("down: delay 40 ms, ")
    result = json.loads(ended.stderr.splitlines()[-1])["link"]
    assert [change["change"] for change in result["changes"]][:3] == [
        {"delay_ns": 60_000_000}, {"delay_ns": 40_000_000}, {"loss": 1}
    ]  # fmt: skip


def test_the_innermost_link_is_changed() -> None:
    """Its own delay only, and its rate if it has one; what cannot change is refused, all of it."""
    change = (*LINK, "--change")
    script = '"$@" --delay 30ms; "$@" --rate 1mbit --delay 1ms 2>&1 >&-; echo $?; exec $ASK'
    words = ("sh", "-c", script.replace("$ASK", '"$PYTHON" -c "$PING" 2'), "-", *change)
    environment = {**os.environ, "PING": PING, "PYTHON": sys.executable}
    ended = link("--delay", "10ms", *LINK, "--meter", *words, env=environment)
    *told, status, first, second = ended.stdout.splitlines()
    assert [line.split(": ")[0] for line in told] == ["up", "down", "httpbed", "httpbed"]
    assert "--rate 1gbit" in told[-1]
    assert status == "2"
    assert 0.08 <= min(float(first), float(second)) < 0.12


def test_a_link_is_changed_from_outside() -> None:
    """By a process that is behind it; others are behind none."""
    with subprocess.Popen(
        [*LINK, "--json", "sleep", "1000"], stderr=subprocess.PIPE, text=True
    ) as process:
        until(lambda: "sleep" in _family(process.pid))
        behind = str(_family(process.pid)["sleep"])
        changed = link("--change", "--of", behind, "--down-loss", "3%")
        refused = link("--change", "--of", str(process.pid), "--down-loss", "4%")
        process.terminate()
        _, said = process.communicate(timeout=PATIENCE_S)
    assert changed.stdout.startswith("down: loss 3 %, "), changed.stderr
    assert refused.returncode == 2
    assert "no link is around" in refused.stderr
    (change,) = json.loads(said.splitlines()[-1])["link"]["changes"]
    assert change["change"] == {"loss": 0.03}


def test_isolated_has_no_route_out() -> None:
    """The far end answers, and knows no way on."""
    ended = link("--isolated", *python(ASK, "198.51.100.1", 80))
    assert int(ended.stdout) in {errno.ENETUNREACH, errno.EHOSTUNREACH}, ended.stderr


@contextlib.contextmanager
def server() -> Iterator[int]:
    """Greet everybody who comes to a port of this machine's loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(PATIENCE_S)

        def greet() -> None:
            with contextlib.suppress(OSError):
                while True:
                    with listening.accept()[0] as guest:
                        guest.sendall(b"welcome")

        greeting = threading.Thread(target=greet)
        greeting.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
        greeting.join()


def test_the_outside_is_reached_through_the_link() -> None:
    """Where pasta is installed; elsewhere the way out is told, or refused if it is a must."""
    with server() as port:
        ask = python(ASK, plan.THIS_MACHINE, port)
        began = time.monotonic()
        ended = link("--delay", "200ms", *ask)
        lasted = time.monotonic() - began
        must = link("--outside", *ask)
        nested = link(*LINK, *ask)
    if shutil.which("pasta", path=outside.SEARCHED):
        assert [each.stdout for each in (ended, must, nested)] == ["welcome\n"] * 3, ended.stderr
        assert lasted > 0.4
    else:
        assert outside.REMEDY in ended.stderr
        assert must.returncode == 3
        assert outside.REMEDY in must.stderr


def test_whoever_is_killed_nothing_is_left() -> None:
    """The orchestrator, or the sandbox: the command ends with it, at once."""
    for victim in ("orchestrator", "httpbed-sandbox", "httpbed-link"):
        process = subprocess.Popen([*LINK, "sleep", "1000"], stderr=subprocess.DEVNULL)
        until(lambda process=process: "sleep" in _family(process.pid))  # type: ignore[misc]
        family = _family(process.pid)
        os.kill(family.get(victim, process.pid), signal.SIGKILL)
        status = process.wait(PATIENCE_S)
        assert status == (3 if victim in family else -signal.SIGKILL)
        until(lambda: not kin.descendants(os.getpid()))


def _family(pid: int) -> dict[str, int]:
    """Name the processes below one, the outer one first where two have a name."""
    found: dict[str, int] = {}
    for process in kin.descendants(pid):
        found.setdefault(process.name, process.pid)
    return found


def test_a_request_to_end_goes_to_the_command() -> None:
    """And the counters are told all the same."""
    script = "trap 'exit 9' TERM; echo up; while :; do sleep 0.1; done"
    with subprocess.Popen(
        [*LINK, "sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.terminate()
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 9
    assert "httpbed link" in said


def test_the_counters_have_a_line_of_their_own_below_the_meter() -> None:
    """Who reads the last line reads JSON."""
    ended = link("--isolated", "--json", "--meter", "true")
    assert json.loads(ended.stderr.splitlines()[-1])["exit_status"] == 0


@pytest.mark.parametrize("option", ["--log", "--pcap"])
def test_a_full_disk_is_told_by_the_option(option: str) -> None:
    """The device that is always full: the link ends, and says at what."""
    ended = link("--isolated", option, "/dev/full", *python(SEND, 20_000))
    assert ended.returncode == 3
    assert f"httpbed: {option} /dev/full: no space left" in ended.stderr


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
    """As ``timeout`` makes it: the link lasts as long as the command, and tells its counters."""
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


@dataclass
class Terminal:
    """A terminal with the verb in its foreground."""

    fd: int
    process: subprocess.Popen[bytes]
    seen: bytes = b""

    def see(self, text: bytes) -> None:
        """Wait until it shows this, after all that was waited for."""
        while text not in self.seen:
            with contextlib.suppress(OSError):  # EIO: nobody has it open any more
                if more := os.read(self.fd, 4096):
                    self.seen += more
                    continue
            pytest.fail(f"{text!r} never came: {self.seen!r}")
        self.seen = self.seen.partition(text)[2]

    def type(self, text: bytes) -> None:
        """Press keys."""
        os.write(self.fd, text)


@contextlib.contextmanager
def terminal(*words: str) -> Iterator[Terminal]:
    """Run the verb on a terminal of its own."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [*LINK, *words],
        preexec_fn=lambda: os.login_tty(theirs),  # noqa: PLW1509 - one thread is here
        env={**os.environ, "PS1": "ready> ", "TERM": "dumb"},
    )
    os.close(theirs)
    try:
        yield Terminal(ours, process)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def test_ctrl_c_is_the_command_s_to_answer() -> None:
    """It takes it as it likes, and we wait for what it makes of it."""
    script = "trap 'echo caught; exit 5' INT; echo up; while :; do sleep 0.1; done"
    with terminal("sh", "-c", script) as tty:
        tty.see(b"up")
        tty.type(b"\x03")
        tty.see(b"caught")
        tty.see(b"httpbed link")
        assert tty.process.wait(PATIENCE_S) == 5


def test_ctrl_c_ends_what_does_not_mind_it() -> None:
    """With the shell's code for it, and with the counters."""
    with terminal("sh", "-c", "echo up; exec sleep 1000") as tty:
        tty.see(b"up")
        tty.type(b"\x03")
        tty.see(b"httpbed link")
        assert tty.process.wait(PATIENCE_S) == 128 + signal.SIGINT


def test_job_control_works_in_a_shell() -> None:
    """Ctrl-C and Ctrl-Z reach the shell's jobs, and the shell goes on."""
    if not shutil.which("bash"):
        pytest.fail("bash is missing: the prompt's spelling is bash's")
    with terminal("bash", "--norc", "--noprofile", "-i") as tty:
        tty.see(b"ready> ")
        tty.type(b"sleep 1000\n")
        tty.see(b"sleep 1000")
        until(lambda: "sleep" in _family(tty.process.pid))
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


def test_every_wrong_option_is_told_at_once(tmp_path: Path) -> None:
    """By name, before anything is started."""
    wrong = {
        "--rate": "10mbps",
        "--up-delay": "50",
        "--down-loss": "104%",
        "--queue": "0p",
        "--seed": "one",
        "--pcap": str(tmp_path / "no/such/folder"),
    }
    ended = link(*(word for pair in wrong.items() for word in pair), "touch", tmp_path / "made")
    assert ended.returncode == 2
    told = [line.split(": ")[1] for line in ended.stderr.splitlines()]
    assert sorted(told) == sorted(wrong)
    assert not (tmp_path / "made").exists()


def test_who_is_refused_keeps_the_files(tmp_path: Path) -> None:
    """A wrong option, a wrong command, a recording that is to be replayed into itself."""
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


def test_a_command_that_is_not_there_has_the_shell_s_code(tmp_path: Path) -> None:
    """127 where it is not found, 126 where it cannot be run."""
    assert link("no-such-command").returncode == 127
    (tmp_path / "text").write_text("words")
    assert link(tmp_path / "text").returncode == 126


def test_closed_streams_are_empty() -> None:
    """As under cron and daemons."""
    script = "import os, sys; sys.exit(len(os.read(0, 9)) + 4)"
    closed = 'exec "$0" "$@" <&- >&-'
    words = ["sh", "-c", closed, *LINK, *python(script)]
    ended = subprocess.run(words, check=False, stderr=subprocess.PIPE, timeout=PATIENCE_S)
    assert ended.returncode == 4, ended.stderr


def test_without_a_command_it_is_the_user_s_shell() -> None:
    """As mahimahi has it."""
    shell = shutil.which("sh") or "/bin/sh"
    ended = link(stdin=None, input="echo $HTTPBED_PEER\n", env={**os.environ, "SHELL": shell})
    assert ended.stdout == "10.77.0.2\n"
