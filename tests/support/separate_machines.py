"""Two workers in network namespaces of their own, with a scheduler and a campaign in a third one.

Run as a program, with a folder, an experiment and a campaign's folder: it kills the first worker
in the middle of a trial, and exits as ``httpbed run`` does.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import cluster_processes
from cluster_processes import WORKER, Service
from families import until
from httpbed.bed.machine import unprivileged
from patience import HTTPBED

_OWN_USERS = () if unprivileged.is_machines_root() else ("--user", "--map-root-user")
"""Root makes network namespaces without a user namespace."""
UNSHARE = ("unshare", *_OWN_USERS, "--mount", "--net")
_CENTRE = "10.9.0.1"
"""Address of the namespace with the scheduler."""
_MACHINE = """
echo ready
read -r _
ip link set lo up
ip address add "$1.2/24" dev "$2"
ip link set "$2" up
ip route add default via "$1.1"
shift 2
exec "$@"
"""


def command(folder: Path, experiment: Path, campaign: Path) -> list[str]:
    """Return the command line of this program in namespaces that its user owns."""
    return [*UNSHARE, sys.executable, __file__, str(folder), str(experiment), str(campaign)]


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@contextlib.contextmanager
def _worker(number: int, address: str, name: str, folder: Path) -> Iterator[Service]:
    """Run a worker in a network namespace of its own, behind a veth pair."""
    net, far = f"10.9.{number}", f"far{number}"
    words = [*WORKER, address, "--name", name, "--host", f"{net}.2"]
    shell = ["unshare", "--net", "sh", "-euc", _MACHINE, "-", net, far, *words]
    log = folder / f"{name}.log"
    with cluster_processes.service(shell, log, stdin=subprocess.PIPE) as running:
        until(lambda: "ready" in log.read_text())
        _ip("link", "add", f"near{number}", "type", "veth", "peer", "name", far)
        _ip("link", "set", far, "netns", str(running.pid))
        _ip("address", "add", f"{net}.1/24", "dev", f"near{number}")
        _ip("link", "set", f"near{number}", "up")
        stdin = running.process.stdin
        assert stdin is not None
        stdin.write(b"go\n")
        stdin.close()
        yield running


def main(folder: Path, experiment: Path, campaign: Path) -> int:
    """Run the campaign, and kill a worker while it runs a trial."""
    _ip("link", "set", "lo", "up")
    _ip("address", "add", f"{_CENTRE}/32", "dev", "lo")
    with (
        cluster_processes.scheduler(folder, host=_CENTRE) as (_, address),
        _worker(1, address, "alpha", folder) as alpha,
        _worker(2, address, "beta", folder),
    ):
        words = ["run", str(experiment), "-o", str(campaign), "--cluster", address]
        run = subprocess.Popen([*HTTPBED, *words])
        until(lambda: alpha.is_in_a_trial() or run.poll() is not None)
        alpha.kill()
        return run.wait()


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
