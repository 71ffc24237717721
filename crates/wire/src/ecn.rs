//! Explicit congestion notification in the IP header (RFC 3168, 5).

use crate::bytes::{put_u16, u16_at};
use crate::checksum::mended;
use crate::frame::{ETHERNET_HEADER_BYTES, ETHERTYPE_IPV4, ETHERTYPE_IPV6};

/// Both bits set are CE, in IPv4's type of service and in IPv6's traffic class.
const CE: u8 = 0b11;

const CHECKSUM_V4: usize = ETHERNET_HEADER_BYTES + 10;

/// The meaning of the two bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codepoint {
    /// Not-ECT: the transport does not support marks.
    NotEct,
    /// ECT(1): it supports marks; also the low-latency service of RFC 9331.
    Ect1,
    /// ECT(0): it supports marks.
    Ect0,
    /// CE: congestion was experienced.
    Ce,
}

impl Codepoint {
    /// The field of a type of service or traffic class.
    #[must_use]
    pub const fn of(class: u8) -> Self {
        match class & CE {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }
}

/// Sets CE in the IP header of a frame and updates an IPv4 checksum incrementally, so that a wrong checksum stays
/// wrong. Frames without an IP packet are not changed.
pub fn mark(frame: &mut [u8]) {
    let Some(before) = u16_at(frame, ETHERNET_HEADER_BYTES) else { return };
    match u16_at(frame, ETHERNET_HEADER_BYTES - 2) {
        // Version and header length are in the first byte, the type of service is the second.
        Some(ETHERTYPE_IPV4) => {
            let after = before | u16::from(CE);
            if let Some(checksum) = u16_at(frame, CHECKSUM_V4) {
                put_u16(frame, ETHERNET_HEADER_BYTES, after);
                put_u16(frame, CHECKSUM_V4, mended(checksum, before, after));
            }
        }
        // The traffic class lies across both bytes, its last two bits in the upper half of the second.
        Some(ETHERTYPE_IPV6) => put_u16(frame, ETHERNET_HEADER_BYTES, before | u16::from(CE) << 4),
        _ => {}
    }
}
