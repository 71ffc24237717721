"""``httpbed link`` around real commands: what they meet, see, and leave."""

from __future__ import annotations

import errno
import json
import os
import shlex
import sys
import time
from pathlib import Path

import pytest

from httpbed.addons.link import link_plan
from httpbed.base import seeds
from httpbed.bed.machine.backend import TUN, tun_fault
from httpbed.bed.network import fates
from httpbed.bed.toolbox import debian
from link_command import (
    ASK,
    LINK,
    PING,
    SEND,
    counted,
    link,
    python,
    round_trips,
    server,
)

pytestmark = pytest.mark.namespaces


def test_the_command_has_its_own_streams_and_folder(tmp_path: Path) -> None:
    """The link adds nothing to the output, writes to stderr before and after, and reads nothing."""
    own = ("MPLCONFIGDIR", "PYDANTIC_DISABLE_PLUGINS")
    script = f'cat; pwd; id -u; echo "$GIVEN ${own[0]}${own[1]}" >&2; echo made > made'
    environment = {**os.environ, "GIVEN": "as ever"}
    for name in own:
        environment.pop(name, None)
    ended = link(
        "--isolated", "sh", "-c", script, stdin=None, input="read\n", cwd=tmp_path, env=environment
    )
    assert ended.stdout == f"read\n{tmp_path}\n{os.getuid()}\n"
    link_line = "httpbed: link: each way no rate limit, no delay, no loss"
    before, said, _, counters, *_ = ended.stderr.splitlines()
    assert (before, said, counters.split()[:2]) == (link_line, "as ever ", ["httpbed", "link"])
    assert (tmp_path / "made").stat().st_uid == os.getuid()


def test_the_round_trip_is_both_delays() -> None:
    """It is never shorter than the sum of both delays, and longer only on a busy machine."""
    measured = round_trips("--up-delay", "20ms", "--down-delay", "10ms", "--")
    assert 0.030 <= min(measured) < 0.060


def test_every_backend_of_the_emulator_carries_packets() -> None:
    """The option or the environment selects it."""
    for name in ("af_packet", *([] if tun_fault(TUN) else ["tun"])):
        options = ("--link-backend", name, "--delay", "10ms", "--json")
        ended = link(*options, *python(PING, 2))
        assert json.loads(ended.stderr.splitlines()[-1])["link"]["backend"] == name
        assert min(map(float, ended.stdout.split())) >= 0.02
        environment = {**os.environ, "HTTPBED_LINK_BACKEND": name}
        ended = link("--json", *LINK, "--json", *python(PING, 1), env=environment)
        told = [json.loads(line) for line in ended.stderr.splitlines() if line[0] == "{"]
        assert [each["link"]["backend"] for each in told] == [name] * 2


# Listens at the far end after a while, and greets whoever comes with its argument.
SERVER = """
import socket, sys, time
print("serving", file=sys.stdout, flush=True)
time.sleep(0.3)
with socket.create_server(("", 8080)) as listener:
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(sys.argv[1].encode())
"""


def test_a_server_runs_at_the_far_end() -> None:
    """The command begins when it listens, reaches it over the link, and has stdout for itself."""
    server_line = shlex.join([*python(SERVER, "welcome, all"), "ignored"])
    asked = ("sh", "-c", 'exec "$0" -c "$1" "$HTTPBED_PEER" 8080', sys.executable, ASK)
    began = time.monotonic()
    ended = link("--isolated", "--delay", "200ms", "--json", "--server", server_line, *asked)
    assert ended.stdout == "welcome, all\n", ended.stderr
    assert "serving\n" in ended.stderr
    assert time.monotonic() - began > 0.8
    ways = json.loads(ended.stderr.splitlines()[-1])["link"]["directions"]
    assert all(way["packets"]["delivered"] > 1 for way in ways)


