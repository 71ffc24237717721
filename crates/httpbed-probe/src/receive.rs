//! Receives a flow and keeps a record per packet, in order of arrival for each port.
//!
//! ```text
//! 0       8        16      24     28     30    32
//! number  arrived  sent    bytes  flags  port        little endian, times in ns of CLOCK_MONOTONIC
//! ```
//!
//! `bytes` is the size as an IP packet; `number` is all ones if unknown; `port` is the source's.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::clock::{self, Offset};
use crate::datagrams::{self, Received, Receiver};
use crate::payload::{self, Header, Reading};
use crate::plan::{HEADERS_BYTES, Receiving};

/// The pattern differs from what was sent.
pub const DAMAGED: u16 = 1;
/// The header differs, too, or the packet is not of this flow: its number is unknown.
pub const UNKNOWN: u16 = 2;
/// The kernel gave no stamp: the time is when it was read.
pub const UNSTAMPED: u16 = 4;
/// A queue on the path marked it (RFC 3168).
pub const CONGESTION: u16 = 8;

/// The receiver's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Took {
    /// Packets received.
    pub packets: u64,
    /// Packets that the sockets lost because they were not read in time, as far as known.
    pub overflown: u64,
}

/// The sockets of a flow, bound.
pub struct Flow {
    plan: Receiving,
    sockets: Vec<UdpSocket>,
    overflown: Vec<u32>,
    offset: Offset,
    records: Vec<Record>,
}

/// One packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Record {
    number: u64,
    arrived: i64,
    sent: i64,
    bytes: u32,
    flags: u16,
    port: u16,
}

impl Flow {
    /// Binds the ports; from now on no packet is missed.
    ///
    /// # Errors
    /// When the kernel rejects one.
    pub fn bind(plan: Receiving) -> io::Result<Self> {
        let ports = plan.port..plan.port.saturating_add(plan.ports);
        let sockets = ports.map(open).collect::<io::Result<Vec<_>>>()?;
        let overflown = vec![0; sockets.len()];
        Ok(Self { plan, sockets, overflown, offset: Offset::read(), records: Vec::new() })
    }

    /// Receives until `orders` has a line or ends, then takes what has arrived and writes all records.
    ///
    /// # Errors
    /// When the kernel rejects a read, or the records cannot be written.
    pub fn run(mut self, mut orders: impl Read + AsFd) -> io::Result<Took> {
        let mut receiver = Receiver::new();
        loop {
            let ready = readable(self.sockets.iter().map(AsFd::as_fd).chain([orders.as_fd()]))?;
            self.offset.track();
            let is_over = ready.last().is_some_and(|is_readable| *is_readable);
            for place in (0..self.sockets.len()).filter(|place| is_over || ready[*place]) {
                self.drain(place, &mut receiver)?;
            }
            if is_over {
                let _ = orders.read(&mut [0; 256])?;
                return self.write();
            }
        }
    }

    fn drain(&mut self, place: usize, receiver: &mut Receiver) -> io::Result<()> {
        loop {
            let Self { plan, sockets, offset, records, .. } = self;
            let (count, overflown) = receiver.receive(&sockets[place], |received| {
                records.push(Record::of(&received, plan.key, *offset));
            })?;
            self.overflown[place] = overflown.unwrap_or(self.overflown[place]);
            if count == 0 {
                return Ok(());
            }
        }
    }

    fn write(self) -> io::Result<Took> {
        let mut out = BufWriter::new(File::create(&self.plan.out)?);
        for record in &self.records {
            out.write_all(&record.bytes())?;
        }
        out.flush()?;
        let overflown = self.overflown.iter().copied().map(u64::from).sum();
        Ok(Took { packets: self.records.len() as u64, overflown })
    }
}

impl Record {
    fn of(received: &Received<'_>, key: u64, offset: Offset) -> Self {
        let (header, damage) = match payload::read(received.payload, key) {
            Reading::Whole(header) => (header, 0),
            Reading::Damaged(header) => (header, DAMAGED),
            Reading::Unknown => (Header { number: u64::MAX, sent: 0 }, DAMAGED | UNKNOWN),
        };
        let (arrived, unstamped) = match received.stamp {
            Some(stamp) => (offset.monotonic(stamp), 0),
            None => (clock::monotonic(), UNSTAMPED),
        };
        let bytes = u32::try_from(received.payload.len() + HEADERS_BYTES).unwrap_or(u32::MAX);
        let flags = damage | unstamped | if received.congestion { CONGESTION } else { 0 };
        Self { number: header.number, arrived, sent: header.sent, bytes, flags, port: received.port }
    }

    fn bytes(&self) -> [u8; 32] {
        let mut written = [0; 32];
        written[0..8].copy_from_slice(&self.number.to_le_bytes());
        written[8..16].copy_from_slice(&self.arrived.to_le_bytes());
        written[16..24].copy_from_slice(&self.sent.to_le_bytes());
        written[24..28].copy_from_slice(&self.bytes.to_le_bytes());
        written[28..30].copy_from_slice(&self.flags.to_le_bytes());
        written[30..32].copy_from_slice(&self.port.to_le_bytes());
        written
    }
}

/// Which of `files` can be read, once one can or its other end is gone.
fn readable<'a>(files: impl Iterator<Item = BorrowedFd<'a>>) -> io::Result<Vec<bool>> {
    let mut polled: Vec<PollFd<'_>> = files.map(|file| PollFd::new(file, PollFlags::POLLIN)).collect();
    match poll(&mut polled, PollTimeout::NONE) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(polled.iter().map(|file| file.revents().is_none_or(|events| !events.is_empty())).collect())
}

fn open(port: u16) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port))?;
    datagrams::prepare_receiving(&socket).map(|()| socket)
}
