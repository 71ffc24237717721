//! Datagrams in batches, each with the kernel's receive stamp; and the options of their sockets.

use std::io;
use std::mem;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::ptr;

use linux_calls::socket::{enlarge, set};

use super::{check, time};

/// Datagrams per call.
const BATCH: usize = 64;
/// The largest payload; longer ones are truncated, which their length shows.
const PAYLOAD_BYTES: usize = 9000;
/// Requested size of a receive buffer; the machine's limit may make it smaller.
const BUFFER_BYTES: libc::c_int = 16 << 20;

/// Room for a `timespec` (32 bytes with its header), a count (24) and a byte (24).
type Control = [u64; 11];

/// The ECN field's values (RFC 3168 section 5): capable, and congestion experienced.
const ECT_0: libc::c_int = 2;
const CE: u8 = 3;

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
    controls: Vec<Control>,
    sources: Vec<libc::sockaddr_in>,
}

impl Receiver {
    /// Room for a batch.
    pub fn new() -> Self {
        // SAFETY: all-zero bytes are a valid `sockaddr_in`.
        let nowhere = unsafe { mem::zeroed() };
        Self {
            buffers: vec![vec![0; PAYLOAD_BYTES]; BATCH],
            controls: vec![Control::default(); BATCH],
            sources: vec![nowhere; BATCH],
        }
    }

    /// Passes the datagrams that wait in `socket` on, at most a batch. Returns their number, and how many the
    /// socket has lost in all because its buffer was full, if the kernel has just reported it.
    pub fn receive(
        &mut self,
        socket: &UdpSocket,
        mut take: impl FnMut(Received<'_>),
    ) -> io::Result<(usize, Option<u32>)> {
        let vector = |buffer: &mut Vec<u8>| libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        };
        let mut vectors: Vec<libc::iovec> = self.buffers.iter_mut().map(vector).collect();
        let mut headers: Vec<libc::mmsghdr> = vectors
            .iter_mut()
            .zip(&mut self.controls)
            .zip(&mut self.sources)
            .map(|((vector, control), source)| header(vector, control, source))
            .collect();
        let (most, flags) = (u32::try_from(BATCH).unwrap_or(1), libc::MSG_DONTWAIT);
        // SAFETY: every header points to its own vector, buffer, control area and source, all alive and of the
        // lengths stated.
        let count = check(unsafe {
            libc::recvmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), most, flags, ptr::null_mut())
        });
        let count = usize::try_from(count.or_else(none_if_empty)?).unwrap_or(0);
        let mut overflown = None;
        for ((header, buffer), source) in headers[..count].iter().zip(&self.buffers).zip(&self.sources) {
            let metadata = metadata(&header.msg_hdr);
            let length = usize::try_from(header.msg_len).unwrap_or(0);
            overflown = metadata.overflown.or(overflown);
            let payload = &buffer[..length.min(buffer.len())];
            let port = u16::from_be(source.sin_port);
            take(Received { payload, port, stamp: metadata.stamp, congestion: metadata.congestion });
        }
        Ok((count, overflown))
    }
}

/// Requests receive stamps, the ECN field, the count of lost datagrams, and the largest buffer that the machine
/// allows.
pub fn prepare_receiving(socket: &UdpSocket) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
    set(socket, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1)?;
    set(socket, libc::IPPROTO_IP, libc::IP_RECVTOS, 1)?;
    enlarge(socket, [libc::SO_RCVBUFFORCE, libc::SO_RCVBUF], BUFFER_BYTES)
}

/// Sends without a checksum, so that the receiving kernel does not drop a damaged datagram.
pub fn leave_out_checksum(socket: &UdpSocket) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_NO_CHECK, 1)
}

/// Sets ECT(0), so that queues mark datagrams instead of dropping them.
pub fn say_capable_of_ecn(socket: &UdpSocket) -> io::Result<()> {
    set(socket, libc::IPPROTO_IP, libc::IP_TOS, ECT_0)
}

/// Lets one call send several datagrams of `payload_bytes` each (generic segmentation offload).
pub fn segment(socket: &UdpSocket, payload_bytes: usize) -> io::Result<()> {
    let size = libc::c_int::try_from(payload_bytes).map_err(io::Error::other)?;
    set(socket, libc::SOL_UDP, libc::UDP_SEGMENT, size)
}

fn header(vector: &mut libc::iovec, control: &mut Control, source: &mut libc::sockaddr_in) -> libc::mmsghdr {
    // SAFETY: all-zero bytes are a valid `mmsghdr`: null pointers with lengths of 0.
    let mut header: libc::mmsghdr = unsafe { mem::zeroed() };
    header.msg_hdr.msg_name = ptr::from_mut(source).cast();
    header.msg_hdr.msg_namelen = libc::socklen_t::try_from(size_of::<libc::sockaddr_in>()).unwrap_or(0);
    header.msg_hdr.msg_iov = vector;
    header.msg_hdr.msg_iovlen = 1;
    header.msg_hdr.msg_control = control.as_mut_ptr().cast();
    header.msg_hdr.msg_controllen = size_of::<Control>() as _;
    header
}

/// The kernel's metadata of a datagram.
struct Metadata {
    stamp: Option<i64>,
    overflown: Option<u32>,
    congestion: bool,
}

fn metadata(header: &libc::msghdr) -> Metadata {
    let mut metadata = Metadata { stamp: None, overflown: None, congestion: false };
    // SAFETY: the kernel filled the control area that `header` points to and set its length. The macros stay within
    // it, and the type of an entry defines its data, which may be unaligned.
    unsafe {
        let mut entry = libc::CMSG_FIRSTHDR(header);
        while let Some(found) = entry.as_ref() {
            let data = libc::CMSG_DATA(entry);
            match (found.cmsg_level, found.cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    let stamp = ptr::read_unaligned(data.cast::<libc::timespec>());
                    metadata.stamp = Some(time::nanoseconds(stamp));
                }
                (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => {
                    metadata.overflown = Some(ptr::read_unaligned(data.cast::<u32>()));
                }
                (libc::IPPROTO_IP, libc::IP_TOS) => metadata.congestion = data.read() & CE == CE,
                _ => {}
            }
            entry = libc::CMSG_NXTHDR(header, entry);
        }
    }
    metadata
}

fn none_if_empty(error: io::Error) -> io::Result<libc::c_int> {
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EINTR) => Ok(0),
        _ => Err(error),
    }
}
