//! Ethernet and IP headers, their ECN field (RFC 3168, 5), and the damage that a bad line does to a packet;
//! and one number for all packets of a flow.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::bytes::{array_at, mended, put_u16, u8_at, u16_at};
use crate::transport::Transport;

/// Bytes of an Ethernet header without tags.
pub const ETHERNET_HEADER_BYTES: usize = 14;

pub(crate) const ETHERTYPE_IPV4: u16 = 0x0800;
pub(crate) const ETHERTYPE_IPV6: u16 = 0x86DD;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const ICMPV6: u8 = 58;
const DESTINATION_OPTIONS: u8 = 60;

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// An IP packet.
    Ip(Packet<'a>),
    /// Control traffic, of no program: ARP, LLDP, IPv6 neighbour and multicast listener discovery.
    Stray,
    /// An IP packet whose own header cannot be read, so its size is unknown.
    Malformed,
}

/// The headers of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Size of the IP packet by its own header; Ethernet padding is not counted.
    pub bytes: u32,
    /// Sender.
    pub source: IpAddr,
    /// Receiver.
    pub destination: IpAddr,
    /// Protocol number of its payload, after IPv6 extension headers.
    pub protocol: u8,
    /// Whether it is a fragment, including the first.
    pub fragment: bool,
    /// Its ECN field.
    pub ecn: Codepoint,
    /// Offset of its payload in the frame: after the IPv4 header with its options, or after the IPv6 header with
    /// the readable extension headers. At most [`Packet::end`].
    pub payload: usize,
    /// Its payload.
    pub transport: Transport<'a>,
}

impl Packet<'_> {
    /// Offset in the frame where the packet ends and Ethernet's padding begins.
    #[must_use]
    pub const fn end(&self) -> usize {
        ETHERNET_HEADER_BYTES + self.bytes as usize
    }
}

impl<'a> Frame<'a> {
    /// Reads an Ethernet frame.
    #[must_use]
    pub fn parse(frame: &'a [u8]) -> Self {
        let payload = frame.get(ETHERNET_HEADER_BYTES..).unwrap_or_default();
        let packet = match u16_at(frame, ETHERNET_HEADER_BYTES - 2) {
            Some(ETHERTYPE_IPV4) => parse_v4(payload),
            Some(ETHERTYPE_IPV6) => parse_v6(payload),
            _ => return Self::Stray,
        };
        match packet {
            Some(packet) if packet.transport == Transport::Discovery => Self::Stray,
            Some(packet) => Self::Ip(packet),
            None => Self::Malformed,
        }
    }
}

const MORE_FRAGMENTS_V4: u16 = 0x2000;
const OFFSET_V4: u16 = 0x1FFF;

fn parse_v4(bytes: &[u8]) -> Option<Packet<'_>> {
    let first = u8_at(bytes, 0)?;
    let header_bytes = usize::from(first & 0x0F) * 4;
    let total = usize::from(u16_at(bytes, 2)?);
    if first >> 4 != 4 || header_bytes < 20 || total < header_bytes {
        return None;
    }
    let payload = bytes.get(header_bytes..total)?;
    let fragmentation = u16_at(bytes, 6)?;
    let protocol = u8_at(bytes, 9)?;
    Some(Packet {
        bytes: u32::try_from(total).ok()?,
        source: IpAddr::V4(Ipv4Addr::from(array_at::<4>(bytes, 12)?)),
        destination: IpAddr::V4(Ipv4Addr::from(array_at::<4>(bytes, 16)?)),
        protocol,
        fragment: fragmentation & (MORE_FRAGMENTS_V4 | OFFSET_V4) != 0,
        ecn: Codepoint::of(u8_at(bytes, 1)?),
        payload: ETHERNET_HEADER_BYTES + header_bytes,
        transport: match fragmentation & OFFSET_V4 {
            0 => Transport::parse(protocol, payload),
            _ => Transport::Other,
        },
    })
}

fn parse_v6(bytes: &[u8]) -> Option<Packet<'_>> {
    const HEADER_BYTES: usize = 40;
    let total = HEADER_BYTES + usize::from(u16_at(bytes, 4)?);
    if u8_at(bytes, 0)? >> 4 != 6 {
        return None;
    }
    let upper = UpperLayer::find(u8_at(bytes, 6)?, bytes.get(HEADER_BYTES..total)?);
    let traffic_class = u16_at(bytes, 0)? >> 4;
    Some(Packet {
        bytes: u32::try_from(total).ok()?,
        source: IpAddr::V6(Ipv6Addr::from(array_at::<16>(bytes, 8)?)),
        destination: IpAddr::V6(Ipv6Addr::from(array_at::<16>(bytes, 24)?)),
        protocol: upper.protocol,
        fragment: upper.fragment,
        ecn: Codepoint::of(traffic_class.to_be_bytes()[1]),
        payload: ETHERNET_HEADER_BYTES + total - upper.bytes,
        transport: upper.transport,
    })
}

