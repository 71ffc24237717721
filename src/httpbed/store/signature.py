"""Who signed an archive: a detached signature of its manifest, by ``ssh-keygen -Y sign``.

Digests show damage and edits, but a person who edits a table can compute all of them again. The
manifest of an archive has the digest of ``tables.json``, which has those of the tables, so whoever
signs the manifest signs the numbers. OpenSSH signs with the keys that people have already
(``ssh-keygen(1)``, "Signatures"); the namespace keeps a signature from being used elsewhere.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from httpbed.base import untrusted_files
from httpbed.base.errors import HostError
from httpbed.store.campaign import Campaign
from httpbed.store.layout import INDEX, MANIFEST, SIGNATURE

NAMESPACE = "httpbed"
MAX_BYTES = 2**16
_SECONDS = 20
_KEY = re.compile(r" with (\S+ key SHA256:\S+)")


@dataclass(frozen=True)
class Signature:
    """What is known of an archive's signature."""

    verdict: Literal["none", "good", "unknown signer", "bad"]
    signer: str = ""
    """Who signed, by the list of allowed signers; of an unknown signer, the key."""
    reason: str = ""
    """Why it is bad."""


def check(campaign: Campaign, signers: Path | None = None) -> Signature:
    """Check the signature of an archive, against a file of allowed signers if there is one.

    Raises:
        HostError: There is a signature, and no ssh-keygen.
    """
    real = campaign.directory.resolve()
    try:
        signature = untrusted_files.data(real / SIGNATURE, most=MAX_BYTES)
    except FileNotFoundError:
        return Signature("none")
    except untrusted_files.UnreadableError as error:
        return Signature("bad", reason=error.reason)
    if INDEX not in campaign.files():
        reason = f"{MANIFEST} does not cover the tables; that of httpbed export --archive does"
        return Signature("bad", reason=reason)
    signed = untrusted_files.data(real / MANIFEST, most=untrusted_files.OWN_BYTES)
    with tempfile.TemporaryDirectory(prefix="httpbed-") as folder:
        file = Path(folder) / SIGNATURE
        file.write_bytes(signature)
        return _checked(file, signed, signers)


def _checked(file: Path, signed: bytes, signers: Path | None) -> Signature:
    about = ("-n", NAMESPACE, "-s", str(file))
    valid = _keygen("check-novalidate", *about, content=signed)
    key = _KEY.search(valid.stdout)
    if valid.returncode or key is None:
        return Signature("bad", reason=_reason(valid.stderr))
    if signers is None:
        return Signature("unknown signer", key[1])
    allowed = ("-f", str(signers.absolute()))
    found = _keygen("find-principals", "-s", str(file), *allowed)
    for name in found.stdout.splitlines() if found.returncode == 0 else ():
        if _keygen("verify", *about, *allowed, "-I", name, content=signed).returncode == 0:
            return Signature("good", f"{name} ({key[1]})")
    return Signature("unknown signer", key[1])


def _reason(text: str) -> str:
    """Return the first line of an error."""
    return next(iter(text.strip().splitlines()), "it is no signature of this manifest")


def _keygen(verb: str, *arguments: str, content: bytes = b"") -> subprocess.CompletedProcess[str]:
    program = shutil.which("ssh-keygen")
    if program is None:
        reason = "ssh-keygen, which checks signatures, is not installed"
        raise HostError(reason, "install OpenSSH's client, such as the package openssh-client")
    text = content.decode(errors="surrogateescape")
    return subprocess.run(
        [program, "-Y", verb, *arguments],
        input=text,
        capture_output=True,
        check=False,
        encoding="utf-8",
        errors="surrogateescape",
        timeout=_SECONDS,
    )
