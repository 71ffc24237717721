//! What the orchestrator says and what it is told: one JSON object a line, each way.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::fd::RawFd;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The first line of input: what the sandbox is made of.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// An empty folder; the sandbox's own root is mounted over it, unseen from outside.
    pub scratch: PathBuf,
    /// Root filesystems by name; each is seen through an overlay and never written.
    pub roots: BTreeMap<String, PathBuf>,
    /// Folder of the host that is seen outside the roots, writable, as `/trial`; absent means one in memory.
    pub trial: Option<PathBuf>,
    /// The parts of the trial, by name: programs under test, each in namespaces of its own.
    #[serde(default)]
    pub parts: BTreeMap<String, Part>,
    /// Further folders or files of the host that every root sees, read-only: seen as -> path; those below
    /// `/links` are seen outside the roots instead.
    pub shared: BTreeMap<PathBuf, PathBuf>,
    /// Static executables of the host that can be run outside any root: name -> path.
    pub programs: BTreeMap<String, PathBuf>,
    /// Hosts: each a network namespace, by name, with the sysctls to set in it.
    pub hosts: BTreeMap<String, BTreeMap<String, String>>,
    /// Sysctls to set in the sandbox's own network, where the links' other ends are.
    pub sysctls: BTreeMap<String, String>,
    /// Upper bound, in bytes, of the files in memory of each part, and of all other programs together.
    pub tmpfs_bytes: u64,
    /// The user and group, as the host counts, as whom all of it runs when the host's root starts it.
    pub unprivileged: Option<(u32, u32)>,
    /// Present: the host's own filesystem stays, for a command of the user's at the user's terminal.
    pub shell: Option<Shell>,
}

/// What one part of the trial sees, and what it may use of the machine.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Name of its root filesystem; absent means an empty one, in which only `shared` and `files` are.
    pub root: Option<String>,
    /// Name of the host it lives on; absent means the sandbox's own network.
    pub host: Option<String>,
    /// Names of the folders of `/trial` that it sees, writable.
    pub folders: Vec<String>,
    /// Folders or files of the host that it alone sees, read-only: seen as -> path.
    pub shared: BTreeMap<PathBuf, PathBuf>,
    /// Files that it alone sees: seen as -> text.
    pub files: BTreeMap<PathBuf, String>,
    /// Upper bound of the memory of all its processes together, in bytes.
    pub memory_bytes: Option<u64>,
    /// Upper bound of its processes and threads.
    pub processes: Option<u32>,
}

/// What a command of the user's needs besides.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shell {
    /// Inherited descriptors that become the command's standard input, output and error.
    pub stdio: [RawFd; 3],
    /// Files of the host that programs write as files of `/trial`: name -> path.
    pub written: BTreeMap<String, PathBuf>,
    /// What `/etc/resolv.conf` says to the command, where that differs from the host's.
    pub resolv_conf: Option<String>,
    /// Whether one program will be started outside, in the network that the sandbox was made in.
    pub outside: bool,
}

/// One request; `id` comes back with the answer.
#[derive(Debug, Deserialize)]
pub struct Request {
    /// Chosen by the orchestrator; a started program is known by the id that started it.
    pub id: u64,
    /// The part that it concerns; absent means the sandbox itself.
    #[serde(default)]
    pub part: Option<String>,
    /// What to do.
    #[serde(flatten)]
    pub what: What,
}

/// What a request asks for.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum What {
    /// Start a program. Answered by `started`, and by `exited` when it ends.
    Start(Program),
    /// Write a line to the standard input of a program started with `lines`.
    Send {
        /// Id of the program.
        to: u64,
        /// What to write, without the line's end.
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
        /// Seconds to wait at the most.
        timeout_s: f64,
    },
    /// Answer with the length and SHA-256 of a file; no link is followed.
    Digest {
        /// Absolute path as the part sees it.
        path: PathBuf,
    },
    /// Make a folder with all above it, and answer `done`; no link is followed.
    MakeFolder {
        /// Absolute path as the part sees it.
        path: PathBuf,
    },
}

