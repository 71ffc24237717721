//! What an observer in the middle of a link can read from packets without decryption.
//!
//! [`Frame::parse`] reads the headers of one Ethernet frame. [`ConnectionTable`] follows TCP and UDP connections:
//! the client, each side's first and last packet, retransmissions, and the end of the handshake. [`damage`],
//! [`mark`] and [`set_port`] change a frame as a bad line, a congested router and a network address translator do.
//!
//! Everything is a function of bytes and arrival times; no input makes it panic.

#![forbid(unsafe_code)]

mod acknowledged;
mod answer;
mod bytes;
mod checksum;
mod connection;
mod damage;
mod ecn;
mod flow;
mod frame;
mod ports;
mod quic;
mod sequence;
mod stream;
mod table;
mod tls;
mod transport;

pub use acknowledged::Delivery;
pub use answer::{Answer, FAREWELL_BYTES};
pub use connection::{Connection, FirstSizes, Nanos, Protocol, Side};
pub use damage::damage;
pub use ecn::{Codepoint, mark};
pub use frame::{ETHERNET_HEADER_BYTES, Frame, Packet};
pub use ports::{End, Endpoint, set_port};
pub use quic::Opening;
pub use table::{ConnectionTable, MOST_CONNECTIONS, Observed, Place, Sighting};
pub use transport::{Datagram, Segment, Transport};
