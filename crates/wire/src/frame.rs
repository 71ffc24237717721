//! Ethernet and IP headers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::bytes::{array_at, u8_at, u16_at};
use crate::transport::Transport;

/// Bytes of an Ethernet header without tags.
pub const ETHERNET_HEADER_BYTES: usize = 14;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86DD;

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
    /// Not the traffic of any program: ARP, LLDP, IPv6 neighbour and multicast listener discovery.
    Stray,
    /// An IP packet whose own header cannot be read, so that not even its size is known.
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
    /// What it carries.
    pub transport: Transport<'a>,
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

fn parse_v4(bytes: &[u8]) -> Option<Packet<'_>> {
    let first = u8_at(bytes, 0)?;
    let header_bytes = usize::from(first & 0x0F) * 4;
    let total = usize::from(u16_at(bytes, 2)?);
    if first >> 4 != 4 || header_bytes < 20 || total < header_bytes {
        return None;
    }
    let payload = bytes.get(header_bytes..total)?;
    let fragment_offset = u16_at(bytes, 6)? & 0x1FFF;
    Some(Packet {
        bytes: u32::try_from(total).ok()?,
        source: IpAddr::V4(Ipv4Addr::from(array_at::<4>(bytes, 12)?)),
        destination: IpAddr::V4(Ipv4Addr::from(array_at::<4>(bytes, 16)?)),
        transport: match fragment_offset {
            0 => Transport::parse(u8_at(bytes, 9)?, payload),
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
    let payload = bytes.get(HEADER_BYTES..total)?;
    Some(Packet {
        bytes: u32::try_from(total).ok()?,
        source: IpAddr::V6(Ipv6Addr::from(array_at::<16>(bytes, 8)?)),
        destination: IpAddr::V6(Ipv6Addr::from(array_at::<16>(bytes, 24)?)),
        transport: parse_v6_payload(u8_at(bytes, 6)?, payload),
    })
}

/// Walks the extension headers. A header that is cut short belongs to the payload, not to the IP header
/// proper: the packet can still be carried.
fn parse_v6_payload(mut next: u8, mut payload: &[u8]) -> Transport<'_> {
    loop {
        let header_bytes = match next {
            HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS => {
                u8_at(payload, 1).map(|units| (usize::from(units) + 1) * 8)
            }
            FRAGMENT if u16_at(payload, 2).is_some_and(|field| field & 0xFFF8 != 0) => {
                return Transport::Other;
            }
            FRAGMENT => Some(8),
            ICMPV6 => return parse_icmpv6(payload),
            _ => return Transport::parse(next, payload),
        };
        let rest = header_bytes.and_then(|length| payload.get(length..));
        let (Some(rest), Some(following)) = (rest, u8_at(payload, 0)) else {
            return Transport::Malformed;
        };
        (next, payload) = (following, rest);
    }
}

fn parse_icmpv6(message: &[u8]) -> Transport<'_> {
    match u8_at(message, 0) {
        // Multicast listener discovery 130-132 and 143, neighbour discovery 133-137.
        Some(130..=137 | 143) => Transport::Discovery,
        Some(_) => Transport::Other,
        None => Transport::Malformed,
    }
}
