//! A client's connection: its requests and the progress of their responses.
//!
//! A response is sent as QUIC has room for it: first the header section, then the file, read at the current offset
//! in pieces no larger than that room. quiche keeps unacknowledged data, so no file is held in memory.

use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::time::Instant;

use quiche::h3::{self, Event, Header, NameValue};
use quiche::{ConnectionId, RecvInfo};

use super::files::{Found, Root};
use super::log::{Entry, Log};
use super::outgoing::{Outgoing, Outlet};
use super::salvage::Salvage;
use crate::report::seconds;
use crate::tls;

/// Length of the connection IDs that this server issues.
pub const ID_BYTES: usize = 16;
/// The largest piece read from a file at once.
const PIECE_BYTES: usize = 16 << 10;
/// `H3_INTERNAL_ERROR` (RFC 9114 section 8.1).
const INTERNAL_ERROR: u64 = 0x102;

/// A client's connection.
pub struct Connection {
    quic: quiche::Connection,
    number: u64,
    http: Option<h3::Connection>,
    responses: BTreeMap<u64, Response>,
    outgoing: Outgoing,
    salvage: Salvage,
    names: Vec<Vec<u8>>,
}

/// A response in progress.
struct Response {
    path: String,
    status: u16,
    body: Option<Found>,
    length: u64,
    has_head: bool,
    sent: u64,
    early: bool,
    began: Instant,
}

impl Connection {
    /// A connection that has received no datagram yet.
    pub fn new(quic: quiche::Connection, number: u64) -> Self {
        Self {
            quic,
            number,
            http: None,
            responses: BTreeMap::new(),
            outgoing: Outgoing::default(),
            salvage: Salvage::default(),
            names: Vec::new(),
        }
    }

    /// Takes a datagram.
    pub fn receive(&mut self, datagram: &mut [u8], info: RecvInfo) {
        // An unreadable packet is dropped; quiche keeps an error of the connection as its local error.
        let _ = self.quic.recv(datagram, info);
    }

    /// Answers and sends what is possible now; returns when to call it again.
    pub fn turn(&mut self, outlet: &Outlet, root: &Root, log: &mut Log) -> Option<Instant> {
        if self.quic.timeout_instant().is_some_and(|due| due <= Instant::now()) {
            self.quic.on_timeout();
        }
        self.converse(root, log);
        self.offer_names();
        self.salvage.turn(&mut self.quic, outlet);
        let more = self.outgoing.flush(&mut self.quic, outlet);
        if self.quic.is_closed() {
            self.abandon(log);
        }
        [self.quic.timeout_instant(), more, self.salvage.due()].into_iter().flatten().min()
    }

    /// Whether the connection has ended.
    pub fn is_closed(&self) -> bool {
        self.quic.is_closed()
    }

