//! All connections, by the connection IDs that their clients may use.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Instant;

use quiche::{ConnectionId, Header, RecvInfo, Type};

use super::connection::{Connection, ID_BYTES};
use super::files::Root;
use super::log::Log;
use super::outgoing::Outlet;

/// All connections; a connection's number is never used again.
pub struct Table {
    local: SocketAddr,
    last: u64,
    connections: HashMap<u64, Connection>,
    names: HashMap<Vec<u8>, u64>,
}

impl Table {
    /// An empty table, for a socket that listens at this address.
    pub fn new(local: SocketAddr) -> Self {
        Self { local, last: 0, connections: HashMap::new(), names: HashMap::new() }
    }

    /// Takes a datagram; returns an immediate answer to a client of another version of QUIC.
    pub fn receive(
        &mut self,
        datagram: &mut [u8],
        info: RecvInfo,
        config: &mut quiche::Config,
    ) -> Option<Vec<u8>> {
        let header = Header::from_slice(datagram, ID_BYTES).ok()?;
        let number = match self.names.get(header.dcid.as_ref()) {
            Some(number) => *number,
            None if header.ty != Type::Initial => return None,
            None if !quiche::version_is_supported(header.version) => return negotiate(&header),
            None => self.accept(&header, info, config)?,
        };
        self.connections.get_mut(&number)?.receive(datagram, info);
        None
    }

    /// Lets every connection do what it can now; returns when to call it again.
    pub fn turn(&mut self, outlet: &Outlet, root: &Root, log: &mut Log) -> Option<Instant> {
        let mut due = None;
        for (number, connection) in &mut self.connections {
            let next = connection.turn(outlet, root, log);
            due = [due, next].into_iter().flatten().min();
            for name in connection.fresh_names() {
                self.names.insert(name, *number);
            }
            for name in connection.retired_names() {
                self.names.remove(&name);
            }
        }
        self.connections.retain(|_, connection| !connection.is_closed());
        let Self { names, connections, .. } = self;
        names.retain(|_, number| connections.contains_key(number));
        due
    }

    fn accept(&mut self, header: &Header<'_>, info: RecvInfo, config: &mut quiche::Config) -> Option<u64> {
        let mut id = [0; ID_BYTES];
        boring::rand::rand_bytes(&mut id).ok()?;
        let local = if self.local.ip().is_unspecified() { info.to } else { self.local };
        let quic = quiche::accept(&ConnectionId::from_ref(&id), None, local, info.from, config).ok()?;
        self.last += 1;
        self.connections.insert(self.last, Connection::new(quic, self.last));
        // Until the client has this ID, it uses the one that it chose itself.
        self.names.insert(header.dcid.to_vec(), self.last);
        self.names.insert(id.to_vec(), self.last);
        Some(self.last)
    }
}

fn negotiate(header: &Header<'_>) -> Option<Vec<u8>> {
    let mut reply = vec![0; 1500];
    let length = quiche::negotiate_version(&header.scid, &header.dcid, &mut reply).ok()?;
    reply.truncate(length);
    Some(reply)
}
