//! The client: files in parallel over one connection, each to its own file.

use crate::Failure;
use crate::options::Options;
use crate::transport::{H3, provider, transport};
use bytes::{Buf, Bytes};
use h3::client::RequestStream;
use h3_quinn::BidiStream;
use http::Request;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Endpoint};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use serde_json::json;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use tokio::fs::File;
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;

/// `H3_NO_ERROR`, RFC 9114 section 8.1.
const NO_ERROR: u32 = 0x100;

/// A request that was sent.
struct Fetch {
    path: String,
    file: PathBuf,
    start: Instant,
    began_s: f64,
    handshake_s: f64,
    connection: String,
}

/// Fetches every file, in as many rounds as requested, and closes the connection.
pub async fn run(options: Options) -> Result<(), Failure> {
    let start = Instant::now();
    let any: SocketAddr =
        if options.address.is_ipv6() { ([0_u16; 8], 0).into() } else { ([0, 0, 0, 0], 0).into() };
    let endpoint = Endpoint::client(any)?;
    let config = config(&options)?;
    let connection = endpoint.connect_with(config, options.address, &options.name)?.await?;
    let handshake_s = start.elapsed().as_secs_f64();
    let name = endpoint.local_addr()?.to_string();
    let (mut http, mut sender) = h3::client::new(h3_quinn::Connection::new(connection.clone())).await?;
    let closed = tokio::spawn(async move { poll_fn(|context| http.poll_close(context)).await });
    for _ in 0..options.rounds {
        let mut fetches = JoinSet::new();
        for (path, file) in &options.requests {
            let request = Request::get(format!("https://{}{path}", options.name))
                .header("user-agent", "httpbed-quinn")
                .body(())?;
            let fetch = Fetch {
                path: path.clone(),
                file: file.clone(),
                start,
                began_s: start.elapsed().as_secs_f64(),
                handshake_s,
                connection: name.clone(),
            };
            let mut stream = sender.send_request(request).await?;
            stream.finish().await?;
            fetches.spawn(fetch.receive(stream));
        }
        while let Some(result) = fetches.join_next().await {
            result??;
        }
    }
    drop(sender);
    connection.close(NO_ERROR.into(), b"");
    closed.await?;
    endpoint.wait_idle().await;
    Ok(())
}

impl Fetch {
    /// Stores the body, and prints the file's line; times are in seconds since the start.
    async fn receive(self, mut stream: RequestStream<BidiStream<Bytes>, Bytes>) -> Result<(), Failure> {
        let mut file = File::create(&self.file).await?;
        let mut body_bytes = 0;
        let mut first_byte_s = None;
        let response = stream.recv_response().await?;
        while let Some(mut data) = stream.recv_data().await? {
            first_byte_s.get_or_insert_with(|| self.start.elapsed().as_secs_f64());
            body_bytes += data.remaining();
            file.write_all_buf(&mut data).await?;
        }
        file.flush().await?;
        let line = json!({
            "http_version": "3",
            "path": self.path,
            "status": response.status().as_u16(),
            "body_bytes": body_bytes,
            "connection": self.connection,
            "tls_version": "TLSv1.3",
            "began_s": self.began_s,
            "handshake_s": self.handshake_s,
            "first_byte_s": first_byte_s,
            "ended_s": self.start.elapsed().as_secs_f64(),
        });
        println!("{line}");
        Ok(())
    }
}

/// Returns the settings of the connection; `$SSLKEYLOGFILE` asks for TLS secrets.
fn config(options: &Options) -> Result<ClientConfig, Failure> {
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
    Ok(config)
}
