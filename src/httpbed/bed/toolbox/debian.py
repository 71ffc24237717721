"""Debian's archive: unpacking its packages, mmdebstrap and pasta among them; the index's age.

A Release file has a date, and in changing suites an expiry date (deb822, ``Date`` and
``Valid-Until``). A snapshot archive serves expired indexes. So does an attacker on the way to the
archive who wants old packages with known holes installed; only the expiry date shows it. So a build
with an expired index needs the user's word, and its record says so. A machine whose apt is set to
use expired indexes, as for a snapshot archive, has given it.

Standard library only: set-up uses it before anything is installed.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

from httpbed.base import folders
from httpbed.base.errors import HostError
from httpbed.bed.machine import backend

VARIABLE = "HTTPBED_INDEX"
HOOK = (
    f'grep -Ehs "^(Date|Valid-Until):" "$1"/var/lib/apt/lists/*Release | head -n 2 >"${VARIABLE}"'
)
"""A hook for mmdebstrap that writes the index's dates to a file before the lists are deleted."""
OPTION = "--accept-expired-index"
"""Option of httpbed by which the user accepts an expired index."""
EVEN_EXPIRED = '--aptopt=Acquire::Check-Valid-Until "false"'
"""Option of mmdebstrap that accepts an expired index."""
_EXPIRED = re.compile(r"^E: Release file .* is expired", re.MULTILINE)


def accepts_expired_here() -> bool:
    """Whether this machine's apt accepts expired indexes (``Acquire::Check-Valid-Until``)."""
    words = ["apt-config", "shell", "CHECK", "Acquire::Check-Valid-Until/b"]
    try:
        shown = subprocess.run(words, check=False, capture_output=True, text=True)
    except FileNotFoundError:
        return False
    return shown.stdout.strip() == "CHECK='false'"


def has_expired(log: str) -> bool:
    """Whether apt rejected an index because it has expired."""
    return _EXPIRED.search(log) is not None


@dataclass(frozen=True)
class Index:
    """The dates of a package index; each is None if the archive does not state it."""

    made: datetime | None = None
    valid_until: datetime | None = None

    def is_expired(self, now: datetime) -> bool:
        """Whether the archive says that this index is not to be used any more."""
        return self.valid_until is not None and self.valid_until < now


def index_dates(file: Path) -> Index:
    """Return the dates that :data:`HOOK` wrote."""
    try:
        lines = file.read_text(errors="replace").splitlines()
    except OSError:
        return Index()
    stated = {name: text.strip() for name, _, text in (line.partition(":") for line in lines)}
    return Index(_date(stated.get("Date", "")), _date(stated.get("Valid-Until", "")))


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def expired_refusal(suite: str) -> HostError:
    """Return the error for an index that apt rejected because it has expired."""
    return HostError(
        f"the package index of Debian {suite} has expired: the archive is a snapshot, or somebody"
        " on the way to it withholds newer packages",
        "use an archive that is kept up to date, or accept this one with an option of httpbed"
        f" toolbox build and httpbed toolbox kernel, {OPTION}, or with apt's own setting for this"
        ' machine, Acquire::Check-Valid-Until "false"',
    )


def age_text(index: Index, now: datetime) -> str:
    """Return the date and age of an index in words."""
    if index.made is None:
        return "package index of an unknown date"
    days = max(0, (now - index.made).days)
    age = f"{days} day{'s' * (days != 1)} old" if days else "of today"
    expired = ", and expired" if index.is_expired(now) else ""
    return f"package index of {index.made:%Y-%m-%d} ({age}{expired})"


def unpack(packages: tuple[str, ...], target: Path) -> None:
    """Unpack packages, without their dependencies, into a folder.

    Raises:
        HostError: apt is missing or cannot download them.
    """
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".apt-") as scratch:
        _download(packages, Path(scratch))
        for package in sorted(Path(scratch).glob("*.deb")):
            subprocess.run(["dpkg-deb", "--extract", package, target], check=True)


def unpack_once(packages: tuple[str, ...], target: Path) -> None:
    """Unpack packages into a new folder, unless it exists; it is complete once it exists.

    Raises:
        HostError: apt is missing or cannot download them.
    """
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as scratch:
        tree = Path(scratch, "tree")
        unpack(packages, tree)
        try:
            tree.rename(target)
        except OSError:  # another process was first
            if not target.exists():
                raise


def _download(packages: tuple[str, ...], folder: Path) -> None:
    """Download with the machine's package lists, else with newly fetched lists."""
    lists = folder / "lists"
    lists.mkdir()
    fresh = ["-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={folder / 'cache'}"]
    for words in (["download", *packages], [*fresh, "update"], [*fresh, "download", *packages]):
        error = _apt_get(folder, words)
        if error is None and "download" in words:
            return
    raise HostError(
        f"apt could not download {' and '.join(packages)}: {error}",
        f"ask the administrator to install {' and '.join(packages)}, or try again later",
    )


