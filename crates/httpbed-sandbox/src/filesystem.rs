//! The sandbox's filesystem: only those files of the host that the trial needs.
//!
//! ```text
//! /                tmpfs, the only thing that is left of the host after pivot_root
//! ├── bin/NAME     the configuration's static programs, read-only
//! ├── proc         of the sandbox's PID namespace
//! ├── devices      six devices of the host, read-only, and a private shm: what parts see as /dev
//! ├── dev          the same, with the host's net/tun if there is one, for the emulator
//! ├── tmp, run     private, in memory
//! ├── trial        the attempt's folder on the host
//! │   └── NAME     a tmpfs of bounded size for each folder of a part
//! ├── links        files of the host that links are made of, read-only
//! ├── roots/NAME   a root filesystem of the bed's own programs under an overlay, with proc, dev, tmp and run
//! └── parts/NAME   a tmpfs for each part
//!     ├── tmp, run, shm, upper
//!     └── root     what the part sees: a root filesystem under an overlay, or nothing but what is named;
//!         └── trial    in memory, with those of the attempt's folders that are the part's
//! ```
//!
//! A part sees only its own folders of the attempt, each as a mount that it can neither move nor replace. They are in
//! memory, too: the kernel bounds their bytes, whatever a program does to fill them, and nothing that a part writes
//! reaches a disk of the host. The orchestrator has a descriptor of the sandbox's root ([`crate::root`]), with which
//! it opened the folders before any program ran, and takes what they contain when all programs have ended.
//! Everything else that a part writes disappears with the sandbox.
//!
//! A command of the user keeps the host's own filesystem. All of this is then below the scratch folder, which is
//! the root of httpbed's own programs. The root filesystem `/` is then the host's, whose programs serve as well as
//! the toolbox's.

use std::fs::{self, File};
use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::symlink;
use std::path::{self, Component, Path, PathBuf};

use nix::fcntl::{OFlag, open};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use nix::sys::stat::Mode;
use nix::unistd::{chdir, fchdir, pivot_root};

use crate::failure::{Failure, Step};
use crate::kernel_calls::make_read_only;
use crate::protocol::{Config, Part, Shell};

const NOTHING: Option<&str> = None;
/// The devices of the host that every program sees.
pub const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
/// Places below it are shared with the emulator, which runs outside any root filesystem.
const LINKS: &str = "/links";
/// What programs of the host's own filesystem need in order to run.
pub const OF_THE_HOST: [&str; 11] =
    ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "opt", "nix", "gnu"];
/// The device that creates interfaces of links in the emulator's network.
pub const TUN: &str = "/dev/net/tun";
/// Folder of the files that a command of the user sees in place of the host's.
const SHOWN: &str = "shown";
/// Folders of a part's own, mounted over those of its root filesystem.
const OWN: [&str; 2] = ["tmp", "run"];
const SEEN_IN_EVERY_ROOT: [&str; 4] = ["proc", "dev", "tmp", "run"];
/// What a part without a root filesystem gets of one; only these users have names in it.
const USERS: [(&str, &str); 2] = [
    ("etc/passwd", "root:x:0:0:root:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"),
    ("etc/group", "root:x:0:\nnogroup:x:65534:\nnobody:x:65534:\n"),
];
/// A file in memory takes some kB of the kernel's memory, however short it is.
const BYTES_PER_FILE: u64 = 16384;
/// Most files and folders in a part's folder, with the folder itself: programs write a few logs, a page load some 100
/// pictures.
const MAX_NAMES: u64 = 4096 + 1;

