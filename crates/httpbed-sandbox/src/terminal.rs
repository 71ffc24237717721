//! The terminal of a command of the user.
//!
//! Orchestrator, sandbox and command are one process group for the shell that started them. Ctrl-C and Ctrl-\\
//! reach all three, but only the command answers; Ctrl-Z stops orchestrator and command while the link keeps
//! running. All other programs are in groups of their own.
//!
//! A signal to end the whole group (from `timeout`, or a closed terminal) also reaches the command. The link lasts
//! until the command has ended, so that it can finish its work over the network.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

use crate::protocol::Shell;

/// Signals that the whole group gets and that only the command answers.
const OF_THE_GROUP: [Signal; 5] =
    [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTSTP, Signal::SIGTERM, Signal::SIGHUP];

/// Own the command's descriptors, which no other program inherits, and ignore signals to the group.
pub fn take(shell: &Shell) -> io::Result<[OwnedFd; 3]> {
    // A handler instead of SIG_IGN: programs then ignore only the signals that the user ignores.
    let deaf = SigAction::new(SigHandler::Handler(hear_nothing), SaFlags::SA_RESTART, SigSet::empty());
    for signal in OF_THE_GROUP {
        // SAFETY: the handler does nothing at all.
        let before = unsafe { sigaction(signal, &deaf) }?;
        if before.handler() == SigHandler::SigIgn {
            // SAFETY: restores what was there.
            unsafe { sigaction(signal, &before) }?;
        }
    }
    // SAFETY: the orchestrator passed these descriptors to this process.
    let stdio = shell.stdio.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
    for fd in &stdio {
        fcntl(fd, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    }
    Ok(stdio)
}

extern "C" fn hear_nothing(_: i32) {}
