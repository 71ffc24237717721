//! Starting a program on a host, in a root filesystem, with its limits.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sched::{CloneFlags, CpuSet, sched_setaffinity, setns};
use nix::sys::signal::SigSet;
use nix::unistd::{Pid, chdir, chroot, setpgid};

use crate::confinement::Confinement;
use crate::filesystem::{root_folder, show_files};
use crate::hosts::Hosts;
use crate::kernel_calls::before_exec;
use crate::limits::Limits;
use crate::namespaces::{User, become_user, die_with_parent};
use crate::outside::Outside;
use crate::protocol::{Place, Program};
use crate::untrusted_files::open_file;

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What programs are started with.
#[derive(Debug)]
pub struct Surroundings {
    /// Path of the sandbox's own root for its first process.
    pub base: PathBuf,
    /// The networks of the hosts.
    pub hosts: Hosts,
    /// The user that started the sandbox.
    pub user: User,
    /// Signals that were blocked when the sandbox was started; programs get the same mask.
    ///
    /// [`Command`] restores the default of SIGPIPE, which Rust ignores; it does not change the mask of programs.
    pub mask: SigSet,
    /// Standard input, output and error of a command of the user.
    pub stdio: Option<[OwnedFd; 3]>,
    /// Files that a command of the user sees in place of the host's.
    pub shown: Vec<PathBuf>,
    /// Whether a command of the user has no rights over the sandbox even if it is root.
    pub confined: bool,
    /// The processes that become programs in the network in which the sandbox was created.
    pub outside: Vec<Outside>,
    /// The restrictions of programs under test; absent for the bed's own programs.
    pub confinement: Option<Confinement>,
    /// Limit for the memory of all programs together, in bytes.
    pub memory_bytes: Option<u64>,
}

/// A program that has been started.
#[derive(Debug)]
pub struct Started {
    /// Its PID in the sandbox.
    pub pid: Pid,
    /// Standard input of a program that reads lines.
    pub stdin: Option<ChildStdin>,
    /// Standard output of a program that writes lines.
    pub stdout: Option<ChildStdout>,
}

impl From<Child> for Started {
    fn from(child: Child) -> Self {
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
        Self { pid, stdin: child.stdin, stdout: child.stdout }
    }
}

/// Start the program.
pub fn start(program: &Program, around: &mut Surroundings) -> io::Result<Started> {
    match program.place {
        Place::Sandbox => start_inside(program, around),
        Place::Command | Place::Beside => start_command(program, around),
        Place::Outside => start_outside(program, around),
    }
}

fn start_inside(program: &Program, around: &Surroundings) -> io::Result<Started> {
    let mut command = command_line(program, around.mask)?;
    // Without TZ, the C library looks for /etc/localtime whenever a program asks for the local time: Chromium does
    // so some thousand times in a page load.
    command.env_clear().env("PATH", PATH).env("HOME", "/tmp").env("TZ", "UTC").envs(&program.env);
    let trial = around.base.join("trial");
    command.stdin(input(program)?);
    command.stdout(if program.lines { Stdio::piped() } else { output(program.stdout.as_deref(), &trial)? });
    command.stderr(output(program.stderr.as_deref(), &trial)?);
    let limits = Limits::of(program);
    let cpu = program.cpu;
    if let Some(confinement) = around.confinement.clone() {
        let become_subject = move || {
            setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
            cpu.map_or(Ok(()), stay_on)?;
            limits.bound_process()?;
            die_with_parent()?;
            confinement.apply()
        };
        before_exec(&mut command, become_subject);
        return Ok(command.spawn()?.into());
    }
    let network = network(program, &around.hosts)?;
    let root = program.root.as_deref().map_or(around.base.clone(), |name| root_folder(&around.base, name));
    before_exec(&mut command, move || confine(network.as_deref(), &root, limits));
    Ok(command.spawn()?.into())
}

/// Let this process and all that it starts run on one processor only.
fn stay_on(cpu: usize) -> io::Result<()> {
    let mut only = CpuSet::new();
    only.set(cpu)?;
    Ok(sched_setaffinity(Pid::from_raw(0), &only)?)
}

/// The command stays in the process group of the orchestrator: keys at the terminal reach both. A program beside it has
/// its own, so that Ctrl-C in a shell does not end the server.
fn start_command(program: &Program, around: &mut Surroundings) -> io::Result<Started> {
    let mut command = command_line(program, around.mask)?;
    command.envs(&program.env);
    let is_beside = program.place == Place::Beside;
    let [stdin, stdout, stderr] = if is_beside {
        beside(around.stdio.as_ref())?
    } else {
        around.stdio.take().ok_or_else(|| io::Error::other("a sandbox runs one command"))?
    };
    command.stdin(stdin).stdout(stdout).stderr(stderr);
    let network = network(program, &around.hosts)?;
    let (user, confined) = (around.user, around.confined);
    let (base, shown) = (around.base.clone(), around.shown.clone());
    let leave = move || {
        if is_beside {
            setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
        }
        show_files(&base, &shown)?;
        if let Some(network) = &network {
            setns(network, CloneFlags::CLONE_NEWNET)?;
        }
        become_user(user, confined)
    };
    before_exec(&mut command, leave);
    Ok(command.spawn()?.into())
}

/// The streams of a program beside the command, before that takes its own.
fn beside(stdio: Option<&[OwnedFd; 3]>) -> io::Result<[OwnedFd; 3]> {
    let [_, _, stderr] = stdio.ok_or_else(|| io::Error::other("the command runs already"))?;
    Ok([File::open("/dev/null")?.into(), stderr.try_clone()?, stderr.try_clone()?])
}

fn start_outside(program: &Program, around: &mut Surroundings) -> io::Result<Started> {
    let outside = around.outside.pop().ok_or_else(|| io::Error::other("no process is left outside"))?;
    let log =
        inside(program.stderr.as_deref().unwrap_or(Path::new("outside.txt")), &around.base.join("trial"));
    Ok(Started { pid: outside.start(&program.argv, &log)?, stdin: None, stdout: None })
}

fn command_line(program: &Program, mask: SigSet) -> io::Result<Command> {
    let (name, arguments) = program.argv.split_first().ok_or_else(|| io::Error::other("argv is empty"))?;
    let mut command = Command::new(name);
    command.args(arguments);
    before_exec(&mut command, move || Ok(mask.thread_set_mask()?));
    Ok(command)
}

fn network(program: &Program, hosts: &Hosts) -> io::Result<Option<Arc<File>>> {
    let Some(name) = &program.host else { return Ok(None) };
    let file = hosts.get(name).ok_or_else(|| io::Error::other(format!("no host {name}")))?;
    Ok(Some(Arc::clone(file)))
}

fn confine(network: Option<&File>, root: &Path, limits: Limits) -> io::Result<()> {
    // Keys at a terminal are for a command of the user, never for the link.
    setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
    if let Some(network) = network {
        setns(network, CloneFlags::CLONE_NEWNET)?;
    }
    chroot(root)?;
    chdir("/")?;
    limits.bound_process()?;
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

fn output(path: Option<&Path>, trial: &Path) -> io::Result<Stdio> {
    let Some(path) = path else { return Ok(Stdio::null()) };
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_APPEND;
    let file = open_file(trial, path.strip_prefix("/trial").unwrap_or(path), flags)?;
    // Opened without blocking; the program then sees a file like any other.
    fcntl(&file, FcntlArg::F_SETFL(OFlag::O_APPEND))?;
    Ok(file.into())
}

fn inside(path: &Path, trial: &Path) -> PathBuf {
    trial.join(path.strip_prefix("/trial").unwrap_or(path))
}
