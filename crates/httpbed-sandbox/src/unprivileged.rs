//! How the host's root becomes an ordinary user before it creates a sandbox.
//!
//! In a user namespace created by root, root is root of the host in every check of ownership: it may write the
//! kernel's settings, change the mode of `/dev/null` and read `/etc/shadow`. So a sandbox of root runs as an
//! unprivileged user and can do no more than that user's.
//!
//! That user may have no access to the sandbox's files, because root's home is closed to it. So this process first
//! binds everything into a tree of its own, which becomes its root, and then changes its user. Files that the
//! sandbox reads must be readable by everyone; the attempt's folder, in which the bed writes, is given to the user.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::stat::{Mode, SFlag, mknod};
use nix::unistd::{Gid, Uid, chdir, pivot_root, setgroups, setresgid, setresuid};

use crate::failure::{Failure, Step};
use crate::filesystem::{DEVICES, OF_THE_HOST, TUN, beneath};
use crate::namespaces::die_with_parent;
use crate::protocol::Config;

const NOTHING: Option<&str> = None;
/// Bit of a file's mode: everyone may read it.
const READABLE: u32 = 0o004;
/// Mode of a device that everyone may read and write.
const EVERYONE: u32 = 0o666;
/// Size in bytes of the tree itself: folders and empty files over which others are bound.
const TREE: &str = "size=1m,mode=0755";

/// Become that user; return the configuration with its paths as they are afterwards.
pub fn step_down(mut config: Config, (uid, gid): (u32, u32)) -> Result<Config, Failure> {
    if let Some(trial) = &config.trial {
        chown(trial, Some(uid), Some(gid)).step(format!("give away {}", trial.display()))?;
    }
    unshare(CloneFlags::CLONE_NEWNS).step("unshare mounts")?;
    mount(NOTHING, "/", NOTHING, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NOTHING)
        .step("make mounts private")?;
    let mut tree = Tree { top: config.scratch.clone(), count: 0 };
    mount(Some("tmpfs"), &tree.top, Some("tmpfs"), MsFlags::MS_NOSUID, Some(TREE))
        .step("mount a tmpfs for the sandbox")?;
    tree.take(&mut config)?;
    tree.enter().step("leave the host's filesystem")?;
    config.scratch = PathBuf::from("/scratch");
    become_user(uid, gid).step("become an unprivileged user")?;
    Ok(config)
}

/// The parts of the host's filesystem that stay visible.
struct Tree {
    top: PathBuf,
    count: usize,
}

impl Tree {
    /// Bind everything that the configuration names, and change the names.
    fn take(&mut self, config: &mut Config) -> Result<(), Failure> {
        for device in DEVICES {
            let device = Path::new("/dev").join(device);
            self.same(&device).step(format!("bind {}", device.display()))?;
        }
        self.same(Path::new("/proc")).step("bind /proc")?;
        self.lend_tun().step("make a node of the TUN device")?;
        self.take_roots(&mut config.roots)?;
        self.take_all(&mut config.shared)?;
        self.take_all(&mut config.programs)?;
        for part in config.parts.values_mut() {
            self.take_all(&mut part.shared)?;
            self.take_all(&mut part.written)?;
        }
        if let Some(trial) = config.trial.take() {
            config.trial = Some(self.bound(&trial)?);
        }
        Ok(())
    }

    /// Let the emulator use the device, which may belong to root; what it creates is in its own network.
    fn lend_tun(&self) -> io::Result<()> {
        let Ok(about) = fs::metadata(TUN) else { return Ok(()) };
        let place = beneath(&self.top, Path::new(TUN));
        place.parent().map_or(Ok(()), fs::create_dir_all)?;
        mknod(&place, SFlag::S_IFCHR, Mode::empty(), about.rdev())?;
        fs::set_permissions(&place, Permissions::from_mode(EVERYONE))
    }

    /// Bind the roots; `/` is the host's own and keeps its place.
    fn take_roots(&mut self, roots: &mut BTreeMap<String, PathBuf>) -> Result<(), Failure> {
        for root in roots.values_mut() {
            if root != Path::new("/") {
                *root = self.other(root)?;
                continue;
            }
            for entry in OF_THE_HOST.map(|name| Path::new("/").join(name)) {
                if let Ok(target) = fs::read_link(&entry) {
                    symlink(target, beneath(&self.top, &entry)).step("show the host's programs")?;
                } else if entry.exists() {
                    self.same(&entry).step(format!("bind {}", entry.display()))?;
                }
            }
        }
        Ok(())
    }

    fn take_all<K: Ord>(&mut self, paths: &mut BTreeMap<K, PathBuf>) -> Result<(), Failure> {
        for path in paths.values_mut() {
            *path = self.other(path)?;
        }
        Ok(())
    }

    /// Bind a path that stays where it is.
    fn same(&self, path: &Path) -> io::Result<()> {
        bind(path, &beneath(&self.top, path))
    }

    /// Bind a path to be read at another place; return that place.
    fn other(&mut self, path: &Path) -> Result<PathBuf, Failure> {
        if fs::metadata(path).step(format!("find {}", path.display()))?.permissions().mode() & READABLE == 0 {
            let reason = "programs under test run as another user, which cannot read it: chmod -R o+rX";
            return Err(io::Error::other(reason)).step(format!("show {}", path.display()));
        }
        self.bound(path)
    }

    fn bound(&mut self, path: &Path) -> Result<PathBuf, Failure> {
        let seen = Path::new("taken").join(self.count.to_string());
        self.count += 1;
        bind(path, &self.top.join(&seen)).step(format!("bind {}", path.display()))?;
        Ok(Path::new("/").join(seen))
    }

    fn enter(&self) -> io::Result<()> {
        fs::create_dir(self.top.join("scratch"))?;
        chdir(&self.top)?;
        pivot_root(".", ".")?;
        umount2(".", MntFlags::MNT_DETACH)?;
        Ok(chdir("/")?)
    }
}

fn bind(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
    } else {
        to.parent().map_or(Ok(()), fs::create_dir_all)?;
        File::create(to)?;
    }
    Ok(mount(Some(from), to, NOTHING, MsFlags::MS_BIND | MsFlags::MS_REC, NOTHING)?)
}

fn become_user(uid: u32, gid: u32) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    setgroups(&[])?;
    setresgid(gid, gid, gid)?;
    setresuid(uid, uid, uid)?;
    // Both were reset by the change of user: /proc/self is this user's again, and the parent's death is reported
    // again.
    prctl::set_dumpable(true)?;
    Ok(die_with_parent()?)
}
