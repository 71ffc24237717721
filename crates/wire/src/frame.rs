//! Ethernet and IP headers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::bytes::{array_at, u8_at, u16_at};
use crate::ecn::Codepoint;
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
