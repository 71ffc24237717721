//! Requests about network interfaces of this network namespace, by name.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr;

use nix::errno::Errno;
use nix::libc::{self, __c_anonymous_ifr_ifru as Value, Ioctl, ifreq};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

/// The longest packet that an interface takes, in bytes; `socket` is any.
pub fn mtu(socket: BorrowedFd<'_>, name: &str) -> io::Result<i32> {
    let answer = ask(socket, libc::SIOCGIFMTU as Ioctl, name, Value { ifru_mtu: 0 })?;
    // SAFETY: the kernel has filled in this member of the union.
    Ok(unsafe { answer.ifru_mtu })
}

/// Sets the longest packet that an interface takes, in bytes.
pub fn set_mtu(name: &str, mtu: i32) -> io::Result<()> {
    set(libc::SIOCSIFMTU as Ioctl, name, Value { ifru_mtu: mtu })
}

/// Sets how many packets may wait in an interface until they are sent.
pub fn set_queue_length(name: &str, packets: i32) -> io::Result<()> {
    // All plain numbers are at the same place of the union.
    set(libc::SIOCSIFTXQLEN as Ioctl, name, Value { ifru_mtu: packets })
}

/// Makes the file of the tun driver that of a new interface.
pub fn create(tun: BorrowedFd<'_>, name: &str, flags: i16) -> io::Result<()> {
    ask(tun, libc::TUNSETIFF, name, Value { ifru_flags: flags }).map(drop)
}

fn set(what: Ioctl, name: &str, value: Value) -> io::Result<()> {
    let any = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    ask(any.as_fd(), what, name, value).map(drop)
}

/// Makes a request to the kernel; returns its answer.
fn ask(file: BorrowedFd<'_>, what: Ioctl, name: &str, value: Value) -> io::Result<Value> {
    let mut request = ifreq { ifr_name: [0; libc::IFNAMSIZ], ifr_ifru: value };
    if name.len() >= request.ifr_name.len() {
        return Err(Errno::ENAMETOOLONG.into());
    }
    for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = libc::c_char::from_ne_bytes([byte]);
    }
    // SAFETY: `request` has the type that all requests used here read and write, and lives through the call.
    Errno::result(unsafe { libc::ioctl(file.as_raw_fd(), what, ptr::from_mut(&mut request)) })?;
    Ok(request.ifr_ifru)
}
