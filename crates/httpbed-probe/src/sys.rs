//! The kernel's interfaces that the standard library does not have. All `unsafe` code is below here.

pub mod datagrams;
pub mod network;
pub mod poll;

use linux_calls::check;
pub use linux_calls::{process, time};
