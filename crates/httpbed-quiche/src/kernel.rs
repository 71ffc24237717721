//! The kernel's view of this machine's network, and notice of its changes.
//!
//! # Theory of operation
//!
//! A netlink socket (`AF_NETLINK`, rtnetlink(7)) reports every change of links, addresses, routes and rules;
//! Android's `ConnectivityManager` uses the same source. The messages are not parsed, for two reasons: one change
//! causes many of them (a deleted address removes its routes), and none contains what matters, the address that the
//! kernel would use *now*. So a burst of messages is drained and means "look again". So does `ENOBUFS`, the error
//! for messages that found no room. To look is to ask the kernel for a route: a UDP socket connected to the server,
//! which sends nothing, has the address that the kernel prefers. Binding a socket to an address shows whether it
//! still exists.
//!
//! The steps of one change (address, rule, routes) may be seen one by one. Each look is independent, and the last
//! message of a change causes the last look, so a half-finished change is not taken for the result.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockType, bind, recv, socket};

use crate::migration::Sight;

/// Bits of `RTMGRP`: a group's number less one (linux/rtnetlink.h).
const GROUPS: u32 = group(1) | group(5) | group(7) | group(8) | group(9) | group(11) | group(19);
/// A longer message is truncated, which does not matter.
const MESSAGE_BYTES: usize = 4096;
/// How many messages are drained at once; more come in the next turn, after the sockets' datagrams.
const MAX_MESSAGES: usize = 10_000;

const fn group(number: u32) -> u32 {
    1 << (number - 1)
}

/// The kernel's messages about links (1), addresses (5, 9), routes (7, 11) and rules (8, 19).
pub struct Kernel {
    socket: OwnedFd,
}

impl Kernel {
    /// Starts listening.
    ///
    /// # Errors
    /// When the kernel does not let this process listen.
    pub fn watch() -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        // Protocol 0 of this family is NETLINK_ROUTE.
        let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, None)?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, GROUPS))?;
        Ok(Self { socket })
    }

    /// The descriptor to wait for.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Whether anything has changed since the last call.
    pub fn has_changed(&self) -> bool {
        let mut message = [0; MESSAGE_BYTES];
        let mut changed = false;
        for _ in 0..MAX_MESSAGES {
            match recv(self.socket.as_raw_fd(), &mut message, MsgFlags::empty()) {
                Ok(_) | Err(Errno::ENOBUFS) => changed = true,
                Err(_) => break,
            }
        }
        changed
    }
}

/// What the kernel would do now: its address towards `remote`, and whether `local` still exists.
pub fn sight(remote: SocketAddr, local: SocketAddr) -> Sight {
    Sight { preferred: preferred(remote).map_err(|error| error.to_string()), present: is_present(local) }
}

/// The wildcard address of the same version of IP, any port.
pub fn any(remote: SocketAddr) -> SocketAddr {
    let address: IpAddr =
        if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    SocketAddr::new(address, 0)
}

fn preferred(remote: SocketAddr) -> io::Result<IpAddr> {
    let socket = UdpSocket::bind(any(remote))?;
    socket.connect(remote)?;
    Ok(socket.local_addr()?.ip())
}

fn is_present(mut local: SocketAddr) -> bool {
    local.set_port(0);
    !matches!(UdpSocket::bind(local), Err(error) if error.kind() == ErrorKind::AddrNotAvailable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_present_and_preferred_for_itself() {
        let local: SocketAddr = "127.0.0.1:9".parse().unwrap();
        assert_eq!(sight(local, local), Sight { preferred: Ok(local.ip()), present: true });
    }

    #[test]
    fn an_address_of_no_interface_is_absent() {
        // RFC 5737: for documentation.
        assert!(!is_present("192.0.2.1:9".parse().unwrap()));
    }

    #[test]
    fn without_messages_nothing_has_changed() {
        let kernel = Kernel::watch().unwrap();
        kernel.has_changed();
        assert!(!kernel.has_changed());
    }
}
