//! Incremental update of the Internet checksum.

/// The checksum after a change of one word that it covers (RFC 1624, equation 3: `HC' = ~(~HC + ~m + m')` in one's
/// complement arithmetic). A wrong checksum stays wrong by the same amount.
pub const fn mended(checksum: u16, before: u16, after: u16) -> u16 {
    if before == after {
        return checksum;
    }
    let sum = !checksum as u32 + !before as u32 + after as u32;
    let folded = (sum & 0xFFFF) + (sum >> 16);
    let [_, _, high, low] = (folded + (folded >> 16)).to_be_bytes();
    !u16::from_be_bytes([high, low])
}
