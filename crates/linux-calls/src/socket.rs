//! Options of sockets.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use super::check;

/// Sets an option whose value is an integer.
///
/// # Errors
/// When the kernel does not know the option, the socket does not have it, or this process may not.
pub fn set(
    socket: &impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    let length = u32::try_from(size_of::<libc::c_int>()).map_err(io::Error::other)?;
    let descriptor = socket.as_fd().as_raw_fd();
    // SAFETY: `value` lives through the call and is `length` bytes long; no option takes an integer for an address.
    check(unsafe { libc::setsockopt(descriptor, level, option, (&raw const value).cast(), length) }).map(drop)
}

/// Sets a socket's buffer size in bytes; the machine's limit may make it smaller.
///
/// `forced` is the option that needs a privilege over the machine, and `plain` the one within its limits:
/// `SO_RCVBUFFORCE` and `SO_RCVBUF`, or `SO_SNDBUFFORCE` and `SO_SNDBUF`.
///
/// # Errors
/// When the kernel rejects both.
pub fn enlarge(socket: &impl AsFd, [forced, plain]: [libc::c_int; 2], bytes: libc::c_int) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, forced, bytes).or_else(|_| set(socket, libc::SOL_SOCKET, plain, bytes))
}
