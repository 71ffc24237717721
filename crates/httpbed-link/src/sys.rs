//! The kernel's interfaces that the standard library does not have. All `unsafe` code is below here.

pub mod batch;
pub mod interface;
pub mod packet_socket;
pub mod poll;
pub mod process;
pub mod receive_ring;
pub mod tap;
pub mod timer;

use linux_calls::check;
pub use linux_calls::time;

fn size_of_u32<T>() -> u32 {
    u32::try_from(size_of::<T>()).expect("kernel structures are small")
}
