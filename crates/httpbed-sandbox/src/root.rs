//! How the orchestrator reaches the sandbox's files: it gets a descriptor of the sandbox's root.
//!
//! A path through `/proc/PID/root` would need the right to trace the sandbox's first process, which an ordinary user
//! has only of a process that others of the same user may trace, too, and which root may lack in a container. The
//! descriptor is sent before any program runs. What it leads to outlives the sandbox's processes while it is open: the
//! orchestrator reads what parts left when nothing can change it any more.

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;

use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};

/// Send a descriptor of a folder over an inherited socket, and close the socket.
pub fn send(folder: &Path, socket: RawFd) -> io::Result<()> {
    // SAFETY: the orchestrator passed this descriptor for this purpose, and nothing else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let folder = File::open(folder)?;
    let descriptors = [folder.as_raw_fd()];
    let rights = [ControlMessage::ScmRights(&descriptors)];
    sendmsg::<()>(socket.as_raw_fd(), &[IoSlice::new(b"/")], &rights, MsgFlags::empty(), None)?;
    Ok(())
}
