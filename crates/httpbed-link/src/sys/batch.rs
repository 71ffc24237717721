//! Many frames in one system call.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use super::time;

/// Frames per call. Each costs about a microsecond, so a batch holds nobody up for long.
pub const FRAMES: usize = 64;

/// Room for what the kernel says of a frame: `CMSG_SPACE` of a `timespec` is 32 bytes, of a
/// `tpacket_auxdata` 40.
type Control = [u64; 12];

/// Buffers kept for reuse beyond a burst.
const MOST_SPARE: usize = 4096;

/// A received frame.
pub struct Received {
    /// Its bytes; only the first ones if it was longer than the buffers.
    pub frame: Vec<u8>,
    /// Its true length in bytes, as far as the kernel tells it.
    pub length: usize,
    /// When it arrived.
    pub stamp: Stamp,
    /// Whether its checksum is complete, not left to a network card that a link does not have.
    pub finished: bool,
}

/// When a frame arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// By the realtime clock, from the kernel.
    Kernel(i64),
    /// By the monotonic clock, when it was read: there is nothing better.
    Reading(i64),
    /// The kernel should have said it and did not.
    Missing,
}

/// What the kernel says of a frame.
struct Told {
    stamp: Stamp,
    finished: bool,
}

/// Buffers for receiving, and those that came back from sending. Their bytes are never cleared: the kernel writes
/// into what lies behind a buffer's length.
pub struct Intake {
    frame_bytes: usize,
    buffers: Vec<Vec<u8>>,
    controls: Vec<Control>,
    vectors: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
    spare: Vec<Vec<u8>>,
}

impl Intake {
    /// Takes frames of up to `frame_bytes` whole. Buffers have a byte more, so that a longer frame shows.
    pub fn new(frame_bytes: usize) -> Self {
        Self {
            frame_bytes: frame_bytes + 1,
            buffers: (0..FRAMES).map(|_| Vec::with_capacity(frame_bytes + 1)).collect(),
            controls: vec![Control::default(); FRAMES],
            vectors: Vec::with_capacity(FRAMES),
            headers: Vec::with_capacity(FRAMES),
            spare: Vec::new(),
        }
    }

    /// Gives a frame's buffer back for reuse.
    pub fn recycle(&mut self, mut buffer: Vec<u8>) {
        if self.spare.len() < MOST_SPARE {
            buffer.clear();
            self.spare.push(buffer);
        }
    }

