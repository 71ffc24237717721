//! The kernel's interfaces beyond those of nix: frames in memory shared with the kernel, and requests about interfaces.

pub mod batch;
pub mod interface;
pub mod packet_socket;
pub mod poll;
pub mod receive_ring;
pub mod tap;