def _apt_get(folder: Path, words: list[str]) -> str | None:
    """Run apt-get; return None if it succeeded, else its last error message."""
    command = ["apt-get", "--quiet=2", *words]
    try:
        done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    except FileNotFoundError:
        return "there is no apt-get"
    lines = done.stderr.strip().splitlines() or ["no reason given"]
    return None if done.returncode == 0 else lines[-1]


# The keyring verifies Debian's suites; Debian's derivatives may not have it.
_MMDEBSTRAP = ("mmdebstrap", "debian-archive-keyring")
_KEYRINGS = Path("usr/share/keyrings")
_PERL_MODULES = ("English", "Digest::SHA", "Time::HiRes")
"""Modules that mmdebstrap loads, and that perl-base lacks."""
_NEEDED_TOOLS = ("apt-get", "dpkg-deb", "perl", "tar")


def mmdebstrap(say: Callable[[str], None]) -> list[str]:
    """Return mmdebstrap's command; fetch mmdebstrap if it is missing."""
    _require_tools()
    keys = Path("/", _KEYRINGS, "debian-archive-keyring.gpg")
    if (installed := shutil.which("mmdebstrap")) and keys.exists():
        return [installed]
    unpacked = folders.cache() / "mmdebstrap"
    if not unpacked.exists():
        say("fetching mmdebstrap")
        unpack_once(_MMDEBSTRAP, unpacked)
    program = [str(unpacked / "usr/bin/mmdebstrap"), f"--keyring={unpacked / _KEYRINGS}"]
    return [*_perl(say), *program]


def _perl(say: Callable[[str], None]) -> list[str]:
    """Return perl's command; fetch its modules if the machine has only those of perl-base.

    Debian's images of containers are such machines. Modules belong to a version of perl.
    """
    words = ["perl", *(f"-M{module}" for module in _PERL_MODULES), "-e", ""]
    if subprocess.run(words, check=False, capture_output=True).returncode == 0:
        return ["perl"]
    words = ["perl", "-MConfig", "-e", 'print join ".", @Config{"PERL_REVISION", "PERL_VERSION"}']
    version = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    unpacked = folders.cache() / f"perl-{version}"
    if not unpacked.exists():
        say("fetching the modules of perl")
        unpack_once((f"perl-modules-{version}", f"libperl{version}"), unpacked)
    places = [unpacked / f"usr/share/perl/{version}", *unpacked.glob(f"usr/lib/*/perl/{version}")]
    return ["env", f"PERL5LIB={':'.join(map(str, places))}", "perl"]


def _require_tools() -> None:
    missing = [name for name in _NEEDED_TOOLS if shutil.which(name) is None]
    if missing:
        raise HostError(
            f"no root filesystem can be built without {', '.join(missing)}",
            "install them (Debian and its derivatives have them), or build the toolbox on a"
            " machine that has them and copy its cache folder to this machine",
        )


def usr_cover(root: Path) -> str:
    """Return shell commands to run in a mount namespace of its own.

    /bin, /sbin, /lib and /lib64 are covered, too, unless they are links into /usr.
    """
    usr = shlex.quote(str(root / "usr"))
    return f"""
for place in bin sbin lib lib64; do
    if [ -d /$place ] && [ ! -L /$place ]; then mount --rbind {usr}/$place /$place || exit; fi
done
mount --rbind {usr} /usr || exit"""


# Finds pasta, which connects emulated links with the outside, or unpacks it into the cache.
#
# pasta is an executable of Debian's package passt. It needs only the C library, so the package of
# this machine's own suite runs without an installation.


_PASST = "passt"
_PASTA = Path("usr/bin/pasta")


def find_pasta() -> Path | None:
    """Return this machine's pasta, else the one in the cache; None if there is neither."""
    if installed := shutil.which(_PASTA.name):
        return Path(installed)
    unpacked = _unpacked_passt() / _PASTA
    return unpacked if unpacked.exists() else None


def ensure_pasta(say: Callable[[str], None]) -> Path:
    """Return pasta; unpack it into the cache if this machine has none.

    Raises:
        HostError: apt is missing or cannot download it.
    """
    if found := find_pasta():
        return found
    say("fetching pasta, which this machine lacks, once (usually 10 s)")
    unpack_once((_PASST,), _unpacked_passt())
    return _unpacked_passt() / _PASTA


def pasta_fault(program: Path | None, tun: Path = backend.TUN) -> tuple[str, str] | None:
    """Return why pasta does not work on this machine, and the remedy; None if it works.

    It is started, because one of another distribution may lack its C library, and the device that
    it opens is opened.
    """
    install = "apt install passt, or run httpbed link, which fetches it"
    if program is None:
        return "pasta is missing", install
    try:
        done = subprocess.run([program, "--version"], check=False, capture_output=True)
    except OSError as error:
        return f"{program}: {error.strerror}", install
    if done.returncode != 0:
        return f"{program}: exit status {done.returncode}", install
    return backend.tun_fault(tun)


def _unpacked_passt() -> Path:
    return folders.cache() / _PASST
