"""Who is no member of a cluster: attacks on real schedulers and workers of Dask on loopback."""

from __future__ import annotations

import re
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import cluster_processes
from cluster_processes import Service
from families import until
from httpbed.addons.cluster import certificates
from httpbed.programs.part import AUTHORITY
from real_runs import SmallExperiment, httpbed

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

NOW = datetime.now(UTC)
LISTENS = "0A"
"""State of a socket in /proc/net/tcp."""
ATTACK = """
import sys
from distributed import Client, Worker
from distributed.security import Security
address, mark, words = sys.argv[1], sys.argv[2], sys.argv[3:]
names = ("tls_ca_file", "tls_client_cert", "tls_client_key")
security = Security(**dict(zip(names, words))) if words else None
client = Client(address, timeout=5, security=security)
client.run(lambda: open(mark, "w").close())
"""
"""Another user's program that lets each worker write a file."""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the certificates of a cluster, and return their folder."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    certificates.make(certificates.default_folder(), NOW)
    return certificates.default_folder()


@pytest.fixture
def cluster(own: Path, tmp_path: Path) -> Iterator[tuple[str, Service, Service]]:
    """Run a scheduler and a worker."""
    assert own.is_dir()
    with (
        cluster_processes.scheduler(tmp_path) as (scheduler, address),
        cluster_processes.worker(address, "alpha", tmp_path) as worker,
    ):
        until(lambda: "is connected" in worker.log.read_text())
        yield address, scheduler, worker


def _another(folder: Path, when: datetime = NOW) -> Path:
    certificates.make(folder, when)
    return folder


def _expired(folder: Path, own: Path) -> Path:
    """Return a folder with the cluster's authority, and a certificate that is past its time."""
    _another(folder, NOW - 2 * certificates.VALID)
    (folder / AUTHORITY).write_bytes((own / AUTHORITY).read_bytes())
    return folder


def _words(folder: Path) -> list[str]:
    files = (AUTHORITY, certificates.CERTIFICATE, certificates.KEY)
    return [str(folder / name) for name in files]


def _attack(address: str, mark: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", ATTACK, address, str(mark), *words]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)


def test_only_a_member_runs_programs_on_the_workers(
    cluster: tuple[str, Service, Service], own: Path, tmp_path: Path
) -> None:
    """The attack is real: with the cluster's own key, it succeeds."""
    address, _, worker = cluster
    plain = address.replace("tls://", "tcp://")
    strangers = {
        "plain": (plain,),
        "none": (address,),
        "other": (address, *_words(_another(tmp_path / "other"))),
        "expired": (address, *_words(_expired(tmp_path / "expired", own))),
    }
    for name, (where, *words) in strangers.items():
        refused = _attack(where, tmp_path / f"ran-{name}", *words)
        assert refused.returncode != 0, name
        assert not (tmp_path / f"ran-{name}").exists(), name
    assert _attack(address, tmp_path / "ran-member", *_words(own)).returncode == 0
    assert (tmp_path / "ran-member").exists()
    assert worker.process.poll() is None


def test_the_worker_itself_asks_for_a_certificate(
    cluster: tuple[str, Service, Service], tmp_path: Path
) -> None:
    """Who finds its port is refused as at the scheduler's."""
    _, scheduler, _ = cluster
    strange = ssl.create_default_context()
    strange.check_hostname, strange.verify_mode = False, ssl.CERT_NONE
    other = ssl.create_default_context()
    other.check_hostname, other.verify_mode = False, ssl.CERT_NONE
    _, certificate, key = _words(_another(tmp_path / "other"))
    other.load_cert_chain(certificate, key)
    (port,) = set(
        re.findall(r"Register worker addr: tls://127\.0\.0\.1:(\d+)", scheduler.log.read_text())
    )
    for context in (strange, other):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            _read(int(port), context)


def _read(port: int, context: ssl.SSLContext) -> bytes:
    with (
        socket.create_connection((cluster_processes.LOOPBACK, port), timeout=60) as plain,
        context.wrap_socket(plain) as encrypted,
    ):
        return encrypted.recv(1)


def test_scheduler_and_worker_listen_on_loopback_alone(
    cluster: tuple[str, Service, Service],
) -> None:
    """No option of the worker says so: the scheduler's address does."""
    _, scheduler, worker = cluster
    for service in (scheduler, worker):
        found = _listening(service)
        assert found, service.log
        assert found == {"0100007F"}


def _listening(service: Service) -> set[str]:
    """Return the addresses at which a process listens, in the kernel's form."""
    sockets = {
        str(path.readlink())
        for path in Path(f"/proc/{service.pid}/fd").iterdir()
        if path.is_symlink()
    }
    rows = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/{service.pid}/net/{table}").read_text().splitlines()[1:]
    ]
    own = [row for row in rows if row[3] == LISTENS and f"socket:[{row[9]}]" in sockets]
    return {row[1].partition(":")[0] for row in own}


def test_a_run_with_certificates_that_the_scheduler_refuses_says_so(
    cluster: tuple[str, Service, Service], own: Path, tmp_path: Path
) -> None:
    """Those of another cluster are found by the handshake, expired ones before it."""
    address, *_ = cluster
    file = tmp_path / "experiment.toml"
    file.write_text(SmallExperiment(versions=("2",)).text())
    words = ("run", file, "-o", tmp_path / "campaign", "--cluster", address, "--certificates")
    other = httpbed(*words, _another(tmp_path / "other"))
    assert other.returncode == 3, other.stderr
    assert "no scheduler answers" in other.stderr
    assert "certificates have to be those of this machine" in other.stderr
    past = _another(tmp_path / "past", NOW - certificates.VALID - timedelta(days=1))
    expired = httpbed(*words, past)
    assert expired.returncode == 3, expired.stderr
    assert "it expired on" in expired.stderr
    assert "httpbed worker --init" in expired.stderr
    assert own.is_dir()