/// The payload of an IPv6 packet after its extension headers (RFC 8200, 4).
struct UpperLayer<'a> {
    protocol: u8,
    fragment: bool,
    /// Whether it is whole or a fragment.
    bytes: usize,
    transport: Transport<'a>,
}

impl<'a> UpperLayer<'a> {
    /// Walks the extension headers. A truncated header counts as payload and not as part of the IP header: the
    /// packet can still be carried.
    fn find(mut protocol: u8, mut payload: &'a [u8]) -> Self {
        let mut fragment = false;
        let transport = loop {
            let header_bytes = match protocol {
                HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS => {
                    u8_at(payload, 1).map(|units| (usize::from(units) + 1) * 8)
                }
                FRAGMENT => Some(8),
                ICMPV6 => break parse_icmpv6(payload),
                _ => break Transport::parse(protocol, payload),
            };
            let rest = header_bytes.and_then(|length| payload.get(length..));
            let (Some(rest), Some(following)) = (rest, u8_at(payload, 0)) else {
                break Transport::Malformed;
            };
            let place = if protocol == FRAGMENT { u16_at(payload, 2).unwrap_or(0) } else { 0 };
            fragment |= place & (OFFSET_V6 | MORE_FRAGMENTS_V6) != 0;
            (protocol, payload) = (following, rest);
            if place & OFFSET_V6 != 0 {
                break Transport::Other;
            }
        };
        Self { protocol, fragment, bytes: payload.len(), transport }
    }
}

const OFFSET_V6: u16 = 0xFFF8;
const MORE_FRAGMENTS_V6: u16 = 0x0001;

fn parse_icmpv6(message: &[u8]) -> Transport<'_> {
    match u8_at(message, 0) {
        // Multicast listener discovery 130-132 and 143, neighbour discovery 133-137.
        Some(130..=137 | 143) => Transport::Discovery,
        Some(_) => Transport::Other,
        None => Transport::Malformed,
    }
}

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

impl Packet<'_> {
    /// Equal for packets with the same addresses, protocol and ports, and almost always different otherwise.
    ///
    /// RFC 8290 (4.1.1) asks for a secret key against senders that choose ports to share a queue with a victim. In
    /// a testbed all senders belong to the experimenter, and the same packets have to meet in the same queues in
    /// every run, so there is no key. The mixing function is the finaliser of `SplitMix64`, in which every input
    /// bit changes each output bit with probability one half (Steele, Lea and Flood 2014). FNV does not achieve
    /// that for addresses that differ in the last byte only.
    ///
    /// All fragments of a packet must share a queue, and only the first has ports. So the hash of fragments uses
    /// addresses and protocol only, as the kernel's flow dissector does.
    #[must_use]
    pub fn flow(&self) -> u64 {
        let ports = match &self.transport {
            _ if self.fragment => 0,
            Transport::Tcp(segment) => both(segment.source_port, segment.destination_port),
            Transport::Udp(datagram) => both(datagram.source_port, datagram.destination_port),
            _ => 0,
        };
        let [source, destination] = [self.source, self.destination].map(halves);
        let words = [source[0], source[1], destination[0], destination[1]];
        let hash = words.into_iter().fold(0, |hash, word| mix(hash ^ word));
        mix(hash ^ (u64::from(self.protocol) << 32 | u64::from(ports)))
    }
}

fn both(source: u16, destination: u16) -> u32 {
    u32::from(source) << 16 | u32::from(destination)
}

fn halves(address: IpAddr) -> [u64; 2] {
    match address {
        IpAddr::V4(address) => [0, u64::from(address.to_bits())],
        IpAddr::V6(address) => {
            let [high, low] = [address.to_bits() >> 64, address.to_bits() & u128::from(u64::MAX)];
            [u64::try_from(high).unwrap_or(0), u64::try_from(low).unwrap_or(0)]
        }
    }
}

/// One round of `SplitMix64`; the constant it adds keeps 0 from staying 0.
const fn mix(word: u64) -> u64 {
    let z = word.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
