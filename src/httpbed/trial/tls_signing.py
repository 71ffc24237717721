"""Keys and certificates of a trial's servers, as files in PEM.

ECDSA on P-256 is short, and every stack accepts it (Envoy's QUIC requires it or RSA >= 2048). The
DER form of its signatures is 70 to 72 bytes long, so another key or signature changes the length of
a handshake.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from httpbed.programs.part import AUTHORITY, CERTIFICATE, KEY, KEY_PIN, certificate_file

Span = tuple[datetime, datetime]
"""First and last time of a certificate."""
_CURVE = ec.SECP256R1()
_KEYS = 0xFFFFFFFF_00000000_FFFFFFFF_FFFFFFFF_BCE6FAAD_A7179E84_F3B9CAC2_FC632551
"""Order of the curve (FIPS 186-5); private keys are from 1 to one less."""
_AUTHORITY_NAME = "httpbed test authority"
_MEMBER_NAME = "httpbed-cluster"
_SERIAL_BITS = 159
"""A serial number is positive and at most 20 bytes long (RFC 5280 section 4.1.2.2)."""


@dataclass(frozen=True)
class KeySource:
    """What keys, serial numbers and signatures are drawn from.

    With a label all of them follow from it (signatures by RFC 6979), and are no secret.
    """

    label: str | None = None
    """None: the kernel's randomness."""

    def key(self, owner: str) -> ec.EllipticCurvePrivateKey:
        """Return the private key of an owner."""
        if self.label is None:
            return ec.generate_private_key(_CURVE)
        return ec.derive_private_key(1 + self._number("key", owner) % (_KEYS - 1), _CURVE)

    def serial(self, name: str) -> int:
        """Return the serial number of a name's certificate."""
        if self.label is None:
            return x509.random_serial_number()
        return self._number("serial number", name) % (1 << _SERIAL_BITS)

    def signed(
        self, builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey
    ) -> x509.Certificate:
        """Return a certificate, signed with an authority's key."""
        follows = None if self.label is None else True
        return builder.sign(key, hashes.SHA256(), ecdsa_deterministic=follows)

    def _number(self, *names: str) -> int:
        text = "\x1f".join((self.label or "", *names))
        return int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")


@dataclass(frozen=True)
class _Issuer:
    """An authority that signs certificates."""

    key: ec.EllipticCurvePrivateKey
    span: Span
    source: KeySource


def write(
    folder: Path, span: Span, name: str, origins: Collection[str], source: KeySource | None = None
) -> None:
    """Write a new authority, key and key pin, and a certificate for each name; one key for all."""
    source = source or KeySource()
    issuer, server_key = _Issuer(source.key("authority"), span, source), source.key("server")
    authority = _authority(issuer)
    server = _certificate(name, server_key, authority, issuer)
    for origin in origins:
        own = _certificate(origin, server_key, authority, issuer)
        (folder / certificate_file(origin)).write_bytes(
            own.public_bytes(serialization.Encoding.PEM)
        )
    (folder / AUTHORITY).write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    (folder / CERTIFICATE).write_bytes(server.public_bytes(serialization.Encoding.PEM))
    (folder / KEY).write_bytes(_private(server_key))
    (folder / KEY_PIN).write_text(_pin(server))


def member(span: Span) -> tuple[bytes, bytes, bytes]:
    """Return a new authority, and the certificate and key of a cluster's members.

    A member is server and client. The authority's key is not kept.
    """
    source = KeySource()
    issuer, key = _Issuer(source.key("authority"), span, source), source.key("member")
    authority = _authority(issuer)
    purposes = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)
    own = _certificate(_MEMBER_NAME, key, authority, issuer, purposes)
    pem = serialization.Encoding.PEM
    return authority.public_bytes(pem), own.public_bytes(pem), _private(key)


def wrong(authority: bytes, certificate: bytes, key: bytes, now: datetime) -> str:
    """Return why an authority, a certificate and a key are no member's now; empty if they are."""
    try:
        signer = x509.load_pem_x509_certificate(authority)
        issued = x509.load_pem_x509_certificate(certificate)
        private = serialization.load_pem_private_key(key, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        return f"authority, certificate or key cannot be read: {error}"
    if private.public_key() != issued.public_key():
        return "the key is of another certificate"
    try:
        issued.verify_directly_issued_by(signer)
    except (ValueError, TypeError, InvalidSignature):
        return "another authority signed it"
    if now > min(issued.not_valid_after_utc, signer.not_valid_after_utc):
        return f"it expired on {issued.not_valid_after_utc:%d %B %Y}"
    if now < max(issued.not_valid_before_utc, signer.not_valid_before_utc):
        return f"it is valid from {issued.not_valid_before_utc:%d %B %Y}; is the clock right?"
    return ""


def write_untrusted(folder: Path, span: Span) -> None:
    """Replace authority and key pin by those of an authority that signed nothing."""
    source = KeySource()
    authority = _authority(_Issuer(source.key("authority"), span, source))
    (folder / AUTHORITY).write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    (folder / KEY_PIN).write_text(_pin(authority))


def _pin(certificate: x509.Certificate) -> str:
    """Return the SHA-256 of a certificate's SubjectPublicKeyInfo in base64, as RFC 7469 does."""
    key = certificate.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return base64.b64encode(hashlib.sha256(key).digest()).decode() + "\n"


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(
    name: str, key: ec.EllipticCurvePrivateKey, issuer: _Issuer, subject: str
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(_AUTHORITY_NAME))
        .public_key(key.public_key())
        .serial_number(issuer.source.serial(name))
        .not_valid_before(issuer.span[0])
        .not_valid_after(issuer.span[1])
    )


def _authority(issuer: _Issuer) -> x509.Certificate:
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
    builder = _builder("", issuer.key, issuer, _AUTHORITY_NAME)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(usage, critical=True)
    identifier = x509.SubjectKeyIdentifier.from_public_key(issuer.key.public_key())
    return issuer.source.signed(builder.add_extension(identifier, critical=False), issuer.key)


def _certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    authority: x509.Certificate,
    issuer: _Issuer,
    purposes: Collection[x509.ObjectIdentifier] = (ExtendedKeyUsageOID.SERVER_AUTH,),
) -> x509.Certificate:
    names = x509.SubjectAlternativeName([x509.DNSName(name)])
    its = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    identifier = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(its)
    purpose = x509.ExtendedKeyUsage(purposes)
    builder = _builder(name, key, issuer, "httpbed test server")
    builder = builder.add_extension(names, critical=False)
    builder = builder.add_extension(identifier, critical=False)
    return issuer.source.signed(builder.add_extension(purpose, critical=False), issuer.key)