/// Build the filesystem and make it this process's root; return its path afterwards.
pub fn build(config: &Config) -> Result<PathBuf, Failure> {
    let top = &path::absolute(&config.scratch).step("find the scratch folder")?;
    mount(NOTHING, "/", NOTHING, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NOTHING)
        .step("make mounts private")?;
    tmpfs(top, config.tmpfs_bytes).step(format!("mount a tmpfs on {}", top.display()))?;
    own_folders(top, config.trial.as_deref())?;
    for (folder, bytes) in config.parts.values().flat_map(|part| &part.folders) {
        part_files(&top.join("trial").join(folder), *bytes).step(format!("make folder {folder}"))?;
    }
    for (name, program) in &config.programs {
        let seen = top.join("bin").join(name);
        bind(program, &seen, true).step(format!("bind {}", program.display()))?;
    }
    share(top, config, |seen| seen.starts_with(LINKS))?;
    for (name, root) in config.roots.iter().filter(|(name, _)| !is_of_a_part(config, name)) {
        root_of_the_bed(top, name, root)?;
        share(&root_folder(top, name), config, |seen| !seen.starts_with(LINKS))?;
    }
    for (name, part) in &config.parts {
        root_of_a_part(top, name, part, config).step(format!("make the filesystem of part {name}"))?;
    }
    if let Some(shell) = &config.shell {
        keep(top, shell)?;
        return Ok(top.clone());
    }
    enter(top).step("pivot_root")?;
    Ok(PathBuf::from("/"))
}

fn is_of_a_part(config: &Config, root: &str) -> bool {
    config.parts.values().any(|part| part.root.as_deref() == Some(root))
}

fn root_of_the_bed(top: &Path, name: &str, root: &Path) -> Result<(), Failure> {
    let seen = root_folder(top, name);
    if root == Path::new("/") {
        mirror(&seen, root).step("show the host's programs")?;
    } else {
        let layers = top.join("overlays").join(name);
        fs::create_dir_all(layers.join("upper")).step("make the folders of an overlay")?;
        overlay(&seen, root, &layers).step(format!("overlay the root filesystem {}", root.display()))?;
    }
    for folder in SEEN_IN_EVERY_ROOT {
        bind(&top.join(folder), &seen.join(folder), false).step(format!("bind /{folder}"))?;
    }
    fs::create_dir_all(seen.join("trial")).step("create /trial")
}

/// Create everything that a part sees, except /proc, which belongs to its own PID namespace.
fn root_of_a_part(top: &Path, name: &str, part: &Part, config: &Config) -> io::Result<()> {
    let own = part_folder(top, name);
    fs::create_dir_all(&own)?;
    tmpfs(&own, config.tmpfs_bytes)?;
    for folder in ["tmp", "run", "shm", "root", "upper"] {
        fs::create_dir(own.join(folder))?;
    }
    let common = config.shared.iter().filter(|(seen, _)| !seen.starts_with(LINKS));
    let shared: Vec<_> = common.chain(&part.shared).collect();
    let (seen, upper) = (own.join("root"), own.join("upper"));
    let named: Vec<_> = shared.iter().copied().chain(&part.written).collect();
    make_places(&own, part, &named)?;
    if let Some(root) = part.root.as_ref().and_then(|name| config.roots.get(name)) {
        overlay(&seen, root, &own)?;
    } else {
        for (place, text) in USERS {
            write_below(&upper, Path::new(place), text)?;
        }
        mount(Some(&upper), &seen, NOTHING, MsFlags::MS_BIND, NOTHING)?;
    }
    bind_over(&top.join("devices"), &seen.join("dev"), true)?;
    bind_over(&own.join("shm"), &seen.join("dev/shm"), false)?;
    for folder in OWN {
        bind_over(&own.join(folder), &seen.join(folder), false)?;
    }
    for folder in part.folders.keys() {
        bind_over(&top.join("trial").join(folder), &seen.join("trial").join(folder), false)?;
    }
    shared.into_iter().try_for_each(|(place, path)| bind_over(path, &beneath(&seen, place), true))?;
    part.written.iter().try_for_each(|(place, path)| bind_over(path, &beneath(&seen, place), false))
}

