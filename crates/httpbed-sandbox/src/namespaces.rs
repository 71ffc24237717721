//! Entering namespaces, and ending with the parent process.

use std::fs;
use std::io;

use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{Gid, Uid, getegid, geteuid};

/// Ask the kernel to kill this process when its parent dies.
pub fn die_with_parent() -> nix::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL)
}

/// The user that started the sandbox, as the host counts.
#[derive(Clone, Copy, Debug)]
pub struct User {
    uid: Uid,
    gid: Gid,
}

/// Enter new user, mount, IPC and UTS namespaces, and `further` ones; the next child begins a PID namespace.
///
/// Inside, the caller is root over what it creates and nothing else.
pub fn enter(further: CloneFlags) -> io::Result<User> {
    let (uid, gid) = (geteuid(), getegid());
    unshare(
        CloneFlags::CLONE_NEWUSER
            | CloneFlags::CLONE_NEWNS
            | CloneFlags::CLONE_NEWIPC
            | CloneFlags::CLONE_NEWUTS
            | CloneFlags::CLONE_NEWPID
            | further,
    )?;
    map(&format!("0 {uid} 1"), &format!("0 {gid} 1"))?;
    Ok(User { uid, gid })
}

/// Become the user that started the sandbox: with the user's own number and without rights over the sandbox.
///
/// The host's root keeps the rights, because it is root here, too, unless it is `confined`.
pub fn become_user(user: User, confined: bool) -> io::Result<()> {
    if user.uid.is_root() && !confined {
        return Ok(());
    }
    unshare(CloneFlags::CLONE_NEWUSER)?;
    map(&format!("{} 0 1", user.uid), &format!("{} 0 1", user.gid))
}

fn map(users: &str, groups: &str) -> io::Result<()> {
    // An unprivileged process may map its group only after giving up setgroups(2).
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", users)?;
    fs::write("/proc/self/gid_map", groups)
}
