"""The wheel on a fresh machine: an ordinary user, no compiler, no git, no copy of the repository.

The machine is a minimal Debian in namespaces of its own, with an empty home. What httpbed needs
beyond the wheel comes from Debian's archive and the Python index, as for every new user.
`make test-install` builds the wheel first.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from httpbed.bed.machine.unprivileged import NOBODY
from httpbed.bed.toolbox import debian, root_filesystem
from httpbed.bed.toolbox.root_filesystem import Contents

ROOT = Path(__file__).parents[2]
ESSENTIAL = "bash coreutils dash dpkg findutils grep gzip perl-base sed tar util-linux"
ADDED = "apt debian-archive-keyring mount pipx"
MINIMAL = Contents("trixie", frozenset(f"{ESSENTIAL} {ADDED}".split()))
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
OF_THE_MACHINE = ("etc/resolv.conf", CERTIFICATES)
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
SETTINGS = ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "http_proxy", "https_proxy", "no_proxy")
"""Of this machine's environment: how it reaches the Python index."""

ENTER = f"""
root=$1; shift
mount --bind "$root" "$root"
for device in {" ".join(DEVICES)}; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir -p "$root/dev/shm" "$root/.before"
mount -t tmpfs tmpfs "$root/dev/shm"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
cd "$root"
pivot_root . .before
cd /home/me
umount --lazy /.before
exec unshare --user --map-user=1000 --map-group=1000 env --ignore-environment "$@"
"""
GET_UV = "python3 -m venv with-uv && with-uv/bin/pip install --quiet uv"
WAYS = {
    "pip": ("python3 -m venv pip && pip/bin/pip install --quiet {wheel}", "pip/bin/httpbed"),
    "pipx": ("pipx install --quiet {wheel}", ".local/bin/httpbed"),
    "uv": (f"{GET_UV} && with-uv/bin/uv tool install --quiet {{wheel}}", ".local/bin/httpbed"),
}
pytestmark = pytest.mark.timeout(1800)


@dataclass(frozen=True)
class Machine:
    """A root filesystem with a user's home."""

    root: Path
    wheel: str

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        """Run a line of sh as the user."""
        kept = [f"{name}={os.environ[name]}" for name in SETTINGS if name in os.environ]
        home = ["PATH=/usr/bin:/bin", "HOME=/home/me", "LANG=C.UTF-8", *kept]
        as_user = ["setpriv", f"--reuid={NOBODY[0]}", f"--regid={NOBODY[1]}", "--clear-groups"]
        return subprocess.run(
            [
                *(as_user if os.geteuid() == 0 else ()),
                *("unshare", "--user", "--map-root-user", "--mount", "--pid", "--ipc", "--uts"),
                *("--fork", "--kill-child", "sh", "-euc", ENTER, "sh", str(self.root)),
                *(*home, f"SSL_CERT_FILE=/{CERTIFICATES}", "sh", "-c", line),
            ],
            capture_output=True,
            text=True,
            check=False,
        )

    def output(self, line: str) -> str:
        """Run a line that must succeed, and return what it prints."""
        ended = self.run(line)
        assert ended.returncode == 0, f"{line}\n{ended.stdout}\n{ended.stderr}"
        return ended.stdout


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    """Make the machine, with nothing of this one but how it reaches the outside."""
    wheels = sorted((ROOT / "dist").glob("*_x86_64.whl"), key=lambda path: path.stat().st_mtime)
    assert wheels, "make build"
    minimal = root_filesystem.ensure(MINIMAL, say=lambda line: print(line, file=sys.stderr))  # noqa: T201
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="httpbed-machine-") as place:
        Path(place).chmod(0o755)  # nobody's way there
        root = Path(place) / "root"
        subprocess.run(["cp", "-a", "--reflink=auto", minimal.path, root], check=True)
        for folder in ("home/me", "srv"):
            (root / folder).mkdir()
        for name in OF_THE_MACHINE:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(f"/{name}", root / name)
        if debian.accepts_expired_here():
            setting = 'Acquire::Check-Valid-Until "false";\n'
            (root / "etc/apt/apt.conf.d/90expired").write_text(setting)
        shutil.copy(wheels[-1], root / "srv")
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", "{}:{}".format(*NOBODY), root], check=True)
        yield Machine(root, f"/srv/{wheels[-1].name}")


def test_the_machine_is_fresh(machine: Machine) -> None:
    """Its user is none of this machine, and it has nothing that could build httpbed."""
    assert machine.output("id --user").strip() == "1000"
    assert machine.output("ls -A /home/me") == ""
    for name in ("cc", "gcc", "cargo", "git", "ip", "mmdebstrap", "httpbed"):
        assert machine.run(f"command -v {name}").returncode, name


@pytest.mark.parametrize("way", WAYS)
def test_the_wheel_installs_and_measures(machine: Machine, way: str) -> None:
    """doctor finds nothing that prevents trials, and trials in virtual time complete."""
    line, httpbed = WAYS[way]
    machine.output(f"rm -rf .local; {line.format(wheel=machine.wheel)}")
    assert "trials can run here" in machine.output(f"{httpbed} doctor")
    compare = "compare curl:h1 curl:h2 --size 10kB --replicates 2 --clock virtual"
    machine.output(f"{httpbed} {compare} -o {way}-campaign")
    rows = machine.output(f"{httpbed} export {way}-campaign --json").splitlines()
    assert {json.loads(row)["outcome"] for row in rows} == {"completed"}


def test_the_demo_runs(machine: Machine) -> None:
    """In virtual time, so that a busy machine makes no trial invalid."""
    line, httpbed = WAYS["pip"]
    if machine.run(f"test -e {httpbed}").returncode:
        machine.output(line.format(wheel=machine.wheel))
    machine.output(f"{httpbed} demo --clock virtual")
