//! The payload of a flow's packets: number, send time, and bytes that depend on key and number.
//!
//! ```text
//! 0       8       16      24
//! number  sent    check   pattern ...          little endian; sent in ns of CLOCK_MONOTONIC
//! ```
//!
//! `check` is a hash of number and time. It distinguishes a damaged header from a damaged pattern, so the number is
//! reliable if only the pattern is damaged. The hash is the finaliser of `SplitMix64` (Steele, Lea and Flood 2014):
//! one flipped bit always changes it, because it is a bijection of each of its words.

/// The shortest payload.
pub const HEADER_BYTES: usize = 24;

const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// The fields of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Position in its flow, from 0.
    pub number: u64,
    /// When it was handed to the kernel.
    pub sent: i64,
}

/// The result of checking a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Every byte as it was sent.
    Whole(Header),
    /// The header is right, but something after it is not.
    Damaged(Header),
    /// The header itself is damaged, or the packet is not of this flow.
    Unknown,
}

/// Fills the part behind the header.
pub fn fill(payload: &mut [u8], key: u64, number: u64) {
    for (place, bytes) in payload[HEADER_BYTES..].chunks_mut(8).enumerate() {
        bytes.copy_from_slice(&word(key, number, place).to_le_bytes()[..bytes.len()]);
    }
}

/// Writes the header.
pub fn stamp(payload: &mut [u8], key: u64, header: Header) {
    let words = [header.number.to_le_bytes(), header.sent.to_le_bytes(), check(key, header).to_le_bytes()];
    for (bytes, word) in payload.chunks_exact_mut(8).zip(words) {
        bytes.copy_from_slice(&word);
    }
}

/// Reads a payload, every byte of it.
pub fn read(payload: &[u8], key: u64) -> Reading {
    let Some((header, pattern)) = payload.split_at_checked(HEADER_BYTES) else { return Reading::Unknown };
    let mut words = header.chunks_exact(8).map(|bytes| <[u8; 8]>::try_from(bytes).unwrap_or_default());
    let mut next = || words.next().unwrap_or_default();
    let header = Header { number: u64::from_le_bytes(next()), sent: i64::from_le_bytes(next()) };
    let checked = u64::from_le_bytes(next());
    if checked != check(key, header) {
        return Reading::Unknown;
    }
    let mut chunks = pattern.chunks(8).enumerate();
    let is_whole =
        chunks.all(|(place, bytes)| word(key, header.number, place).to_le_bytes()[..bytes.len()] == *bytes);
    if is_whole { Reading::Whole(header) } else { Reading::Damaged(header) }
}

fn check(key: u64, header: Header) -> u64 {
    let sent = u64::from_le_bytes(header.sent.to_le_bytes());
    mix(mix(key ^ header.number).wrapping_add(GAMMA) ^ sent)
}

fn word(key: u64, number: u64, place: usize) -> u64 {
    mix(key ^ number.wrapping_mul(GAMMA).wrapping_add((place as u64).wrapping_mul(!GAMMA)))
}

const fn mix(mut z: u64) -> u64 {
    z ^= z >> 30;
    z = z.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^= z >> 27;
    z = z.wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::{HEADER_BYTES, Header, Reading, fill, read, stamp};

    const HEADER: Header = Header { number: 41, sent: 123_456_789_012_345 };

    fn payload(bytes: usize) -> Vec<u8> {
        let mut payload = vec![0; bytes];
        fill(&mut payload, 7, HEADER.number);
        stamp(&mut payload, 7, HEADER);
        payload
    }

    #[test]
    fn a_written_payload_is_read_back() {
        for bytes in [HEADER_BYTES, 25, 31, 32, 100, 1472] {
            assert_eq!(read(&payload(bytes), 7), Reading::Whole(HEADER));
        }
    }

    #[test]
    fn any_flipped_bit_is_detected_and_a_readable_number_is_kept() {
        for bit in 0..100 * 8 {
            let mut damaged = payload(100);
            damaged[bit / 8] ^= 1 << (bit % 8);
            let expected = if bit / 8 < HEADER_BYTES { Reading::Unknown } else { Reading::Damaged(HEADER) };
            assert_eq!(read(&damaged, 7), expected, "bit {bit}");
        }
    }

    #[test]
    fn foreign_and_short_payloads_are_unknown() {
        assert_eq!(read(&payload(100), 8), Reading::Unknown);
        assert_eq!(read(&[0; 23], 7), Reading::Unknown);
        assert_eq!(read(&[], 7), Reading::Unknown);
    }
}
