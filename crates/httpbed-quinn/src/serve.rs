//! The server: the files of a folder, and a line of the access log for each request.

use crate::Failure;
use crate::options::Options;
use crate::transport::{H3, provider, transport};
use bytes::{Bytes, BytesMut};
use h3::server::RequestResolver;
use http::{Request, Response, StatusCode};
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, Incoming, ServerConfig};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use serde_json::json;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tokio::fs::File;
use tokio::io::AsyncReadExt;

/// Bytes that are read from a file at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// What all connections share.
struct Server {
    options: Options,
    content: PathBuf,
    log: Mutex<std::fs::File>,
    tls: Arc<QuicServerConfig>,
}

/// Answers until the process ends.
pub async fn run(options: Options) -> Result<(), Failure> {
    let chain = CertificateDer::pem_file_iter(&options.certificate)?.collect::<Result<_, _>>()?;
    let mut tls = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_file(&options.key)?)?;
    tls.alpn_protocols = vec![H3.into()];
    tls.key_log = Arc::new(rustls::KeyLogFile::new());
    let tls = Arc::new(QuicServerConfig::try_from(tls)?);
    let endpoint = Endpoint::server(ServerConfig::with_crypto(tls.clone()), options.address)?;
    let server = Arc::new(Server {
        content: options.content.canonicalize()?,
        log: Mutex::new(OpenOptions::new().create(true).append(true).open(&options.log)?),
        options,
        tls,
    });
    let mut number = 0_u64;
    while let Some(incoming) = endpoint.accept().await {
        number += 1;
        let server = server.clone();
        tokio::spawn(async move {
            if let Err(error) = server.connection(incoming, number).await {
                eprintln!("connection {number}: {error}");
            }
        });
    }
    Ok(())
}

impl Server {
    async fn connection(self: Arc<Self>, incoming: Incoming, number: u64) -> Result<(), Failure> {
        let mut config = ServerConfig::with_crypto(self.tls.clone());
        config.transport_config(Arc::new(transport(&self.options, &format!("server-{number}"))?));
        let connection = incoming.accept_with(Arc::new(config))?.await?;
        let mut http = h3::server::Connection::new(h3_quinn::Connection::new(connection)).await?;
        while let Some(resolver) = http.accept().await? {
            let server = self.clone();
            tokio::spawn(async move {
                if let Err(error) = server.request(resolver, number).await {
                    eprintln!("connection {number}: {error}");
                }
            });
        }
        Ok(())
    }

    /// Answers a request, and logs it even if the response broke off.
    async fn request(
        &self,
        resolver: RequestResolver<h3_quinn::Connection, Bytes>,
        number: u64,
    ) -> Result<(), Failure> {
        let (request, mut stream) = resolver.resolve_request().await?;
        // Otherwise quinn asks the client to stop sending, which curl takes for the response's end.
        while stream.recv_data().await?.is_some() {}
        let found = self.find(request.uri().path()).await;
        let status = if found.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND };
        let length = found.as_ref().map_or(0, |(_, length)| *length);
        let response = Response::builder().status(status).header("content-length", length);
        let mut sent = 0;
        let result: Result<(), Failure> = async {
            stream.send_response(response.body(())?).await?;
            if let Some((mut file, _)) = found {
                let mut chunk = BytesMut::new();
                loop {
                    chunk.reserve(CHUNK_BYTES);
                    if file.read_buf(&mut chunk).await? == 0 {
                        break;
                    }
                    let data = chunk.split().freeze();
                    let bytes = data.len();
                    stream.send_data(data).await?;
                    sent += bytes;
                }
            }
            Ok(stream.finish().await?)
        }
        .await;
        self.record(&request, number, status, sent, length)?;
        result
    }

    /// Returns the file of a path and its length; none if it is missing or outside of the content.
    async fn find(&self, path: &str) -> Option<(File, u64)> {
        let place = self.content.join(Path::new(path.trim_start_matches('/')));
        let place = tokio::fs::canonicalize(place).await.ok()?;
        if !place.starts_with(&self.content) {
            return None;
        }
        let file = File::open(place).await.ok()?;
        let about = file.metadata().await.ok()?;
        about.is_file().then_some((file, about.len()))
    }

    fn record(
        &self,
        request: &Request<()>,
        number: u64,
        status: StatusCode,
        sent: usize,
        length: u64,
    ) -> Result<(), Failure> {
        let line = json!({
            "protocol": "HTTP/3.0",
            "status": status.as_u16(),
            "body_bytes": sent,
            "content_length": length.to_string(),
            "connection": number.to_string(),
            "tls_version": "TLSv1.3",
            "path": request.uri().path(),
            "authority": request.uri().authority().map_or("", |authority| authority.as_str()),
        });
        let mut log = self.log.lock().map_err(|_| "the access log's lock is broken")?;
        Ok(log.write_all(format!("{line}\n").as_bytes())?)
    }
}
