//! `AF_PACKET` sockets: whole Ethernet frames of one interface, with kernel stamps.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use linux_calls::socket::{enlarge, set};

use super::receive_ring::{ReceiveRing, RingFrame};
use super::{check, interface, size_of_u32};

/// What the send buffer should hold: far more than one batch.
const BUFFER_BYTES: libc::c_int = 16 << 20;

/// A socket that sees every frame an interface receives, and on request those that it sends.
pub struct PacketSocket {
    socket: OwnedFd,
    ring: ReceiveRing,
}

impl PacketSocket {
    /// Opens the socket of an interface of this network namespace, with at least `slots` slots for frames of up to
    /// `frame_bytes`, including sent frames if `sees_leaving`.
    pub fn open(name: &str, slots: usize, frame_bytes: usize, sees_leaving: bool) -> io::Result<Self> {
        let index = interface::index(name)?;
        // Protocol 0 now, and the real one with the address: a socket opened with ETH_P_ALL is first attached to
        // all interfaces, and moving it takes 11 to 42 ms, until every CPU has passed by.
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: no memory is involved.
        let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        // SAFETY: the kernel has just returned this descriptor, and nothing else owns it.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        let ring = ReceiveRing::share(socket.as_fd(), slots, frame_bytes)?;
        let opened = Self { socket, ring };
        // If any socket asks for stamps, the kernel stamps frames before they wait for a CPU, except TCP segments:
        // see `receive_ring`.
        set(&opened, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        set(&opened, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, libc::c_int::from(!sees_leaving))?;
        enlarge(&opened, [libc::SO_SNDBUFFORCE, libc::SO_SNDBUF], BUFFER_BYTES)?;
        opened.bind(index)?;
        Ok(opened)
    }

    /// Passes at most `most` waiting frames to `show`, in order.
    ///
    /// It also clears the socket's pending error, which would keep the socket readable for ever. An error is
    /// pending when the interface went down or was not up yet. That is no failure: frames come once it is up.
    pub fn read(&mut self, most: usize, show: impl FnMut(RingFrame<'_>)) -> io::Result<()> {
        if self.ring.read(most, show) > 0 {
            return Ok(());
        }
        match self.take_error()? {
            0 | libc::ENETDOWN => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// Returns and clears the pending error's number; 0 if there is none.
    fn take_error(&self) -> io::Result<libc::c_int> {
        self.get(libc::SOL_SOCKET, libc::SO_ERROR, 0)
    }

    /// Frames lost because no slot was free, since the last call.
    pub fn take_drops(&self) -> io::Result<u64> {
        let none = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let statistics = self.get(libc::SOL_PACKET, libc::PACKET_STATISTICS, none)?;
        Ok(u64::from(statistics.tp_drops))
    }

    fn bind(&self, index: libc::c_int) -> io::Result<()> {
        // SAFETY: all-zero bytes are a valid `sockaddr_ll`.
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        address.sll_family = u16::try_from(libc::AF_PACKET).unwrap_or_default();
        address.sll_protocol = u16::try_from(libc::ETH_P_ALL).unwrap_or_default().to_be();
        address.sll_ifindex = index;
        let length = size_of_u32::<libc::sockaddr_ll>();
        // SAFETY: `address` lives through the call and is `length` bytes long.
        check(unsafe { libc::bind(self.socket.as_raw_fd(), (&raw const address).cast(), length) }).map(drop)
    }

    /// Reads an option into `value`, a plain integer or a structure of such.
    fn get<T: Copy>(&self, level: libc::c_int, option: libc::c_int, mut value: T) -> io::Result<T> {
        let (socket, mut length) = (self.socket.as_raw_fd(), size_of_u32::<T>());
        // SAFETY: the kernel writes at most `length` bytes, the size of `value`, and integers may be anything.
        check(unsafe { libc::getsockopt(socket, level, option, (&raw mut value).cast(), &raw mut length) })?;
        Ok(value)
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
