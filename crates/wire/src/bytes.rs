//! Big-endian numbers at an offset that may lie outside, and the Internet checksum over them.

pub fn u8_at(bytes: &[u8], offset: usize) -> Option<u8> {
    bytes.get(offset).copied()
}

pub fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    array_at(bytes, offset).map(u16::from_be_bytes)
}

pub fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    array_at(bytes, offset).map(u32::from_be_bytes)
}

/// Nothing is written outside.
pub fn put_u16(bytes: &mut [u8], offset: usize, value: u16) {
    if let Some(place) = bytes.get_mut(offset..offset + 2) {
        place.copy_from_slice(&value.to_be_bytes());
    }
}

pub fn array_at<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk().copied()
}

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
