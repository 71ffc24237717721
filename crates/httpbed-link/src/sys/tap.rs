//! Interfaces of the kernel's tun driver in TAP mode. A frame that a program writes into the file arrives on the
//! interface; a frame that the interface sends can be read from the file.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::libc;

use super::interface;

/// The file that creates interfaces.
pub const DEVICE: &str = "/dev/net/tun";

/// Full frames of 20 ms at 5 Gbit/s; they take memory only while they wait.
const QUEUE_PACKETS: libc::c_int = 8192;

/// The file of an interface.
pub struct Tap {
    file: File,
}

impl Tap {
    /// The file, not yet bound to an interface.
    pub fn open() -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE)?;
        Ok(Self { file })
    }

    /// Creates an interface in this network namespace, for packets of up to `mtu` bytes. It disappears when the
    /// file is closed, also after a move to another namespace.
    pub fn create(&self, name: &str, mtu: libc::c_int) -> io::Result<()> {
        // Frames as on the wire, without the driver's own header, and never an interface that exists already.
        let flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_TUN_EXCL;
        interface::create(self.as_fd(), name, i16::from_ne_bytes(low_bytes(flags)))?;
        interface::set_mtu(name, mtu)?;
        // Only the machine's root may use this call. For others the limit is 500 packets unless `ip link set
        // txqueuelen` raises it, which uses another call.
        let _ = interface::set_queue_length(name, QUEUE_PACKETS);
        Ok(())
    }

    /// A reader of single frames.
    pub const fn file(&self) -> &File {
        &self.file
    }

    /// Lets a frame arrive on the interface.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        (&self.file).write(frame).map(drop)
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// The flags fill 16 bits, the highest of them included.
const fn low_bytes(flags: libc::c_int) -> [u8; 2] {
    let bytes = flags.to_ne_bytes();
    if cfg!(target_endian = "little") { [bytes[0], bytes[1]] } else { [bytes[2], bytes[3]] }
}
