//! Waiting for any of several files to be readable.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Which of `files` can be read, once one can or its other end is gone.
pub fn readable(files: &[BorrowedFd<'_>]) -> io::Result<Vec<bool>> {
    let polled =
        |file: &BorrowedFd<'_>| libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut polled: Vec<libc::pollfd> = files.iter().map(polled).collect();
    let count = libc::nfds_t::try_from(polled.len()).map_err(io::Error::other)?;
    // SAFETY: `asked` has as many entries as stated and lives through the call.
    match super::check(unsafe { libc::poll(polled.as_mut_ptr(), count, -1) }) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(polled.iter().map(|file| file.revents != 0).collect()),
    }
}
