//! The processes that stay in the network in which the sandbox was created.
//!
//! A process in a user namespace cannot return to that network. So some processes remain there before the sandbox
//! enters a network of its own. They are in the sandbox's PID namespace, so they end with the sandbox, and in its
//! mounts. Each waits for the command that it will become.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::fcntl::OFlag;
use nix::unistd::{ForkResult, Pid, pipe2, setpgid};
use serde::{Deserialize, Serialize};

use crate::kernel_calls::fork;
use crate::namespaces::die_with_parent;

/// The process that waits outside.
#[derive(Debug)]
pub struct Outside {
    pid: Pid,
    orders: File,
}

#[derive(Debug, Deserialize, Serialize)]
struct Order {
    argv: Vec<String>,
    log: PathBuf,
}

impl Outside {
    /// Leave a process behind in the network of this process.
    pub fn leave_behind() -> io::Result<Self> {
        let (input, orders) = pipe2(OFlag::O_CLOEXEC)?;
        match fork()? {
            ForkResult::Parent { child } => Ok(Self { pid: child, orders: orders.into() }),
            ForkResult::Child => {
                drop(orders);
                let _ = wait(input);
                std::process::exit(1);
            }
        }
    }

    /// Turn it into a program whose output goes to the file `log`; return its PID.
    pub fn start(mut self, argv: &[String], log: &Path) -> io::Result<Pid> {
        let order = Order { argv: argv.to_vec(), log: log.to_path_buf() };
        writeln!(self.orders, "{}", serde_json::to_string(&order)?)?;
        Ok(self.pid)
    }
}

/// Wait for the order and carry it out; returns only if there is no order or it fails.
fn wait(input: OwnedFd) -> io::Result<()> {
    die_with_parent()?;
    setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
    let mut line = String::new();
    BufReader::new(File::from(input)).read_line(&mut line)?;
    let order: Order = serde_json::from_str(&line)?;
    let (name, arguments) = order.argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut log = File::create(&order.log)?;
    let output = (log.try_clone()?, log.try_clone()?);
    let failed =
        Command::new(name).args(arguments).stdin(Stdio::null()).stdout(output.0).stderr(output.1).exec();
    writeln!(log, "{name}: {failed}")
}
