//! `AF_PACKET` sockets: whole Ethernet frames of one interface, with kernel stamps.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::sockopt::{ReceiveTimestampns, SndBuf, SndBufForce, SocketError};
use nix::sys::socket::{
    AddressFamily, LinkAddr, SockFlag, SockType, SockaddrLike, bind, getsockopt, setsockopt, socket,
};
use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};

use super::receive_ring::{ReceiveRing, RingFrame};

/// What the send buffer should hold: far more than one batch.
const BUFFER_BYTES: usize = 16 << 20;

sockopt_impl!(
    /// Whether frames that the interface sends stay unseen.
    IgnoreOutgoing, SetOnly, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, bool
);
sockopt_impl!(
    /// Frames received and frames lost since the last reading.
    Statistics, GetOnly, libc::SOL_PACKET, libc::PACKET_STATISTICS, libc::tpacket_stats
);

/// A socket that sees every frame an interface receives, and none that it sends.
pub struct PacketSocket {
    socket: OwnedFd,
    ring: ReceiveRing,
}

impl PacketSocket {
    /// Opens the socket of an interface of this network namespace, with at least `slots` slots for frames of up to
    /// `frame_bytes`.
    pub fn open(name: &str, slots: usize, frame_bytes: usize) -> io::Result<Self> {
        let index = if_nametoindex(name)?;
        // Protocol 0 now, and the real one with the address: a socket opened with ETH_P_ALL is first attached to
        // all interfaces, and moving it takes 11 to 42 ms, until every CPU has passed by.
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Packet, SockType::Raw, flags, None)?;
        let ring = ReceiveRing::share(&socket, slots, frame_bytes)?;
        // If any socket asks for stamps, the kernel stamps frames before they wait for a CPU, except TCP segments:
        // see `receive_ring`.
        setsockopt(&socket, ReceiveTimestampns, &true)?;
        setsockopt(&socket, IgnoreOutgoing, &true)?;
        setsockopt(&socket, SndBufForce, &BUFFER_BYTES)
            .or_else(|_| setsockopt(&socket, SndBuf, &BUFFER_BYTES))?;
        bind(socket.as_raw_fd(), &address(index)?)?;
        Ok(Self { socket, ring })
    }

    /// Passes at most `most` waiting frames to `show`, in order.
    ///
    /// It also clears the socket's pending error, which would keep the socket readable for ever. An error is
    /// pending when the interface went down or was not up yet. That is no failure: frames come once it is up.
    pub fn read(&mut self, most: usize, show: impl FnMut(RingFrame<'_>)) -> io::Result<()> {
        if self.ring.read(most, show) > 0 {
            return Ok(());
        }
        match getsockopt(&self.socket, SocketError)? {
            0 | libc::ENETDOWN => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// Frames lost because no slot was free, since the last call.
    pub fn take_drops(&self) -> io::Result<u64> {
        Ok(u64::from(getsockopt(&self.socket, Statistics)?.tp_drops))
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// All protocols of an interface.
fn address(index: u32) -> io::Result<LinkAddr> {
    let address = libc::sockaddr_ll {
        sll_family: u16::try_from(libc::AF_PACKET).unwrap_or_default(),
        sll_protocol: u16::try_from(libc::ETH_P_ALL).unwrap_or_default().to_be(),
        sll_ifindex: i32::try_from(index).map_err(io::Error::other)?,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let length = u32::try_from(size_of::<libc::sockaddr_ll>()).map_err(io::Error::other)?;
    // SAFETY: `address` is an initialized address of this family and of this length, and is copied.
    unsafe { LinkAddr::from_raw((&raw const address).cast(), Some(length)) }
        .ok_or_else(|| io::ErrorKind::InvalidInput.into())
}
