//! TLS: the client's trust, and the result of the handshake.

use std::net::IpAddr;
use std::path::Path;

use boring::error::ErrorStack;
use boring::ssl::{SslCipherRef, SslContextBuilder, SslMethod, SslRef};
use boring::x509::X509VerifyError;

use crate::failure::{Code, Failure};

/// TLS alerts are QUIC errors from this number on (RFC 9001 section 4.8).
const ALERTS: std::ops::Range<u64> = 0x100..0x200;
/// `ssl_early_data_accepted` of BoringSSL's `ssl_early_data_reason_t`.
const EARLY_DATA_ACCEPTED: u32 = 2;

/// The result of a handshake.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    /// Such as `TLSv1.3`.
    pub version: String,
    /// Such as `TLS_AES_128_GCM_SHA256`.
    pub cipher: String,
    /// Whether a ticket of an earlier connection was accepted.
    pub resumed: bool,
    /// Whether the server accepted the 0-RTT packets.
    pub early_data: bool,
}

/// A client's context that trusts the certificates in a file, or those of this machine.
///
/// # Errors
/// When the file holds no certificates.
pub fn client_context(authorities: Option<&Path>) -> Result<SslContextBuilder, Failure> {
    let unusable = |error: ErrorStack| {
        let (file, remedy) = authorities.map_or_else(
            || ("this machine's certificates".into(), "install ca-certificates, or use --cacert FILE"),
            |file| (file.to_string_lossy(), "--cacert needs a readable file of certificates in PEM"),
        );
        Failure::new(Code::Authorities, format!("{file}: {}; {remedy}", reason(&error)))
    };
    let mut context = SslContextBuilder::new(SslMethod::tls()).map_err(unusable)?;
    match authorities {
        Some(file) => context.set_ca_file(file),
        None => context.set_default_verify_paths(),
    }
    .map_err(unusable)?;
    Ok(context)
}

/// Lets the server's certificate be checked for an address instead of a name.
///
/// # Errors
/// When memory is short.
pub fn expect_address(tls: &mut SslRef, address: IpAddr) -> Result<(), Failure> {
    let failed = |error: ErrorStack| Failure::new(Code::Tls, reason(&error));
    tls.verify_param_mut().set_ip(address).map_err(failed)
}

/// The result of a connection's handshake, once it is complete.
pub fn agreed(quic: &mut quiche::Connection) -> Agreed {
    let (resumed, accepted) = (quic.is_resumed(), quic.early_data_reason() == EARLY_DATA_ACCEPTED);
    let tls: &mut SslRef = quic.as_mut();
    Agreed {
        version: tls.version_str().to_owned(),
        cipher: tls.current_cipher().and_then(SslCipherRef::standard_name).unwrap_or_default().to_owned(),
        resumed,
        early_data: accepted,
    }
}

/// Why the certificate is not trusted, if that ended the connection.
pub fn distrust(quic: &mut quiche::Connection, host: &str) -> Option<Failure> {
    let tls: &mut SslRef = quic.as_mut();
    let error = tls.verify_result().err()?;
    let remedy =
        if error == X509VerifyError::HOSTNAME_MISMATCH || error == X509VerifyError::IP_ADDRESS_MISMATCH {
            "ask for a name that the certificate has, with --connect-to for its address"
        } else {
            "give the certificate that signed it with --cacert FILE"
        };
    let message = format!("the certificate of {host} is not trusted: {}; {remedy}", error.error_string());
    Some(Failure::new(Code::Certificate, message))
}

/// The TLS alert in a QUIC error, if there is one.
pub fn alert(code: u64) -> Option<String> {
    ALERTS.contains(&code).then(|| match code - ALERTS.start {
        40 => "handshake failure (alert 40): no version or cipher in common".to_owned(),
        112 => "unrecognised name (alert 112): the server does not serve this host".to_owned(),
        120 => "no application protocol (alert 120): the server does not speak HTTP/3 here".to_owned(),
        number => format!("alert {number}"),
    })
}

/// BoringSSL's last error.
pub fn reason(error: &ErrorStack) -> String {
    let last = error.errors().last().and_then(|error| error.reason());
    last.map_or_else(|| "unreadable".to_owned(), |reason| reason.to_lowercase().replace('_', " "))
}
