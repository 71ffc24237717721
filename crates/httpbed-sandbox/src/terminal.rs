//! The terminal of a command of the user's.
//!
//! Orchestrator, sandbox and command are one process group, as the shell that started them sees it:
//! Ctrl-C and Ctrl-\\ reach all three, and are the command's to answer; Ctrl-Z stops orchestrator
//! and command, while the link runs on. All other programs are in groups of their own.
//!
//! Who asks the whole group to end (`timeout` does, and a terminal that closes) asks the command, too:
//! the link lasts until it has ended, so that it can still finish its work over the network.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

use crate::protocol::Shell;

/// What a group is sent as a whole, and only the command answers.
const OF_THE_GROUP: [Signal; 5] =
    [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTSTP, Signal::SIGTERM, Signal::SIGHUP];

/// Own the command's descriptors, which no other program inherits, and be deaf to what the group is sent.
pub fn take(shell: &Shell) -> io::Result<[OwnedFd; 3]> {
    // A handler instead of SIG_IGN: what the user ignores stays ignored in programs, nothing else is.
    let deaf = SigAction::new(SigHandler::Handler(hear_nothing), SaFlags::SA_RESTART, SigSet::empty());
    for signal in OF_THE_GROUP {
        // SAFETY: the handler does nothing at all.
        let before = unsafe { sigaction(signal, &deaf) }?;
        if before.handler() == SigHandler::SigIgn {
            // SAFETY: restores what was there.
            unsafe { sigaction(signal, &before) }?;
        }
    }
    // SAFETY: the orchestrator passed these descriptors for us to own.
    let stdio = shell.stdio.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
    for fd in &stdio {
        fcntl(fd, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    }
    Ok(stdio)
}

extern "C" fn hear_nothing(_: i32) {}
