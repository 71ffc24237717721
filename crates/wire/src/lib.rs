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
mod connection;
mod frame;
mod ports;
mod quic;
mod stream;
mod table;
mod tls;
mod transport;

pub use acknowledged::Delivery;
pub use answer::{Answer, FAREWELL_BYTES, Nanos};
pub use connection::{Connection, FirstSizes, Protocol, Side};
pub use frame::{Codepoint, ETHERNET_HEADER_BYTES, Frame, Packet, damage, mark};
pub use ports::{End, Endpoint, set_port};
pub use quic::Opening;
pub use table::{ConnectionTable, MAX_CONNECTIONS, Observed, Place, Sighting};
pub use transport::{Datagram, Segment, Transport};