def test_the_far_end_has_names_and_low_ports_and_the_server_ends_in_order() -> None:
    """As a certificate needs them, for an ordinary user too; SIGTERM lets a server write logs."""
    script = """
import http.server, os, signal, sys
def end(*_):
    os.write(1, b"logs written\\n")
    os._exit(0)
signal.signal(signal.SIGTERM, end)
http.server.HTTPServer(("shop.test", 80), http.server.SimpleHTTPRequestHandler).serve_forever()
"""
    ask = python("import urllib.request as u; print(u.urlopen('http://shop.test/').status)")
    words = ("--name", "www.shop.test", "--name", "shop.test")
    ended = link("--isolated", *words, "--server", shlex.join(python(script)), *ask)
    assert ended.stdout == "200\n", ended.stderr
    assert "logs written\n" in ended.stderr


def test_a_server_on_the_far_ends_loopback_is_refused(tmp_path: Path) -> None:
    """No packet of the command would reach it; the place is named."""
    server_line = shlex.join(python(SERVER.replace('("", 8080)', '("127.0.0.1", 8080)'), "hello"))
    ended = link("--isolated", "--server", server_line, "touch", tmp_path / "ran")
    assert ended.returncode == 2
    (line,) = [line for line in ended.stderr.splitlines() if line.startswith("httpbed: --server")]
    assert "127.0.0.1:8080" in line
    assert not (tmp_path / "ran").exists()


def test_a_server_that_opens_a_port_of_its_own_loopback_first_is_waited_for() -> None:
    """As Caddy does for its administration."""
    script = """
import http.server, socket, time
administration = socket.create_server(("127.0.0.1", 2019))
time.sleep(0.2)
http.server.HTTPServer(("", 8080), http.server.SimpleHTTPRequestHandler).serve_forever()
"""
    where = "http://{os.environ['HTTPBED_PEER']}:8080/"
    ask = python(f'import os, urllib.request as u; print(u.urlopen(f"{where}").status)')
    ended = link("--isolated", "--server", shlex.join(python(script)), *ask)
    assert ended.stdout == "200\n", ended.stderr


@pytest.mark.parametrize(
    ("server_line", "said"),
    [("false", "exit status 1"), ("no-such-program", "no-such-program"), ("'", "quote")],
)
def test_a_server_that_cannot_serve_is_reported(
    tmp_path: Path, server_line: str, said: str
) -> None:
    """The command does not run."""
    ended = link("--isolated", "--server", server_line, "touch", tmp_path / "made")
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1].startswith("httpbed: --server: ")
    assert said in ended.stderr
    assert not (tmp_path / "made").exists()


def test_a_link_inside_a_link_is_said_to_be_one() -> None:
    """What goes to its far end crosses only the inner one."""
    ended = link("--isolated", *LINK, "--isolated", "true")
    assert ended.stderr.count("inside another") == 1


def test_the_seed_decides_the_losses() -> None:
    """The packets that seed and packet numbers name are lost, and no others."""
    count = 400
    told = counted("--seed", "11", "--up-loss", "20%", *python(SEND, count))
    up = next(way for way in told["link"]["directions"] if way["to"] == "far")
    key = seeds.stream_key(11, 0, "command-far", "command->far", "loss")
    assert up["packets"]["in"] == count
    drawn = {"model": "bernoulli", "key": key, "probability": 0.2}
    assert up["lost_numbers"] == fates.lost(drawn, count)
    assert told["seed"] == 11


def test_a_random_seed_is_reported() -> None:
    """The seed in the counters repeats the run."""
    assert " chosen: --seed " in link("true").stderr
    assert " chosen: --seed " not in link("--seed", "3", "true").stderr


def test_the_pcap_has_every_packet(tmp_path: Path) -> None:
    """The file is pcapng and belongs to the user."""
    file = tmp_path / "link.pcapng"
    told = counted("--pcap", file, *python(SEND, 20))
    assert told["link"]["directions"]
    content = file.read_bytes()
    assert content.startswith(b"\x0a\x0d\x0d\x0a")
    assert content.count(b"x" * 100) == 20
    assert file.stat().st_uid == os.getuid()


