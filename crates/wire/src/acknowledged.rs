//! Whether a TCP receiver acknowledged data that was not delivered to it.
//!
//! An acknowledgement names the next byte that its sender expects (RFC 9293, 3.4), so it never exceeds the end of
//! what was delivered to that side. If it does, the bytes came by another path than the observed link. The observer
//! sees a segment when it arrives at the link; the link reports when it was delivered.

use crate::stream::distance;
use crate::transport::Segment;

/// What the delivery of a packet will prove; keep it with the packet until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The connection's place in the table.
    pub(crate) place: usize,
    pub(crate) from_client: bool,
    pub(crate) load: Load,
}

/// What a packet carries of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// Sequence numbers of a stream.
    Stream {
        /// Of the first payload byte.
        first: u32,
        /// Payload.
        bytes: u32,
        /// One above the last.
        end: u32,
    },
    /// A UDP payload.
    Datagram {
        /// Its length.
        bytes: u32,
        /// Whether it begins with QUIC's long header, which packets of the handshake have.
        is_long: bool,
        /// The number of its packet among those of its side, from 1.
        number: u64,
    },
}

/// How far each side's stream was delivered, and acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Deliveries {
    /// Whether the client's first SYN was seen. Without it nothing is checked, because the earlier data is unknown.
    opened: bool,
    from_client: Option<u32>,
    from_server: Option<u32>,
    ahead: u32,
}

impl Deliveries {
    /// Records a segment that arrived at the observer.
    pub(crate) fn observe(&mut self, from_client: bool, segment: &Segment<'_>) {
        self.opened |= from_client && segment.syn && !segment.ack;
        // A RST may acknowledge anything.
        if self.opened && segment.ack && !segment.rst {
            let delivered = if from_client { self.from_server } else { self.from_client };
            // Without any delivery the beginning is unknown; it is at least the SYN.
            let ahead = delivered.map_or(1, |end| distance(end, segment.acknowledgement));
            self.ahead = self.ahead.max(ahead);
        }
    }

    /// Records that a segment was delivered up to its end.
    pub(crate) fn deliver(&mut self, from_client: bool, end: u32) {
        let delivered = if from_client { &mut self.from_client } else { &mut self.from_server };
        if delivered.is_none_or(|known| distance(known, end) > 0) {
            *delivered = Some(end);
        }
    }

    /// The most by which an acknowledgement was ahead of what was delivered, in sequence numbers; `None` if the
    /// beginning of the connection was not seen.
    pub(crate) fn ahead(&self) -> Option<u32> {
        self.opened.then_some(self.ahead)
    }
}

/// What a segment carries; `None` if it takes no sequence number, or belongs to no stream.
pub(crate) fn load(segment: &Segment<'_>) -> Option<Load> {
    let bytes = u32::try_from(segment.payload.len()).ok()?;
    let first = segment.first_byte();
    let end = first.wrapping_add(bytes + u32::from(segment.fin));
    (end != segment.sequence && !segment.rst).then_some(Load::Stream { first, bytes, end })
}
