//! `httpbed-sandbox`: the namespaces in which one trial or one emulated link lives, and their first process.
//!
//! # Theory of operation
//!
//! The orchestrator starts this program with two pipes. Its first line of input is a
//! [`protocol::Config`]; from then on it takes [`protocol::Request`]s and answers with
//! [`protocol::Event`]s, one JSON object a line each.
//!
//! ```text
//! orchestrator ── httpbed-sandbox (outer) ── PID 1 of the sandbox ── nginx, curl, httpbed-link …
//!                 user, net, mount, IPC, UTS namespaces └─ PID namespace
//! ```
//!
//! Everything dies together, and the kernel sees to it: the outer process and PID 1 each ask
//! to be killed when their parent dies (`PR_SET_PDEATHSIG`), the end of PID 1 kills all that
//! lives in its PID namespace, and with the last process go the namespaces, their interfaces
//! and their mounts. PID 1 also ends when its input does. So there is no clean-up code, no name
//! that could collide on the host, and nothing to leave behind.
//!
//! It is a program of its own, small and with a single thread, because a process with threads
//! cannot unshare a user namespace, and because `PR_SET_PDEATHSIG` follows the parent's thread.
//!
//! # A command of the user's
//!
//! `httpbed link` wants the same network around a command that knows nothing of it. Then
//! ([`protocol::Shell`]) the host's own filesystem stays, the command keeps its user, environment,
//! folder and terminal, and one process may be left in the host's network to lead out of the sandbox.

mod beneath;
mod filesystem;
mod hosts;
mod limits;
mod listening;
mod namespaces;
mod outside;
mod program;
mod protocol;
mod session;
mod terminal;

use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;

use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::SigSet;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork};

use namespaces::User;
use outside::Outside;
use program::Surroundings;
use protocol::{Config, Event};

/// What went wrong, and in which step of the set-up.
#[derive(Debug)]
pub struct Failure {
    step: String,
    cause: io::Error,
}

/// Names the step in which an error occurred.
pub trait Step<T> {
    /// Attach the name of the step to the error.
    ///
    /// # Errors
    /// The error itself, whenever there is one.
    fn step(self, name: impl Into<String>) -> Result<T, Failure>;
}

impl<T, E: Into<io::Error>> Step<T> for Result<T, E> {
    fn step(self, name: impl Into<String>) -> Result<T, Failure> {
        self.map_err(|cause| Failure { step: name.into(), cause: cause.into() })
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(failure) => {
            let errno = failure.cause.raw_os_error();
            Event::Error { step: failure.step, message: failure.cause.to_string(), errno }.send();
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode, Failure> {
    namespaces::die_with_parent().step("PR_SET_PDEATHSIG")?;
    let mut input = BufReader::new(io::stdin());
    let config = read_config(&mut input)?;
    let stdio = config.shell.as_ref().map(terminal::take).transpose().step("take the terminal")?;
    let leaves_one = config.shell.as_ref().is_some_and(|shell| shell.outside);
    let network = if leaves_one { CloneFlags::empty() } else { CloneFlags::CLONE_NEWNET };
    let user = namespaces::enter(network).step("unshare namespaces")?;
    // Gaining capabilities in the new user namespace cleared it.
    namespaces::die_with_parent().step("PR_SET_PDEATHSIG")?;
    // SAFETY: this process has a single thread.
    match unsafe { fork() }.step("fork")? {
        ForkResult::Parent { child } => {
            drop(stdio);
            Event::Init { pid: child.as_raw() }.send();
            Ok(wait_for(child))
        }
        ForkResult::Child => {
            namespaces::die_with_parent().step("PR_SET_PDEATHSIG")?;
            let outside = leaves_one.then(leave_one_behind).transpose()?;
            let around = settle(&config, user, stdio, outside)?;
            Event::Ready.send();
            let leftover = input.buffer().to_vec();
            session::serve(&leftover, io::stdin().as_fd(), around).step("serve requests")?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Leave a process in the host's network, and leave that.
fn leave_one_behind() -> Result<Outside, Failure> {
    let outside = Outside::leave_behind().step("leave a process outside")?;
    unshare(CloneFlags::CLONE_NEWNET).step("unshare the network")?;
    Ok(outside)
}

/// Make the network and the filesystem, as the sandbox's first process.
fn settle(
    config: &Config,
    user: User,
    stdio: Option<[OwnedFd; 3]>,
    outside: Option<Outside>,
) -> Result<Surroundings, Failure> {
    if config.shell.is_some() {
        // The orchestrator writes into the memory of a sandbox that has no folder on the host.
        prctl::set_dumpable(true).step("PR_SET_DUMPABLE")?;
    }
    let base = filesystem::build(config)?;
    hosts::set_sysctls(&config.sysctls)?;
    let hosts = hosts::create(&config.hosts, &base)?;
    let mask = SigSet::thread_get_mask().step("read the signal mask")?;
    Ok(Surroundings { base, hosts, user, mask, stdio, outside })
}

fn read_config(input: &mut BufReader<impl Read>) -> Result<Config, Failure> {
    let mut line = String::new();
    input.read_line(&mut line).step("read the configuration")?;
    serde_json::from_str(&line).map_err(io::Error::from).step("read the configuration")
}

fn wait_for(child: nix::unistd::Pid) -> ExitCode {
    loop {
        match waitpid(child, None) {
            Ok(WaitStatus::Exited(_, 0)) => return ExitCode::SUCCESS,
            Err(nix::errno::Errno::EINTR) => {}
            _ => return ExitCode::FAILURE,
        }
    }
}
