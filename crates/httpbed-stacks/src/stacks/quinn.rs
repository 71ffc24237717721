//! quinn, with its own sockets and timers, and h3.

use crate::Failure;
use crate::lines::Content;
use crate::options::Options;
use crate::over_h3::{self, Messages, NO_ERROR, Quic};
use bytes::Bytes;
use quinn::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Endpoint, QlogConfig, ServerConfig, TransportConfig, VarInt};
use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;
use tokio::runtime::Runtime;

/// What `--version` prints.
pub const VERSION: &str = concat!("quinn ", env!("QUINN_VERSION"), ", h3 ", env!("H3_VERSION"));

/// The stack's own options: windows in bytes, and the size of the first packets.
pub const KNOBS: &[(&str, &str)] = &[
    ("congestion-control", "cubic"),
    ("stream-receive-window", "1250000"),
    ("receive-window", "unlimited"),
    ("send-window", "10000000"),
    ("initial-mtu", "1200"),
];

/// The application protocol of HTTP/3 (RFC 9114 section 3.1).
const H3: &[u8] = b"h3";

impl Quic for h3_quinn::Connection {}
impl Messages for h3_quinn::BidiStream<Bytes> {}

/// Fetches files; `$SSLKEYLOGFILE` asks for TLS secrets.
pub fn get(options: &Options) -> Result<(), Failure> {
    Runtime::new()?.block_on(async {
        let start = Instant::now();
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(&options.certificate)? {
            roots.add(certificate?)?;
        }
        let mut tls = rustls::ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = vec![H3.into()];
        tls.key_log = Arc::new(rustls::KeyLogFile::new());
        let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
        config.transport_config(Arc::new(transport(options, "client")?));
        let any: SocketAddr =
            if options.address.is_ipv6() { ([0_u16; 8], 0).into() } else { ([0, 0, 0, 0], 0).into() };
        let endpoint = Endpoint::client(any)?;
        let connection = endpoint.connect_with(config, options.address, &options.name)?.await?;
        let name = endpoint.local_addr()?.to_string();
        let http = h3_quinn::Connection::new(connection.clone());
        over_h3::fetch(options, http, &name, start, || connection.close(NO_ERROR.into(), b"")).await?;
        endpoint.wait_idle().await;
        Ok(())
    })
}

/// Answers until the process ends.
pub fn serve(options: &Options) -> Result<(), Failure> {
    Runtime::new()?.block_on(async {
        let content = Arc::new(Content::open(options)?);
        let chain = CertificateDer::pem_file_iter(&options.certificate)?.collect::<Result<_, _>>()?;
        let mut tls = rustls::ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_no_client_auth()
            .with_single_cert(chain, PrivateKeyDer::from_pem_file(&options.key)?)?;
        tls.alpn_protocols = vec![H3.into()];
        tls.key_log = Arc::new(rustls::KeyLogFile::new());
        let tls = Arc::new(QuicServerConfig::try_from(tls)?);
        let endpoint = Endpoint::server(ServerConfig::with_crypto(tls.clone()), options.address)?;
        let mut number = 0_u64;
        while let Some(incoming) = endpoint.accept().await {
            number += 1;
            let mut config = ServerConfig::with_crypto(tls.clone());
            config.transport_config(Arc::new(transport(options, &format!("server-{number}"))?));
            let connecting = incoming.accept_with(Arc::new(config))?;
            let content = content.clone();
            tokio::spawn(async move {
                let done = async {
                    let http = h3_quinn::Connection::new(connecting.await?);
                    over_h3::serve(content, http, number).await
                };
                if let Err(error) = done.await {
                    eprintln!("connection {number}: {error}");
                }
            });
        }
        Ok(())
    })
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Returns the settings of a connection; `name` names the file of its qlog.
///
/// A connection is never idle: httpbed decides when a transfer has taken too long.
fn transport(options: &Options, name: &str) -> Result<TransportConfig, Failure> {
    let mut transport = TransportConfig::default();
    let receive_window = match options.knob::<String>("receive-window")?.as_str() {
        "unlimited" => VarInt::MAX,
        _ => VarInt::from(options.knob::<u32>("receive-window")?),
    };
    transport
        .max_idle_timeout(None)
        .stream_receive_window(options.knob::<u32>("stream-receive-window")?.into())
        .receive_window(receive_window)
        .send_window(options.knob("send-window")?)
        .initial_mtu(options.knob("initial-mtu")?);
    match options.knob::<String>("congestion-control")?.as_str() {
        "reno" => transport.congestion_controller_factory(Arc::new(NewRenoConfig::default())),
        "cubic" => transport.congestion_controller_factory(Arc::new(CubicConfig::default())),
        "bbr" => transport.congestion_controller_factory(Arc::new(BbrConfig::default())),
        other => return Err(format!("no congestion control {other:?}").into()),
    };
    if let Some(file) = options.qlog_file(name)? {
        let mut qlog = QlogConfig::default();
        qlog.writer(Box::new(file));
        transport.qlog_stream(qlog.into_stream());
    }
    Ok(transport)
}
