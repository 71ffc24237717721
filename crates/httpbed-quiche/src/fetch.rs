//! A connection and its requests as a state machine: datagrams in, datagrams out, without sockets and waiting.
//!
//! # Theory of operation
//!
//! The caller repeats four steps, in any order and any number of times:
//!
//! ```text
//! receive(datagram)     a datagram has come
//! expire()              time has passed; deadline() says when that matters
//! advance(now)          read what came, ask for what is next, see whether all is done
//! send(buffer)          the next datagram to send, until there is none
//! ```
//!
//! It ends when [`Fetch::is_over`]; then [`Fetch::failure`] has the reason, unless everything was fetched.
//!
//! The states of a request: *waiting* (a place in a round) -> *open* (it has a stream) -> *over* (complete, or
//! failed). Every planned request ends in *over*, whatever happens to the connection, so the report is complete. A
//! round begins when no request of the one before is waiting or open.
//!
//! Requests may be sent as soon as TLS has keys for them. That is when the handshake is complete, or, with a ticket
//! that allows early data, after the first flight. So `send` advances until HTTP/3 has begun: the first `send`
//! creates the ClientHello, and the requests must be in the datagrams right after it. If the server rejects early
//! data, quiche sends the same streams again in 1-RTT packets.
//!
//! quiche reads the monotonic clock itself, in `recv`, `send` and `on_timeout`. So `now` is only for the reported
//! times, and a test can choose it. Timers (loss, idle timeout) cannot be tested in virtual time.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use quiche::h3::{self, Event};
use quiche::{Connection, RecvInfo, SendInfo};

use crate::failure::{Code, Failure};
use crate::origin::Url;
use crate::tls;
use crate::transfer::Transfer;

/// `H3_NO_ERROR` (RFC 9114 section 8.1).
const NO_ERROR: u64 = 0x100;
/// The size of one read of a body.
const PIECE_BYTES: usize = 64 << 10;

/// What is to be fetched.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// URLs of one origin.
    pub urls: Vec<Url>,
    /// Files of their bodies, in the same order; further bodies are discarded.
    pub outputs: Vec<PathBuf>,
    /// Number of rounds in which all URLs are fetched.
    pub rounds: usize,
    /// Requests at once.
    pub max_parallel: usize,
}

/// The state machine.
pub struct Fetch {
    quic: Connection,
    http: Option<h3::Connection>,
    plan: Plan,
    round: usize,
    waiting: VecDeque<usize>,
    open: BTreeMap<u64, Transfer>,
    over: Vec<Transfer>,
    handshake: Option<Duration>,
    asked_early: bool,
    failure: Option<Failure>,
    piece: Vec<u8>,
}

impl Fetch {
    /// A connection that has sent nothing yet.
    pub fn new(quic: Connection, plan: Plan) -> Self {
        Self {
            quic,
            http: None,
            waiting: (0..plan.urls.len()).collect(),
            plan,
            round: 0,
            open: BTreeMap::new(),
            over: Vec::new(),
            handshake: None,
            asked_early: false,
            failure: None,
            piece: vec![0; PIECE_BYTES],
        }
    }

    /// Takes a datagram, which is decrypted in place.
    pub fn receive(&mut self, datagram: &mut [u8], info: RecvInfo) {
        // An unreadable packet is dropped; quiche keeps an error of the connection as its local error.
        let _ = self.quic.recv(datagram, info);
    }

    /// When [`Self::expire`] is due.
    pub fn deadline(&self) -> Option<Instant> {
        self.quic.timeout_instant()
    }

    /// Handles expired timers.
    pub fn expire(&mut self) {
        if self.deadline().is_some_and(|deadline| deadline <= Instant::now()) {
            self.quic.on_timeout();
        }
    }

    /// Writes the next datagram and returns its source and destination; `None` if there is none for now.
    pub fn send(&mut self, buffer: &mut [u8], now: Duration) -> Option<(usize, SendInfo)> {
        let sent = self.quic.send(buffer).ok();
        if sent.is_some() && self.http.is_none() {
            self.advance(now);
        }
        sent
    }

    /// Reads what arrived, and sends the next requests.
    pub fn advance(&mut self, now: Duration) {
        if self.quic.is_established() {
            self.handshake.get_or_insert(now);
        }
        if let Err(error) = self.converse(now) {
            let failure = Failure::new(Code::Http3, format!("HTTP/3 broke: {error:?}"));
            self.failure.get_or_insert(failure);
        }
        if self.has_ended() {
            self.settle(now);
        } else if self.is_done() {
            // An error means that it is closed already.
            let _ = self.quic.close(true, NO_ERROR, b"");
        }
    }

