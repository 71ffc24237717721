//! The sandbox's filesystem: nothing of the host but what the trial needs.
//!
//! ```text
//! /                tmpfs, the only thing that is left of the host after pivot_root
//! ├── bin/NAME     the configuration's static programs, read-only
//! ├── proc         of the sandbox's PID namespace
//! ├── dev          six devices of the host, its net/tun if there is one, and a private shm
//! ├── tmp, run     private, in memory
//! ├── trial        the attempt's folder on the host
//! ├── links        files of the host that links are made of, read-only
//! └── roots/NAME   a root filesystem under an overlay, with proc, dev, tmp and run in it
//!     └── trial    in memory, with those of the attempt's folders that belong to this root's programs
//! ```
//!
//! A program under test sees of the attempt's folder what is its own, each a mount that it can neither move
//! nor replace; whatever else it writes below `/trial` is in memory, and ends with the sandbox.
//!
//! A command of the user's keeps the host's own filesystem instead: all of this then hangs below the
//! scratch folder, and httpbed's own programs are started with that as their root. A root filesystem
//! that is `/` is the host's, where its programs are as good as the toolbox's.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{chdir, pivot_root};
use sha2::{Digest, Sha256};

use crate::protocol::{Config, Shell};
use crate::{Failure, Step};

const NOTHING: Option<&str> = None;
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
/// What is shared below it is for the emulator, which runs outside any root filesystem.
const LINKS: &str = "/links";
/// What programs of the host's own filesystem need to run.
const OF_THE_HOST: [&str; 11] =
    ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "opt", "nix", "gnu"];
const RESOLV_CONF: &str = "/etc/resolv.conf";
const SEEN_IN_EVERY_ROOT: [&str; 4] = ["proc", "dev", "tmp", "run"];

/// Build the filesystem and make it this process's root; return where it is seen afterwards.
pub fn build(config: &Config) -> Result<PathBuf, Failure> {
    let top = &config.scratch;
    mount(NOTHING, "/", NOTHING, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NOTHING)
        .step("make mounts private")?;
    let size = format!("size={},mode=0755", config.tmpfs_bytes);
    tmpfs(top, &size).step(format!("mount a tmpfs on {}", top.display()))?;
    own_folders(top, config.trial.as_deref())?;
    for (name, program) in &config.programs {
        let seen = top.join("bin").join(name);
        bind(program, &seen, true).step(format!("bind {}", program.display()))?;
    }
    share(top, config, |seen| seen.starts_with(LINKS))?;
    for (name, root) in &config.roots {
        let make = if root == Path::new("/") { mirror } else { overlay };
        make(top, name, root).step(format!("overlay the root filesystem {}", root.display()))?;
        let root = top.join("roots").join(name);
        for folder in SEEN_IN_EVERY_ROOT {
            bind(&top.join(folder), &root.join(folder), false).step(format!("bind /{folder}"))?;
        }
        fs::create_dir_all(root.join("trial")).step("create /trial")?;
        for folder in config.folders.get(name).into_iter().flatten() {
            let own = Path::new("trial").join(folder);
            bind(&top.join(&own), &root.join(&own), false).step(format!("bind /{}", own.display()))?;
        }
        share(&root, config, |seen| !seen.starts_with(LINKS))?;
    }
    if let Some(shell) = &config.shell {
        keep(top, shell)?;
        return Ok(top.clone());
    }
    enter(top).step("pivot_root")?;
    Ok(PathBuf::from("/"))
}

/// Change of the host's own filesystem what a command behind the link must see otherwise.
fn keep(top: &Path, shell: &Shell) -> Result<(), Failure> {
    for (name, path) in &shell.written {
        bind(path, &top.join("trial").join(name), false).step(format!("bind {}", path.display()))?;
    }
    mount(Some("proc"), "/proc", Some("proc"), nosuid() | MsFlags::MS_NOEXEC, NOTHING).step("mount /proc")?;
    let Some(text) = &shell.resolv_conf else { return Ok(()) };
    fs::write(top.join("resolv.conf"), text).step("write resolv.conf")
}

