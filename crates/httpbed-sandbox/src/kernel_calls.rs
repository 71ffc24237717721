//! Calls of the kernel that nix does not have, or that are safe only because this process has a single thread; and what
//! a first process does with the processes of its namespace.

use std::ffi::{CString, c_char, c_long, c_uint};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::ptr;
use std::time::Duration;

use nix::errno::Errno;
use nix::libc;
use nix::sched::CloneFlags;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{ForkResult, Pid};

/// Continue in two processes.
pub fn fork() -> nix::Result<ForkResult> {
    // SAFETY: this process has a single thread, so the child has the whole state.
    unsafe { nix::unistd::fork() }
}

/// Fork a child into new namespaces; returns `None` in the child, the first process of its PID namespace.
pub fn fork_into(namespaces: CloneFlags) -> io::Result<Option<Pid>> {
    let flags = c_long::from(namespaces.bits()) | c_long::from(libc::SIGCHLD);
    // SAFETY: without a separate stack the child continues as after fork(2); this process has one thread.
    let pid = Errno::result(unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) })?;
    let pid = i32::try_from(pid).map_err(io::Error::other)?;
    Ok((pid > 0).then(|| Pid::from_raw(pid)))
}

/// Let a command do something in its own process, before it becomes its program.
pub fn before_exec(command: &mut Command, act: impl FnMut() -> io::Result<()> + Send + Sync + 'static) {
    // SAFETY: this process has a single thread, so the child has the whole state.
    unsafe { command.pre_exec(act) };
}

/// Collect an ended process with its status and its usage; with the option 0, wait for it while there is any.
pub fn wait4(options: i32) -> Option<(Pid, i32, libc::rusage)> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is a valid value, and both pointers live through the call.
    let (pid, usage) = unsafe {
        let mut usage: libc::rusage = zeroed();
        (libc::wait4(-1, &raw mut status, options, &raw mut usage), usage)
    };
    (pid > 0).then(|| (Pid::from_raw(pid), status, usage))
}

/// Close all descriptors but the standard streams, now or, with `CLOSE_RANGE_CLOEXEC`, with the next program.
///
/// A descriptor that is closed now must have no owner that still uses it.
pub fn close_range(flags: c_uint) -> nix::Result<()> {
    // SAFETY: takes numbers only.
    Errno::result(unsafe { libc::syscall(libc::SYS_close_range, 3, c_uint::MAX, flags) }).map(drop)
}

/// Start a new session keyring, if the kernel has keyrings and the caller may have one more.
pub fn join_new_keyring() {
    // SAFETY: takes a number and a null pointer.
    unsafe { libc::syscall(libc::SYS_keyctl, libc::KEYCTL_JOIN_SESSION_KEYRING, ptr::null::<c_char>()) };
}

/// Make a mount and all mounts below it read-only; devices remain usable.
pub fn make_read_only(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: an all-zero mount_attr changes nothing, and path and attributes live through the call.
    let done = unsafe {
        let mut attributes: libc::mount_attr = zeroed();
        attributes.attr_set = libc::MOUNT_ATTR_RDONLY;
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    Ok(Errno::result(done).map(drop)?)
}

/// Whether others have the CPU before this process.
pub fn is_niced() -> bool {
    // SAFETY: takes numbers only; 0 is this process.
    unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) > 0 }
}

/// CPU time of an ended process, and of those for which it had waited.
pub fn cpu_time(usage: &libc::rusage) -> Duration {
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.unsigned_abs()) + Duration::from_micros(time.tv_usec.unsigned_abs())
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// Kill every process of this PID namespace except this one, its first.
pub fn kill_all() {
    // -1 means every process that this one may signal and can see, except itself.
    let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
}

/// Kill all others and wait for their end; return the CPU time of those that this process had to wait for.
pub fn end_all() -> Duration {
    kill_all();
    let mut total = Duration::ZERO;
    while let Some((_, _, usage)) = wait4(0) {
        total += cpu_time(&usage);
    }
    total
}
