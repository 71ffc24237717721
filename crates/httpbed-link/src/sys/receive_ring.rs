//! Frames in memory that the kernel shares with us: a `PACKET_RX_RING` of version 2.
//!
//! # Theory of operation
//!
//! The ring is an array of slots; each begins with a status that says whose it is. The kernel copies every
//! frame that an interface receives, with its stamp, into the next free slot and gives it to us. No system
//! call is needed to read it, and the room does not depend on `net.core.rmem_max`, which grants an ordinary
//! user about 180 packets. Version 3 would wake us by blocks of frames, up to 1.5 ms late.
//!
//! A frame is never without a stamp. It is of the moment at which the frame was given to the interface if any socket
//! of the machine asks for stamps, except that the kernel (Linux 5.18 and later) lets a TCP segment keep the time at
//! which it was to be sent in the stamp's place. Such a frame has the time of the copy instead, which is made in the
//! software interrupt that follows the sending: later by as long as the sender's own batch takes, and by as long as
//! that interrupt has to wait for its CPU. A status bit (`TP_STATUS_TS_SOFTWARE`) tells which of the two it is, and
//! of TCP segments it tells nothing else than that.

use std::io;
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{check, size_of_u32};

/// The kernel allocates a block in one piece; it holds whole slots, and nothing in what is left of it.
const BLOCK_BYTES: usize = 64 << 10;

/// Header, address and alignment before the frame in a slot.
const OVERHEAD_BYTES: usize = 128;

/// Where a slot has the frame's address: the header, rounded up (`TPACKET_ALIGN`).
const ADDRESS_OFFSET: usize = size_of::<libc::tpacket2_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT);

/// A frame that the kernel has put into its slot.
pub struct RingFrame<'a> {
    /// Its bytes; only the first ones if it was longer than a slot.
    pub frame: &'a [u8],
    /// Its true length in bytes.
    pub length: usize,
    /// When it arrived, in nanoseconds of the realtime clock.
    pub stamp: i64,
    /// Whether its checksum is complete, not left to a network card that a link does not have.
    pub finished: bool,
    /// Whether it was sent by the interface, not received; only of sockets that see both.
    pub leaving: bool,
}

/// The ring of one socket.
pub struct ReceiveRing {
    memory: NonNull<u8>,
    bytes: NonZeroUsize,
    slot_bytes: usize,
    per_block: usize,
    slots: usize,
    next: usize,
}

// SAFETY: the mapping belongs to the ring alone, and a slot is read through the ring only.
unsafe impl Send for ReceiveRing {}

impl ReceiveRing {
    /// Shares at least `slots` slots for frames of up to `frame_bytes` with the kernel. To be called
    /// before the socket is bound.
    pub fn share(socket: BorrowedFd<'_>, slots: usize, frame_bytes: usize) -> io::Result<Self> {
        let slot_bytes =
            (frame_bytes + OVERHEAD_BYTES).next_multiple_of(libc::TPACKET_ALIGNMENT).min(BLOCK_BYTES);
        let per_block = BLOCK_BYTES / slot_bytes;
        let blocks = slots.div_ceil(per_block).max(1);
        request(socket, blocks, slot_bytes, blocks * per_block)?;
        let bytes = NonZeroUsize::new(blocks * BLOCK_BYTES).ok_or(io::ErrorKind::InvalidInput)?;
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping, wherever the kernel puts it, touches no memory that exists.
        let memory = unsafe { libc::mmap(ptr::null_mut(), bytes.get(), access, kind, socket.as_raw_fd(), 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(memory.cast()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { memory, bytes, slot_bytes, per_block, slots: blocks * per_block, next: 0 })
    }

    /// Shows the frames that have arrived, in order, at most `most`; the number of them.
    pub fn read(&mut self, most: usize, mut show: impl FnMut(RingFrame<'_>)) -> usize {
        for count in 0..most {
            let slot = self.slot();
            let said = slot.status().load(Ordering::Acquire);
            if said & libc::TP_STATUS_USER == 0 {
                return count;
            }
            show(slot.frame(said));
            slot.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.slots;
        }
        most
    }

    const fn slot(&self) -> Slot<'_> {
        let (block, place) = (self.next / self.per_block, self.next % self.per_block);
        // SAFETY: `next` is below `slots`, so the mapping has this block, and the block this slot.
        let start = unsafe { self.memory.add(block * BLOCK_BYTES + place * self.slot_bytes) };
        Slot { start, mapping: PhantomData }
    }
}

impl Drop for ReceiveRing {
    fn drop(&mut self) {
        // SAFETY: slots are used within `read` only, so none is left.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.bytes.get()) };
    }
}

/// One slot, while it is being read.
struct Slot<'a> {
    start: NonNull<u8>,
    mapping: PhantomData<&'a ReceiveRing>,
}

impl<'a> Slot<'a> {
    const fn status(&self) -> &'a AtomicU32 {
        // SAFETY: every slot begins with its header, aligned, whose first field is the status.
        unsafe { AtomicU32::from_ptr(self.start.cast().as_ptr()) }
    }

    /// The frame, once the kernel has given the slot to us.
    fn frame(&self, status: u32) -> RingFrame<'a> {
        let header = self.start.cast::<libc::tpacket2_hdr>().as_ptr();
        // SAFETY: the slot begins with the header, aligned; while the slot is ours the kernel writes none of these
        // fields. There is no reference to the whole, which would be to the shared status, too.
        let (begin, kept, length, seconds, nanoseconds) = unsafe {
            (
                (&raw const (*header).tp_mac).read(),
                (&raw const (*header).tp_snaplen).read(),
                (&raw const (*header).tp_len).read(),
                (&raw const (*header).tp_sec).read(),
                (&raw const (*header).tp_nsec).read(),
            )
        };
        // SAFETY: the kernel put so many bytes at that place of the slot.
        let frame = unsafe { slice::from_raw_parts(self.start.as_ptr().add(begin.into()), kept as usize) };
        RingFrame {
            frame,
            length: length as usize,
            stamp: i64::from(seconds) * 1_000_000_000 + i64::from(nanoseconds),
            finished: status & libc::TP_STATUS_CSUMNOTREADY == 0,
            leaving: self.address().sll_pkttype == libc::PACKET_OUTGOING,
        }
    }

    /// Where the frame came from; behind the header, once the kernel has given the slot to us.
    const fn address(&self) -> &libc::sockaddr_ll {
        // SAFETY: the kernel puts it there in every slot, aligned to TPACKET_ALIGNMENT.
        unsafe { self.start.add(ADDRESS_OFFSET).cast().as_ref() }
    }
}

fn request(socket: BorrowedFd<'_>, blocks: usize, slot_bytes: usize, slots: usize) -> io::Result<()> {
    let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
    set(socket, libc::PACKET_VERSION, &version)?;
    let number = |value: usize| libc::c_uint::try_from(value).map_err(io::Error::other);
    let request = libc::tpacket_req {
        tp_block_size: number(BLOCK_BYTES)?,
        tp_block_nr: number(blocks)?,
        tp_frame_size: number(slot_bytes)?,
        tp_frame_nr: number(slots)?,
    };
    set(socket, libc::PACKET_RX_RING, &request)
}

fn set<T>(socket: BorrowedFd<'_>, option: libc::c_int, value: &T) -> io::Result<()> {
    let (fd, length) = (socket.as_raw_fd(), size_of_u32::<T>());
    // SAFETY: `value` lives through the call and is `length` bytes long.
    check(unsafe { libc::setsockopt(fd, libc::SOL_PACKET, option, ptr::from_ref(value).cast(), length) })
        .map(drop)
}
