//! Lines from pipes that are read as far as they go.

use std::io;
use std::os::fd::BorrowedFd;

const READ_BYTES: usize = 16384;
/// Longest line of a program; the orchestrator reads no longer one.
pub const MAX_LINE_BYTES: usize = 64 << 20;

/// Take the complete lines from a buffer, without empty ones.
pub fn complete_lines(buffer: &mut Vec<u8>) -> Vec<Vec<u8>> {
    let Some(end) = buffer.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
    let rest = buffer.split_off(end + 1);
    let lines = std::mem::replace(buffer, rest);
    lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
}

/// Append what can be read at once; returns 0 at the end.
pub fn read_some(from: BorrowedFd, into: &mut Vec<u8>) -> io::Result<usize> {
    let mut chunk = [0; READ_BYTES];
    let count = nix::unistd::read(from, &mut chunk)?;
    into.extend_from_slice(&chunk[..count]);
    Ok(count)
}
