//! Entering the namespaces, and dying with one's parent.

use std::fs;
use std::io;

use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{getegid, geteuid};

/// Ask the kernel to kill this process when its parent dies.
pub fn die_with_parent() -> nix::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL)
}

/// Enter new user, network, mount, IPC and UTS namespaces; the next child begins a PID namespace.
///
/// Inside, the caller is root over what it made and nothing else.
pub fn enter() -> io::Result<()> {
    let (uid, gid) = (geteuid(), getegid());
    unshare(
        CloneFlags::CLONE_NEWUSER
            | CloneFlags::CLONE_NEWNET
            | CloneFlags::CLONE_NEWNS
            | CloneFlags::CLONE_NEWIPC
            | CloneFlags::CLONE_NEWUTS
            | CloneFlags::CLONE_NEWPID,
    )?;
    // An unprivileged process may map its group only after giving up setgroups(2).
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {gid} 1"))
}
