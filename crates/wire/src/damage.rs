//! The damage that a bad line does to a packet.

use crate::frame::Frame;

/// Flips one bit of the payload of a frame's IP packet: bit `word` modulo their number, from the most significant
/// bit of the first byte. The IP header is not damaged, because a router would drop the packet for its header
/// checksum. Returns false and does nothing without a payload.
pub fn damage(frame: &mut [u8], word: u64) -> bool {
    let Frame::Ip(packet) = Frame::parse(frame) else { return false };
    let (begin, end) = (packet.payload, packet.end());
    let Some(payload) = frame.get_mut(begin..end).filter(|payload| !payload.is_empty()) else { return false };
    // A payload has fewer than 2^19 bits, so the modulo makes some of them likelier than others by less than 2^-44.
    let bit = word % (payload.len() as u64 * 8);
    let Some(byte) = usize::try_from(bit / 8).ok().and_then(|place| payload.get_mut(place)) else {
        return false;
    };
    *byte ^= 0x80 >> (bit % 8);
    true
}
