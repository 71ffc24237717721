//! Frames in batches, and their buffers.

use std::array;
use std::io::{self, IoSlice, Read};
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, MultiHeaders, sendmmsg};
use nix::time::ClockId;

use crate::clock;

/// Frames per call. Each costs about a microsecond, so a batch delays nothing for long.
pub const FRAMES: usize = 64;

/// How many buffers are kept for reuse after a burst.
const MAX_SPARE: usize = 4096;

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
        if self.spare.len() < MAX_SPARE {
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
                let stamp = Stamp::Reading(clock::read(ClockId::CLOCK_MONOTONIC));
                into.push(Received { frame, length, stamp, finished: true });
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
pub struct Outgoing(MultiHeaders<()>);

impl Outgoing {
    /// For up to [`FRAMES`] frames a call.
    pub fn new() -> Self {
        Self(MultiHeaders::preallocate(FRAMES, None))
    }

    /// Sends frames in order; returns how many the kernel rejected.
    pub fn send(&mut self, socket: BorrowedFd<'_>, frames: &[Vec<u8>]) -> u64 {
        let mut rejected = 0;
        let mut rest = frames;
        while !rest.is_empty() {
            let slices: [_; FRAMES] =
                array::from_fn(|place| [IoSlice::new(rest.get(place).map_or(&[], Vec::as_slice))]);
            let batch = &slices[..rest.len().min(FRAMES)];
            let (addresses, flags) = ([None; FRAMES], MsgFlags::MSG_DONTWAIT);
            let taken = match sendmmsg(socket.as_raw_fd(), &mut self.0, batch, addresses, [], flags) {
                Ok(sent) => sent.count(),
                Err(Errno::EINTR) => continue,
                Err(_) => 0,
            };
            rest = &rest[taken..];
            // The call stops at the first frame that the kernel rejects; it may accept the next ones.
            if taken == 0 {
                rejected += 1;
                rest = &rest[1..];
            }
        }
        rejected
    }
}

fn none_or_error(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(()),
        _ => Err(error),
    }
}
