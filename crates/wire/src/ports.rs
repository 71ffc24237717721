//! The ports of a packet: reading them, and replacing them as a network address translator does.

use std::net::IpAddr;

use crate::bytes::{mended, put_u16, u16_at};
use crate::connection::Protocol;
use crate::frame::{Frame, Packet};
use crate::transport::Transport;

/// Source or destination of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The sender.
    Source,
    /// The receiver.
    Destination,
}

/// One end of a TCP or UDP conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// The protocol; TCP and UDP ports are separate.
    pub protocol: Protocol,
    /// Address of the host.
    pub address: IpAddr,
    /// Port of the program.
    pub port: u16,
}

impl End {
    /// Offset of its port in a TCP or UDP header.
    const fn offset(self) -> usize {
        match self {
            Self::Source => 0,
            Self::Destination => 2,
        }
    }
}

impl Packet<'_> {
    /// Source or destination of a TCP segment or UDP datagram. `None` if no ports can be read: another protocol, a
    /// fragment that is not the first, a truncated header.
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

/// Writes another port into a frame's TCP or UDP header and updates the checksum incrementally, so that a wrong one
/// stays wrong (RFC 3022, 4.2, has the same arithmetic). A UDP checksum of 0 means that there is none (RFC 768) and
/// stays; a result of 0 is written as 0xFFFF, its equal in one's complement. Frames without readable ports are not
/// changed.
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
