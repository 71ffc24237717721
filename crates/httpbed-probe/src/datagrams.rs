//! Datagrams in batches, each with the kernel's receive stamp; and the options of their sockets.

use std::io::{self, IoSliceMut};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::sockopt::{
    IpRecvTos, Ipv4Tos, RcvBuf, RcvBufForce, ReceiveTimestampns, RxqOvfl, UdpGsoSegment,
};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, MultiHeaders, SockaddrIn, recvmmsg, setsockopt};
use nix::sys::time::TimeValLike;
use nix::{libc, setsockopt_impl, sockopt_impl};

/// Datagrams per call.
const BATCH: usize = 64;
/// The largest payload; longer ones are truncated, which their length shows.
const PAYLOAD_BYTES: usize = 9000;
/// Requested size of a receive buffer; the machine's limit may make it smaller.
const BUFFER_BYTES: usize = 16 << 20;

/// The ECN field's values (RFC 3168 section 5): capable, and congestion experienced.
const ECT_0: i32 = 2;
const CE: u8 = 3;

sockopt_impl!(
    /// Whether datagrams are sent without a checksum.
    NoCheck, SetOnly, libc::SOL_SOCKET, libc::SO_NO_CHECK, bool
);

/// A datagram.
pub struct Received<'a> {
    /// Its payload.
    pub payload: &'a [u8],
    /// Its source port.
    pub port: u16,
    /// When the kernel took it from the interface, by the realtime clock, if known.
    pub stamp: Option<i64>,
    /// Whether a queue on the path marked it.
    pub congestion: bool,
}

/// Buffers for receiving.
pub struct Receiver {
    buffers: Vec<Vec<u8>>,
}

impl Receiver {
    /// Room for a batch.
    pub fn new() -> Self {
        Self { buffers: vec![vec![0; PAYLOAD_BYTES]; BATCH] }
    }

    /// Passes the datagrams that wait in `socket` on, at most a batch. Returns their number, and how many the
    /// socket has lost in all because its buffer was full, if the kernel has just reported it.
    ///
    /// # Errors
    /// When the kernel rejects the call.
    pub fn receive(
        &mut self,
        socket: &UdpSocket,
        mut take: impl FnMut(Received<'_>),
    ) -> io::Result<(usize, Option<u32>)> {
        // The kernel shortens the lengths in the headers, and nix does not restore them: new headers for each call.
        let control = nix::cmsg_space!(libc::timespec, u32, u8);
        let mut headers = MultiHeaders::<SockaddrIn>::preallocate(BATCH, Some(control));
        let mut slices: Vec<_> = self.buffers.iter_mut().map(|buffer| [IoSliceMut::new(buffer)]).collect();
        let flags = MsgFlags::MSG_DONTWAIT;
        let messages = match recvmmsg(socket.as_raw_fd(), &mut headers, &mut slices, flags, None) {
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok((0, None)),
            messages => messages?,
        };
        let (mut count, mut overflown) = (0, None);
        for message in messages {
            let payload = message.iovs().next().unwrap_or_default();
            let port = message.address.map_or(0, |address| address.port());
            let mut received = Received { payload, port, stamp: None, congestion: false };
            for metadata in message.cmsgs()? {
                match metadata {
                    ControlMessageOwned::ScmTimestampns(stamp) => {
                        received.stamp = Some(stamp.num_nanoseconds());
                    }
                    ControlMessageOwned::RxqOvfl(lost) => overflown = Some(lost),
                    ControlMessageOwned::Ipv4Tos(field) => received.congestion = field & CE == CE,
                    _ => {}
                }
            }
            take(received);
            count += 1;
        }
        Ok((count, overflown))
    }
}

/// Requests receive stamps, the ECN field, the count of lost datagrams, and the largest buffer that the machine
/// allows.
///
/// # Errors
/// When the kernel does not know an option.
pub fn prepare_receiving(socket: &UdpSocket) -> io::Result<()> {
    setsockopt(socket, ReceiveTimestampns, &true)?;
    setsockopt(socket, RxqOvfl, &1)?;
    setsockopt(socket, IpRecvTos, &true)?;
    Ok(setsockopt(socket, RcvBufForce, &BUFFER_BYTES)
        .or_else(|_| setsockopt(socket, RcvBuf, &BUFFER_BYTES))?)
}

/// Sends without a checksum, so that the receiving kernel does not drop a damaged datagram.
///
/// # Errors
/// When the kernel does not know the option.
pub fn leave_out_checksum(socket: &UdpSocket) -> io::Result<()> {
    Ok(setsockopt(socket, NoCheck, &true)?)
}

/// Sets ECT(0), so that queues mark datagrams instead of dropping them.
///
/// # Errors
/// When the kernel does not know the option.
pub fn say_capable_of_ecn(socket: &UdpSocket) -> io::Result<()> {
    Ok(setsockopt(socket, Ipv4Tos, &ECT_0)?)
}

/// Lets one call send several datagrams of `payload_bytes` each (generic segmentation offload).
///
/// # Errors
/// When the kernel does not know the option.
pub fn segment(socket: &UdpSocket, payload_bytes: usize) -> io::Result<()> {
    let bytes = i32::try_from(payload_bytes).map_err(io::Error::other)?;
    Ok(setsockopt(socket, UdpGsoSegment, &bytes)?)
}
