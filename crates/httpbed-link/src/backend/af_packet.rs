//! `AF_PACKET` sockets on interfaces that exist already, usually the near ends of veth pairs.
//!
//! Frames are received in shared memory and sent in batches. The kernel stamps each frame on arrival, so a late
//! turn of the loop does not change the result. The backend needs `CAP_NET_RAW` in the network namespace.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::libc;

use super::{Port, explained};
use crate::sys::batch::{FRAMES, Intake, Outgoing, Received, Stamp};
use crate::sys::interface;
use crate::sys::packet_socket::PacketSocket;

const HINTS: [(i32, &str); 3] = [
    (libc::EPERM, "packet sockets need CAP_NET_RAW in this network namespace"),
    (libc::EAFNOSUPPORT, "this kernel has no packet sockets (CONFIG_PACKET); the backend tun needs none"),
    (libc::ENODEV, "there is no such interface in this network namespace"),
];

/// Slots for frames on a link that is fast or without a rate: 10 ms at 5 Gbit/s, with 14 MB of memory for both
/// sides. When other processes competed for two CPUs and the loop was late by up to 10 ms, a transfer at 2 Gbit/s
/// lost 3 to 6 % of its frames with 896 slots, up to 0.9 % with 2048, and none with 4096. A single loss makes a
/// trial invalid, so the memory is worth it.
const FAST_SLOTS: usize = 4096;

/// Slots on a slow link, where a sender has no more than its window in flight: 4 MB of memory for both sides. A
/// queue of 1000 packets lets a window grow to more than that. Beside other trials, 896 slots lost some 30 frames of a
/// window that came in one burst.
const SLOW_SLOTS: usize = 1280;

/// The rate in bit/s from which a link counts as fast.
const FAST: u64 = 100_000_000;

/// Opens the socket of an interface for packets of up to `mtu` bytes, in a direction with this rate in bit/s.
pub fn open(name: &str, mtu: usize, bit_s: Option<u64>) -> Result<Box<dyn Port>, String> {
    let slots = if bit_s.is_some_and(|bit_s| bit_s < FAST) { SLOW_SLOTS } else { FAST_SLOTS };
    let what = format!("interface {name}");
    let socket = PacketSocket::open(name, slots, mtu + wire::ETHERNET_HEADER_BYTES);
    let socket = socket.map_err(|error| explained(&what, &error, &HINTS))?;
    let own = interface::mtu(socket.as_fd(), name).map_err(|error| explained(&what, &error, &HINTS))?;
    if usize::try_from(own).is_ok_and(|own| own < mtu) {
        return Err(format!("{what}: its MTU of {own} bytes is smaller than the configured one of {mtu}"));
    }
    Ok(Box::new(socket))
}

impl Port for PacketSocket {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.as_fd()
    }

    fn receive(&mut self, intake: &mut Intake, into: &mut Vec<Received>) -> io::Result<()> {
        self.read(FRAMES, |seen| {
            into.push(Received {
                frame: intake.copy(seen.frame),
                length: seen.length,
                stamp: Stamp::Kernel(seen.stamp),
                finished: seen.finished,
            });
        })
    }

    fn send(&mut self, outgoing: &mut Outgoing, frames: &[Vec<u8>]) -> u64 {
        outgoing.send(self.as_fd(), frames)
    }

    fn take_drops(&mut self) -> io::Result<u64> {
        Self::take_drops(self)
    }
}
