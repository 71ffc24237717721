//! The client's ends of its paths: sockets, each bound to one local address and connected to the server.
//!
//! The kernel reports errors to a connected socket if no server listens, and the socket has its own address instead
//! of the wildcard, as QUIC needs to name a path. A client that does not move has one socket. A client that moves
//! opens another and keeps the old one: packets that the server sent there before still arrive.
//!
//! Datagrams are read one by one into one buffer, which stays in the processor's cache, and without control
//! messages: quiche does not use ECN marks and times of arrival, and the socket's address is known. `recvmmsg` into
//! many buffers, with quinn-udp's control messages, costs a fifteenth more of all CPU time (`make bench-quiche`),
//! and without them the same. GRO would not help, because the links of the trials merge no packets.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::RcvBuf;
use nix::sys::time::TimeSpec;
use nix::{libc, setsockopt_impl, sockopt_impl};
use quiche::{RecvInfo, SendInfo};

use crate::kernel;
use crate::mover::Sockets;

/// The largest datagram.
const BUFFER_BYTES: usize = 65_535;
/// How many are read before they are handled, for example acknowledged: less than a millisecond of work.
const BATCH_DATAGRAMS: usize = 128;
/// Requested size of a socket's buffer; the machine's limit may make it smaller.
const SOCKET_BYTES: usize = 4 << 20;

sockopt_impl!(
    /// What a socket does with ICMP messages about a path's MTU.
    Ipv4MtuDiscovery, SetOnly, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::c_int
);
sockopt_impl!(
    /// The same for IPv6.
    Ipv6MtuDiscovery, SetOnly, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::c_int
);

/// A local socket.
struct End {
    socket: UdpSocket,
    /// Its name for quiche: its address, or that of the socket that it replaces.
    local: SocketAddr,
    remote: SocketAddr,
}

/// What is ready after waiting.
#[derive(Clone, Copy, Debug, Default)]
pub struct Woken {
    /// A socket has datagrams.
    pub received: bool,
    /// The other file is ready.
    pub other: bool,
}

/// All local sockets of a connection, and the buffer that they share.
pub struct Paths {
    ends: Vec<End>,
    buffer: Vec<u8>,
}

impl Paths {
    /// No sockets yet.
    pub fn new() -> Self {
        Self { ends: Vec::new(), buffer: vec![0; BUFFER_BYTES] }
    }

    /// Sends a datagram from the socket that quiche names. If that socket is gone, the datagram is lost, as on any
    /// network.
    ///
    /// # Errors
    /// When the kernel reports an error, for example an ICMP message for an earlier datagram.
    pub fn send(&self, datagram: &[u8], info: &SendInfo) -> io::Result<()> {
        let Some(end) = self.ends.iter().find(|end| end.local == info.from) else { return Ok(()) };
        match end.socket.send(datagram) {
            // A full buffer is a full queue: QUIC retransmits what is lost in it.
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            sent => sent.map(drop),
        }
    }

    /// Passes the datagrams that wait in the sockets on, at most a batch of each.
    ///
    /// # Errors
    /// When the kernel reports an ICMP message, after all sockets were read: an address that was left gets them,
    /// too.
    pub fn receive(&mut self, mut take: impl FnMut(&mut [u8], RecvInfo)) -> io::Result<()> {
        let mut result = Ok(());
        for end in &self.ends {
            let info = RecvInfo { from: end.remote, to: end.local };
            for _ in 0..BATCH_DATAGRAMS {
                match end.socket.recv(&mut self.buffer) {
                    Ok(length) => take(&mut self.buffer[..length], info),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => result = result.and(Err(error)),
                }
            }
        }
        result
    }

    /// Waits until a socket or another file is ready, at most for this time.
    ///
    /// # Errors
    /// When waiting fails.
    pub fn wait(&self, other: Option<BorrowedFd<'_>>, most: Option<Duration>) -> io::Result<Woken> {
        let sockets = self.ends.iter().map(|end| end.socket.as_fd());
        let mut files: Vec<PollFd<'_>> =
            sockets.chain(other).map(|file| PollFd::new(file, PollFlags::POLLIN)).collect();
        match ppoll(&mut files, most.map(TimeSpec::from), None) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(Woken::default()),
            Err(error) => return Err(error.into()),
        }
        let (ends, other) = files.split_at(self.ends.len());
        let woken = |files: &[PollFd<'_>]| files.iter().any(|file| file.any() != Some(false));
        Ok(Woken { received: woken(ends), other: woken(other) })
    }
}

impl Paths {
    fn keep(&mut self, end: End) -> SocketAddr {
        let local = end.local;
        self.ends.push(end);
        local
    }
}

impl Sockets for Paths {
    fn open(&mut self, remote: SocketAddr) -> io::Result<SocketAddr> {
        let end = End::open(remote)?;
        if let Some(known) = self.ends.iter().rev().find(|known| known.local.ip() == end.local.ip()) {
            return Ok(known.local);
        }
        Ok(self.keep(end))
    }

    fn add(&mut self, remote: SocketAddr) -> io::Result<SocketAddr> {
        End::open(remote).map(|end| self.keep(end))
    }

    fn exchange(&mut self, name: SocketAddr, remote: SocketAddr) -> io::Result<SocketAddr> {
        let mut end = End::open(remote)?;
        let local = std::mem::replace(&mut end.local, name);
        self.ends.retain(|old| old.local != name);
        self.ends.push(end);
        Ok(local)
    }
}

impl End {
    /// A socket bound to the address that the kernel prefers now.
    fn open(remote: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(kernel::any(remote))?;
        socket.connect(remote)?;
        let local = socket.local_addr()?;
        socket.set_nonblocking(true)?;
        setsockopt(&socket, RcvBuf, &SOCKET_BYTES)?;
        // RFC 9000 section 14: no fragments. A router's ICMP message about its MTU is ignored, because anyone could
        // send it.
        if remote.is_ipv4() {
            setsockopt(&socket, Ipv4MtuDiscovery, &libc::IP_PMTUDISC_PROBE)?;
        } else {
            setsockopt(&socket, Ipv6MtuDiscovery, &libc::IPV6_PMTUDISC_PROBE)?;
        }
        Ok(Self { socket, local, remote })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_icmp_error_at_one_socket_hides_no_datagram_at_another() {
        let (gone, alive) = (socket(), socket());
        let mut paths = Paths::new();
        let left = paths.keep(End::open(gone.local_addr().unwrap()).unwrap());
        let used = paths.keep(End::open(alive.local_addr().unwrap()).unwrap());
        drop(gone);
        let info = |from| SendInfo { from, to: alive.local_addr().unwrap(), at: std::time::Instant::now() };
        // Loopback delivers at once, the ICMP message, too.
        paths.send(b"one", &info(left)).unwrap();
        for word in [b"two", b"six"] {
            alive.send_to(word, used).unwrap();
        }
        let mut came = Vec::new();
        let result = paths.receive(|datagram, info| came.push((datagram.to_vec(), info.to)));
        assert_eq!(result.unwrap_err().kind(), ErrorKind::ConnectionRefused);
        assert_eq!(came, [(b"two".to_vec(), used), (b"six".to_vec(), used)]);
        assert!(paths.receive(|_, _| panic!("nothing is left")).is_ok());
    }

    fn socket() -> UdpSocket {
        UdpSocket::bind("127.0.0.1:0").unwrap()
    }
}