def test_the_log_has_every_packet(tmp_path: Path) -> None:
    """Each line has the packet's fate, and the losses of one run can be replayed in the next."""
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
    """With one packet every 5 s, the command ends before ten have been delivered."""
    (tmp_path / "slow").write_text("5000\n")
    slow = tmp_path / "slow"
    told = counted("--trace", slow, slow, *python(SEND, 10))
    up = next(way for way in told["link"]["directions"] if way["to"] == "far")
    assert up["packets"]["delivered"] < 10
    assert up["packets"]["in"] == 10


def test_the_meter_shows_while_the_command_runs() -> None:
    """On request it shows without a terminal, and it is cleared at the end."""
    said = link("--meter", "--rate", "1mbit", *python(SEND, 3000)).stderr
    assert "link  up" in said
    assert "\x1b[Khttpbed link" in said


def test_a_running_link_is_changed() -> None:
    """The command inside changes its link, and the counters report the change."""
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


def test_a_change_that_cannot_be_met_is_refused_as_a_whole() -> None:
    """A link without a rate gets none, and keeps its delay."""
    script = '"$@" --rate 1mbit --delay 30ms 2>&1; echo $?; exec "$PYTHON" -c "$PING" 2'
    environment = {**os.environ, "PING": PING, "PYTHON": sys.executable}
    ended = link("sh", "-c", script, "-", *LINK, "--change", env=environment)
    *told, status, first, second = ended.stdout.splitlines()
    assert "--rate 1gbit" in told[-1]
    assert status == "2"
    assert min(float(first), float(second)) < 0.06


def test_isolated_has_no_route_out() -> None:
    """The far end answers, and no further address does."""
    ended = link("--isolated", *python(ASK, "198.51.100.1", 80))
    assert int(ended.stdout) in {errno.ENETUNREACH, errno.EHOSTUNREACH}, ended.stderr


def test_the_outside_is_reached_through_the_link() -> None:
    """TCP connections to this machine cross the link."""
    assert debian.find_pasta(), "set-up installs or unpacks it: make prepare"
    if fault := tun_fault(TUN):
        pytest.skip(fault[0])
    with server() as port:
        ask = python(ASK, link_plan.THIS_MACHINE, port)
        began = time.monotonic()
        ended = link("--delay", "200ms", *ask)
        lasted = time.monotonic() - began
        must = link("--outside", *ask)
    assert [each.stdout for each in (ended, must)] == ["welcome\n"] * 2, ended.stderr
    assert lasted > 0.4


def test_without_pasta_the_command_is_isolated_or_refused(tmp_path: Path) -> None:
    """On a machine without pasta and without apt; both messages have a remedy."""
    environment = {**os.environ, "PATH": str(tmp_path), "HTTPBED_CACHE": str(tmp_path)}
    isolated = link(sys.executable, "-c", "", env=environment)
    assert isolated.returncode == 0
    assert "no outside network: pasta is missing: apt could not" in isolated.stderr
    assert "ask the administrator to install passt, or try again later" in isolated.stderr
    refused = link("--outside", sys.executable, "-c", "", env=environment)
    assert refused.returncode == 3
    assert "httpbed: the outside cannot be reached: pasta is missing: apt" in refused.stderr
    assert "remedy: ask the administrator to install passt" in refused.stderr


def test_the_counters_have_a_line_of_their_own_below_the_meter() -> None:
    """The last line of stderr is JSON."""
    ended = link("--isolated", "--json", "--meter", "true")
    assert json.loads(ended.stderr.splitlines()[-1])["exit_status"] == 0


@pytest.mark.parametrize("option", ["--log", "--pcap"])
def test_a_full_disk_is_reported_with_its_option(option: str) -> None:
    """Writing to /dev/full ends the link with the option's name."""
    ended = link("--isolated", option, "/dev/full", *python(SEND, 20_000))
    assert ended.returncode == 3
    assert f"httpbed: {option} /dev/full: no space left" in ended.stderr
