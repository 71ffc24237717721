//! How much memory the processes of a part use together.
//!
//! `RLIMIT_DATA` limits the private memory of each process, but no shared memory: a program could map and fill any
//! amount of it, or write to files in memory without mapping them. Without a cgroup no kernel limit covers that. So
//! the part's first process measures it while programs run.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time between two measurements; a fast program fills some 500 MB in it, on each core.
pub const LOOK: Duration = Duration::from_millis(250);
const KIB: u64 = 1024;
/// The unit of `st_blocks`, whatever the filesystem.
const BLOCK: u64 = 512;

/// Return whether the processes of this PID namespace use more than so many bytes of memory.
///
/// No part uses more than the whole machine: in a guest, one file answers nearly always. The sum of all mappings is
/// cheap, but counts shared pages for each process. Only if that sum is too large, each page is divided among the
/// processes that map it, for which the kernel walks their page tables.
pub fn exceeds(most: u64) -> bool {
    of_the_machine() > most
        && [(STATUS, &MAPPED[..]), (SMAPS_ROLLUP, &DIVIDED[..])]
            .into_iter()
            .all(|(file, counted)| held(file, counted) > most)
}

/// At least the memory that all programs use, with files in memory; swap counts whole.
fn of_the_machine() -> u64 {
    fs::read_to_string("/proc/meminfo").map_or(u64::MAX, |text| bytes(&text, &IN_USE))
}

const IN_USE: [&str; 4] = ["AnonPages:", "Shmem:", "Hugetlb:", "SwapTotal:"];
const STATUS: &str = "status";
const MAPPED: [&str; 3] = ["RssAnon:", "RssShmem:", "VmSwap:"];
const SMAPS_ROLLUP: &str = "smaps_rollup";
const DIVIDED: [&str; 3] = ["Pss_Anon:", "Pss_Shmem:", "SwapPss:"];

/// Sum one `/proc` file of all processes, and their files in memory; unreadable files count as too much.
fn held(file: &str, counted: &[&str]) -> u64 {
    let mut files = BTreeMap::new();
    let Ok(entries) = fs::read_dir("/proc") else { return u64::MAX };
    let mapped: u64 = numbered(entries)
        .map(|process| {
            in_memory(&process, &mut files);
            bytes(&fs::read_to_string(process.join(file)).unwrap_or_default(), counted)
        })
        .sum();
    mapped + files.values().sum::<u64>()
}

/// The folders of the processes of this PID namespace; none if they cannot be listed.
pub fn processes() -> impl Iterator<Item = PathBuf> {
    fs::read_dir("/proc").into_iter().flat_map(numbered)
}

fn numbered(entries: fs::ReadDir) -> impl Iterator<Item = PathBuf> {
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()))
        .map(|entry| entry.path())
}

/// Sum the lines of such a file that begin with one of these names.
fn bytes(text: &str, counted: &[&str]) -> u64 {
    let lines = text.lines().filter(|line| counted.iter().any(|name| line.starts_with(name)));
    lines.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).map(|kib| kib * KIB).sum()
}

/// Add the files in memory that a process has open: by device and number, with the bytes of each.
fn in_memory(process: &Path, files: &mut BTreeMap<(u64, u64), u64>) {
    for entry in fs::read_dir(process.join("fd")).into_iter().flatten().flatten() {
        let place = entry.path();
        let is_one = fs::read_link(&place).is_ok_and(|to| to.to_string_lossy().starts_with("/memfd:"));
        if is_one && let Ok(about) = fs::metadata(&place) {
            files.insert((about.dev(), about.ino()), about.blocks() * BLOCK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_and_shared_memory_counts_and_that_of_files_does_not() {
        let status = "Name:\tx\nVmRSS:\t  900 kB\nRssAnon:\t  100 kB\nRssFile:\t  700 kB\nRssShmem:\t  100 kB\nVmSwap:\t  1 kB\n";
        assert_eq!(bytes(status, &MAPPED), 201 * 1024);
        assert_eq!(bytes("", &MAPPED), 0);
    }

    #[test]
    fn memory_that_programs_use_on_the_machine_counts_and_free_memory_does_not() {
        let meminfo = "MemTotal:  900 kB\nMemFree:  9 kB\nCached:  50 kB\nAnonPages:  100 kB\nShmem:  20 kB\nShmemHugePages:  7 kB\nHugetlb:  0 kB\nSwapTotal:  3 kB\n";
        assert_eq!(bytes(meminfo, &IN_USE), 123 * 1024);
        assert!(of_the_machine() < u64::MAX, "this kernel tells it");
        assert!(of_the_machine() > 0, "this process uses memory");
    }
}
