//! Many frames in one system call.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;

use super::packet_socket::PacketSocket;
use super::time;

/// Frames per call. Each costs about a microsecond, so a batch holds nobody up for long.
pub const FRAMES: usize = 64;

/// Room for what the kernel says of a frame: `CMSG_SPACE` of a `timespec` is 32 bytes, of a
/// `tpacket_auxdata` 40.
type Control = [u64; 12];

/// A received frame.
pub struct Received {
    /// Its bytes; only the first ones if it was longer than the buffers.
    pub frame: Vec<u8>,
    /// Its true length in bytes.
    pub length: usize,
    /// When it arrived, by the realtime clock, if the kernel said so.
    pub stamp: Option<i64>,
    /// Whether its checksum is complete, not left to a network card that a link does not have.
    pub finished: bool,
}

/// What the kernel says of a frame.
struct Told {
    stamp: Option<i64>,
    finished: bool,
}

/// Buffers for receiving, and those that came back from sending.
pub struct Receiver {
    frame_bytes: usize,
    buffers: Vec<Vec<u8>>,
    controls: Vec<Control>,
    spare: Vec<Vec<u8>>,
}

impl Receiver {
    /// Takes frames of up to `frame_bytes` whole.
    pub fn new(frame_bytes: usize) -> Self {
        Self {
            frame_bytes,
            buffers: (0..FRAMES).map(|_| vec![0; frame_bytes]).collect(),
            controls: vec![Control::default(); FRAMES],
            spare: Vec::new(),
        }
    }

    /// Gives a frame's buffer back for reuse.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        self.spare.push(buffer);
    }

    /// Hands on the frames that wait in `socket`, at most [`FRAMES`]; the number of them.
    pub fn receive(
        &mut self,
        socket: &PacketSocket,
        mut take: impl FnMut(&mut Self, Received),
    ) -> io::Result<usize> {
        let mut vectors = self.vectors();
        let mut headers = self.headers(&mut vectors);
        // SAFETY: every header points to a vector, a buffer and a control area of its own, all alive and
        // of the lengths stated; MSG_TRUNC makes the kernel tell the true length of longer frames.
        let count = unsafe {
            libc::recvmmsg(
                socket.as_fd().as_raw_fd(),
                headers.as_mut_ptr(),
                u32::try_from(FRAMES).unwrap_or(1),
                libc::MSG_DONTWAIT | libc::MSG_TRUNC,
                ptr::null_mut(),
            )
        };
        let Ok(count) = usize::try_from(count) else { return none_or_error(io::Error::last_os_error()) };
        for (slot, header) in headers[..count].iter().enumerate() {
            let received = self.take(slot, header);
            take(self, received);
        }
        Ok(count)
    }

    fn vectors(&mut self) -> Vec<libc::iovec> {
        let vector = |buffer: &mut Vec<u8>| libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        };
        self.buffers.iter_mut().map(vector).collect()
    }

    fn headers(&mut self, vectors: &mut [libc::iovec]) -> Vec<libc::mmsghdr> {
        let header = |(vector, control): (&mut libc::iovec, &mut Control)| {
            let mut header = header_of(vector);
            header.msg_hdr.msg_control = control.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = size_of::<Control>() as _;
            header
        };
        vectors.iter_mut().zip(&mut self.controls).map(header).collect()
    }

    fn take(&mut self, slot: usize, header: &libc::mmsghdr) -> Received {
        let length = usize::try_from(header.msg_len).unwrap_or(usize::MAX);
        let mut fresh = self.spare.pop().unwrap_or_default();
        fresh.resize(self.frame_bytes, 0);
        let mut frame = mem::replace(&mut self.buffers[slot], fresh);
        frame.truncate(length);
        let Told { stamp, finished } = told(&header.msg_hdr);
        Received { frame, length, stamp, finished }
    }
}

/// Sends frames in order; `sent` hears of each, and whether the kernel took it.
pub fn send<'a>(socket: &PacketSocket, frames: impl Iterator<Item = &'a [u8]>, mut sent: impl FnMut(bool)) {
    let mut vectors: Vec<libc::iovec> = frames
        .map(|frame| libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() })
        .collect();
    let mut headers: Vec<libc::mmsghdr> = vectors.iter_mut().map(header_of).collect();
    let mut rest = &mut headers[..];
    while !rest.is_empty() {
        let length = u32::try_from(rest.len()).unwrap_or(u32::MAX);
        // SAFETY: every header points to a vector, every vector to a frame, all alive; sending only reads.
        let count = unsafe {
            libc::sendmmsg(socket.as_fd().as_raw_fd(), rest.as_mut_ptr(), length, libc::MSG_DONTWAIT)
        };
        let taken = match usize::try_from(count) {
            Ok(count) => count,
            Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => 0,
        };
        (0..taken).for_each(|_| sent(true));
        rest = &mut rest[taken..];
        // The call stops at the first frame that the kernel refuses; the next ones may fare better.
        if taken == 0 {
            sent(false);
            rest = &mut rest[1..];
        }
    }
}

fn header_of(vector: &mut libc::iovec) -> libc::mmsghdr {
    // SAFETY: all-zero bytes are a valid `mmsghdr`: null pointers with lengths of 0.
    let mut header: libc::mmsghdr = unsafe { mem::zeroed() };
    header.msg_hdr.msg_iov = vector;
    header.msg_hdr.msg_iovlen = 1;
    header
}

fn told(header: &libc::msghdr) -> Told {
    let mut told = Told { stamp: None, finished: true };
    // SAFETY: the kernel filled the control area that `header` points to and set its length; the macros
    // stay within it, and the type of an entry says what its data are.
    unsafe {
        let mut entry = libc::CMSG_FIRSTHDR(header);
        while let Some(found) = entry.as_ref() {
            match (found.cmsg_level, found.cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    told.stamp = Some(time::nanoseconds(data_of::<libc::timespec>(entry)));
                }
                (libc::SOL_PACKET, libc::PACKET_AUXDATA) => {
                    let status = data_of::<libc::tpacket_auxdata>(entry).tp_status;
                    told.finished = status & libc::TP_STATUS_CSUMNOTREADY == 0;
                }
                _ => {}
            }
            entry = libc::CMSG_NXTHDR(header, entry);
        }
    }
    told
}

/// Copies the data of an entry.
///
/// # Safety
/// `entry` must be valid and hold a `T`, for which any bytes are a value.
unsafe fn data_of<T: Copy>(entry: *const libc::cmsghdr) -> T {
    // SAFETY: as the caller promises; the data may be unaligned.
    unsafe { ptr::read_unaligned(libc::CMSG_DATA(entry).cast()) }
}

/// An interface that was down tells it once; frames come again when it is up.
fn none_or_error(error: io::Error) -> io::Result<usize> {
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EINTR | libc::ENETDOWN) => Ok(0),
        _ => Err(error),
    }
}