    /// Ends everything, for example when the time is up or no server listens.
    pub fn give_up(&mut self, failure: Failure, now: Duration) {
        self.failure.get_or_insert(failure);
        let _ = self.quic.close(true, NO_ERROR, b"");
        self.settle(now);
    }

    /// Whether the fetch has ended.
    pub fn is_over(&self) -> bool {
        self.is_done() || self.has_ended()
    }

    /// Whether the handshake is complete.
    pub fn is_established(&self) -> bool {
        self.handshake.is_some()
    }

    /// When the handshake was complete.
    pub fn handshake(&self) -> Option<Duration> {
        self.handshake
    }

    /// Why the connection ended; `None` if everything was fetched.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// All requests that are over, in the order of their ends.
    pub fn transfers(&self) -> &[Transfer] {
        &self.over
    }

    /// Whether requests were sent before the handshake was complete.
    pub fn asked_early(&self) -> bool {
        self.asked_early
    }

    /// The QUIC connection.
    pub fn quic(&mut self) -> &mut Connection {
        &mut self.quic
    }

    fn is_done(&self) -> bool {
        self.open.is_empty() && self.waiting.is_empty() && self.round + 1 >= self.plan.rounds
    }

    fn has_ended(&self) -> bool {
        self.failure.is_some()
            || self.quic.is_closed()
            || self.quic.is_draining()
            || self.quic.local_error().is_some()
    }

    fn converse(&mut self, now: Duration) -> Result<(), h3::Error> {
        let Some(mut http) = self.http.take().map_or_else(|| self.begin(), |http| Ok(Some(http)))? else {
            return Ok(());
        };
        let result = self.listen(&mut http, now).and_then(|()| self.ask(&mut http, now));
        self.http = Some(http);
        result
    }

    fn begin(&mut self) -> Result<Option<h3::Connection>, h3::Error> {
        if !self.quic.is_established() && !self.quic.is_in_early_data() {
            return Ok(None);
        }
        h3::Connection::with_transport(&mut self.quic, &h3::Config::new()?).map(Some)
    }

    fn listen(&mut self, http: &mut h3::Connection, now: Duration) -> Result<(), h3::Error> {
        loop {
            let (stream, event) = match http.poll(&mut self.quic) {
                Ok(response) => response,
                Err(h3::Error::Done) => return Ok(()),
                Err(error) => return Err(error),
            };
            match event {
                Event::GoAway => self.refuse(now),
                Event::Finished => self.close(stream, now, |transfer| transfer.finish(now)),
                Event::Reset(code) => {
                    self.close(stream, now, |transfer| transfer.break_off(reset(transfer, code), now));
                }
                Event::Headers { list, .. } => {
                    if let Some(transfer) = self.open.get_mut(&stream) {
                        transfer.take_headers(&list, now);
                    }
                }
                Event::Data => self.read(http, stream)?,
                Event::PriorityUpdate => {}
            }
        }
    }

