//! The calls of the kernel that more than one of the executables makes and the standard library does not have.

pub mod process;
pub mod socket;
pub mod time;

use std::io;

/// A system call's result.
///
/// # Errors
/// The one that the call has just left behind, if the result is -1.
pub fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
