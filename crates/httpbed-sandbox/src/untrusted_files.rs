//! Access to files where programs under test may have been: it follows no link and never blocks.
//!
//! A program may leave traps where the sandbox's first process reads or writes: a link, a named pipe on which
//! opening blocks for ever, or a device without end. So a path is walked folder by folder.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};

const FOLDER: OFlag =
    OFlag::O_PATH.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);
const FILE: OFlag = OFlag::O_NOFOLLOW.union(OFlag::O_NONBLOCK).union(OFlag::O_NOCTTY).union(OFlag::O_CLOEXEC);
const FOLDER_MODE: Mode = Mode::S_IRWXU;
const FILE_MODE: Mode = Mode::S_IRUSR.union(Mode::S_IWUSR);
/// What programs of any user may read.
const READABLE: Mode = FILE_MODE.union(Mode::S_IRGRP).union(Mode::S_IROTH);

/// Open a regular file below a trusted folder; anything else is an error.
pub fn open_file(top: &Path, path: &Path, flags: OFlag) -> io::Result<File> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let folder = walk(top, path.parent().unwrap_or(Path::new("")), false)?;
    let file = File::from(openat(folder, name, FILE | flags, FILE_MODE)?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other(format!("{} is no regular file", path.display())));
    }
    Ok(file)
}

/// Make a folder below a trusted one, with its parents.
pub fn make_folder(top: &Path, path: &Path) -> io::Result<()> {
    walk(top, path, true).map(drop)
}

/// Write a file below a trusted folder, with the folders above it. An existing file is removed first.
pub fn write(top: &Path, path: &Path, text: &str) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let folder = walk(top, path.parent().unwrap_or(Path::new("")), true)?;
    match unlinkat(&folder, name, UnlinkatFlags::NoRemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let flags = FILE | OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL;
    File::from(openat(&folder, name, flags, READABLE)?).write_all(text.as_bytes())
}

fn walk(top: &Path, path: &Path, make: bool) -> io::Result<OwnedFd> {
    let mut folder = open(top, OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?;
    for part in path.components() {
        let name = match part {
            Component::Normal(name) => name,
            Component::RootDir | Component::CurDir => continue,
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        };
        if make
            && let Err(error) = mkdirat(&folder, name, FOLDER_MODE)
            && error != Errno::EEXIST
        {
            return Err(error.into());
        }
        folder = openat(&folder, name, FOLDER, Mode::empty())?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use nix::unistd::mkfifo;

    use super::*;

    fn place(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("beneath-{}-{name}", std::process::id()));
        fs::create_dir_all(folder.join("own")).unwrap();
        fs::write(folder.join("own/file"), "text").unwrap();
        folder
    }

    #[test]
    fn a_file_is_opened() {
        let top = place("file");
        assert!(open_file(&top, Path::new("/own/file"), OFlag::O_RDONLY).is_ok());
        assert!(open_file(&top, Path::new("own/../own/file"), OFlag::O_RDONLY).is_err());
        fs::remove_dir_all(top).unwrap();
    }

    #[test]
    fn links_pipes_and_folders_are_refused() {
        let top = place("links");
        symlink("file", top.join("own/link")).unwrap();
        symlink("own", top.join("folder")).unwrap();
        mkfifo(&top.join("own/pipe"), Mode::S_IRWXU).unwrap();
        for path in ["own/link", "own/pipe", "folder/file", "own"] {
            for flags in [OFlag::O_RDONLY, OFlag::O_WRONLY | OFlag::O_APPEND | OFlag::O_CREAT] {
                assert!(open_file(&top, Path::new(path), flags).is_err(), "{path}");
            }
        }
        fs::remove_dir_all(top).unwrap();
    }

    #[test]
    fn a_file_takes_the_place_of_what_was_there() {
        let top = place("write");
        symlink("file", top.join("own/link")).unwrap();
        for path in ["own/link", "/own/inner/new"] {
            write(&top, Path::new(path), "other").unwrap();
            assert_eq!(fs::read_to_string(top.join(path.trim_start_matches('/'))).unwrap(), "other");
        }
        assert_eq!(fs::read_to_string(top.join("own/file")).unwrap(), "text");
        assert!(write(&top, Path::new("own/inner"), "other").is_err());
        fs::remove_dir_all(top).unwrap();
    }

    #[test]
    fn folders_are_created_but_not_through_links() {
        let top = place("folders");
        make_folder(&top, Path::new("/own/a/b")).unwrap();
        make_folder(&top, Path::new("/own/a/b")).unwrap();
        assert!(top.join("own/a/b").is_dir());
        symlink("own", top.join("link")).unwrap();
        assert!(make_folder(&top, Path::new("link/c")).is_err());
        fs::remove_dir_all(top).unwrap();
    }
}
