//! The kernel's tun driver, for hosts without `CAP_NET_RAW` or with a tiny `rmem_max`.
//!
//! The emulator creates the interfaces in TAP mode, so frames look as they do on a veth. They are then moved to the
//! hosts' namespaces, where they are the hosts' ends of the links. The backend needs `CAP_NET_ADMIN` in the network
//! namespace and `/dev/net/tun`.
//!
//! Compared with packet sockets:
//! * one system call for each frame, in and out, and one more at the end of a batch;
//! * no kernel stamps: a frame counts as arrived when it is read. A late turn of the loop makes arrivals late, with
//!   everything computed from them, and the recorded lateness does not show it;
//! * an ordinary user's interface holds 500 packets until the loop reads them, unless `txqueuelen` is set when the
//!   interface is moved (8192 are enough for 20 ms at 5 Gbit/s);
//! * only the interface in the host's namespace counts frames that found no room (`ip -s link`, TX dropped):
//!   `socket_drops` stays 0.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::libc;

use super::{Port, explained};
use crate::sys::batch::{FRAMES, Intake, Outgoing, Received};
use crate::sys::tap::{DEVICE, Tap};

const DEVICE_HINTS: [(i32, &str); 4] = [
    (libc::ENOENT, "the sandbox must contain the device; outside a sandbox, `modprobe tun` creates it"),
    (libc::ENODEV, "the kernel has no tun driver; the administrator can try `modprobe tun`"),
    (libc::EACCES, "this user may not read and write the device"),
    (libc::EPERM, "a device policy of the container forbids it"),
];

const HINTS: [(i32, &str); 3] = [
    (libc::EPERM, "creating an interface needs CAP_NET_ADMIN in this network namespace"),
    (libc::EBUSY, "an interface of this name exists already; the emulator creates its own"),
    (libc::EINVAL, "the kernel rejects this name or this MTU"),
];

/// Creates an interface for packets of up to `mtu` bytes.
pub fn open(name: &str, mtu: usize) -> Result<Box<dyn Port>, String> {
    let tap = Tap::open().map_err(|error| explained(DEVICE, &error, &DEVICE_HINTS))?;
    let mtu = libc::c_int::try_from(mtu).unwrap_or(libc::c_int::MAX);
    tap.create(name, mtu).map_err(|error| explained(&format!("interface {name}"), &error, &HINTS))?;
    Ok(Box::new(tap))
}

impl Port for Tap {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.as_fd()
    }

    fn receive(&mut self, intake: &mut Intake, into: &mut Vec<Received>) -> io::Result<()> {
        for _ in 0..FRAMES {
            if !intake.read(self.file(), into)? {
                break;
            }
        }
        Ok(())
    }

    fn send(&mut self, _outgoing: &mut Outgoing, frames: &[Vec<u8>]) -> u64 {
        frames.iter().map(|frame| u64::from(Self::send(self, frame).is_err())).sum()
    }

    fn take_drops(&mut self) -> io::Result<u64> {
        Ok(0)
    }
}
