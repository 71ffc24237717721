"""Makes a private certificate authority and the server's certificate, kept in the cache.

Those of guests follow from constants, so that trials in virtual time send the same bytes for every
user. Their keys are no secret; a guest reaches no other network.

Browsers read no file with authorities. They get the server's public key instead: ``server.spki`` is
the SHA-256 of its SubjectPublicKeyInfo in base64, as RFC 7469 pins keys.

:mod:`~httpbed.trial.tls_signing` is imported only when something is signed: most runs find their
certificates made, and checking an experiment needs none.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path

from httpbed.base import disk, folders
from httpbed.base.clock import GUEST_STARTS
from httpbed.experiment.workload import OWN_ORIGIN

SERVER_NAME = OWN_ORIGIN
VALID = timedelta(days=365)
RENEW_BEFORE = timedelta(days=30)
_GUEST_LABEL = "httpbed guest 1"
"""What the keys of guests follow from."""


def ensure(now: datetime, origins: Collection[str] = ()) -> Path:
    """Return a folder with the files of a server and its clients, valid for a month more.

    The files are ca.pem, server.pem, server.key and server.spki. Each of the ``origins`` has its
    own certificate for the same key: with one certificate for all names, a browser would reuse a
    connection for several of them (RFC 9113 section 9.1.1).
    """
    parent = _parent()
    stem = f"of-{_digest(*sorted(origins))}-until-" if origins else "until-"
    for folder in sorted(parent.glob(f"{stem}*"), reverse=True):
        until = datetime.strptime(folder.name, f"{stem}%Y%m%d").replace(tzinfo=UTC)
        if until > now + RENEW_BEFORE:
            return folder
    return _make(parent, now, stem, origins)


def ensure_for_guests(origins: Collection[str] = ()) -> Path:
    """Return a folder with such files for guests, the same bytes for every user.

    They are valid by the clock of guests, and need no renewal.
    """
    folder = _parent() / f"guest-{_digest(_GUEST_LABEL, str(GUEST_STARTS), *sorted(origins))}"
    if folder.is_dir():
        return folder
    return _write(folder, _span(GUEST_STARTS), origins, _GUEST_LABEL)


def untrusted(trusted: Path, folder: Path, now: datetime) -> Path:
    """Copy ``trusted`` to ``folder`` with another authority and key pin for clients.

    The authority has the same name and signed nothing; the pinned key belongs to no server.
    """
    from httpbed.trial import tls_signing  # noqa: PLC0415 - see above

    shutil.copytree(trusted, folder)
    tls_signing.write_untrusted(folder, _span(now))
    return folder


def _make(parent: Path, now: datetime, stem: str = "until-", origins: Collection[str] = ()) -> Path:
    return _write(parent / f"{stem}{now + VALID:%Y%m%d}", _span(now), origins)


def _write(
    final: Path, span: tuple[datetime, datetime], origins: Collection[str], label: str | None = None
) -> Path:
    from httpbed.trial import tls_signing  # noqa: PLC0415 - see above

    folder = Path(tempfile.mkdtemp(dir=final.parent))
    tls_signing.write(folder, span, SERVER_NAME, origins, tls_signing.KeySource(label))
    disk.let_read(folder)
    try:
        return folder.rename(final)
    except OSError:
        shutil.rmtree(folder)
        if not final.is_dir():  # no other run was faster
            raise
        return final


def _parent() -> Path:
    parent = folders.cache() / "certificates"
    parent.mkdir(parents=True, exist_ok=True)
    return parent


def _digest(*names: str) -> str:
    return hashlib.sha256(" ".join(names).encode()).hexdigest()[:16]


def _span(now: datetime) -> tuple[datetime, datetime]:
    """Return the first and last time of a certificate."""
    return now - timedelta(days=1), now + VALID
