//! Frames in memory that the kernel shares with us: a `PACKET_RX_RING` of version 2.
//!
//! # Theory of operation
//!
//! The ring is an array of slots. Each begins with a status that says whether the kernel or the program owns it.
//! The kernel copies every received frame with its stamp into the next free slot and passes it on. Reading needs no
//! system call, and the size does not depend on `net.core.rmem_max`, which allows an ordinary user about 180
//! packets. Version 3 would wake the program once for a block of frames, up to 1.5 ms late.
//!
//! Every frame has a stamp. If any socket of the machine asks for stamps, the stamp is the time at which the
//! interface got the frame. TCP segments are an exception: since Linux 5.18 the kernel keeps the time at which a
//! segment was to be sent in the same field. Such a frame gets the time of the copy instead, which is made in the
//! software interrupt after the sending. It is later by the time that the sender's batch takes and that the
//! interrupt waits for its CPU. A status bit (`TP_STATUS_TS_SOFTWARE`) says which of the two it is; only TCP
//! segments have the later one.

use std::io;
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{check, size_of_u32};

/// The kernel allocates a block in one piece; it holds whole slots.
const BLOCK_BYTES: usize = 64 << 10;

/// Header, address and alignment before the frame in a slot.
const OVERHEAD_BYTES: usize = 128;

/// Offset of the frame's address in a slot: the header, rounded up (`TPACKET_ALIGN`).
const ADDRESS_OFFSET: usize = size_of::<libc::tpacket2_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT);

/// A frame that the kernel has put into its slot.
pub struct RingFrame<'a> {
    /// Its bytes; only the first ones if it was longer than a slot.
    pub frame: &'a [u8],
    /// Its true length in bytes.
    pub length: usize,
    /// When it arrived, in nanoseconds of the realtime clock.
    pub stamp: i64,
    /// Whether its checksum is complete, and not left to a network card.
    pub finished: bool,
    /// Whether the interface sent it; only sockets that see both directions have such frames.
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
    /// Shares at least `slots` slots for frames of up to `frame_bytes` with the kernel. Call it before binding the
    /// socket.
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

    /// Passes at most `most` arrived frames to `show`, in order; returns their number.
    pub fn read(&mut self, most: usize, mut show: impl FnMut(RingFrame<'_>)) -> usize {
        for count in 0..most {
            let slot = self.slot();
            let status = slot.status().load(Ordering::Acquire);
            if status & libc::TP_STATUS_USER == 0 {
                return count;
            }
            show(slot.frame(status));
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

    /// The frame, if the kernel has passed the slot on.
    fn frame(&self, status: u32) -> RingFrame<'a> {
        let header = self.start.cast::<libc::tpacket2_hdr>().as_ptr();
        // SAFETY: the slot begins with the header, aligned; while the program owns the slot, the kernel writes none
        // of these fields. No reference to the whole header exists, because the status is shared.
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

    /// The address of the frame, after the header; valid once the kernel has passed the slot on.
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