/// Create the files and folders over which others will be mounted, and a part's own files.
///
/// They are created in the upper layer before the overlay is mounted: the sandbox may have no right to change the
/// root filesystem itself.
fn make_places(own: &Path, part: &Part, shared: &[(&PathBuf, &PathBuf)]) -> io::Result<()> {
    let upper = own.join("upper");
    for folder in SEEN_IN_EVERY_ROOT {
        fs::create_dir(upper.join(folder))?;
    }
    for folder in part.folders.keys() {
        fs::create_dir_all(upper.join("trial").join(folder))?;
    }
    for (place, text) in &part.files {
        write_below(&upper, place, text)?;
    }
    shared.iter().try_for_each(|(place, path)| {
        let is_covered = OWN.iter().any(|folder| beneath(Path::new(""), place).starts_with(folder));
        make_place(path, &beneath(if is_covered { own } else { &upper }, place))
    })
}

/// An absolute path, below another root; `..` leads nowhere.
///
/// The files of a part are created while the host's are still there, so no path may lead to those.
pub fn beneath(top: &Path, path: &Path) -> PathBuf {
    let names = path.components().filter(|one| matches!(one, Component::Normal(_)));
    top.join(names.collect::<PathBuf>())
}

fn write_below(top: &Path, place: &Path, text: &str) -> io::Result<()> {
    let file = beneath(top, place);
    file.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(file, text)
}

/// Replace those files of the host's own filesystem that a command behind the link must see differently.
fn keep(top: &Path, shell: &Shell) -> Result<(), Failure> {
    for (name, path) in &shell.written {
        bind(path, &top.join("trial").join(name), false).step(format!("bind {}", path.display()))?;
    }
    mount(Some("proc"), "/proc", Some("proc"), nosuid() | MsFlags::MS_NOEXEC, NOTHING).step("mount /proc")?;
    for (path, text) in &shell.shown {
        write_below(&top.join(SHOWN), path, text).step(format!("write {} of the command", path.display()))?;
    }
    Ok(())
}

/// Show the command its own files in place of the host's; other programs keep those.
pub fn show_files(base: &Path, shown: &[PathBuf]) -> io::Result<()> {
    if !shown.is_empty() {
        unshare(CloneFlags::CLONE_NEWNS)?;
    }
    shown.iter().try_for_each(|path| bind_over(&beneath(&base.join(SHOWN), path), path, false))
}

