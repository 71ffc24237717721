"""Keys and certificates of a trial's servers, as files in PEM.

ECDSA on P-256 is short, and every stack accepts it (Envoy's QUIC requires it or RSA >= 2048).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from httpbed.programs.protocol import AUTHORITY, CERTIFICATE, KEY, KEY_PIN, certificate_file

Span = tuple[datetime, datetime]
"""First and last time of a certificate."""


def write(folder: Path, span: Span, name: str, origins: Collection[str]) -> None:
    """Write a new authority, key and key pin, and a certificate for each name; one key for all."""
    authority_key, server_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = _authority(authority_key, span)
    server = _server(name, server_key, authority, authority_key, span)
    for origin in origins:
        own = _server(origin, server_key, authority, authority_key, span)
        (folder / certificate_file(origin)).write_bytes(
            own.public_bytes(serialization.Encoding.PEM)
        )
    (folder / AUTHORITY).write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    (folder / CERTIFICATE).write_bytes(server.public_bytes(serialization.Encoding.PEM))
    key = server_key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / KEY).write_bytes(key)
    (folder / KEY_PIN).write_text(_pin(server))


def write_untrusted(folder: Path, span: Span) -> None:
    """Replace authority and key pin by those of an authority that signed nothing."""
    authority = _authority(ec.generate_private_key(ec.SECP256R1()), span)
    (folder / AUTHORITY).write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    (folder / KEY_PIN).write_text(_pin(authority))


def pin(pem: bytes) -> str:
    """Return the SHA-256 of a certificate's SubjectPublicKeyInfo in base64, as RFC 7469 does."""
    return _pin(x509.load_pem_x509_certificate(pem))


def _pin(certificate: x509.Certificate) -> str:
    key = certificate.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return base64.b64encode(hashlib.sha256(key).digest()).decode() + "\n"


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(subject: str, key: ec.EllipticCurvePrivateKey, span: Span) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name("httpbed test authority"))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(span[0])
        .not_valid_after(span[1])
    )


def _authority(key: ec.EllipticCurvePrivateKey, span: Span) -> x509.Certificate:
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
    builder = _builder("httpbed test authority", key, span)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(usage, critical=True)
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return builder.add_extension(identifier, critical=False).sign(key, hashes.SHA256())


def _server(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    authority: x509.Certificate,
    authority_key: ec.EllipticCurvePrivateKey,
    span: Span,
) -> x509.Certificate:
    names = x509.SubjectAlternativeName([x509.DNSName(name)])
    issuer = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    identifier = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer)
    purpose = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    builder = _builder("httpbed test server", key, span).add_extension(names, critical=False)
    builder = builder.add_extension(identifier, critical=False)
    return builder.add_extension(purpose, critical=False).sign(authority_key, hashes.SHA256())
