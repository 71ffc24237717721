//! The protocol with the orchestrator: one JSON object a line in each direction.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::fd::RawFd;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::cpu_watch::CpuTimes;

/// The first line of input: the sandbox's configuration.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// An empty folder; the sandbox's own root is mounted over it, invisible from outside.
    pub scratch: PathBuf,
    /// Root filesystems by name; each is visible through an overlay and never written.
    pub roots: BTreeMap<String, PathBuf>,
    /// Folder of the host that appears as `/trial` outside the roots, writable; absent means a folder in memory.
    pub trial: Option<PathBuf>,
    /// The parts of the trial, by name: programs under test, each in its own namespaces.
    #[serde(default)]
    pub parts: BTreeMap<String, Part>,
    /// Further folders or files of the host that every root sees, read-only: place -> path. Those below `/links`
    /// appear outside the roots instead.
    pub shared: BTreeMap<PathBuf, PathBuf>,
    /// Static executables of the host that can run outside any root: name -> path.
    pub programs: BTreeMap<String, PathBuf>,
    /// Hosts: a network namespace for each name, with the sysctls to set in it.
    pub hosts: BTreeMap<String, BTreeMap<String, String>>,
    /// Sysctls of the sandbox's own network, which has the emulator's ends of the links.
    pub sysctls: BTreeMap<String, String>,
    /// Limit in bytes for the files in memory of each part, and of all other programs together.
    pub tmpfs_bytes: u64,
    /// The user and group, as the host counts, that run everything when the host's root starts the sandbox.
    pub unprivileged: Option<(u32, u32)>,
    /// Whether the sandbox stays in the network in which it is created; it then has no hosts.
    #[serde(default)]
    pub keeps_network: bool,
    /// Inherited socket over which the sandbox sends a descriptor of its own root.
    pub root_to: RawFd,
    /// Present for a command of the user at the user's terminal: the host's own filesystem stays.
    pub shell: Option<Shell>,
}

/// What one part of the trial sees, and its limits.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Name of its root filesystem; absent means an empty one, which contains only `shared` and `files`.
    pub root: Option<String>,
    /// Name of its host; absent means the sandbox's own network.
    pub host: Option<String>,
    /// Names of the folders of `/trial` that it sees, writable, each with the most bytes that it may write there.
    pub folders: BTreeMap<String, u64>,
    /// Folders or files of the host that only this part sees, read-only: place -> path.
    pub shared: BTreeMap<PathBuf, PathBuf>,
    /// Folders of the host that only this part sees, and writes to: place -> path.
    pub written: BTreeMap<PathBuf, PathBuf>,
    /// Files that only this part sees: place -> text.
    pub files: BTreeMap<PathBuf, String>,
    /// Limit for the memory of all its processes together, in bytes.
    pub memory_bytes: Option<u64>,
    /// Limit for its processes and threads.
    pub processes: Option<u32>,
    /// Whether its program is the kernel of a guest, which needs fewer system calls.
    pub guest: bool,
}

/// What a command of the user needs in addition.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shell {
    /// Inherited descriptors that become the command's standard input, output and error.
    pub stdio: [RawFd; 3],
    /// Files of the host that programs write as files of `/trial`: name -> path.
    pub written: BTreeMap<String, PathBuf>,
    /// Files that the command sees in place of the host's: path -> content.
    pub shown: BTreeMap<PathBuf, String>,
    /// Whether the command has no rights over the sandbox even if the host's root starts it.
    pub confined: bool,
    /// The number of programs that will run outside, in the network in which the sandbox was created.
    pub outside: usize,
}

/// A request; the answer has the same `id`.
#[derive(Debug, Deserialize)]
pub struct Request {
    /// Chosen by the orchestrator; a running program has the id of the request that started it.
    pub id: u64,
    /// The part that carries it out; absent means the sandbox itself.
    #[serde(default)]
    pub part: Option<String>,
    /// The action.
    #[serde(flatten)]
    pub what: What,
}

/// The action of a request.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum What {
    /// Start a program. Answered by `started`, and by `exited` when it ends.
    Start(Program),
    /// Write a line to the standard input of a program started with `lines`.
    Send {
        /// Id of the program.
        to: u64,
        /// The line, without its end.
        line: String,
    },
    /// Send a signal to a program.
    Signal {
        /// Id of the program.
        to: u64,
        /// Number of the signal.
        signal: i32,
    },
    /// Answer `done` once the program listens on all these ports, or `refused`.
    AwaitPorts {
        /// Id of the program.
        to: u64,
        /// TCP ports in state LISTEN.
        #[serde(default)]
        tcp: Vec<u16>,
        /// Bound UDP ports.
        #[serde(default)]
        udp: Vec<u16>,
        /// Most seconds to wait.
        timeout_s: f64,
    },
    /// Answer with the length and SHA-256 of a file; no link is followed.
    Digest {
        /// Absolute path as the part sees it.
        path: PathBuf,
    },
    /// Watch from now on how long each task runs and waits for a CPU, and answer `done`; `refused` if the kernel
    /// does not count it.
    WatchCpu,
    /// Answer `cpu_times` with what the watch has seen so far.
    ReadCpuWatch,
    /// End the watch, and answer `cpu_times`.
    EndCpuWatch,
    /// Make a folder with its parents, and answer `done`; no link is followed.
    MakeFolder {
        /// Absolute path as the part sees it.
        path: PathBuf,
    },
    /// Write a file, make the folders above it, and answer `done`; no link is followed. An existing file is removed
    /// first, never written to.
    Write {
        /// Absolute path as the part sees it.
        path: PathBuf,
        /// What it contains.
        text: String,
    },
}