fn own_folders(top: &Path, trial: Option<&Path>) -> Result<(), Failure> {
    for folder in ["bin", "roots", "overlays", "parts", "old", "tmp", "run"] {
        fs::create_dir(top.join(folder)).step(format!("create /{folder}"))?;
    }
    fs::create_dir(top.join("proc")).step("create /proc")?;
    mount(Some("proc"), &top.join("proc"), Some("proc"), nosuid(), NOTHING).step("mount /proc")?;
    devices(top).step("make /dev")?;
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

fn devices(top: &Path) -> io::Result<()> {
    let (common, dev) = (top.join("devices"), top.join("dev"));
    fs::create_dir_all(common.join("shm"))?;
    for device in DEVICES {
        bind(&Path::new("/dev").join(device), &common.join(device), true)?;
    }
    for (name, target) in [("fd", ""), ("stdout", "/1"), ("stderr", "/2")] {
        symlink(format!("/proc/self/fd{target}"), common.join(name))?;
    }
    let tun = Path::new(TUN);
    if tun.exists() {
        make_place(tun, &common.join("net/tun"))?;
    }
    bind(&common, &dev, false)?;
    if tun.exists() { bind_over(tun, &dev.join("net/tun"), true) } else { Ok(()) }
}

/// Show a root filesystem that is never written; programs write to `layers/upper`.
///
/// A program reads the options of its root in `/proc/self/mountinfo`. So they name no folder of the host, which would
/// tell the attempt: the root filesystem is bound to `layers/lower` first, and the paths begin at `layers`.
fn overlay(seen: &Path, root: &Path, layers: &Path) -> io::Result<()> {
    for folder in [seen, &layers.join("work")] {
        fs::create_dir_all(folder)?;
    }
    bind(root, &layers.join("lower"), true)?;
    let here = open(".", OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?;
    chdir(layers)?;
    let options = "lowerdir=lower,upperdir=upper,workdir=work,userxattr";
    let mounted = mount(Some("overlay"), seen, Some("overlay"), MsFlags::empty(), Some(options));
    fchdir(&here)?;
    Ok(mounted?)
}

/// Show the host's own programs, read-only. An overlay would hide the mounts below `/`.
fn mirror(seen: &Path, root: &Path) -> io::Result<()> {
    fs::create_dir_all(seen)?;
    for entry in OF_THE_HOST {
        let (from, to) = (root.join(entry), seen.join(entry));
        if let Ok(target) = fs::read_link(&from) {
            symlink(target, to)?;
        } else if from.exists() {
            bind(&from, &to, true)?;
        }
    }
    Ok(())
}

/// Bind those files of the host that this root needs.
fn share(root: &Path, config: &Config, wanted: impl Fn(&Path) -> bool) -> Result<(), Failure> {
    for (seen, path) in config.shared.iter().filter(|(seen, _)| wanted(seen)) {
        bind(path, &beneath(root, seen), true).step(format!("bind {}", path.display()))?;
    }
    Ok(())
}

fn bind(from: &Path, to: &Path, read_only: bool) -> io::Result<()> {
    make_place(from, to)?;
    bind_over(from, to, read_only)
}

/// Create a file or folder over which another one can be mounted.
fn make_place(from: &Path, to: &Path) -> io::Result<()> {
    if fs::metadata(from)?.is_dir() {
        return fs::create_dir_all(to);
    }
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    File::create(to).map(drop)
}

fn bind_over(from: &Path, to: &Path, read_only: bool) -> io::Result<()> {
    mount(Some(from), to, NOTHING, MsFlags::MS_BIND | MsFlags::MS_REC, NOTHING)?;
    if read_only { make_read_only(to) } else { Ok(()) }
}

fn tmpfs(path: &Path, bytes: u64) -> io::Result<()> {
    let options = format!("size={bytes},nr_inodes={},mode=0755", (bytes / BYTES_PER_FILE).max(1024));
    Ok(mount(Some("tmpfs"), path, Some("tmpfs"), nosuid(), Some(options.as_str()))?)
}

/// Make a folder for what a part writes. The kernel counts a link as a file, too.
fn part_files(path: &Path, bytes: u64) -> io::Result<()> {
    fs::create_dir_all(path)?;
    let options = format!("size={bytes},nr_inodes={MAX_NAMES},mode=0755");
    Ok(mount(Some("tmpfs"), path, Some("tmpfs"), nosuid(), Some(options.as_str()))?)
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

/// Send a descriptor of the sandbox's root over an inherited socket, and close the socket.
///
/// A path through `/proc/PID/root` would need the right to trace the sandbox's first process, which an ordinary user
/// has only of a process that others of the same user may trace, too, and which root may lack in a container. The
/// descriptor is sent before any program runs. What it leads to outlives the sandbox's processes while it is open: the
/// orchestrator reads what parts left when nothing can change it any more.
pub fn send_root(folder: &Path, socket: RawFd) -> io::Result<()> {
    // SAFETY: the orchestrator passed this descriptor for this purpose, and nothing else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let folder = File::open(folder)?;
    let descriptors = [folder.as_raw_fd()];
    let rights = [ControlMessage::ScmRights(&descriptors)];
    sendmsg::<()>(socket.as_raw_fd(), &[IoSlice::new(b"/")], &rights, MsgFlags::empty(), None)?;
    Ok(())
}

/// Path of a root filesystem of the sandbox whose own root is `base`.
pub fn root_folder(base: &Path, name: &str) -> PathBuf {
    base.join("roots").join(name)
}

/// Folder of a part in the sandbox whose own root is `base`.
pub fn part_folder(base: &Path, name: &str) -> PathBuf {
    base.join("parts").join(name)
}
