//! The ports of a packet: who is meant by them, and what a network address translator writes in their place.

use std::net::IpAddr;

use crate::bytes::{put_u16, u16_at};
use crate::checksum::mended;
use crate::connection::Protocol;
use crate::frame::{Frame, Packet};
use crate::transport::Transport;

/// Which of a packet's two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Who sent it.
    Source,
    /// Whom it is for.
    Destination,
}

/// One end of a TCP or UDP conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// Ports of TCP and UDP have nothing to do with each other.
    pub protocol: Protocol,
    /// Of the host.
    pub address: IpAddr,
    /// Of the program.
    pub port: u16,
}

impl End {
    /// Where in a TCP or UDP header its port is.
    const fn offset(self) -> usize {
        match self {
            Self::Source => 0,
            Self::Destination => 2,
        }
    }
}

impl Packet<'_> {
    /// One of the two ends of a TCP segment or UDP datagram. `None` for what has no ports that can be read: another
    /// protocol, all fragments but a first one, a header that is cut short.
    #[must_use]
    pub const fn endpoint(&self, end: End) -> Option<Endpoint> {
        let (protocol, source, destination) = match &self.transport {
            Transport::Tcp(segment) => (Protocol::Tcp, segment.source_port, segment.destination_port),
            Transport::Udp(datagram) => (Protocol::Udp, datagram.source_port, datagram.destination_port),
            _ => return None,
        };
        Some(match end {
            End::Source => Endpoint { protocol, address: self.source, port: source },
            End::Destination => Endpoint { protocol, address: self.destination, port: destination },
        })
    }
}

/// Writes another port into a frame's TCP or UDP header, and mends the checksum by what has changed, so that one that
/// was wrong stays wrong (RFC 3022, 4.2, has the same arithmetic). A UDP checksum of 0 says that there is none (RFC
/// 768), and stays; one that would become 0 is written as 0xFFFF, which is equal in one's complement. What has no
/// ports that can be read is left alone.
pub fn set_port(frame: &mut [u8], end: End, port: u16) {
    const TCP_CHECKSUM: usize = 16;
    const UDP_CHECKSUM: usize = 6;
    let Frame::Ip(packet) = Frame::parse(frame) else { return };
    let Some(Endpoint { protocol, port: before, .. }) = packet.endpoint(end) else { return };
    let header = packet.payload;
    let place = match protocol {
        Protocol::Tcp => header + TCP_CHECKSUM,
        Protocol::Udp => header + UDP_CHECKSUM,
    };
    let Some(checksum) = u16_at(frame, place) else { return };
    put_u16(frame, header + end.offset(), port);
    let mended = match (protocol, checksum, mended(checksum, before, port)) {
        (Protocol::Udp, 0, _) => 0,
        (Protocol::Udp, _, 0) => 0xFFFF,
        (_, _, mended) => mended,
    };
    put_u16(frame, place, mended);
}
