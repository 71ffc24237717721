//! The Internet checksum, mended by what has changed.

/// What a checksum becomes when one word that it covers changes (RFC 1624, equation 3: `HC' = ~(~HC + ~m + m')` in
/// one's complement arithmetic). One that was wrong stays wrong by as much.
pub const fn mended(checksum: u16, before: u16, after: u16) -> u16 {
    if before == after {
        return checksum;
    }
    let sum = !checksum as u32 + !before as u32 + after as u32;
    let folded = (sum & 0xFFFF) + (sum >> 16);
    let [_, _, high, low] = (folded + (folded >> 16)).to_be_bytes();
    !u16::from_be_bytes([high, low])
}
