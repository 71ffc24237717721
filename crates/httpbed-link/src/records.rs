//! Capture and packet log, if configured.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use link_model::{Fate, Nanos, Packet};
use wire::Delivery;

use crate::capture::Capture;
use crate::config::Config;
use crate::log::{Entry, PacketLog};
use crate::spool::Spool;

/// The destination: a file, or memory in tests.
pub type Out = Box<dyn Write>;

/// A frame in flight.
#[derive(Clone, Debug)]
pub struct Carried {
    /// The bytes.
    pub frame: Vec<u8>,
    /// Its place in the capture, if there is a capture and the packet counts.
    pub place: u64,
    /// What its delivery will prove about its connection.
    pub delivery: Option<Delivery>,
}

/// Capture and log.
#[derive(Default)]
pub struct Records {
    /// Frames, in order of arrival.
    capture: Option<Capture<Out>>,
    /// Fates, in order of time.
    log: Option<PacketLog<Out>>,
    start: Nanos,
    /// Why the capture is incomplete.
    failure: Option<io::Error>,
}

impl Records {
    /// Creates the files that a configuration names.
    ///
    /// # Errors
    /// When a file cannot be created; the message says which.
    pub fn open(config: &Config) -> Result<Self, String> {
        let sides = config
            .links
            .iter()
            .flat_map(|link| link.hosts.iter().map(|host| format!("{}:{host}", link.name)));
        let sides: Vec<String> = sides.collect();
        let capture = |out| Capture::begin(out, sides.iter().map(String::as_str));
        let capture = open(config.pcapng.as_deref(), capture)?;
        Ok(Self::new(capture, open(config.log.as_deref(), PacketLog::begin)?))
    }

    /// The given records, still empty.
    pub const fn new(capture: Option<Capture<Out>>, log: Option<PacketLog<Out>>) -> Self {
        Self { capture, log, start: 0, failure: None }
    }

    /// Sets time 0 of the log.
    pub const fn start(&mut self, at: Nanos) {
        self.start = at;
    }

    /// Keeps a counted frame for the capture; returns its place there.
    pub fn arrived(&mut self, interface: usize, stamp: i64, frame: &[u8]) -> u64 {
        let Some(capture) = &mut self.capture else { return 0 };
        let side = u32::try_from(interface).unwrap_or(u32::MAX);
        capture.arrived(side, u64::try_from(stamp).unwrap_or(0), frame)
    }

    /// Writes the fate of a packet of `bytes`; nothing for a packet of the idle phase.
    ///
    /// # Errors
    /// When a file cannot be written; the message says which.
    pub fn settled(
        &mut self,
        direction: usize,
        bytes: u32,
        at: Nanos,
        fate: Fate,
        packet: &Packet<Carried>,
    ) -> io::Result<()> {
        let Some(number) = packet.number else { return Ok(()) };
        if let Some(log) = &mut self.log {
            let (arrived, at) = (packet.arrived.saturating_sub(self.start), at.saturating_sub(self.start));
            let entry = Entry { arrived, at, bytes, direction, number, copy: packet.copy, fate };
            log.packet(entry).map_err(|error| naming("log", &error))?;
        }
        // The capture contains what arrived; a copy did not arrive.
        match &mut self.capture {
            Some(capture) if !packet.copy => {
                capture.settled(packet.body.place, fate).map_err(|error| naming("pcapng", &error))
            }
            _ => Ok(()),
        }
    }

    /// Completes both files.
    ///
    /// # Errors
    /// When one cannot be written; the message says which.
    pub fn finish(&mut self) -> io::Result<()> {
        let failed = self.failure.take().map_or(Ok(()), Err);
        let capture = failed.and_then(|()| self.capture.as_mut().map_or(Ok(()), Capture::finish));
        let log = self.log.as_mut().map_or(Ok(()), PacketLog::finish);
        capture.map_err(|error| naming("pcapng", &error))?;
        log.map_err(|error| naming("log", &error))
    }
}

fn open<T>(path: Option<&Path>, begin: impl Fn(Out) -> io::Result<T>) -> Result<Option<T>, String> {
    let Some(path) = path else { return Ok(None) };
    let opened = File::create(path).and_then(Spool::new).and_then(|spool| begin(Box::new(spool)));
    opened.map(Some).map_err(|error| format!("{}: {error}", path.display()))
}

fn naming(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}
