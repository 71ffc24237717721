//! What a program that has gone wild may use of the machine.
//!
//! Rootless runs often have no cgroup, so each bound is what the kernel offers instead:
//!
//! | of | bound |
//! | --- | --- |
//! | a file | `RLIMIT_FSIZE` |
//! | the memory of a process | `RLIMIT_DATA`: address space that is only reserved, as browsers do, is free |
//! | files in memory, all together | the size of the sandbox's tmpfs |
//! | processes and threads, all together | `RLIMIT_NPROC`, which spares the machine's own root; and the PID namespace's `pid_max`, which spares nobody |
//!
//! Should the machine's memory end all the same, the kernel ends such a program before others.
//!
//! A program under test is root of the sandbox, but without those rights that would let it leave its root
//! filesystem, its network or its mounts: through `/proc/1/root`, by `chroot`, `setns` or `umount`.

use std::fs;
use std::io;

use nix::sys::resource::{Resource, setrlimit};

use crate::protocol::Program;

const PID_MAX: &str = "/proc/sys/kernel/pid_max";
/// Since when each PID namespace has its own; before, it is the whole machine's.
const OWN_PID_MAX: (u32, u32) = (6, 14);
/// The kernel refuses lower ones.
const LEAST_PID_MAX: u32 = 301;
/// How readily the kernel ends it when memory is short, of -1000 to 1000.
const READINESS: &str = "800";

/// `CAP_SYS_CHROOT`, `CAP_SYS_PTRACE` and `CAP_SYS_ADMIN` (linux/capability.h).
const RIGHTS_GIVEN_UP: [libc::c_ulong; 3] = [18, 19, 21];

/// The bounds of one program, which its process sets before it becomes the program.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    file_bytes: Option<u64>,
    memory_bytes: Option<u64>,
    processes: Option<u32>,
}

impl Limits {
    /// Take what is asked for a program.
    pub fn of(program: &Program) -> Self {
        Self {
            file_bytes: program.file_bytes,
            memory_bytes: program.memory_bytes,
            processes: program.processes,
        }
    }

    /// Bound the processes of the whole sandbox, as its first process.
    pub fn bound_sandbox(&self) -> io::Result<()> {
        match self.processes {
            Some(most) if has_own_pid_max() => fs::write(PID_MAX, most.max(LEAST_PID_MAX).to_string()),
            _ => Ok(()),
        }
    }

    /// Bound the calling process and all that it starts; `/proc` must be there.
    pub fn bound_process(&self) -> io::Result<()> {
        setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
        if let Some(bytes) = self.file_bytes {
            setrlimit(Resource::RLIMIT_FSIZE, bytes, bytes)?;
        }
        if let Some(most) = self.processes {
            setrlimit(Resource::RLIMIT_NPROC, most.into(), most.into())?;
        }
        if let Some(bytes) = self.memory_bytes {
            fs::write("/proc/self/oom_score_adj", READINESS)?;
            setrlimit(Resource::RLIMIT_DATA, bytes, bytes)?;
            give_up_rights()?;
        }
        Ok(())
    }
}

/// What the program will be executed without.
fn give_up_rights() -> io::Result<()> {
    for right in RIGHTS_GIVEN_UP {
        // SAFETY: concerns this process only, and takes no pointer.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, right, 0, 0, 0) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
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
