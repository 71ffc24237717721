//! Network interfaces of this network namespace, by name.

use std::ffi::CString;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::check;

/// The kernel's index of an interface.
pub fn index(name: &str) -> io::Result<libc::c_int> {
    let name = CString::new(name)?;
    // SAFETY: `name` ends with a zero byte and lives through the call.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(io::Error::last_os_error());
    }
    libc::c_int::try_from(index).map_err(io::Error::other)
}

/// The longest packet that an interface takes, in bytes; `socket` is any.
pub fn mtu(socket: BorrowedFd<'_>, name: &str) -> io::Result<libc::c_int> {
    let mut request = request(name)?;
    ask(socket, libc::SIOCGIFMTU as libc::Ioctl, &mut request)?;
    // SAFETY: the kernel has filled in this member of the union.
    Ok(unsafe { request.ifr_ifru.ifru_mtu })
}

/// Sets the longest packet that an interface takes, in bytes.
pub fn set_mtu(name: &str, mtu: libc::c_int) -> io::Result<()> {
    set(name, libc::SIOCSIFMTU as libc::Ioctl, mtu)
}

/// Sets how many packets may wait in an interface until they are sent.
pub fn set_queue_length(name: &str, packets: libc::c_int) -> io::Result<()> {
    set(name, libc::SIOCSIFTXQLEN as libc::Ioctl, packets)
}

fn set(name: &str, what: libc::Ioctl, value: libc::c_int) -> io::Result<()> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
    // SAFETY: no memory is involved.
    let fd = check(unsafe { libc::socket(libc::AF_INET, kind, 0) })?;
    // SAFETY: the kernel has just returned this descriptor, and nothing else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let mut request = request(name)?;
    // All plain numbers are at the same place of the union.
    request.ifr_ifru.ifru_mtu = value;
    let file = std::os::fd::AsFd::as_fd(&socket);
    ask(file, what, &mut request)
}

/// A request about the interface of this name.
pub fn request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all-zero bytes are a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    let bytes = CString::new(name)?;
    let bytes = bytes.as_bytes_with_nul();
    if bytes.len() > request.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
    }
    for (place, byte) in request.ifr_name.iter_mut().zip(bytes) {
        *place = libc::c_char::from_ne_bytes([*byte]);
    }
    Ok(request)
}

/// Makes an interface request to the kernel.
pub fn ask(file: BorrowedFd<'_>, what: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: `request` has the type that all requests used here read and write, and lives through the call.
    check(unsafe { libc::ioctl(file.as_raw_fd(), what, std::ptr::from_mut(request)) }).map(drop)
}