    /// Takes the frames that wait in a packet socket, at most [`FRAMES`].
    pub fn receive(&mut self, socket: BorrowedFd<'_>, into: &mut Vec<Received>) -> io::Result<()> {
        self.prepare();
        // SAFETY: every header points to a vector, a buffer and a control area of its own, all alive and
        // of the lengths stated; MSG_TRUNC makes the kernel tell the true length of longer frames.
        let count = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                u32::try_from(FRAMES).unwrap_or(1),
                libc::MSG_DONTWAIT | libc::MSG_TRUNC,
                ptr::null_mut(),
            )
        };
        let Ok(count) = usize::try_from(count) else { return none_or_error(io::Error::last_os_error()) };
        for slot in 0..count {
            let header = &self.headers[slot];
            let length = usize::try_from(header.msg_len).unwrap_or(usize::MAX);
            let Told { stamp, finished } = told(&header.msg_hdr);
            // SAFETY: the kernel wrote so many bytes, or all there was room for.
            let frame = unsafe { self.take(slot, length.min(self.frame_bytes)) };
            into.push(Received { frame, length, stamp, finished });
        }
        Ok(())
    }

    /// Takes one frame with `read`; false when there is none.
    pub fn read(&mut self, file: BorrowedFd<'_>, into: &mut Vec<Received>) -> io::Result<bool> {
        let buffer = self.buffers[0].as_mut_ptr();
        // SAFETY: the buffer is empty and has a capacity of at least `frame_bytes`.
        let length = unsafe { libc::read(file.as_raw_fd(), buffer.cast(), self.frame_bytes) };
        let Ok(length) = usize::try_from(length) else {
            return none_or_error(io::Error::last_os_error()).map(|()| false);
        };
        let stamp = Stamp::Reading(time::monotonic());
        // SAFETY: the kernel wrote so many bytes.
        let frame = unsafe { self.take(0, length) };
        into.push(Received { frame, length, stamp, finished: true });
        Ok(true)
    }

    fn prepare(&mut self) {
        let frame_bytes = self.frame_bytes;
        let vector =
            |buffer: &mut Vec<u8>| libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: frame_bytes };
        self.vectors.clear();
        self.vectors.extend(self.buffers.iter_mut().map(vector));
        let header = |(vector, control): (&mut libc::iovec, &mut Control)| {
            let mut header = header_of(vector);
            header.msg_hdr.msg_control = control.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = size_of::<Control>() as _;
            header
        };
        self.headers.clear();
        self.headers.extend(self.vectors.iter_mut().zip(&mut self.controls).map(header));
    }

    /// Takes a filled buffer and puts an empty one into its place.
    ///
    /// # Safety
    /// The first `length` bytes of the buffer must have been written, within its capacity.
    unsafe fn take(&mut self, slot: usize, length: usize) -> Vec<u8> {
        let mut fresh = self.spare.pop().unwrap_or_default();
        fresh.reserve_exact(self.frame_bytes);
        let mut frame = mem::replace(&mut self.buffers[slot], fresh);
        // SAFETY: as the caller promises.
        unsafe { frame.set_len(length) };
        frame
    }
}

/// What sending needs, for reuse.
pub struct Outgoing {
    vectors: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
}

impl Outgoing {
    /// For up to [`FRAMES`] frames at once without allocating.
    pub fn new() -> Self {
        Self { vectors: Vec::with_capacity(FRAMES), headers: Vec::with_capacity(FRAMES) }
    }

    /// Sends frames in order; the number of those that the kernel did not take.
    pub fn send(&mut self, socket: BorrowedFd<'_>, frames: &[Vec<u8>]) -> u64 {
        let vector = |frame: &Vec<u8>| libc::iovec {
            iov_base: frame.as_ptr().cast_mut().cast(),
            iov_len: frame.len(),
        };
        self.vectors.clear();
        self.vectors.extend(frames.iter().map(vector));
        self.headers.clear();
        self.headers.extend(self.vectors.iter_mut().map(header_of));
        let mut refused = 0;
        let mut rest = &mut self.headers[..];
        while !rest.is_empty() {
            let length = u32::try_from(rest.len()).unwrap_or(u32::MAX);
            // SAFETY: every header points to a vector, every vector to a frame, all alive; sending only reads.
            let count =
                unsafe { libc::sendmmsg(socket.as_raw_fd(), rest.as_mut_ptr(), length, libc::MSG_DONTWAIT) };
            let taken = match usize::try_from(count) {
                Ok(count) => count,
                Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => 0,
            };
            rest = &mut rest[taken..];
            // The call stops at the first frame that the kernel refuses; the next ones may fare better.
            if taken == 0 {
                refused += 1;
                rest = &mut rest[1..];
            }
        }
        refused
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
    let mut told = Told { stamp: Stamp::Missing, finished: true };
    // SAFETY: the kernel filled the control area that `header` points to and set its length; the macros
    // stay within it, and the type of an entry says what its data are.
    unsafe {
        let mut entry = libc::CMSG_FIRSTHDR(header);
        while let Some(found) = entry.as_ref() {
            match (found.cmsg_level, found.cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    told.stamp = Stamp::Kernel(time::nanoseconds(data_of::<libc::timespec>(entry)));
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
fn none_or_error(error: io::Error) -> io::Result<()> {
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EINTR | libc::ENETDOWN) => Ok(()),
        _ => Err(error),
    }
}