/// Show the command its own resolv.conf, if it has one; all others keep the host's.
pub fn show_resolv_conf(base: &Path) -> io::Result<()> {
    let own = base.join("resolv.conf");
    if own.exists() {
        unshare(CloneFlags::CLONE_NEWNS)?;
        mount(Some(&own), RESOLV_CONF, NOTHING, MsFlags::MS_BIND, NOTHING)?;
    }
    Ok(())
}

/// A file of a program's own, and what it covers.
pub struct Shown {
    text: PathBuf,
    covered: PathBuf,
}

/// Write the files that one program in a root filesystem shall see otherwise; [`show`] covers others with them.
pub fn prepare(base: &Path, root: &Path, files: &BTreeMap<PathBuf, String>) -> io::Result<Vec<Shown>> {
    files.iter().map(|(seen, text)| prepare_one(base, root, seen, text)).collect()
}

/// A bind mount needs something to cover.
fn prepare_one(base: &Path, root: &Path, seen: &Path, text: &str) -> io::Result<Shown> {
    let covered = root.join(seen.strip_prefix("/").unwrap_or(seen));
    if !covered.exists() {
        covered.parent().map_or(Ok(()), fs::create_dir_all)?;
        File::create(&covered)?;
    }
    let name = format!("{:x}", Sha256::digest(text));
    let file = base.join("shown").join(name);
    fs::create_dir_all(base.join("shown"))?;
    fs::write(&file, text)?;
    Ok(Shown { text: file, covered })
}

/// Let this process, and what it starts, see its own files.
pub fn show(files: &[Shown]) -> io::Result<()> {
    if !files.is_empty() {
        unshare(CloneFlags::CLONE_NEWNS)?;
    }
    for Shown { text, covered } in files {
        mount(Some(text), covered, NOTHING, MsFlags::MS_BIND, NOTHING)?;
    }
    Ok(())
}

fn own_folders(top: &Path, trial: Option<&Path>) -> Result<(), Failure> {
    for folder in ["bin", "roots", "overlays", "old", "tmp", "run"] {
        fs::create_dir(top.join(folder)).step(format!("create /{folder}"))?;
    }
    fs::create_dir(top.join("proc")).step("create /proc")?;
    mount(Some("proc"), &top.join("proc"), Some("proc"), nosuid(), NOTHING).step("mount /proc")?;
    devices(&top.join("dev")).step("make /dev")?;
    make_run_shared(&top.join("run")).step("make /run shared")?;
    match trial {
        None => fs::create_dir(top.join("trial")).step("create /trial"),
        Some(trial) => bind(trial, &top.join("trial"), false).step(format!("bind {}", trial.display())),
    }
}

/// The hosts' namespaces are mounted under /run later, and every root must see them.
fn make_run_shared(run: &Path) -> io::Result<()> {
    mount(Some(run), run, NOTHING, MsFlags::MS_BIND, NOTHING)?;
    Ok(mount(NOTHING, run, NOTHING, MsFlags::MS_SHARED, NOTHING)?)
}

fn devices(dev: &Path) -> io::Result<()> {
    fs::create_dir_all(dev.join("shm"))?;
    for device in DEVICES {
        bind(&Path::new("/dev").join(device), &dev.join(device), false)?;
    }
    let tun = Path::new("/dev/net/tun");
    if tun.exists() {
        bind(tun, &dev.join("net/tun"), false)?;
    }
    symlink("/proc/self/fd", dev.join("fd"))?;
    symlink("/proc/self/fd/1", dev.join("stdout"))?;
    symlink("/proc/self/fd/2", dev.join("stderr"))
}

fn overlay(top: &Path, name: &str, root: &Path) -> io::Result<()> {
    let (upper, work) =
        (top.join("overlays").join(name).join("upper"), top.join("overlays").join(name).join("work"));
    let merged = top.join("roots").join(name);
    for folder in [&upper, &work, &merged] {
        fs::create_dir_all(folder)?;
    }
    let options = format!(
        "lowerdir={},upperdir={},workdir={},userxattr",
        escaped(root),
        escaped(&upper),
        escaped(&work)
    );
    Ok(mount(Some("overlay"), &merged, Some("overlay"), MsFlags::empty(), Some(options.as_str()))?)
}

