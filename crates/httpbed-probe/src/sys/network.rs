//! Sockets in another network namespace, and a process that goes on in the background.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::thread;

use super::check;

/// Runs `make` in the network namespace that is mounted at `path`; this thread stays in its own.
///
/// # Errors
/// When the namespace cannot be entered, or the error of `make`.
pub fn within<T: Send>(path: &Path, make: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let namespace = File::open(path)?;
    let enter = || {
        // SAFETY: takes two numbers, and the file is open. The call concerns the new thread only.
        check(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) })?;
        make()
    };
    thread::scope(|scope| scope.spawn(enter).join())
        .unwrap_or_else(|_| Err(io::Error::other("the thread in the namespace panicked")))
}

/// Goes on in a child process; this process exits with 0, which tells its parent that all is ready.
///
/// # Errors
/// When the kernel refuses another process.
pub fn go_on_in_background() -> io::Result<()> {
    // SAFETY: this process has one thread now, so the child has the whole state.
    match check(unsafe { libc::fork() })? {
        0 => Ok(()),
        _ => std::process::exit(0),
    }
}
