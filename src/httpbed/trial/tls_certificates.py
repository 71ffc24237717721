"""Makes a private certificate authority and the server's certificate, kept in the cache.

ECDSA on P-256 is short, and every stack accepts it (Envoy's QUIC requires it or RSA >= 2048).

Browsers read no file with authorities. They get the server's public key instead: ``server.spki`` is
the SHA-256 of its SubjectPublicKeyInfo in base64, as RFC 7469 pins keys.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import tempfile
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from httpbed.experiment.page import OWN_ORIGIN
from httpbed.host import folders
from httpbed.programs.protocol import certificate_file

SERVER_NAME = OWN_ORIGIN
VALID = timedelta(days=365)
READABLE = 0o755
"""Mode that lets the programs under test read, which may run as another user."""
RENEW_BEFORE = timedelta(days=30)
SPKI = "server.spki"
AUTHORITY = "ca.pem"


def ensure(now: datetime, origins: Collection[str] = ()) -> Path:
    """Return a folder with the files of a server and its clients, valid for a month more.

    The files are ca.pem, server.pem, server.key and server.spki. Each of the ``origins`` has its
    own certificate for the same key: with one certificate for all names, a browser would reuse a
    connection for several of them (RFC 9113 section 9.1.1).
    """
    parent = folders.cache() / "certificates"
    digest = hashlib.sha256(" ".join(sorted(origins)).encode()).hexdigest()[:16]
    stem = f"of-{digest}-until-" if origins else "until-"
    for folder in sorted(parent.glob(f"{stem}*"), reverse=True):
        until = datetime.strptime(folder.name, f"{stem}%Y%m%d").replace(tzinfo=UTC)
        if until > now + RENEW_BEFORE:
            return _completed(folder)
    parent.mkdir(parents=True, exist_ok=True)
    return _make(parent, now, stem, origins)


def untrusted(own: Path, folder: Path, now: datetime) -> Path:
    """Copy ``own`` to ``folder`` with another authority and key pin for clients.

    The authority has the same name and signed nothing; the pinned key belongs to no server.
    """
    shutil.copytree(own, folder)
    authority = _authority(ec.generate_private_key(ec.SECP256R1()), now)
    (folder / AUTHORITY).write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    (folder / SPKI).write_text(_pin(authority))
    return folder


def _completed(folder: Path) -> Path:
    """Add the files that earlier versions did not write; several processes may do so at once."""
    folder.chmod(READABLE)
    if not (folder / SPKI).exists():
        certificate = x509.load_pem_x509_certificate((folder / "server.pem").read_bytes())
        scratch = folder / f".{SPKI}-{os.getpid()}"
        scratch.write_text(_pin(certificate))
        scratch.rename(folder / SPKI)
    return folder


def _pin(certificate: x509.Certificate) -> str:
    key = certificate.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return base64.b64encode(hashlib.sha256(key).digest()).decode() + "\n"


def _make(parent: Path, now: datetime, stem: str = "until-", origins: Collection[str] = ()) -> Path:
    folder = Path(tempfile.mkdtemp(dir=parent))
    authority_key, server_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = _authority(authority_key, now)
    server = _server(SERVER_NAME, server_key, authority, authority_key, now)
    for name in origins:
        own = _server(name, server_key, authority, authority_key, now)
        (folder / certificate_file(name)).write_bytes(own.public_bytes(serialization.Encoding.PEM))
    (folder / AUTHORITY).write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    (folder / "server.pem").write_bytes(server.public_bytes(serialization.Encoding.PEM))
    key = server_key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / "server.key").write_bytes(key)
    (folder / SPKI).write_text(_pin(server))
    folder.chmod(READABLE)
    final = parent / f"{stem}{now + VALID:%Y%m%d}"
    try:
        return folder.rename(final)
    except OSError:  # another run was faster
        return final


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(
    subject: str, key: ec.EllipticCurvePrivateKey, now: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name("httpbed test authority"))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + VALID)
    )


def _authority(key: ec.EllipticCurvePrivateKey, now: datetime) -> x509.Certificate:
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    builder = _builder("httpbed test authority", key, now)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(usage, critical=True)
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return builder.add_extension(identifier, critical=False).sign(key, hashes.SHA256())


def _server(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    authority: x509.Certificate,
    authority_key: ec.EllipticCurvePrivateKey,
    now: datetime,
) -> x509.Certificate:
    names = x509.SubjectAlternativeName([x509.DNSName(name)])
    issuer = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    identifier = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer)
    purpose = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    builder = _builder("httpbed test server", key, now).add_extension(names, critical=False)
    builder = builder.add_extension(identifier, critical=False)
    return builder.add_extension(purpose, critical=False).sign(authority_key, hashes.SHA256())
