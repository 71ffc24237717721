//! What the program tells httpbed: the client's line of a request, and the server's access log.

use crate::Failure;
use crate::options::Options;
use bytes::Bytes;
use serde_json::json;
use std::fs::{File, OpenOptions};
use std::io::{Read, Take, Write};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

/// Bytes that are read from a file at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// A request of the client; times are in seconds since its start.
pub struct Fetch {
    /// Status of the response.
    pub status: u16,
    path: String,
    file: File,
    start: Instant,
    began_s: f64,
    handshake_s: f64,
    first_byte_s: Option<f64>,
    connection: String,
    body_bytes: usize,
}

impl Fetch {
    /// Begins one; `connection` is any text that is the same for every request of a connection.
    pub fn begin(
        (path, file): &(String, PathBuf),
        start: Instant,
        handshake_s: f64,
        connection: &str,
    ) -> Result<Self, Failure> {
        Ok(Self {
            status: 0,
            path: path.clone(),
            file: File::create(file)?,
            start,
            began_s: start.elapsed().as_secs_f64(),
            handshake_s,
            first_byte_s: None,
            connection: connection.to_owned(),
            body_bytes: 0,
        })
    }

    /// Stores bytes of the body.
    pub fn receive(&mut self, data: &[u8]) -> Result<(), Failure> {
        self.first_byte_s.get_or_insert_with(|| self.start.elapsed().as_secs_f64());
        self.body_bytes += data.len();
        Ok(self.file.write_all(data)?)
    }

    /// Prints the request's line.
    pub fn end(self) {
        let line = json!({
            "http_version": "3",
            "path": self.path,
            "status": self.status,
            "body_bytes": self.body_bytes,
            "connection": self.connection,
            "tls_version": "TLSv1.3",
            "began_s": self.began_s,
            "handshake_s": self.handshake_s,
            "first_byte_s": self.first_byte_s,
            "ended_s": self.start.elapsed().as_secs_f64(),
        });
        println!("{line}");
    }
}

/// The folder that a server shows, and its access log.
pub struct Content {
    folder: PathBuf,
    log: Mutex<File>,
}

/// A response of the server.
pub struct Answer {
    /// Status of the response.
    pub status: u16,
    /// Bytes of the whole body.
    pub length: u64,
    /// Bytes of the body that the stack has taken.
    pub sent: u64,
    file: Option<Take<File>>,
    path: String,
    authority: String,
}

impl Content {
    /// Opens folder and log.
    pub fn open(options: &Options) -> Result<Self, Failure> {
        let log = OpenOptions::new().create(true).append(true).open(&options.log)?;
        Ok(Self { folder: options.content.canonicalize()?, log: Mutex::new(log) })
    }

    /// Answers a request. There is no file if it is missing or outside of the folder.
    pub fn answer(&self, path: &str, authority: &str) -> Answer {
        let place = self.folder.join(path.trim_start_matches('/'));
        let found = place.canonicalize().ok().filter(|place| place.starts_with(&self.folder));
        let file = found.filter(|place| place.is_file()).and_then(|place| File::open(place).ok());
        let length = file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |about| about.len());
        Answer {
            status: if file.is_some() { 200 } else { 404 },
            length,
            sent: 0,
            file: file.map(|file| file.take(length)),
            path: path.to_owned(),
            authority: authority.to_owned(),
        }
    }

    /// Logs a response; it may have broken off.
    pub fn record(&self, answer: &Answer, connection: u64) -> Result<(), Failure> {
        let line = json!({
            "protocol": "HTTP/3.0",
            "status": answer.status,
            "body_bytes": answer.sent,
            "content_length": answer.length.to_string(),
            "connection": connection.to_string(),
            "tls_version": "TLSv1.3",
            "path": answer.path,
            "authority": answer.authority,
        });
        let mut log = self.log.lock().map_err(|_| "the access log's lock is broken")?;
        Ok(log.write_all(format!("{line}\n").as_bytes())?)
    }
}

impl Answer {
    /// Reads the next bytes of the body; none at its end.
    pub fn next(&mut self) -> Result<Bytes, Failure> {
        let mut chunk = Vec::with_capacity(CHUNK_BYTES);
        if let Some(file) = &mut self.file {
            file.by_ref().take(CHUNK_BYTES as u64).read_to_end(&mut chunk)?;
        }
        Ok(chunk.into())
    }
}
