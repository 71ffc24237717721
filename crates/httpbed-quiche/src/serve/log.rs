//! The access log: one JSON object for each request.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use serde::Serialize;

use crate::failure::{Code, Failure};

/// A request with its response.
#[derive(Debug, Serialize)]
pub struct Entry<'a> {
    /// `HTTP/3.0`.
    pub protocol: &'a str,
    /// 0 if the client left before there was a status.
    pub status: u16,
    /// Bytes passed to QUIC.
    pub body_bytes: u64,
    /// Counts connections from 1.
    pub connection: u64,
    /// As requested.
    pub path: &'a str,
    /// `r` if a ticket was accepted, otherwise `.`, as in nginx.
    pub resumed: &'a str,
    /// `1` if the request came in a 0-RTT packet, otherwise empty, as in nginx.
    pub early_data: &'a str,
    /// Such as `TLSv1.3`.
    pub tls_version: &'a str,
    /// Such as `TLS_AES_128_GCM_SHA256`.
    pub cipher: &'a str,
    /// From the request's arrival until its body was passed to QUIC.
    pub duration_s: f64,
}

/// A file, or nothing.
pub struct Log(Option<File>);

impl Log {
    /// Appends to a file.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let open = |path: &Path| {
            let file = OpenOptions::new().create(true).append(true).open(path);
            file.map_err(|error| Failure::new(Code::Write, format!("{}: {error}", path.display())))
        };
        path.map(open).transpose().map(Self)
    }

    /// Writes an entry at once, because a signal ends the server.
    pub fn add(&mut self, entry: &Entry<'_>) {
        let Some(file) = &mut self.0 else { return };
        let Ok(mut line) = serde_json::to_string(entry) else { return };
        line.push('\n');
        if let Err(error) = file.write_all(line.as_bytes()) {
            eprintln!("httpbed-quiche: the access log cannot be written, so it ends here: {error}");
            self.0 = None;
        }
    }
}