    /// Connection IDs issued to the client since the last call.
    pub fn fresh_names(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.names)
    }

    /// Connection IDs that the client retired.
    pub fn retired_names(&mut self) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| self.quic.retired_scid_next()).map(|name| name.to_vec()).collect()
    }

    /// Issues as many spare connection IDs as the client accepts; a client that changes its address needs them.
    fn offer_names(&mut self) {
        while self.quic.is_established() && self.quic.scids_left() > 0 {
            let (mut id, mut token) = ([0; ID_BYTES], [0; 16]);
            let random =
                boring::rand::rand_bytes(&mut id).and_then(|()| boring::rand::rand_bytes(&mut token));
            let name = ConnectionId::from_ref(&id);
            if random.is_err() || self.quic.new_scid(&name, u128::from_ne_bytes(token), false).is_err() {
                return;
            }
            self.names.push(id.to_vec());
        }
    }

    /// An HTTP/3 error closes the connection; quiche has already done so when it reports the error.
    fn converse(&mut self, root: &Root, log: &mut Log) {
        if self.http.is_none() && (self.quic.is_established() || self.quic.is_in_early_data()) {
            let config = h3::Config::new();
            self.http =
                config.and_then(|config| h3::Connection::with_transport(&mut self.quic, &config)).ok();
        }
        let Some(mut http) = self.http.take() else { return };
        while let Ok((stream, event)) = http.poll(&mut self.quic) {
            match event {
                Event::Headers { list, .. } => self.take(stream, &list, root),
                Event::Data => discard(&mut http, &mut self.quic, stream),
                Event::Reset(_) => self.end(stream, log),
                Event::Finished | Event::GoAway | Event::PriorityUpdate => {}
            }
        }
        let streams: Vec<u64> = self.responses.keys().copied().collect();
        for stream in streams {
            let Some(response) = self.responses.get_mut(&stream) else { continue };
            match response.send(&mut http, &mut self.quic, stream) {
                Ok(()) if response.is_whole() => self.end(stream, log),
                Ok(()) | Err(h3::Error::StreamBlocked | h3::Error::Done) => {}
                Err(_) => {
                    // The client has stopped the stream, or the file has shrunk.
                    let _ = self.quic.stream_shutdown(stream, quiche::Shutdown::Write, INTERNAL_ERROR);
                    self.end(stream, log);
                }
            }
        }
        self.http = Some(http);
    }

    fn take(&mut self, stream: u64, fields: &[Header], root: &Root) {
        // A trailer.
        if self.responses.contains_key(&stream) {
            return;
        }
        let field = |name: &[u8]| fields.iter().find(|field| field.name() == name).map(NameValue::value);
        let path = String::from_utf8_lossy(field(b":path").unwrap_or_default()).into_owned();
        let found = match field(b":method") {
            Some(b"GET" | b"HEAD") => root.find(&path),
            _ => Err(405),
        };
        let with_body = field(b":method") == Some(b"GET");
        let early = !self.quic.is_established();
        self.responses.insert(stream, Response::new(path, found, with_body, early));
    }

    fn end(&mut self, stream: u64, log: &mut Log) {
        let Some(response) = self.responses.remove(&stream) else { return };
        let agreed = tls::agreed(&mut self.quic);
        log.add(&Entry {
            protocol: "HTTP/3.0",
            status: if response.has_head { response.status } else { 0 },
            body_bytes: response.sent,
            connection: self.number,
            path: &response.path,
            resumed: if agreed.resumed { "r" } else { "." },
            early_data: if response.early { "1" } else { "" },
            tls_version: &agreed.version,
            cipher: &agreed.cipher,
            duration_s: seconds(response.began.elapsed()),
        });
    }

    fn abandon(&mut self, log: &mut Log) {
        let streams: Vec<u64> = self.responses.keys().copied().collect();
        for stream in streams {
            self.end(stream, log);
        }
    }
}

/// No request has a use for a body; reading it lets the client finish.
fn discard(http: &mut h3::Connection, quic: &mut quiche::Connection, stream: u64) {
    let mut piece = [0; 4096];
    while http.recv_body(quic, stream, &mut piece).is_ok() {}
}

impl Response {
    fn new(path: String, found: Result<Found, u16>, with_body: bool, early: bool) -> Self {
        let status = found.as_ref().err().copied().unwrap_or(200);
        let length = found.as_ref().map_or(0, |found| found.length);
        let body = found.ok().filter(|found| with_body && found.length > 0);
        Self { path, status, body, length, has_head: false, sent: 0, early, began: Instant::now() }
    }

    fn is_whole(&self) -> bool {
        self.has_head && self.body.as_ref().is_none_or(|body| self.sent == body.length)
    }

    fn send(
        &mut self,
        http: &mut h3::Connection,
        quic: &mut quiche::Connection,
        stream: u64,
    ) -> Result<(), h3::Error> {
        if !self.has_head {
            let (status, length) = (self.status.to_string(), self.length.to_string());
            let fields = [
                Header::new(b":status", status.as_bytes()),
                Header::new(b"server", b"httpbed-quiche"),
                Header::new(b"content-length", length.as_bytes()),
            ];
            http.send_response(quic, stream, &fields, self.body.is_none())?;
            self.has_head = true;
        }
        let Some(body) = &self.body else { return Ok(()) };
        let mut piece = [0; PIECE_BYTES];
        while self.sent < body.length {
            let room = quic.stream_capacity(stream).map_err(h3::Error::TransportError)?.min(PIECE_BYTES);
            if room == 0 {
                break;
            }
            let count = body.file.read_at(&mut piece[..room], self.sent).unwrap_or(0);
            if count == 0 {
                return Err(h3::Error::InternalError);
            }
            let last = self.sent + count as u64 == body.length;
            let taken = http.send_body(quic, stream, &piece[..count], last)?;
            self.sent += taken as u64;
            if taken < count {
                break;
            }
        }
        Ok(())
    }
}
