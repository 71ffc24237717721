//! The client's ends of its paths: sockets, each bound to one local address and connected to the server.
//!
//! A connected socket is told when nobody listens at the other end, and has an address of its own rather than
//! the wildcard, which is how QUIC names a path. There is one as long as the client stays where it is; one that
//! moves opens another with [`Paths::open`] and drops the old one.

use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use quiche::{RecvInfo, SendInfo};
use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSocketState};
use rustix::event::{PollFd, PollFlags, Timespec};

/// The largest datagram, or several that the kernel has glued together.
const BUFFER_BYTES: usize = 65_535;
/// What a socket should hold until it is read; the machine's limit is what it gets.
const SOCKET_BYTES: usize = 4 << 20;

/// A local socket.
struct End {
    socket: UdpSocket,
    state: UdpSocketState,
    local: SocketAddr,
    remote: SocketAddr,
}

/// All local sockets of a connection, and the buffers that they share.
pub struct Paths {
    ends: Vec<End>,
    buffers: Vec<Vec<u8>>,
}

impl Paths {
    /// None yet.
    pub fn new() -> Self {
        Self { ends: Vec::new(), buffers: vec![vec![0; BUFFER_BYTES]; BATCH_SIZE] }
    }

    /// Opens a path from the address that the kernel prefers now; says which it is.
    ///
    /// # Errors
    /// When there is no route.
    pub fn open(&mut self, remote: SocketAddr) -> io::Result<SocketAddr> {
        let any = if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = UdpSocket::bind(SocketAddr::new(any, 0))?;
        socket.connect(remote)?;
        let local = socket.local_addr()?;
        let state = UdpSocketState::new((&socket).into())?;
        state.set_recv_buffer_size((&socket).into(), SOCKET_BYTES)?;
        self.ends.push(End { socket, state, local, remote });
        Ok(local)
    }

    /// Sends a datagram from where quiche wants it sent; one whose path is gone is lost, as on any network.
    ///
    /// # Errors
    /// When the kernel refuses, such as because of an ICMP message for an earlier datagram.
    pub fn send(&self, datagram: &[u8], info: &SendInfo) -> io::Result<()> {
        let Some(end) = self.ends.iter().find(|end| end.local == info.from) else { return Ok(()) };
        let transmit = Transmit {
            destination: info.to,
            ecn: None,
            contents: datagram,
            segment_size: None,
            src_ip: None,
        };
        match end.state.try_send((&end.socket).into(), &transmit) {
            // A full buffer is a full queue: QUIC sends again what is lost in it.
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            sent => sent,
        }
    }

    /// Hands on what waits in the sockets, at most a batch of each.
    ///
    /// # Errors
    /// When the kernel tells of an ICMP message.
    pub fn receive(&mut self, mut take: impl FnMut(&mut [u8], RecvInfo)) -> io::Result<()> {
        for end in &self.ends {
            let mut told = [RecvMeta::default(); BATCH_SIZE];
            let mut slices: Vec<IoSliceMut<'_>> =
                self.buffers.iter_mut().map(|buffer| IoSliceMut::new(buffer)).collect();
            let count = match end.state.recv((&end.socket).into(), &mut slices, &mut told) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error),
            };
            let info = RecvInfo { from: end.remote, to: end.local };
            for (told, buffer) in told[..count].iter().zip(&mut self.buffers) {
                buffer[..told.len].chunks_mut(told.stride.max(1)).for_each(|datagram| take(datagram, info));
            }
        }
        Ok(())
    }

    /// Waits until something has come, at most so long; whether it has.
    ///
    /// # Errors
    /// When the kernel cannot wait.
    pub fn wait(&self, most: Option<Duration>) -> io::Result<bool> {
        let mut files: Vec<PollFd<'_>> =
            self.ends.iter().map(|end| PollFd::from_borrowed_fd(end.socket.as_fd(), PollFlags::IN)).collect();
        let most = most.and_then(|time| Timespec::try_from(time).ok());
        match rustix::event::poll(&mut files, most.as_ref()) {
            Ok(count) => Ok(count > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
