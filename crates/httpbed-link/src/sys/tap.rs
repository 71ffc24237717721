//! Interfaces of the kernel's tun driver in its TAP mode: what a program writes into the file arrives on the
//! interface, what is sent by the interface can be read from the file.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use super::interface;

/// The file through which interfaces are made.
pub const DEVICE: &str = "/dev/net/tun";

/// Full frames of 20 ms at 5 Gbit/s; they take memory only while they wait.
const QUEUE_PACKETS: libc::c_int = 8192;

/// The file of an interface.
pub struct Tap {
    file: File,
}

impl Tap {
    /// The file, of no interface yet.
    pub fn open() -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE)?;
        Ok(Self { file })
    }

    /// Makes an interface in this network namespace, for packets of up to `mtu` bytes. It vanishes with the file,
    /// also after it was moved to another namespace.
    pub fn create(&self, name: &str, mtu: libc::c_int) -> io::Result<()> {
        let mut request = interface::request(name)?;
        // Frames as on the wire, without the driver's own header before them; and never somebody else's
        // interface that is there already.
        let flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_TUN_EXCL;
        request.ifr_ifru.ifru_flags = libc::c_short::from_ne_bytes(low_bytes(flags));
        interface::ask(self.as_fd(), libc::TUNSETIFF, &mut request)?;
        interface::set_mtu(name, mtu)?;
        // By this call the kernel lets only the machine's root do it. Others have 500 packets unless `ip link set
        // txqueuelen` gives more, which goes by another way.
        let _ = interface::set_queue_length(name, QUEUE_PACKETS);
        Ok(())
    }

    /// What frames are read from, one at a time.
    pub const fn file(&self) -> &File {
        &self.file
    }

    /// Has a frame arrive on the interface.
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
