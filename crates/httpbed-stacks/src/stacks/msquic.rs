//! msquic, with its own threads and sockets, and h3. It writes no qlog.

use crate::Failure;
use crate::lines::Content;
use crate::options::Options;
use crate::over_h3::{self, Messages, NO_ERROR, Quic};
use bytes::Bytes;
use h3_msquic_async::msquic::{
    BufferRef, CertificateFile, Configuration, Credential, CredentialConfig, CredentialFlags, Registration,
    RegistrationConfig, Settings,
};
use h3_msquic_async::msquic_async::{Connection, Listener};
use std::fs::{File, OpenOptions};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tokio::runtime::Runtime;

/// What `--version` prints.
pub const VERSION: &str = concat!("msquic ", env!("MSQUIC_VERSION"), ", h3 ", env!("H3_VERSION"));

/// The stack's own options: windows in bytes, the congestion window in packets.
pub const KNOBS: &[(&str, &str)] = &[
    ("congestion-control", "cubic"),
    ("initial-window-packets", "10"),
    ("stream-receive-window", "65536"),
    ("connection-window", "16777216"),
];

/// The longest time without an acknowledgement: httpbed decides when a transfer has taken too long.
const PATIENCE_MS: u32 = 600_000;

/// Streams that a peer may open at once.
const STREAMS: u16 = 100;

impl Quic for h3_msquic_async::Connection {}
impl Messages for h3_msquic_async::BidiStream<Bytes> {}

/// Fetches files; `$SSLKEYLOGFILE` asks for TLS secrets.
///
/// msquic looks the server's name up, so `/etc/hosts` must have the address.
pub fn get(options: &Options) -> Result<(), Failure> {
    Runtime::new()?.block_on(async {
        let start = Instant::now();
        let registration = Registration::new(&RegistrationConfig::default())?;
        let authority = text(&options.certificate)?;
        let credential = CredentialConfig::new_client()
            .set_credential_flags(CredentialFlags::SET_CA_CERTIFICATE_FILE)
            .set_ca_certificate_file(authority);
        let configuration = configuration(options, &registration, &credential)?;
        let connection = Connection::new(&registration)?;
        if let Some(file) = key_log()? {
            connection.set_sslkeylog_file(file)?;
        }
        connection.start(&configuration, &options.name, options.address.port()).await?;
        let reached = connection.get_remote_addr()?;
        if reached != options.address {
            return Err(format!("{} is {reached}, not {}", options.name, options.address).into());
        }
        let name = connection.get_local_addr()?.to_string();
        let http = h3_msquic_async::Connection::new(connection.clone());
        let close = || drop(connection.shutdown(NO_ERROR.into()));
        over_h3::fetch(options, http, &name, start, close).await
    })
}

/// Answers until the process ends.
pub fn serve(options: &Options) -> Result<(), Failure> {
    Runtime::new()?.block_on(async {
        let content = Arc::new(Content::open(options)?);
        let registration = Registration::new(&RegistrationConfig::default())?;
        let file = CertificateFile::new(text(&options.key)?, text(&options.certificate)?);
        let credential = CredentialConfig::new().set_credential(Credential::CertificateFile(file));
        let configuration = configuration(options, &registration, &credential)?;
        let listener = Listener::new(&registration, configuration)?;
        if let Some(file) = key_log()? {
            listener.set_sslkeylog_file(file)?;
        }
        listener.start(&[BufferRef::from("h3")], Some(options.address))?;
        let mut number = 0_u64;
        loop {
            let http = h3_msquic_async::Connection::new(listener.accept().await?);
            number += 1;
            let content = content.clone();
            tokio::spawn(async move {
                if let Err(error) = over_h3::serve(content, http, number).await {
                    eprintln!("connection {number}: {error}");
                }
            });
        }
    })
}

fn text(path: &Path) -> Result<String, Failure> {
    Ok(path.to_str().ok_or("a path is not in UTF-8")?.to_owned())
}

fn key_log() -> Result<Option<File>, Failure> {
    let file = std::env::var_os("SSLKEYLOGFILE").filter(|file| !file.is_empty());
    Ok(file.map(|file| OpenOptions::new().create(true).append(true).open(file)).transpose()?)
}

/// Returns the settings of all connections.
fn configuration(
    options: &Options,
    registration: &Registration,
    credential: &CredentialConfig,
) -> Result<Configuration, Failure> {
    // QUIC_CONGESTION_CONTROL_ALGORITHM of msquic.h
    let control = match options.knob::<String>("congestion-control")?.as_str() {
        "cubic" => 0,
        "bbr" => 1,
        other => return Err(format!("no congestion control {other:?}").into()),
    };
    let settings = Settings::new()
        .set_IdleTimeoutMs(0)
        .set_HandshakeIdleTimeoutMs(PATIENCE_MS.into())
        .set_DisconnectTimeoutMs(PATIENCE_MS)
        .set_PeerBidiStreamCount(STREAMS)
        .set_PeerUnidiStreamCount(STREAMS)
        .set_CongestionControlAlgorithm(control)
        .set_InitialWindowPackets(options.knob("initial-window-packets")?)
        .set_StreamRecvWindowDefault(options.knob("stream-receive-window")?)
        .set_ConnFlowControlWindow(options.knob("connection-window")?)
        .set_StreamMultiReceiveEnabled();
    let configuration = Configuration::open(registration, &[BufferRef::from("h3")], Some(&settings))?;
    configuration.load_credential(credential)?;
    Ok(configuration)
}
