//! TCP and UDP headers.

use crate::bytes::{u8_at, u16_at, u32_at};

const TCP: u8 = 6;
const UDP: u8 = 17;

/// What an IP packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport<'a> {
    /// A TCP segment.
    Tcp(Segment<'a>),
    /// A UDP datagram.
    Udp(Datagram<'a>),
    /// IPv6 neighbour or multicast listener discovery.
    Discovery,
    /// Another protocol, or a fragment that does not begin with a header.
    Other,
    /// A TCP, UDP or extension header that cannot be read.
    Malformed,
}

/// A TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "these are the header's own flag bits")]
pub struct Segment<'a> {
    /// Sender's port.
    pub source_port: u16,
    /// Receiver's port.
    pub destination_port: u16,
    /// Sequence number of the first byte, or of the SYN.
    pub sequence: u32,
    /// The next sequence number that the sender waits for, if `ack` is set.
    pub acknowledgement: u32,
    /// Opens the connection.
    pub syn: bool,
    /// Carries an acknowledgement.
    pub ack: bool,
    /// Ends this side's stream.
    pub fin: bool,
    /// Aborts the connection.
    pub rst: bool,
    /// The bytes it carries.
    pub payload: &'a [u8],
}

impl Segment<'_> {
    /// The number of the first payload byte: a SYN takes one number before it.
    #[must_use]
    pub const fn first_byte(&self) -> u32 {
        self.sequence.wrapping_add(self.syn as u32)
    }
}

/// A UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Sender's port.
    pub source_port: u16,
    /// Receiver's port.
    pub destination_port: u16,
    /// The bytes it carries.
    pub payload: &'a [u8],
}

impl<'a> Transport<'a> {
    /// The payload of a TCP segment or UDP datagram; empty without such a header.
    #[must_use]
    pub const fn payload(&self) -> &'a [u8] {
        match self {
            Self::Tcp(segment) => segment.payload,
            Self::Udp(datagram) => datagram.payload,
            _ => &[],
        }
    }

    /// Reads the payload of an IP packet whose protocol number is `protocol`.
    #[must_use]
    pub fn parse(protocol: u8, bytes: &'a [u8]) -> Self {
        match protocol {
            TCP => parse_tcp(bytes).map_or(Self::Malformed, Self::Tcp),
            UDP => parse_udp(bytes).map_or(Self::Malformed, Self::Udp),
            _ => Self::Other,
        }
    }
}

fn parse_tcp(bytes: &[u8]) -> Option<Segment<'_>> {
    let header_bytes = usize::from(u8_at(bytes, 12)? >> 4) * 4;
    let flags = u8_at(bytes, 13)?;
    if header_bytes < 20 {
        return None;
    }
    Some(Segment {
        source_port: u16_at(bytes, 0)?,
        destination_port: u16_at(bytes, 2)?,
        sequence: u32_at(bytes, 4)?,
        acknowledgement: u32_at(bytes, 8)?,
        fin: flags & 0x01 != 0,
        syn: flags & 0x02 != 0,
        rst: flags & 0x04 != 0,
        ack: flags & 0x10 != 0,
        payload: bytes.get(header_bytes..)?,
    })
}

fn parse_udp(bytes: &[u8]) -> Option<Datagram<'_>> {
    const HEADER_BYTES: usize = 8;
    let length = usize::from(u16_at(bytes, 4)?);
    // The first fragment of a datagram is shorter than the datagram's length field.
    let end = length.min(bytes.len());
    if length < HEADER_BYTES {
        return None;
    }
    Some(Datagram {
        source_port: u16_at(bytes, 0)?,
        destination_port: u16_at(bytes, 2)?,
        payload: bytes.get(HEADER_BYTES..end)?,
    })
}
