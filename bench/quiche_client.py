"""httpbed-quiche beside curl over HTTP/3: CPU time, goodput, packets and memory.

    make bench-quiche     or: python -m bench.quiche_client [--rounds 10] [--size 100]
                              [--program FILE ...] [--json FILE]

Both fetch the same file from nginx into memory, in turns, every round beginning with the other
one, with the frames of the trials: 1500 bytes, no offloads. First over a bridge of the kernel, then
through httpbed-link as in a trial. Neither has a rate, delay or loss. Client, server and emulator
share the machine, so what a client makes the others do costs it goodput too: acknowledgements, and
what is sent again because its socket was full.

CPU time is a process's, user and kernel, of a client its start included; what is sent is handled by
the next host in the sender's time. Memory is the resident set at its largest. Several programs
(``--program``, such as builds before and after a change) take turns like others.

All of it happens in namespaces that end with it, as root or as an ordinary user.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.link import bed
from bench.link.bed import Host, Wire
from bench.link.emulators import Bridge, Conditions, Emulator, Link
from bench.link.figures import Goal, Section

from httpbed.bed.machine import facts
from httpbed.bed.sandbox.sandbox_spec import LINK, executable
from httpbed.bed.toolbox import compiled, root_filesystem
from httpbed.trial import tls_certificates

INSIDE = "HTTPBED_BENCH_INSIDE"
"""Set once the namespaces are made."""
SCRATCH = Path("/run")
"""Memory, in every root of the toolbox; the bodies go there."""
NAME, PORT = tls_certificates.SERVER_NAME, 443
CURL, NGINX = (root_filesystem.Contents("sid", frozenset({name})) for name in ("curl", "nginx"))
GOALS = {
    "CPU time": Goal("at most", 1.0),
    "goodput": Goal("at least", 1.0),
    "memory": Goal("at most", 1.0),
}
"""Of our client against curl, round by round."""
PATIENCE_S = 60.0
PERIOD_S = 0.005
"""How often the memory of a client is looked at."""

# nginx as in the ceilings' trials: one process, and a buffer that holds nobody up.
CONFIGURATION = f"""
daemon off; master_process off; user root root; pid {SCRATCH}/nginx.pid;
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_body_temp_path {SCRATCH}/a; proxy_temp_path {SCRATCH}/b; fastcgi_temp_path {SCRATCH}/c;
    uwsgi_temp_path {SCRATCH}/d; scgi_temp_path {SCRATCH}/e;
    http3_stream_buffer_size 16m;
    server {{
        listen {PORT} quic; listen {PORT} ssl; server_name {NAME}; root {SCRATCH}/content;
        ssl_certificate {SCRATCH}/server.pem; ssl_certificate_key {SCRATCH}/server.key;
    }}
}}
"""


Measured = dict[tuple[str, str], float]
"""By quantity and unit."""


@dataclass(frozen=True)
class Client:
    """A client, and the command that fetches."""

    name: str
    argv: Sequence[str]


@dataclass(frozen=True)
class Bench:
    """What all measurements have in common."""

    clients: Sequence[Client]
    """Ours first, the peer last."""
    nginx: Path
    """The server's root."""
    rounds: int
    size: int
    """Of the body, in bytes."""
    digest: str
    """Of the body, SHA-256."""


@dataclass(frozen=True)
class Cost:
    """What a transfer took of the client's host."""

    cpu_s: float
    elapsed_s: float
    memory_bytes: int


@dataclass(frozen=True)
class Reading:
    """What others have done so far."""

    server_cpu_s: float
    emulator_cpu_s: float
    to_server: int
    """Packets."""
    to_client: int
    dropped: int
    """Datagrams for which the client's sockets had no room."""


