//! `httpbed-sandbox`: the namespaces of one trial or one emulated link, and their first process.
//!
//! # Theory of operation
//!
//! The orchestrator starts this program with two pipes. The first line of input is a [`protocol::Config`]. Then the
//! program takes [`protocol::Request`]s and answers with [`protocol::Event`]s, one JSON object a line.
//!
//! ```text
//! orchestrator ── httpbed-sandbox (outer) ── PID 1 of the sandbox ─┬─ ip, httpbed-link …
//!                 user, net, mount, IPC, UTS namespaces            ├─ PID 1 of a part ── nginx
//!                 └─ PID namespace                                 └─ PID 1 of a part ── curl
//! ```
//!
//! Programs under test run in parts ([`part`]). Each part has its own mount, PID and IPC namespaces, which contain
//! nothing of the bed. A sandbox that the host's root starts runs as an ordinary user ([`unprivileged`]).
//!
//! Everything ends together, and the kernel enforces it. The outer process and PID 1 each ask to be killed when
//! their parent dies (`PR_SET_PDEATHSIG`). The end of PID 1 kills all processes of its PID namespace, and with the
//! last process the namespaces, their interfaces and their mounts disappear. PID 1 also ends when its input does.
//! So there is no clean-up code, no name that could collide on the host, and nothing to leave behind.
//!
//! It is a separate, small program with a single thread, because a process with threads cannot unshare a user
//! namespace, and because `PR_SET_PDEATHSIG` follows the parent's thread.
//!
//! # A command of the user
//!
//! `httpbed link` needs the same network around an arbitrary command. Then ([`protocol::Shell`]) the host's own
//! filesystem stays, the command keeps its user, environment, folder and terminal, and processes may stay in the
//! host's network to connect the sandbox with it.

mod confinement;
mod cpu_watch;
mod failure;
mod filesystem;
#[cfg(target_arch = "x86_64")]
mod guest_calls;
mod hosts;
mod kernel_calls;
mod limits;
mod lines;
mod memory;
mod namespaces;
mod outside;
mod part;
mod ports;
mod program;
mod protocol;
mod session;
mod terminal;
mod unprivileged;
mod untrusted_files;

use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;

use nix::libc;
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::SigSet;
use nix::sys::stat::{Mode, umask};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, sethostname};

use failure::{Failure, Step};
use namespaces::User;
use outside::Outside;
use program::Surroundings;
use protocol::{Config, Event};

/// What a trial's programs see as the machine's name: one that every resolver knows, on every machine.
const HOSTNAME: &str = "localhost";

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(failure) => {
            failure.report();
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode, Failure> {
    namespaces::die_with_parent().step("PR_SET_PDEATHSIG")?;
    let mut input = BufReader::new(io::stdin());
    let mut config = read_config(&mut input)?;
    // What the caller left open is for no program.
    kernel_calls::close_range(libc::CLOSE_RANGE_CLOEXEC).step("close descriptors")?;
    if config.shell.is_none() {
        forget_the_caller();
        config = as_an_ordinary_user(config)?;
    }
    let stdio = config.shell.as_ref().map(terminal::take).transpose().step("take the terminal")?;
    let left = config.shell.as_ref().map_or(0, |shell| shell.outside);
    let network =
        if left > 0 || config.keeps_network { CloneFlags::empty() } else { CloneFlags::CLONE_NEWNET };
    let user = namespaces::enter(network).step("unshare namespaces")?;
    // Gaining capabilities in the new user namespace cleared this setting.
    namespaces::die_with_parent().step("PR_SET_PDEATHSIG")?;
    match kernel_calls::fork().step("fork")? {
        ForkResult::Parent { child } => {
            drop(stdio);
            Event::Init { pid: child.as_raw() }.send();
            Ok(wait_for(child))
        }
        ForkResult::Child => {
            namespaces::die_with_parent().step("PR_SET_PDEATHSIG")?;
            let outside = leave_behind(left)?;
            let around = settle(&config, user, stdio, outside)?;
            filesystem::send_root(&around.base, config.root_to).step("send the sandbox's root")?;
            let context = part::PartContext {
                base: &around.base,
                hosts: &around.hosts,
                user,
                keeps_network: config.keeps_network,
                serve: serve_part,
            };
            let parts = part::make_all(config.parts.iter(), &context)?;
            Event::Ready.send();
            let leftover = input.buffer().to_vec();
            session::serve(&leftover, io::stdin().as_fd(), around, parts).step("serve requests")?;
            // When a first process ends, the kernel discards the CPU time of what it kills then. The caller's own
            // account has what is waited for here.
            kernel_calls::end_all();
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Serve a part's requests. However this ends, the sandbox's first process reports that the part's programs were killed.
fn serve_part(around: Surroundings) {
    let _ = session::serve(&[], io::stdin().as_fd(), around, Vec::new());
}

/// Start a new session keyring and set the file mode mask; a command of the user keeps both.
fn forget_the_caller() {
    umask(Mode::S_IWGRP | Mode::S_IWOTH);
    // A kernel without keyrings has none to leave. If the caller is out of its quota of keys, the filter of system
    // calls still keeps programs from them.
    kernel_calls::join_new_keyring();
}

/// Become an ordinary user if the host's root starts the sandbox, which the orchestrator says.
fn as_an_ordinary_user(config: Config) -> Result<Config, Failure> {
    match config.unprivileged {
        Some(user) => unprivileged::step_down(config, user),
        None => Ok(config),
    }
}

/// Leave processes in the host's network, and then leave that network.
fn leave_behind(count: usize) -> Result<Vec<Outside>, Failure> {
    let left: io::Result<Vec<Outside>> = (0..count).map(|_| Outside::leave_behind()).collect();
    let left = left.step("leave a process outside")?;
    if count > 0 {
        unshare(CloneFlags::CLONE_NEWNET).step("unshare the network")?;
    }
    Ok(left)
}

/// Make the network and the filesystem, as the sandbox's first process.
fn settle(
    config: &Config,
    user: User,
    stdio: Option<[OwnedFd; 3]>,
    outside: Vec<Outside>,
) -> Result<Surroundings, Failure> {
    if config.shell.is_none() {
        sethostname(HOSTNAME).step("set the name of the host")?;
    }
    let base = filesystem::build(config)?;
    hosts::set_sysctls(&config.sysctls)?;
    let hosts = hosts::create(&config.hosts, &base)?;
    let mask = SigSet::thread_get_mask().step("read the signal mask")?;
    let (confinement, memory_bytes) = (None, None);
    let shown = config.shell.iter().flat_map(|shell| shell.shown.keys().cloned()).collect();
    let confined = config.shell.as_ref().is_some_and(|shell| shell.confined);
    Ok(Surroundings { base, hosts, user, mask, stdio, shown, confined, outside, confinement, memory_bytes })
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