/// Where a program runs, and as which user.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// In the sandbox's filesystem, as its root.
    #[default]
    Sandbox,
    /// In the host's own filesystem, as the user, at the user's terminal and in the user's environment.
    Command,
    /// As the command, but without input, and with its output on the command's standard error.
    Beside,
    /// In the host's own filesystem and in the network in which the sandbox was created; one program only.
    Outside,
}

/// A program to start.
#[derive(Debug, Deserialize)]
pub struct Program {
    /// Where it runs.
    #[serde(default)]
    pub place: Place,
    /// Name of its host; absent means the sandbox's own network, which has the links. A part's programs run on the
    /// part's host.
    pub host: Option<String>,
    /// Name of the root filesystem; absent means one of the configuration's `programs`. A part's programs run in
    /// the part's root.
    pub root: Option<String>,
    /// Command and arguments; the command is looked up on the root's `PATH`.
    pub argv: Vec<String>,
    /// The whole environment, apart from `PATH`, `HOME` and `TZ`.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Text for standard input, which then ends.
    pub input: Option<String>,
    /// File for standard output, below `/trial`.
    pub stdout: Option<PathBuf>,
    /// File for standard error, below `/trial`.
    pub stderr: Option<PathBuf>,
    /// Whether each line of standard output becomes a `line` event and `send` writes to its input.
    #[serde(default)]
    pub lines: bool,
    /// Seconds after which it is killed.
    pub timeout_s: Option<f64>,
    /// The only processor that it runs on.
    #[serde(default)]
    pub cpu: Option<usize>,
    /// Limit for any file it writes, in bytes.
    pub file_bytes: Option<u64>,
    /// Limit for the data memory of each of its processes, in bytes.
    pub memory_bytes: Option<u64>,
    /// Limit for the processes and threads of this user in the whole sandbox, where a PID namespace has none.
    pub processes: Option<u32>,
}

/// An event for the orchestrator.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The sandbox's first process exists.
    Init {
        /// PID in the orchestrator's namespace.
        pid: i32,
    },
    /// The sandbox takes requests from now on.
    Ready,
    /// The sandbox could not be created.
    Error {
        /// The step that failed.
        step: String,
        /// The kernel's reason.
        message: String,
        /// The error number, where there is one.
        errno: Option<i32>,
    },
    /// A program runs.
    Started {
        /// The request.
        id: u64,
        /// PID inside the sandbox.
        pid: i32,
    },
    /// A program wrote a line.
    Line {
        /// The program.
        id: u64,
        /// The line.
        line: String,
    },
    /// A program ended.
    Exited {
        /// The program.
        id: u64,
        /// Its exit status, or null when a signal ended it.
        status: Option<i32>,
        /// The signal that ended it, or null.
        signal: Option<i32>,
        /// Whether it was killed because its time was over.
        timed_out: bool,
        /// Seconds from its start to its end.
        wall_s: f64,
        /// Seconds of CPU time, user and system.
        cpu_s: f64,
        /// Largest resident set, in KiB.
        max_rss_kib: i64,
        /// Why the sandbox ended it, other than its time limit; absent otherwise.
        ended_for: Option<String>,
    },
    /// A request was carried out.
    Done {
        /// The request.
        id: u64,
    },
    /// Length and digest of a file.
    Digest {
        /// The request.
        id: u64,
        /// Length in bytes.
        bytes: u64,
        /// SHA-256, hexadecimal.
        sha256: String,
    },
    /// How long the sandbox's tasks ran and waited for a CPU.
    CpuTimes {
        /// The request.
        id: u64,
        /// The times.
        #[serde(flatten)]
        times: CpuTimes,
    },
    /// A request could not be carried out.
    Refused {
        /// The request.
        id: u64,
        /// The reason.
        message: String,
        /// The kernel's error number, where there is one.
        errno: Option<i32>,
    },
}

impl Event {
    /// The answer to a request that could not be carried out.
    pub fn refused(id: u64, error: &std::io::Error) -> Self {
        Self::Refused { id, message: error.to_string(), errno: error.raw_os_error() }
    }

    /// The event of a program that was killed with its part; nothing else is known about it.
    pub fn killed(id: u64) -> Self {
        Self::Exited {
            id,
            status: None,
            signal: Some(nix::libc::SIGKILL),
            timed_out: false,
            wall_s: 0.0,
            cpu_s: 0.0,
            max_rss_kib: 0,
            ended_for: None,
        }
    }

    /// Write the event as one line. The sandbox ends if its reader is gone.
    pub fn send(&self) {
        if let Ok(line) = serde_json::to_vec(self) {
            Self::forward(&line);
        }
    }

    /// Write an event of a part, a line without its end.
    pub fn forward(line: &[u8]) {
        if std::io::stdout().lock().write_all(&[line, b"\n"].concat()).is_err() {
            std::process::exit(1);
        }
    }
}
