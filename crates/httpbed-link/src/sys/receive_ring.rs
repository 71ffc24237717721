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

use std::ffi::c_void;
use std::io;
use std::marker::PhantomData;
use std::mem::offset_of;
use std::num::NonZeroUsize;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::libc;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::sys::socket::setsockopt;
use nix::{setsockopt_impl, sockopt_impl};

/// The kernel allocates a block in one piece; it holds whole slots.
const BLOCK_BYTES: usize = 64 << 10;

/// Header, address and alignment before the frame in a slot.
const OVERHEAD_BYTES: usize = 128;

/// Every slot begins with its status.
const STATUS_BYTES: usize = size_of::<AtomicU32>();

sockopt_impl!(
    /// The layout of a slot.
    Version, SetOnly, libc::SOL_PACKET, libc::PACKET_VERSION, libc::c_int
);
sockopt_impl!(
    /// The size of the ring; the socket's memory can then be mapped.
    RxRing, SetOnly, libc::SOL_PACKET, libc::PACKET_RX_RING, libc::tpacket_req
);

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
}

/// The ring of one socket.
pub struct ReceiveRing {
    memory: NonNull<c_void>,
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
    pub fn share(socket: &OwnedFd, slots: usize, frame_bytes: usize) -> io::Result<Self> {
        let slot_bytes =
            (frame_bytes + OVERHEAD_BYTES).next_multiple_of(libc::TPACKET_ALIGNMENT).min(BLOCK_BYTES);
        let per_block = BLOCK_BYTES / slot_bytes;
        let blocks = slots.div_ceil(per_block).max(1);
        request(socket, blocks, slot_bytes, blocks * per_block)?;
        let bytes = NonZeroUsize::new(blocks * BLOCK_BYTES).ok_or(io::ErrorKind::InvalidInput)?;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping, wherever the kernel puts it, touches no memory that exists.
        let memory = unsafe { mmap(None, bytes, access, MapFlags::MAP_SHARED, socket, 0) }?;
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
            show(frame(slot.bytes(), status));
            slot.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.slots;
        }
        most
    }

    const fn slot(&self) -> Slot<'_> {
        let (block, place) = (self.next / self.per_block, self.next % self.per_block);
        // SAFETY: `next` is below `slots`, so the mapping has this block, and the block this slot.
        let start = unsafe { self.memory.byte_add(block * BLOCK_BYTES + place * self.slot_bytes) };
        Slot { start, bytes: self.slot_bytes, mapping: PhantomData }
    }
}

impl Drop for ReceiveRing {
    fn drop(&mut self) {
        // SAFETY: slots are used within `read` only, so none is left.
        let _ = unsafe { munmap(self.memory, self.bytes.get()) };
    }
}

/// One slot, while it is being read.
struct Slot<'a> {
    start: NonNull<c_void>,
    bytes: usize,
    mapping: PhantomData<&'a ReceiveRing>,
}

impl<'a> Slot<'a> {
    const fn status(&self) -> &'a AtomicU32 {
        // SAFETY: every slot begins with its header, aligned, whose first field is the status.
        unsafe { AtomicU32::from_ptr(self.start.cast().as_ptr()) }
    }

    /// All bytes after the status, if the kernel has passed the slot on.
    const fn bytes(&self) -> &'a [u8] {
        // SAFETY: the mapping has the whole slot; while the program owns it, the kernel writes nothing there.
        unsafe {
            slice::from_raw_parts(
                self.start.byte_add(STATUS_BYTES).cast().as_ptr(),
                self.bytes - STATUS_BYTES,
            )
        }
    }
}

/// The frame in a slot, whose bytes begin after the status.
fn frame(slot: &[u8], status: u32) -> RingFrame<'_> {
    let begin = u16::from_ne_bytes(field(slot, offset_of!(libc::tpacket2_hdr, tp_mac)));
    let number = |offset| u32::from_ne_bytes(field(slot, offset));
    let kept = number(offset_of!(libc::tpacket2_hdr, tp_snaplen));
    let begin = usize::from(begin) - STATUS_BYTES;
    RingFrame {
        frame: &slot[begin..][..kept as usize],
        length: number(offset_of!(libc::tpacket2_hdr, tp_len)) as usize,
        stamp: i64::from(number(offset_of!(libc::tpacket2_hdr, tp_sec))) * 1_000_000_000
            + i64::from(number(offset_of!(libc::tpacket2_hdr, tp_nsec))),
        finished: status & libc::TP_STATUS_CSUMNOTREADY == 0,
    }
}

/// The bytes of a field, by its offset in a slot.
fn field<const BYTES: usize>(slot: &[u8], offset: usize) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes.copy_from_slice(&slot[offset - STATUS_BYTES..][..BYTES]);
    bytes
}

fn request(socket: &OwnedFd, blocks: usize, slot_bytes: usize, slots: usize) -> io::Result<()> {
    setsockopt(socket, Version, &(libc::tpacket_versions::TPACKET_V2 as libc::c_int))?;
    let number = |value: usize| libc::c_uint::try_from(value).map_err(io::Error::other);
    let request = libc::tpacket_req {
        tp_block_size: number(BLOCK_BYTES)?,
        tp_block_nr: number(blocks)?,
        tp_frame_size: number(slot_bytes)?,
        tp_frame_nr: number(slots)?,
    };
    Ok(setsockopt(socket, RxRing, &request)?)
}
