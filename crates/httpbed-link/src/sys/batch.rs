//! Frames in batches, and their buffers.

use std::io::{self, Read};
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::time;

/// Frames per call. Each costs about a microsecond, so a batch delays nothing for long.
pub const FRAMES: usize = 64;

/// How many buffers are kept for reuse after a burst.
const MOST_SPARE: usize = 4096;

/// A received frame.
pub struct Received {
    /// Its bytes; only the first ones if it is longer than the buffers.
    pub frame: Vec<u8>,
    /// Its true length in bytes, as far as the kernel reports it.
    pub length: usize,
    /// When it arrived.
    pub stamp: Stamp,
    /// Whether its checksum is complete, and not left to a network card.
    pub finished: bool,
    /// Whether the interface sent it; only an observer sees such frames.
    pub leaving: bool,
}

/// When a frame arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// By the realtime clock, from the kernel.
    Kernel(i64),
    /// By the monotonic clock when it was read, if the kernel gives no stamp.
    Reading(i64),
}

/// Buffers for receiving, including those returned after sending.
pub struct Intake {
    frame_bytes: usize,
    spare: Vec<Vec<u8>>,
}

impl Intake {
    /// Buffers for whole frames of up to `frame_bytes`.
    pub const fn new(frame_bytes: usize) -> Self {
        Self { frame_bytes, spare: Vec::new() }
    }

    /// Takes a frame's buffer back for reuse.
    pub fn recycle(&mut self, mut buffer: Vec<u8>) {
        if self.spare.len() < MOST_SPARE {
            buffer.clear();
            self.spare.push(buffer);
        }
    }

    /// Copies a frame into a buffer.
    pub fn copy(&mut self, frame: &[u8]) -> Vec<u8> {
        let mut buffer = self.fresh();
        buffer.extend_from_slice(frame);
        buffer
    }

    /// Reads one frame with `read`; false when there is none.
    pub fn read(&mut self, mut file: impl Read, into: &mut Vec<Received>) -> io::Result<bool> {
        let mut frame = self.fresh();
        // One more byte, so that a frame that is too long is detected.
        frame.resize(self.frame_bytes + 1, 0);
        match file.read(&mut frame) {
            Ok(length) => {
                frame.truncate(length);
                let stamp = Stamp::Reading(time::monotonic());
                into.push(Received { frame, length, stamp, finished: true, leaving: false });
                Ok(true)
            }
            Err(error) => {
                self.recycle(frame);
                none_or_error(error).map(|()| false)
            }
        }
    }

    fn fresh(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_else(|| Vec::with_capacity(self.frame_bytes + 1))
    }
}

/// Structures for sending, for reuse.
pub struct Outgoing {
    vectors: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
}

impl Outgoing {
    /// For up to [`FRAMES`] frames at once without allocation.
    pub fn new() -> Self {
        Self { vectors: Vec::with_capacity(FRAMES), headers: Vec::with_capacity(FRAMES) }
    }

    /// Sends frames in order; returns how many the kernel rejected.
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
            // The call stops at the first frame that the kernel rejects; it may accept the next ones.
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

fn none_or_error(error: io::Error) -> io::Result<()> {
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EINTR) => Ok(()),
        _ => Err(error),
    }
}
