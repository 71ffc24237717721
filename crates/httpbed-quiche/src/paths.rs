//! The client's ends of its paths: sockets, each bound to one local address and connected to the server.
//!
//! A connected socket is told when nobody listens at the other end, and has an address of its own rather than
//! the wildcard, which is how QUIC names a path. There is one as long as the client stays where it is; one that
//! moves opens another, and keeps the old one: what the server sent there before it knew still arrives.
//!
//! Datagrams are read one by one into one buffer, which stays in the processor's cache, and without control messages:
//! quiche has no use for ECN marks and times of arrival, and the socket's address is known. `recvmmsg` into many
//! buffers, with quinn-udp's control messages, costs a fifteenth more of all CPU time (`make bench-quiche`); without them
//! it costs the same. The links of the trials glue nothing together, as GRO would.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use quiche::{RecvInfo, SendInfo};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::net::sockopt::{self, Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery};

use crate::kernel;
use crate::mover::Sockets;

/// The largest datagram.
const BUFFER_BYTES: usize = 65_535;
/// How many are read before what they ask for is done, such as an acknowledgement: below a millisecond's work.
const BATCH_DATAGRAMS: usize = 128;
/// What a socket should hold until it is read; the machine's limit is what it gets.
const SOCKET_BYTES: usize = 4 << 20;

/// A local socket.
struct End {
    socket: UdpSocket,
    /// What quiche calls it: its address, or that of the socket in whose place it is.
    local: SocketAddr,
    remote: SocketAddr,
}

/// What there is to do after waiting.
#[derive(Clone, Copy, Debug, Default)]
pub struct Woken {
    /// A socket has something.
    pub received: bool,
    /// So has what was waited for besides.
    pub other: bool,
}

/// All local sockets of a connection, and the buffer that they share.
pub struct Paths {
    ends: Vec<End>,
    buffer: Vec<u8>,
}

impl Paths {
    /// None yet.
    pub fn new() -> Self {
        Self { ends: Vec::new(), buffer: vec![0; BUFFER_BYTES] }
    }

    /// Sends a datagram from where quiche wants it sent; one whose path is gone is lost, as on any network.
    ///
    /// # Errors
    /// When the kernel refuses, such as because of an ICMP message for an earlier datagram.
    pub fn send(&self, datagram: &[u8], info: &SendInfo) -> io::Result<()> {
        let Some(end) = self.ends.iter().find(|end| end.local == info.from) else { return Ok(()) };
        match end.socket.send(datagram) {
            // A full buffer is a full queue: QUIC sends again what is lost in it.
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            sent => sent.map(drop),
        }
    }

    /// Hands on what waits in the sockets, at most a batch of each.
    ///
    /// # Errors
    /// When the kernel tells of an ICMP message, after all sockets were read: an address that was left gets such, too.
    pub fn receive(&mut self, mut take: impl FnMut(&mut [u8], RecvInfo)) -> io::Result<()> {
        let mut told = Ok(());
        for end in &self.ends {
            let info = RecvInfo { from: end.remote, to: end.local };
            for _ in 0..BATCH_DATAGRAMS {
                match end.socket.recv(&mut self.buffer) {
                    Ok(length) => take(&mut self.buffer[..length], info),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => told = told.and(Err(error)),
                }
            }
        }
        told
    }

    /// Waits until something has come, here or in another file, at most so long.
    ///
    /// # Errors
    /// When the kernel cannot wait.
    pub fn wait(&self, other: Option<BorrowedFd<'_>>, most: Option<Duration>) -> io::Result<Woken> {
        let sockets = self.ends.iter().map(|end| end.socket.as_fd());
        let mut files: Vec<PollFd<'_>> =
            sockets.chain(other).map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN)).collect();
        let most = most.and_then(|time| Timespec::try_from(time).ok());
        match rustix::event::poll(&mut files, most.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Woken::default()),
            Err(error) => return Err(error.into()),
        }
        let (ends, other) = files.split_at(self.ends.len());
        let woken = |files: &[PollFd<'_>]| files.iter().any(|file| !file.revents().is_empty());
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
    /// A socket that is bound to the address that the kernel prefers now.
    fn open(remote: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(kernel::any(remote))?;
        socket.connect(remote)?;
        let local = socket.local_addr()?;
        socket.set_nonblocking(true)?;
        sockopt::set_socket_recv_buffer_size(&socket, SOCKET_BYTES)?;
        // RFC 9000 section 14: never in fragments. A router's word on its MTU is not taken: anybody could give it.
        if remote.is_ipv4() {
            sockopt::set_ip_mtu_discover(&socket, Ipv4PathMtuDiscovery::PROBE)?;
        } else {
            sockopt::set_ipv6_mtu_discover(&socket, Ipv6PathMtuDiscovery::PROBE)?;
        }
        Ok(Self { socket, local, remote })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_network_says_of_one_address_hides_nothing_that_came_to_another() {
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
        let told = paths.receive(|datagram, info| came.push((datagram.to_vec(), info.to)));
        assert_eq!(told.unwrap_err().kind(), ErrorKind::ConnectionRefused);
        assert_eq!(came, [(b"two".to_vec(), used), (b"six".to_vec(), used)]);
        assert!(paths.receive(|_, _| panic!("nothing is left")).is_ok());
    }

    fn socket() -> UdpSocket {
        UdpSocket::bind("127.0.0.1:0").unwrap()
    }
}
