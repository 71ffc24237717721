//! How frames enter and leave the emulator.

mod af_packet;
mod tun;

use std::io;
use std::os::fd::BorrowedFd;
use std::thread;

use link_model::{Impairments, Rate};

use crate::config::{Backend, Config};
use crate::sys::batch::{Intake, Outgoing, Received};

/// One end of a link, towards a host.
pub trait Port: Send {
    /// The descriptor that is readable when a frame waits.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// Receives waiting frames, at most one batch.
    fn receive(&mut self, intake: &mut Intake, into: &mut Vec<Received>) -> io::Result<()>;

    /// Sends frames in order; returns how many the kernel rejected.
    fn send(&mut self, outgoing: &mut Outgoing, frames: &[Vec<u8>]) -> u64;

    /// Frames lost since the last call because they were not read in time, as far as the backend knows.
    fn take_drops(&mut self) -> io::Result<u64>;
}

/// Opens both ends of every link, in order.
///
/// All at once: for each packet socket's ring the kernel waits until every CPU has passed by. This takes some ten
/// milliseconds, for many sockets as for one.
///
/// # Errors
/// When the machine refuses something; the message says what, and what it needs.
pub fn open(config: &Config) -> Result<Vec<Box<dyn Port>>, String> {
    let ends = config.links.iter().flat_map(|link| link.interfaces.iter().zip(&link.directions));
    let mtu = usize::from(config.mtu);
    let open = |(name, direction): (&String, &Impairments)| match config.backend {
        Backend::AfPacket => af_packet::open(name, mtu, direction.rate.as_ref().map(Rate::mean_bit_s)),
        Backend::Tun => tun::open(name, mtu),
    };
    thread::scope(|scope| {
        let opening: Vec<_> = ends.map(|end| scope.spawn(move || open(end))).collect();
        let joined = opening.into_iter().map(|thread| thread.join().expect("opening does not panic"));
        joined.collect()
    })
}

/// Closes all ends at once: a process that just exits closes one after the other.
pub fn close(ports: Vec<Box<dyn Port>>) {
    thread::scope(|scope| {
        for port in ports {
            scope.spawn(move || drop(port));
        }
    });
}

/// What a backend's times are.
pub const fn clock_text(backend: Backend) -> &'static str {
    match backend {
        Backend::AfPacket => "ns since the emulator's ready, CLOCK_MONOTONIC, from kernel receive stamps",
        Backend::Tun => "ns since the emulator's ready, CLOCK_MONOTONIC, when frames were read",
    }
}

/// The system's message, and what the error means here.
fn explained(what: &str, error: &io::Error, hints: &[(i32, &str)]) -> String {
    let hint = hints.iter().find(|(code, _)| error.raw_os_error() == Some(*code));
    hint.map_or_else(|| format!("{what}: {error}"), |(_, meaning)| format!("{what}: {error}: {meaning}"))
}