    fn read(&mut self, http: &mut h3::Connection, stream: u64) -> Result<(), h3::Error> {
        loop {
            match http.recv_body(&mut self.quic, stream, &mut self.piece) {
                Ok(count) => {
                    if let Some(transfer) = self.open.get_mut(&stream) {
                        transfer.take_body(&self.piece[..count]);
                    }
                }
                // The next poll reports a reset.
                Err(h3::Error::Done | h3::Error::TransportError(quiche::Error::StreamReset(_))) => {
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn ask(&mut self, http: &mut h3::Connection, now: Duration) -> Result<(), h3::Error> {
        if self.open.is_empty() && self.waiting.is_empty() && !self.is_done() {
            self.round += 1;
            self.waiting.extend(0..self.plan.urls.len());
        }
        while self.open.len() < self.plan.max_parallel {
            let Some(&place) = self.waiting.front() else { break };
            let request = Transfer::request(&self.plan.urls[place]);
            match http.send_request(&mut self.quic, &request, true) {
                Ok(stream) => self.open(stream, place, now),
                // The server allows no more streams or bytes for now.
                Err(h3::Error::StreamBlocked | h3::Error::TransportError(quiche::Error::StreamLimit)) => {
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn open(&mut self, stream: u64, place: usize, now: Duration) {
        self.waiting.pop_front();
        self.asked_early |= !self.is_established();
        let output = self.plan.outputs.get(place).map(PathBuf::as_path);
        match Transfer::begin(place, self.round, output, now) {
            Ok(transfer) => drop(self.open.insert(stream, transfer)),
            Err(failure) => {
                self.waiting.push_front(place);
                self.failure.get_or_insert(failure);
            }
        }
    }

    fn close(&mut self, stream: u64, now: Duration, end: impl FnOnce(&mut Transfer)) {
        if let Some(mut transfer) = self.open.remove(&stream) {
            end(&mut transfer);
            if let Some(failure) = transfer.failure.as_ref().filter(|failure| failure.code == Code::Write) {
                self.failure.get_or_insert(failure.clone());
            }
            transfer.ended.get_or_insert(now);
            self.over.push(transfer);
        }
    }

    /// GOAWAY: requests not sent yet will get no answer on this connection.
    fn refuse(&mut self, now: Duration) {
        if !self.waiting.is_empty() || self.round + 1 < self.plan.rounds {
            let message = "the server accepts no more requests on this connection (GOAWAY)";
            self.round = self.plan.rounds;
            self.abandon(&Failure::new(Code::Http3, message), now);
        }
    }

    /// Ends every request, because the connection has ended.
    fn settle(&mut self, now: Duration) {
        let failure = match &self.failure {
            Some(failure) => failure.clone(),
            None => self.ending(),
        };
        for (_, mut transfer) in std::mem::take(&mut self.open) {
            transfer.break_off(failure.clone(), now);
            self.over.push(transfer);
        }
        self.abandon(&failure, now);
        if self.over.iter().any(|transfer| transfer.failure.as_ref() == Some(&failure)) {
            self.failure = Some(failure);
        }
    }

    fn abandon(&mut self, failure: &Failure, now: Duration) {
        for place in std::mem::take(&mut self.waiting) {
            if let Ok(mut transfer) = Transfer::begin(place, self.round, None, now) {
                transfer.break_off(failure.clone(), now);
                self.over.push(transfer);
            }
        }
    }

    /// Why the connection ended, as far as either side said.
    fn ending(&mut self) -> Failure {
        let host = self.plan.urls.first().map_or("the server", |url| &url.origin.host);
        if !self.quic.is_established()
            && self.quic.local_error().is_some()
            && let Some(distrust) = tls::distrust(&mut self.quic, host)
        {
            return distrust;
        }
        let late = self.quic.is_established();
        if self.quic.is_timed_out() {
            let (code, what) =
                if late { (Code::Receive, "fell silent") } else { (Code::Connect, "does not answer") };
            let address =
                self.quic.path_stats().next().map_or(String::new(), |path| format!(" ({})", path.peer_addr));
            return Failure::new(
                code,
                format!("{host}{address} {what}; check that it is reachable and that UDP is allowed"),
            );
        }
        let (who, error) = match (self.quic.peer_error(), self.quic.local_error()) {
            (Some(error), _) => ("the server closed the connection", error),
            (None, Some(error)) => ("the server violated QUIC", error),
            (None, None) => {
                let message = "the connection ended without a word, probably by a stateless reset: \
                               the server knows it no more";
                return Failure::new(Code::Receive, message);
            }
        };
        explain(who, error, late)
    }
}

fn explain(who: &str, error: &quiche::ConnectionError, late: bool) -> Failure {
    let reason = String::from_utf8_lossy(&error.reason);
    let reason = if reason.is_empty() { String::new() } else { format!(" with the reason {reason:?}") };
    match tls::alert(error.error_code).filter(|_| !error.is_app) {
        Some(alert) if !late => {
            Failure::new(Code::Tls, format!("{who} in the TLS handshake: {alert}{reason}"))
        }
        _ => {
            let (layer, code) = if error.is_app { ("HTTP/3", Code::Http3) } else { ("QUIC", Code::Quic) };
            let code =
                if error.error_code == NO_ERROR || error.error_code == 0 { Code::Receive } else { code };
            Failure::new(code, format!("{who}: {layer} error {:#x}{reason}", error.error_code))
        }
    }
}

fn reset(transfer: &Transfer, code: u64) -> Failure {
    let reason = format!("the server reset the stream (HTTP/3 error {code:#x})");
    match transfer.status {
        Some(_) => {
            Failure::new(Code::Partial, format!("the body ended after {} bytes: {reason}", transfer.bytes))
        }
        None => Failure::new(Code::Http3, reason),
    }
}

#[cfg(test)]
mod tests;
