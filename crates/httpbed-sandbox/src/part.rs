//! A part of the trial: a program under test, or several that form one subject, in namespaces of its own.
//!
//! ```text
//! PID 1 of the sandbox ─┬─ ip, ping, httpbed-link …      what the bed consists of
//!                       ├─ PID 1 of the part "client" ── curl
//!                       └─ PID 1 of the part "server" ── nginx ── its workers
//! ```
//!
//! A program under test is an adversary: it may search, signal, trace and change everything that it can name. So it
//! can name only what is its own. A part has a PID namespace without processes of the bed or of another part. Its
//! mount namespace has a root exchanged by `pivot_root`, so that no path and no `/proc/PID/root` leads out of it.
//! It also has an IPC namespace, a cgroup namespace and the network of its host. Its first process is a copy of the sandbox's own: it
//! takes the same requests over a pipe, starts programs and reports how they ended. The programs hold no capability
//! and pass a filter of system calls ([`crate::confinement`]). The part's first process holds all capabilities, so
//! the kernel lets no program trace it or read its `/proc` folder.
//!
//! When a program of a part ends, the processes that it left running in the part are killed: nothing changes a
//! part's files afterwards.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns};
use nix::sys::prctl;
use nix::sys::signal::SigSet;
use nix::unistd::{Pid, chdir, dup2_stdin, dup2_stdout, pipe2, pivot_root};
use serde::Deserialize;

use crate::confinement::Confinement;
use crate::failure::{Failure, Step};
use crate::filesystem::part_folder;
use crate::hosts::Hosts;
use crate::kernel_calls::{close_range, fork_into, make_read_only};
use crate::limits;
use crate::lines::{complete_lines, read_some};
use crate::namespaces::{User, die_with_parent};
use crate::program::Surroundings;
use crate::protocol::{Event, Part};

/// Limits for System V objects, which exist without a process: 64 MiB of shared memory, 128 sets of semaphores, 32
/// queues.
const SYSTEM_V: [(&str, &str); 3] = [("shmall", "16384"), ("sem", "250 32000 32 128"), ("msgmni", "32")];
const NAMESPACES: CloneFlags = CloneFlags::CLONE_NEWNS
    .union(CloneFlags::CLONE_NEWPID)
    .union(CloneFlags::CLONE_NEWIPC)
    // The name of a cgroup tells the session or the job of the host in which httpbed runs.
    .union(CloneFlags::CLONE_NEWCGROUP);
const NOTHING: Option<&str> = None;

/// A part, as the sandbox's first process uses it.
#[derive(Debug)]
pub struct PartHandle {
    /// Its first process.
    pub pid: Pid,
    requests: File,
    events: OwnedFd,
    partial_line: Vec<u8>,
    /// Requests that it has not answered yet.
    unanswered: BTreeSet<u64>,
    /// Its running programs, by the requests that started them.
    running: BTreeSet<u64>,
}

/// The fields of an event that show which requests and programs are still open.
#[derive(Deserialize)]
struct Answer {
    event: String,
    #[serde(default)]
    id: u64,
}

impl PartHandle {
    /// The pipe of its events.
    pub fn events(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }

    /// Pass on a request, a line as the orchestrator wrote it.
    pub fn pass_on(&mut self, id: u64, line: &[u8]) -> io::Result<()> {
        self.unanswered.insert(id);
        self.requests.write_all(&[line, b"\n"].concat())
    }

    /// Forward the part's events; true if there may be more.
    pub fn forward(&mut self) -> bool {
        let read = read_some(self.events.as_fd(), &mut self.partial_line);
        for line in complete_lines(&mut self.partial_line) {
            self.note(&line);
            Event::forward(&line);
        }
        matches!(read, Ok(1..))
    }

    fn note(&mut self, line: &[u8]) {
        let Ok(answer) = serde_json::from_slice::<Answer>(line) else { return };
        self.unanswered.remove(&answer.id);
        match answer.event.as_str() {
            "started" => _ = self.running.insert(answer.id),
            "exited" => _ = self.running.remove(&answer.id),
            _ => {}
        }
    }

    /// Report the end of the part for every open request and program.
    pub fn close(mut self) {
        while self.forward() {}
        for id in &self.unanswered {
            Event::refused(*id, &io::Error::other("the part has ended")).send();
        }
        for id in &self.running {
            Event::killed(*id).send();
        }
    }

    /// Wait until the part's namespaces and mounts are made.
    fn await_ready(&mut self) -> Result<(), Failure> {
        while self.partial_line.last() != Some(&b'\n') {
            if read_some(self.events.as_fd(), &mut self.partial_line).step("hear of a part")? == 0 {
                return Err(io::Error::other("it ended")).step("make a part");
            }
        }
        let line = std::mem::take(&mut self.partial_line);
        if serde_json::from_slice::<Answer>(&line).is_ok_and(|answer| answer.event == "ready") {
            let flags = OFlag::O_NONBLOCK;
            fcntl(&self.events, FcntlArg::F_SETFL(flags)).step("make a pipe of a part non-blocking")?;
            return Ok(());
        }
        Event::forward(line.trim_ascii_end());
        std::process::exit(1);
    }
}

