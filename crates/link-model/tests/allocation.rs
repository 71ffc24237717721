//! A packet's path through a plain link (rate, drop-tail queue, delay) neither allocates nor copies.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::num::NonZeroU64;

use link_model::{Direction, Impairments, Packet, Queue, QueueLimit, Rate, Stage, Witness};

thread_local! {
    /// Of this thread only, because the test runner has others.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: every call is passed to the system's allocator unchanged; counting touches no allocated memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// A body that must not be copied.
struct Unique;

impl Clone for Unique {
    fn clone(&self) -> Self {
        panic!("a body was copied without duplication")
    }
}

#[test]
fn a_packet_on_a_plain_link_costs_no_allocation_and_no_copy() {
    let queue = Queue { limit: QueueLimit::Packets(100), ..Queue::default() };
    let rate = Some(Rate::Constant(NonZeroU64::new(12_000_000).expect("not 0")));
    let impairments = Impairments { rate, queue, delay: 25_000_000, ..Impairments::default() };
    let (mut link, mut witness) = (Direction::new(impairments.clone()), Witness::new(&impairments));
    link.start(0);
    // 1500 bytes take 1 ms; the queue is never empty and never full.
    let mut now = 0;
    let mut carry = |packets: u64| {
        for _ in 0..packets {
            now += 1_000_000;
            link.push(now, Packet::new(1500, Unique));
            while let Some(departure) = link.pop(now) {
                witness.see(departure.at, &departure.packet);
            }
        }
    };
    carry(1_000);
    let before = ALLOCATIONS.get();
    carry(100_000);
    assert_eq!(ALLOCATIONS.get() - before, 0);
}

/// Only the list of refused numbers grows, by doubling.
#[test]
fn a_refused_packet_costs_no_allocation() {
    let mut link = Direction::new(Impairments::default());
    link.start(0);
    let before = ALLOCATIONS.get();
    for now in 0..100_000 {
        link.refuse(now, Packet::new(1500, Unique));
        assert!(link.pop(now).is_some());
    }
    assert!(ALLOCATIONS.get() - before < 20);
}
