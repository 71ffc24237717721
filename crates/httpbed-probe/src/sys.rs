//! The kernel's interfaces that the standard library does not have. All `unsafe` code is below here.

pub mod datagrams;
pub mod poll;
pub mod process;
pub mod time;

use std::io;

/// A system call's result, -1 turned into the error it stands for.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
