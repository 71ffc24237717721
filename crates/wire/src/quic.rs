//! The headers of a client's QUIC datagrams: how it opens a connection, and its first packet with a short header.
//!
//! # Theory of operation
//!
//! A QUIC client sends 1-RTT packets, under the keys that the handshake agreed on, with a short header, and all
//! packets of the handshake (0-RTT too) with a long one (RFC 9000, 17). Several packets may share a datagram; a
//! long header has a Length that says where the next packet begins (12.2). Both forms are readable without keys:
//! header protection (RFC 9001, 5.4) does not change form bit, version and Length.
//!
//! A short header cannot be recognised by itself. It counts only after a long header of a known version from the
//! same client, and, inside a datagram, only with that datagram's connection ID, which all its packets must share.
//! This skips zero bytes that some senders append as padding.

use crate::bytes::{u8_at, u16_at, u32_at};

const LONG_HEADER: u8 = 0x80;
const FIXED_BIT: u8 = 0x40;
/// RFC 9000, 17.2: longer connection IDs belong to unknown versions.
const LONGEST_CONNECTION_ID: u8 = 20;

/// RFC 9000, 10.3: a receiver cannot decrypt shorter ones, whatever its connection ID.
const SHORTEST_SHORT_PACKET: usize = 21;

/// The type of a client's first datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// A long header of version 1 or 2, Initial: a QUIC connection begins.
    Initial,
    /// The same, 0-RTT: the Initial was lost or is late.
    ZeroRtt,
    /// The same, Handshake: the Initial took another path, or came before the observation.
    Handshake,
    /// It may be a short header, whose first two bits are 0 and 1. Without keys nothing else of it is readable, and
    /// another protocol's datagram may begin in the same way. With QUIC it means that a connection was not opened
    /// here but has moved here (RFC 9000, 9). If QUIC was spoken with the server before, the second bit may also be
    /// 0: clients grease it if both sides support that (RFC 9287).
    Short,
    /// None of these: another protocol, a long header of an unknown version, or a greased short one to an unknown
    /// server.
    Other,
}

impl Opening {
    /// Reads the payload of a datagram, to a server that is known to speak QUIC or is not.
    #[must_use]
    pub fn of(datagram: &[u8], speaks_quic: bool) -> Self {
        let marks = if speaks_quic { LONG_HEADER } else { LONG_HEADER | FIXED_BIT };
        match (LongPacket::parse(datagram), u8_at(datagram, 0)) {
            (Some(packet), _) => packet.kind.opening(),
            (None, Some(first))
                if datagram.len() >= SHORTEST_SHORT_PACKET && first & marks == FIXED_BIT & marks =>
            {
                Self::Short
            }
            _ => Self::Other,
        }
    }

    /// Whether it was a long header of a known version, which only QUIC sends.
    pub(crate) const fn is_long(self) -> bool {
        matches!(self, Self::Initial | Self::ZeroRtt | Self::Handshake)
    }
}

/// Bytes of the connection ID that a client's first datagram asks the server to use; `None` if it is not readable.
pub fn chosen_id_bytes(datagram: &[u8]) -> Option<u64> {
    LongPacket::parse(datagram).map(|packet| packet.source_id.len() as u64)
}

/// Whether a datagram begins with a long header, as those of the handshake do.
pub fn begins_long(datagram: &[u8]) -> bool {
    u8_at(datagram, 0).is_some_and(|first| first & LONG_HEADER != 0)
}

/// Follows the datagrams of one client.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShortHeaderWatch {
    is_quic: bool,
    found: bool,
}

impl ShortHeaderWatch {
    /// Takes the payload of a client's datagram; true when it has the first short-header packet.
    pub fn observe(&mut self, datagram: &[u8]) -> bool {
        if self.found {
            return false;
        }
        self.found = match u8_at(datagram, 0) {
            Some(first) if first & LONG_HEADER != 0 => self.walk(datagram),
            Some(_) => self.is_quic,
            None => false,
        };
        self.found
    }

    fn walk(&mut self, datagram: &[u8]) -> bool {
        let mut rest = datagram;
        while let Some(packet) = LongPacket::parse(rest) {
            self.is_quic = true;
            rest = packet.rest;
            if is_short_packet_to(packet.destination_id, rest) {
                return true;
            }
        }
        false
    }
}

fn is_short_packet_to(destination_id: &[u8], bytes: &[u8]) -> bool {
    let Some((first, rest)) = bytes.split_first() else { return false };
    is_short(*first) && rest.starts_with(destination_id)
}

const fn is_short(first: u8) -> bool {
    first & (LONG_HEADER | FIXED_BIT) == FIXED_BIT
}

struct LongPacket<'a> {
    kind: LongKind,
    destination_id: &'a [u8],
    source_id: &'a [u8],
    /// The rest of the datagram.
    rest: &'a [u8],
}

impl<'a> LongPacket<'a> {
    /// Reads an Initial, 0-RTT or Handshake packet of version 1 or 2.
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let first = u8_at(bytes, 0)?;
        let kind = LongKind::of(first, u32_at(bytes, 1)?)?;
        let (destination_id, rest) = take_connection_id(bytes.get(5..)?)?;
        let (source_id, mut rest) = take_connection_id(rest)?;
        if kind == LongKind::Initial {
            let (token_bytes, after) = take_varint(rest)?;
            rest = after.get(usize::try_from(token_bytes).ok()?..)?;
        }
        let (length, rest) = take_varint(rest)?;
        Some(Self { kind, destination_id, source_id, rest: rest.get(usize::try_from(length).ok()?..)? })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LongKind {
    Initial,
    ZeroRtt,
    Handshake,
}

impl LongKind {
    /// `None` for Retry, version negotiation, unknown versions and short headers.
    fn of(first: u8, version: u32) -> Option<Self> {
        const VERSION_1: u32 = 1;
        const VERSION_2: u32 = 0x6B33_43CF;
        if first & LONG_HEADER == 0 {
            return None;
        }
        // Version 2 turns the four types by one place (RFC 9369, 3.2).
        let turned = match version {
            VERSION_1 => 0,
            VERSION_2 => 3,
            _ => return None,
        };
        match ((first >> 4) + turned) & 0x03 {
            0 => Some(Self::Initial),
            1 => Some(Self::ZeroRtt),
            2 => Some(Self::Handshake),
            _ => None,
        }
    }

    const fn opening(self) -> Opening {
        match self {
            Self::Initial => Opening::Initial,
            Self::ZeroRtt => Opening::ZeroRtt,
            Self::Handshake => Opening::Handshake,
        }
    }
}

fn take_connection_id(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&length, rest) = bytes.split_first()?;
    (length <= LONGEST_CONNECTION_ID).then(|| rest.split_at_checked(usize::from(length)))?
}

/// A variable-length integer (RFC 9000, 16) and the rest.
fn take_varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let first = u8_at(bytes, 0)?;
    let length = 1_usize << (first >> 6);
    let value = match length {
        1 => u64::from(first),
        2 => u64::from(u16_at(bytes, 0)? & 0x3FFF),
        4 => u64::from(u32_at(bytes, 0)? & 0x3FFF_FFFF),
        _ => u64::from(u32_at(bytes, 0)? & 0x3FFF_FFFF) << 32 | u64::from(u32_at(bytes, 4)?),
    };
    Some((value, bytes.get(length..)?))
}