/// Where a program runs, and as whom.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// In the sandbox's filesystem, as its root.
    #[default]
    Sandbox,
    /// In the host's own filesystem, as the user, at the user's terminal, in the user's environment.
    Command,
    /// In the host's own filesystem and in the network that the sandbox was made in; one program only.
    Outside,
}

/// A program to start.
#[derive(Debug, Deserialize)]
pub struct Program {
    /// Where it runs.
    #[serde(default)]
    pub place: Place,
    /// Name of the host it runs on; absent means the sandbox's own network, where links are. A part's
    /// programs run on the part's host.
    pub host: Option<String>,
    /// Name of the root filesystem; absent means one of the configuration's `programs`. A part's programs
    /// run in the part's.
    pub root: Option<String>,
    /// Command and arguments; the command is looked up on the root's `PATH`.
    pub argv: Vec<String>,
    /// The whole environment besides `PATH` and `HOME`.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Text for standard input, which then ends.
    pub input: Option<String>,
    /// File for standard output, below `/trial`.
    pub stdout: Option<PathBuf>,
    /// File for standard error, below `/trial`.
    pub stderr: Option<PathBuf>,
    /// Whether standard output comes back as `line` events and `send` reaches its input.
    #[serde(default)]
    pub lines: bool,
    /// Seconds after which it is killed.
    pub timeout_s: Option<f64>,
    /// Upper bound of any file it writes, in bytes.
    pub file_bytes: Option<u64>,
    /// Upper bound of the memory that each of its processes has for data, in bytes.
    pub memory_bytes: Option<u64>,
    /// Upper bound of the processes and threads of this user in the whole sandbox, where a PID namespace has none.
    pub processes: Option<u32>,
}

/// What the orchestrator is told.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The sandbox's first process exists; its PID as the orchestrator sees it.
    Init {
        /// PID in the orchestrator's namespace.
        pid: i32,
    },
    /// Requests are taken from now on.
    Ready,
    /// The sandbox could not be made.
    Error {
        /// Which step failed.
        step: String,
        /// The kernel's reason.
        message: String,
        /// Its number, where there is one.
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
        /// What it wrote.
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
        /// Whether it was killed for running longer than it may.
        timed_out: bool,
        /// Seconds from its start to its end.
        wall_s: f64,
        /// Seconds of CPU time, user and system.
        cpu_s: f64,
        /// Largest resident set, in KiB.
        max_rss_kib: i64,
        /// Why the sandbox ended it, unless it did not, or its time was over.
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
    /// A request could not be carried out.
    Refused {
        /// The request.
        id: u64,
        /// Why.
        message: String,
        /// The kernel's number of the error, where there is one.
        errno: Option<i32>,
    },
}

impl Event {
    /// That a request could not be carried out.
    pub fn refused(id: u64, error: &std::io::Error) -> Self {
        Self::Refused { id, message: error.to_string(), errno: error.raw_os_error() }
    }

    /// That a program was killed with its part, of which nothing else is known.
    pub fn killed(id: u64) -> Self {
        Self::Exited {
            id,
            status: None,
            signal: Some(libc::SIGKILL),
            timed_out: false,
            wall_s: 0.0,
            cpu_s: 0.0,
            max_rss_kib: 0,
            ended_for: None,
        }
    }

    /// Write the event as one line. A reader that is gone is the end of the sandbox.
    pub fn send(&self) {
        if let Ok(line) = serde_json::to_vec(self) {
            Self::forward(&line);
        }
    }

    /// Write an event that a part has written, without its line's end.
    pub fn forward(line: &[u8]) {
        if std::io::stdout().lock().write_all(&[line, b"\n"].concat()).is_err() {
            std::process::exit(1);
        }
    }
}