def main() -> None:
    """Prepare the programs, enter fresh namespaces, measure and print."""
    words = _arguments()
    if os.environ.get(INSIDE):
        _measure(words)
        return
    for contents in (CURL, NGINX):
        root_filesystem.ensure(contents, say=print)
    tls_certificates.ensure(datetime.now(UTC))
    if not words.program:
        compiled.QUICHE.ensure(print)
    _enter_namespaces()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.quiche_client", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--rounds", type=int, default=10, help="turns of each client")
    parser.add_argument("--size", type=int, default=100, help="of the file, in MB (10^6 bytes)")
    parser.add_argument(
        "--program", type=Path, action="append", default=[], help="another build of httpbed-quiche"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every value there")
    return parser.parse_args()


def _enter_namespaces() -> None:
    """Become the first process of namespaces of our own; they end with it, and it with us."""
    kinds = ["--net", "--mount", "--ipc", "--uts", "--pid", "--fork", "--mount-proc"]
    if os.geteuid() != 0:
        kinds = ["--user", "--map-root-user", *kinds]
    again = [sys.executable, "-m", "bench.quiche_client", *sys.argv[1:]]
    os.environ[INSIDE] = "1"
    dying = ["setpriv", "--pdeathsig", "KILL", "unshare", *kinds, "--kill-child", "--", *again]
    sys.stdout.flush()
    os.execvp(dying[0], dying)


def _measure(words: argparse.Namespace) -> None:
    curl, nginx = _root(CURL), _root(NGINX)
    size = words.size * 10**6
    digest = _fill_scratch(size, (curl, nginx))
    bench = Bench([*_clients(words.program, curl)], nginx, words.rounds, size, digest)
    machine = facts.gather()
    print(f"{machine.cores} cores, {machine.cpu or machine.architecture}, Linux {machine.kernel}")
    sections = []
    for emulator in (Bridge("kernel bridge"), Link(executable(LINK))):
        sections.append(_section(bench, emulator))
        print(f"\n{sections[-1].table()}", flush=True)
    if words.json:
        said = {"machine": machine.model_dump(), "sections": [each.as_json() for each in sections]}
        words.json.write_text(json.dumps(said, indent=1) + "\n")


def _root(contents: root_filesystem.Contents) -> Path:
    found = root_filesystem.find(contents)
    if found is None:
        raise SystemExit(f"{contents.name}: gone from the toolbox meanwhile")
    return found.path


def _fill_scratch(size: int, roots: Sequence[Path]) -> str:
    """Lay out what server and clients read, visible in every root; return the body's digest."""
    _run("mount", "-t", "tmpfs", "httpbed-bench", str(SCRATCH))
    folder = tls_certificates.ensure(datetime.now(UTC))
    for name in ("ca.pem", "server.pem", "server.key"):
        (SCRATCH / name).write_bytes((folder / name).read_bytes())
    (SCRATCH / "nginx.conf").write_text(CONFIGURATION)
    (SCRATCH / "content").mkdir()
    body = os.urandom(size)
    (SCRATCH / "content" / "body").write_bytes(body)
    for root in roots:
        for place in ("/dev", str(SCRATCH)):
            _run("mount", "--rbind", place, f"{root}{place}")
    return hashlib.sha256(body).hexdigest()


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True)


def _clients(programs: Sequence[Path], root: Path) -> Iterator[Client]:
    server = bed.addresses(1)[0][1]
    common = ("--cacert", f"{SCRATCH}/ca.pem", "--output", f"{SCRATCH}/got", f"https://{NAME}/body")
    for program in programs or [compiled.QUICHE.ensure(print)]:
        argv = (str(program.absolute()), "--connect-to", f"::{server}:{PORT}", *common)
        yield Client(program.name, argv)
    curl = ("curl", "--silent", "--http3-only", "--resolve", f"{NAME}:{PORT}:{server}")
    yield Client("curl", ("chroot", str(root), *curl, *common))


