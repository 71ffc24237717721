//! The settings of QUIC and TLS that both roles have.

use crate::Failure;
use crate::options::Options;
use quinn::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use quinn::{QlogConfig, TransportConfig, VarInt};
use rustls::crypto::CryptoProvider;
use std::fs::File;
use std::sync::Arc;

/// The application protocol of HTTP/3 (RFC 9114 section 3.1).
pub const H3: &[u8] = b"h3";

/// Returns the cryptography of the process.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Returns the settings of a connection; `name` names the file of its qlog.
///
/// A connection is never idle: httpbed decides when a transfer has taken too long.
pub fn transport(options: &Options, name: &str) -> Result<TransportConfig, Failure> {
    let mut transport = TransportConfig::default();
    transport
        .max_idle_timeout(None)
        .stream_receive_window(options.stream_receive_window.into())
        .receive_window(options.receive_window.map_or(VarInt::MAX, VarInt::from))
        .send_window(options.send_window)
        .initial_mtu(options.initial_mtu);
    match options.congestion_control.as_str() {
        "reno" => transport.congestion_controller_factory(Arc::new(NewRenoConfig::default())),
        "cubic" => transport.congestion_controller_factory(Arc::new(CubicConfig::default())),
        "bbr" => transport.congestion_controller_factory(Arc::new(BbrConfig::default())),
        other => return Err(format!("no congestion control {other:?}").into()),
    };
    if let Some(folder) = &options.qlog {
        let mut qlog = QlogConfig::default();
        qlog.writer(Box::new(File::create(folder.join(format!("{name}.sqlog")))?));
        transport.qlog_stream(qlog.into_stream());
    }
    Ok(transport)
}