/// Show the host's own programs, to be read. An overlay would do but for the mounts below `/`, which it hides.
fn mirror(top: &Path, name: &str, root: &Path) -> io::Result<()> {
    let merged = top.join("roots").join(name);
    fs::create_dir_all(&merged)?;
    for entry in OF_THE_HOST {
        let (from, to) = (root.join(entry), merged.join(entry));
        if let Ok(target) = fs::read_link(&from) {
            symlink(target, to)?;
        } else if from.exists() {
            bind(&from, &to, true)?;
        }
    }
    Ok(())
}

/// overlayfs reads commas and colons as separators.
fn escaped(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "\\\\").replace(':', "\\:").replace(',', "\\,")
}

/// Binds those files of the host that are wanted in this root.
fn share(root: &Path, config: &Config, wanted: impl Fn(&Path) -> bool) -> Result<(), Failure> {
    for (seen, path) in config.shared.iter().filter(|(seen, _)| wanted(seen)) {
        let seen = seen.strip_prefix("/").unwrap_or(seen);
        bind(path, &root.join(seen), true).step(format!("bind {}", path.display()))?;
    }
    Ok(())
}

fn bind(from: &Path, to: &Path, read_only: bool) -> io::Result<()> {
    if fs::metadata(from)?.is_dir() {
        fs::create_dir_all(to)?;
    } else {
        to.parent().map_or(Ok(()), fs::create_dir_all)?;
        File::create(to)?;
    }
    mount(Some(from), to, NOTHING, MsFlags::MS_BIND | MsFlags::MS_REC, NOTHING)?;
    if read_only {
        make_read_only(to)?;
        for place in mounts_below(to)? {
            match make_read_only(&place) {
                // Where we may not go, no program of the sandbox may.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !place.exists() => {}
                result => result?,
            }
        }
    }
    Ok(())
}

/// What is mounted below a mount: to remount changes one mount only.
fn mounts_below(top: &Path) -> io::Result<Vec<PathBuf>> {
    let top = top.canonicalize()?;
    let table = fs::read("/proc/self/mountinfo")?;
    let points =
        table.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    Ok(points.map(unescaped).filter(|place| place.starts_with(&top) && *place != top).collect())
}

/// The kernel writes what would break its tables' lines as a backslash and three octal digits.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut name = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let digits =
            after.get(..3).filter(|_| byte == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        name.push(code.unwrap_or(byte));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    OsString::from_vec(name).into()
}

/// Remount read-only. Flags that the host set are locked in a user namespace and must be kept.
fn make_read_only(path: &Path) -> io::Result<()> {
    let host = nix::sys::statvfs::statvfs(path)?.flags();
    let locked = MsFlags::from_bits_truncate(host.bits());
    let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY | locked;
    Ok(mount(NOTHING, path, NOTHING, flags, NOTHING)?)
}

fn tmpfs(path: &Path, options: &str) -> io::Result<()> {
    Ok(mount(Some("tmpfs"), path, Some("tmpfs"), nosuid(), Some(options))?)
}

fn nosuid() -> MsFlags {
    MsFlags::MS_NOSUID | MsFlags::MS_NODEV
}

fn enter(top: &Path) -> io::Result<()> {
    pivot_root(top, &top.join("old"))?;
    chdir("/")?;
    umount2("/old", MntFlags::MNT_DETACH)?;
    Ok(())
}

/// Path of a root filesystem of the sandbox whose own root is `base`.
pub fn root_folder(base: &Path, name: &str) -> PathBuf {
    base.join("roots").join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_mounts_are_read_as_they_are_written() {
        for (field, name) in
            [("/usr", "/usr"), ("/a\\040b\\134c", "/a b\\c"), ("/end\\", "/end\\"), ("/\\999", "/\\999")]
        {
            assert_eq!(unescaped(field.as_bytes()), Path::new(name));
        }
    }
}