def _section(bench: Bench, emulator: Emulator) -> Section:
    title = f"Over {emulator.name}: {bench.size / 1e6:g} MB by HTTP/3 from nginx"
    section = Section(emulator.name, title)
    with emulator.wire(Conditions()) as wire, _serving(wire.server, bench.nginx) as server:
        if wire.pid:
            wire.promote()
        section.begin()
        for turn in range(bench.rounds + 1):
            for client in bench.clients if turn % 2 else reversed(bench.clients):
                measured = _turn(bench, wire, server, client)
                if turn:  # the first round only warms the caches
                    _note(section, client.name, measured)
        section.end()
    for what, goal in GOALS.items():
        for client in bench.clients[:-1]:
            section.against(what, client.name, bench.clients[-1].name, goal)
    return section


def _turn(bench: Bench, wire: Wire, server: int, client: Client) -> Measured:
    before = _read(wire, server)
    cost = _fetch(wire.client, client, bench.digest)
    after = _read(wire, server)
    gigabytes = bench.size / 1e9
    emulator_cpu_s = after.emulator_cpu_s - before.emulator_cpu_s
    return {
        ("CPU time", "s/GB"): cost.cpu_s / gigabytes,
        ("goodput", "Gbit/s"): 8 * gigabytes / cost.elapsed_s,
        ("memory", "MB"): cost.memory_bytes / 1e6,
        ("server's CPU time", "s/GB"): (after.server_cpu_s - before.server_cpu_s) / gigabytes,
        **({("emulator's CPU time", "s/GB"): emulator_cpu_s / gigabytes} if wire.pid else {}),
        ("packets to the server", ""): after.to_server - before.to_server,
        ("packets to the client", ""): after.to_client - before.to_client,
        ("of them dropped by its socket", ""): after.dropped - before.dropped,
    }


def _note(section: Section, name: str, measured: Measured) -> None:
    section.order.append(name)
    for (what, unit), value in measured.items():
        section.figure(what, name, unit).values.append(value)


@contextmanager
def _serving(host: Host, root: Path) -> Iterator[int]:
    """Run nginx while the context lasts; give its process's number."""
    argv = ("chroot", str(root), "nginx", "-e", f"{SCRATCH}/errors", "-c", f"{SCRATCH}/nginx.conf")
    server = subprocess.Popen(host.inside(*argv))
    try:
        bed.await_port(host, PORT)
        yield server.pid
    finally:
        server.kill()
        server.wait()


def _read(wire: Wire, server: int) -> Reading:
    # A process's CPU clock: CPUCLOCK_SCHED of its PID, see clock_getcpuclockid(3).
    spent = time.clock_gettime((~server << 3) | 2)
    to_server, to_client = (wire.received(host)[0].packets for host in (wire.server, wire.client))
    return Reading(spent, wire.cpu_s(), to_server, to_client, _dropped(wire.client))


def _dropped(host: Host) -> int:
    lines = Path(f"/proc/{host.pid}/net/snmp").read_text().splitlines()
    names, values = (line.split() for line in lines if line.startswith("Udp:"))
    return int(values[names.index("RcvbufErrors")])


def _fetch(host: Host, client: Client, digest: str) -> Cost:
    """Have a client fetch the body; make sure that it did."""
    got = SCRATCH / "got"
    got.unlink(missing_ok=True)
    began = time.monotonic()
    process = subprocess.Popen(host.inside(*client.argv), stdout=subprocess.DEVNULL)
    memory, ended = 0, 0
    while not ended:
        # wait4 would tell of this interpreter's memory, too, of which the process was a copy.
        memory = _peak(process.pid) or memory
        ended, status, used = os.wait4(process.pid, os.WNOHANG)
        if time.monotonic() - began > PATIENCE_S:
            process.kill()
        time.sleep(0 if ended else PERIOD_S)
    elapsed = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode or hashlib.sha256(got.read_bytes()).hexdigest() != digest:
        raise SystemExit(f"{client.name}: exit code {process.returncode}, or another body")
    return Cost(used.ru_utime + used.ru_stime, elapsed, memory)


def _peak(pid: int) -> int:
    """Resident bytes of a process at their largest so far; 0 once it has ended."""
    status = Path(f"/proc/{pid}/status").read_text()
    words = status.partition("VmHWM:")[2].split()
    return int(words[0]) * 1024 if words else 0


if __name__ == "__main__":
    main()
