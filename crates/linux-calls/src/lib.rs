//! System calls that several of the executables need and the standard library does not have.

pub mod process;
pub mod socket;
pub mod time;

use std::io;

/// A system call's result.
///
/// # Errors
/// The thread's last error, if the result is -1.
pub fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
