//! One request and its result.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use boring::sha::Sha256;
use quiche::h3::{Header, NameValue};

use crate::failure::{Code, Failure};
use crate::origin::Url;

/// A request, open or over; times are since the program's start.
pub struct Transfer {
    /// The index of its URL on the command line.
    pub place: usize,
    /// Its round, from 0.
    pub round: usize,
    /// Status of the final response.
    pub status: Option<u16>,
    /// Bytes of the body.
    pub bytes: u64,
    /// When it was passed to QUIC.
    pub began: Duration,
    /// When the first part of the response was read.
    pub first_byte: Option<Duration>,
    /// When the response was complete, or failed.
    pub ended: Option<Duration>,
    /// Why it is incomplete.
    pub failure: Option<Failure>,
    /// SHA-256 of a complete body that goes to no file, in hexadecimal digits.
    pub sha256: Option<String>,
    announced: Option<u64>,
    digest: Option<Sha256>,
    file: Option<File>,
}

impl Transfer {
    /// A request about to be sent; its body goes to `output`.
    ///
    /// # Errors
    /// When that file cannot be created.
    pub fn begin(place: usize, round: usize, output: Option<&Path>, now: Duration) -> Result<Self, Failure> {
        let create = |path: &Path| {
            File::create(path)
                .map_err(|error| Failure::new(Code::Write, format!("{}: {error}", path.display())))
        };
        Ok(Self {
            place,
            round,
            status: None,
            bytes: 0,
            began: now,
            first_byte: None,
            ended: None,
            failure: None,
            sha256: None,
            announced: None,
            // A user with the file can hash it; hashing during the transfer would take a sixth of all CPU time.
            digest: output.is_none().then(Sha256::new),
            file: output.map(create).transpose()?,
        })
    }

    /// The header fields of a request.
    pub fn request(url: &Url) -> [Header; 5] {
        let agent = concat!("httpbed-quiche/", env!("CARGO_PKG_VERSION"));
        [
            Header::new(b":method", b"GET"),
            Header::new(b":scheme", b"https"),
            Header::new(b":authority", url.authority.as_bytes()),
            Header::new(b":path", url.path.as_bytes()),
            Header::new(b"user-agent", agent.as_bytes()),
        ]
    }

    /// Reads a header section. The next one replaces that of an interim response; a trailer has no status.
    pub fn take_headers(&mut self, fields: &[Header], now: Duration) {
        self.first_byte.get_or_insert(now);
        for field in fields {
            let value = || str::from_utf8(field.value()).ok();
            match field.name() {
                b":status" => self.status = value().and_then(|text| text.parse().ok()),
                b"content-length" => self.announced = value().and_then(|text| text.parse().ok()),
                _ => {}
            }
        }
    }

    /// Takes a piece of the body.
    pub fn take_body(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        if let Some(digest) = &mut self.digest {
            digest.update(piece);
        }
        let written = self.file.as_mut().map_or(Ok(()), |file| file.write_all(piece));
        if let Err(error) = written {
            self.file = None;
            self.failure = Some(Failure::new(Code::Write, format!("the body cannot be written: {error}")));
        }
    }

    /// The response is complete as far as QUIC knows; HTTP may have announced more.
    pub fn finish(&mut self, now: Duration) {
        if let Some(announced) = self.announced.filter(|announced| *announced != self.bytes) {
            let message = format!("the body ended after {} of {announced} bytes", self.bytes);
            self.failure.get_or_insert(Failure::new(Code::Partial, message));
        } else if self.status.is_none() {
            self.failure.get_or_insert(Failure::new(Code::Http3, "the response has no status"));
        }
        self.close(now);
    }

    /// Ends it now.
    pub fn break_off(&mut self, failure: Failure, now: Duration) {
        self.failure.get_or_insert(failure);
        self.close(now);
    }

    fn close(&mut self, now: Duration) {
        self.ended = Some(now);
        self.file = None;
        self.sha256 = self.digest.take().map(|digest| hexadecimal(&digest.finish()));
    }
}

/// Bytes as two digits each.
pub fn hexadecimal(bytes: &[u8]) -> String {
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves.filter_map(|half| char::from_digit(half.into(), 16)).collect()
}
