//! `AF_PACKET` sockets: whole Ethernet frames of one interface, in batches, with kernel stamps.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::{check, interface};

/// What the receive and send buffers should hold: 8 ms at 10 Gbit/s, or many seconds at 10 Mbit/s.
const BUFFER_BYTES: libc::c_int = 16 << 20;

/// A socket that sees every frame an interface receives, and none that it sends.
pub struct PacketSocket {
    socket: OwnedFd,
}

impl PacketSocket {
    /// Opens the socket of an interface of this network namespace.
    pub fn open(name: &str) -> io::Result<Self> {
        let index = interface::index(name)?;
        // Protocol 0, and the real one only with the address: a socket opened with ETH_P_ALL is first
        // attached to all interfaces, and moving it waits 11 to 42 ms for every CPU to pass by.
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: no memory is involved.
        let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        // SAFETY: the kernel has just given us this descriptor, nobody else has it.
        let opened = Self { socket: unsafe { OwnedFd::from_raw_fd(fd) } };
        opened.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        opened.set(libc::SOL_PACKET, libc::PACKET_AUXDATA, 1)?;
        opened.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
        opened.enlarge(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF)?;
        opened.enlarge(libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)?;
        opened.bind(index)?;
        Ok(opened)
    }

    /// Frames that were lost for want of room in the receive buffer, since the last call.
    pub fn take_drops(&self) -> io::Result<u64> {
        let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut length = size_of_u32::<libc::tpacket_stats>();
        // SAFETY: the kernel writes at most `length` bytes, the size of `statistics`.
        check(unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut statistics).cast(),
                &raw mut length,
            )
        })?;
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

    /// The forcing option needs a privilege over the machine, the plain one is capped by its limits.
    fn enlarge(&self, forcing: libc::c_int, plain: libc::c_int) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, forcing, BUFFER_BYTES)
            .or_else(|_| self.set(libc::SOL_SOCKET, plain, BUFFER_BYTES))
    }

    fn set(&self, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
        let (socket, length) = (self.socket.as_raw_fd(), size_of_u32::<libc::c_int>());
        // SAFETY: `value` lives through the call and is `length` bytes long.
        check(unsafe { libc::setsockopt(socket, level, option, (&raw const value).cast(), length) }).map(drop)
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn size_of_u32<T>() -> u32 {
    u32::try_from(size_of::<T>()).expect("kernel structures are small")
}
