//! Limits for programs that use too much of the machine.
//!
//! Runs without root often have no cgroup, so each limit uses what the kernel offers instead:
//!
//! | what | limit |
//! | --- | --- |
//! | a file | `RLIMIT_FSIZE`, of files in memory (`memfd_create`), too |
//! | the memory of a process | `RLIMIT_DATA`; address space that is only reserved, as browsers do, does not count |
//! | the memory of a part, shared mappings included | [`crate::memory`] measures it, and kills the part's programs
//! |
//! | files in memory of a part | the size of its tmpfs |
//! | processes and threads of a part | the `pid_max` of its PID namespace; before Linux 6.14 `RLIMIT_NPROC`, for the whole sandbox |
//!
//! If the machine runs out of memory, the kernel ends such a program before others.

use std::fs;
use std::io;
use std::path::Path;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::protocol::Program;

const PID_MAX: &str = "sys/kernel/pid_max";
/// The first kernel in which each PID namespace has its own limit; before, there is one for the whole machine.
const OWN_PID_MAX: (u32, u32) = (6, 14);
/// The kernel accepts no lower value.
const MIN_PID_MAX: u32 = 301;
/// Open files of one process: the same for root and others, and more than any program of the toolbox needs.
const OPEN_FILES: u64 = 16384;
/// The kernel's preference for ending it when memory is short, from -1000 to 1000.
const READINESS: &str = "800";

/// The limits of one program; its process sets them before it becomes the program.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    file_bytes: Option<u64>,
    memory_bytes: Option<u64>,
    processes: Option<u32>,
}

impl Limits {
    /// Take the limits requested for a program.
    pub fn of(program: &Program) -> Self {
        Self {
            file_bytes: program.file_bytes,
            memory_bytes: program.memory_bytes,
            processes: program.processes,
        }
    }

    /// Limit the calling process and all that it starts; needs `/proc`.
    pub fn bound_process(&self) -> io::Result<()> {
        setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
        setrlimit(Resource::RLIMIT_NOFILE, hard.min(OPEN_FILES), hard.min(OPEN_FILES))?;
        if let Some(bytes) = self.file_bytes {
            setrlimit(Resource::RLIMIT_FSIZE, bytes, bytes)?;
        }
        // This counts the processes of all parts, which have one user. The limit of each PID namespace is better.
        if let Some(most) = self.processes.filter(|_| !has_own_pid_max()) {
            setrlimit(Resource::RLIMIT_NPROC, most.into(), most.into())?;
        }
        if let Some(bytes) = self.memory_bytes {
            setrlimit(Resource::RLIMIT_DATA, bytes, bytes)?;
        }
        Ok(())
    }
}

/// Limit the processes of the PID namespace whose `/proc` this is.
pub fn bound_processes(proc: &Path, most: u32) -> io::Result<()> {
    if has_own_pid_max() {
        fs::write(proc.join(PID_MAX), most.max(MIN_PID_MAX).to_string())?;
    }
    Ok(())
}

/// Let the kernel end this process and all that it starts before others when memory is short.
pub fn offer_to_the_kernel() -> io::Result<()> {
    fs::write("/proc/self/oom_score_adj", READINESS)
}

fn has_own_pid_max() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    version(&release).is_some_and(|version| version >= OWN_PID_MAX)
}

/// Read the first two numbers of a kernel's release.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_their_first_two_numbers() {
        for (release, known) in [
            ("6.14.0-rc1", Some((6, 14))),
            ("6.1.0-31-amd64", Some((6, 1))),
            ("10.2", Some((10, 2))),
            ("", None),
        ] {
            assert_eq!(version(release), known);
        }
        assert!(version("6.2.0") < Some(OWN_PID_MAX) && version("7.0") > Some(OWN_PID_MAX));
    }
}
