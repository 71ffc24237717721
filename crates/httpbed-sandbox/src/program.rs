//! Starting a program on a host, inside a root filesystem, within its limits.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sched::{CloneFlags, setns};
use nix::sys::resource::{Resource, setrlimit};
use nix::unistd::{chdir, chroot};

use crate::filesystem::root_folder;
use crate::hosts::Hosts;
use crate::namespaces::die_with_parent;
use crate::protocol::Program;

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Start the program; what cannot be started says why.
pub fn start(program: &Program, hosts: &Hosts) -> io::Result<Child> {
    let (name, arguments) = program.argv.split_first().ok_or_else(|| io::Error::other("argv is empty"))?;
    let mut command = Command::new(name);
    command.args(arguments).env_clear().env("PATH", PATH).env("HOME", "/tmp").envs(&program.env);
    command.stdin(input(program)?);
    command.stdout(if program.lines { Stdio::piped() } else { output(program.stdout.as_deref())? });
    command.stderr(output(program.stderr.as_deref())?);
    let network = network(program, hosts)?;
    let root = program.root.as_deref().map(root_folder);
    let file_bytes = program.file_bytes;
    let confine = move || confine(network, root.as_deref(), file_bytes);
    // SAFETY: between fork and exec only system calls are made, and this process has one thread.
    unsafe { command.pre_exec(confine) };
    command.spawn()
}

fn network(program: &Program, hosts: &Hosts) -> io::Result<Option<BorrowedFd<'static>>> {
    let Some(name) = &program.host else { return Ok(None) };
    let file = hosts.get(name).ok_or_else(|| io::Error::other(format!("no host {name}")))?;
    // SAFETY: the hosts' files stay open for as long as the sandbox lives.
    Ok(Some(unsafe { BorrowedFd::borrow_raw(std::os::fd::AsRawFd::as_raw_fd(&file.as_fd())) }))
}

fn confine(network: Option<BorrowedFd>, root: Option<&Path>, file_bytes: Option<u64>) -> io::Result<()> {
    if let Some(network) = network {
        setns(network, CloneFlags::CLONE_NEWNET)?;
    }
    if let Some(root) = root {
        chroot(root)?;
        chdir("/")?;
    }
    if let Some(bytes) = file_bytes {
        setrlimit(Resource::RLIMIT_FSIZE, bytes, bytes)?;
    }
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    Ok(die_with_parent()?)
}

fn input(program: &Program) -> io::Result<Stdio> {
    if program.lines {
        return Ok(Stdio::piped());
    }
    let Some(text) = &program.input else { return Ok(Stdio::null()) };
    let mut file = anonymous_file()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file.into())
}

fn anonymous_file() -> io::Result<File> {
    use nix::sys::memfd::{MFdFlags, memfd_create};
    Ok(memfd_create(c"input", MFdFlags::MFD_CLOEXEC)?.into())
}

fn output(path: Option<&Path>) -> io::Result<Stdio> {
    let Some(path) = path else { return Ok(Stdio::null()) };
    let inside: PathBuf = Path::new("/trial").join(path.strip_prefix("/trial").unwrap_or(path));
    Ok(File::options().create(true).append(true).open(inside)?.into())
}
