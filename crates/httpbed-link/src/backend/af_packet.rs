//! `AF_PACKET` sockets on interfaces that are there already, as a rule the near ends of veth pairs.
//!
//! Frames come and go in batches, and the kernel stamps each when it arrives, so that a late turn of the loop
//! bends nothing. It takes CAP_NET_RAW in the network namespace.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use super::{Port, explained};
use crate::sys::batch::{Intake, Outgoing, Received};
use crate::sys::interface;
use crate::sys::packet_socket::PacketSocket;

const HINTS: [(i32, &str); 3] = [
    (libc::EPERM, "packet sockets need CAP_NET_RAW in this network namespace"),
    (libc::EAFNOSUPPORT, "this kernel has no packet sockets (CONFIG_PACKET); the backend tun needs none"),
    (libc::ENODEV, "there is no such interface in this network namespace"),
];

/// Opens the socket of an interface for packets of up to `mtu` bytes.
pub fn open(name: &str, mtu: usize) -> Result<Box<dyn Port>, String> {
    let what = format!("interface {name}");
    let socket = PacketSocket::open(name).map_err(|error| explained(&what, &error, &HINTS))?;
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
        intake.receive(self.as_fd(), into)
    }

    fn send(&mut self, outgoing: &mut Outgoing, frames: &[Vec<u8>]) -> u64 {
        outgoing.send(self.as_fd(), frames)
    }

    fn take_drops(&mut self) -> io::Result<u64> {
        Self::take_drops(self)
    }
}