/// What all parts share.
pub struct PartContext<'a> {
    /// Path of the sandbox's own root.
    pub base: &'a Path,
    /// The networks of the hosts.
    pub hosts: &'a Hosts,
    /// The user that started the sandbox.
    pub user: User,
    /// Whether the sandbox is in the network in which it was created.
    pub keeps_network: bool,
    /// What a part's first process does until the end of the trial.
    pub serve: fn(Surroundings),
}

/// Create all parts side by side; all are ready on return.
pub fn make_all<'a>(
    parts: impl Iterator<Item = (&'a String, &'a Part)>,
    context: &PartContext,
) -> Result<Vec<(String, PartHandle)>, Failure> {
    let mut links = Vec::new();
    for (name, part) in parts {
        links.push((name.clone(), make(name, part, context)?));
    }
    for (_, link) in &mut links {
        link.await_ready()?;
    }
    Ok(links)
}

fn make(name: &str, part: &Part, context: &PartContext) -> Result<PartHandle, Failure> {
    let (input, requests) = pipe2(OFlag::O_CLOEXEC).step("make a pipe")?;
    let (events, output) = pipe2(OFlag::O_CLOEXEC).step("make a pipe")?;
    let child = fork_into(NAMESPACES).step(format!("unshare the namespaces of part {name}"))?;
    let Some(pid) = child else { become_part(name, part, context, &input, &output) };
    Ok(PartHandle {
        pid,
        requests: requests.into(),
        events,
        partial_line: Vec::new(),
        unanswered: BTreeSet::new(),
        running: BTreeSet::new(),
    })
}

/// Run the part's first process until the end of the trial.
fn become_part(name: &str, part: &Part, context: &PartContext, input: &OwnedFd, output: &OwnedFd) -> ! {
    match enter(name, part, context, input, output) {
        Err(failure) => failure.report(),
        Ok(around) => {
            Event::Ready.send();
            (context.serve)(around);
        }
    }
    std::process::exit(1);
}

fn enter(
    name: &str,
    part: &Part,
    context: &PartContext,
    input: &OwnedFd,
    output: &OwnedFd,
) -> Result<Surroundings, Failure> {
    die_with_parent().step("PR_SET_PDEATHSIG")?;
    dup2_stdin(input).and_then(|()| dup2_stdout(output)).step("take the pipes of a part")?;
    if let Some(host) = part.host.as_deref() {
        let network =
            context.hosts.get(host).ok_or_else(|| io::Error::other("no such host")).step("find a host")?;
        setns(network, CloneFlags::CLONE_NEWNET).step(format!("enter the network of host {host}"))?;
    }
    see_own_root(&part_folder(context.base, name).join("root"), part)
        .step(format!("make the filesystem of part {name}"))?;
    limits::offer_to_the_kernel().step("write oom_score_adj")?;
    // The owners of these descriptors are never dropped: this process ends by exit.
    close_range(0).step("close descriptors")?;
    // From here on no process of the part owns its /proc/1.
    prctl::set_dumpable(false).step("PR_SET_DUMPABLE")?;
    Ok(Surroundings {
        base: PathBuf::from("/"),
        hosts: Hosts::new(),
        user: context.user,
        mask: SigSet::empty(),
        stdio: None,
        shown: Vec::new(),
        confined: false,
        outside: Vec::new(),
        confinement: Some(
            confinement(part, context.keeps_network).step("compile the filter of system calls")?,
        ),
        memory_bytes: part.memory_bytes,
    })
}

fn confinement(part: &Part, keeps_network: bool) -> io::Result<Confinement> {
    match (part.guest, keeps_network) {
        (true, _) => Confinement::of_a_guest(),
        (_, true) => Confinement::in_the_callers_network(),
        _ => Confinement::new(),
    }
}

/// Exchange the sandbox's root for the part's; the sandbox's mounts are then gone.
fn see_own_root(root: &Path, part: &Part) -> io::Result<()> {
    mount(NOTHING, "/", NOTHING, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NOTHING)?;
    let proc = root.join("proc");
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("proc"), &proc, Some("proc"), flags, NOTHING)?;
    if let Some(most) = part.processes {
        limits::bound_processes(&proc, most)?;
    }
    for (setting, value) in SYSTEM_V {
        // Kernels before 5.19 do not leave it to the owner of the namespace.
        let _ = fs::write(proc.join("sys/kernel").join(setting), value);
    }
    let settings = proc.join("sys");
    mount(Some(&settings), &settings, NOTHING, MsFlags::MS_BIND | MsFlags::MS_REC, NOTHING)?;
    make_read_only(&settings)?;
    chdir(root)?;
    pivot_root(".", ".")?;
    umount2(".", MntFlags::MNT_DETACH)?;
    Ok(chdir("/")?)
}
