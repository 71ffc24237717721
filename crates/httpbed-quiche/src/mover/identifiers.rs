//! Connection IDs: those issued to the server, and those of the server's that the client retires.

use std::net::SocketAddr;

use quiche::{Connection, ConnectionId};

use super::{Mover, stats};

/// RFC 9000 section 5.1 leaves the length open; 16 bytes do not collide.
pub const CONNECTION_ID_BYTES: usize = 16;

impl Mover {
    /// Retires the connection ID of a path that was left, if a spare one remains for a return.
    pub(super) fn retire(&mut self, left: SocketAddr, quic: &mut Connection) {
        let Some(place) = self.linked.iter().position(|(local, _)| *local == left) else { return };
        if quic.available_dcids() > 0 {
            let (_, sequence) = self.linked.swap_remove(place);
            // An error if the server has retired it before.
            if quic.retire_dcid(sequence).is_ok() {
                self.fresh.insert(left);
            }
        }
    }

    /// Issues an ID for the next path once the server has come to this one, retiring the oldest if necessary.
    ///
    /// nginx accepts nothing from a new address without an unused ID, and retires none itself. If it is asked to
    /// while it still uses the path before, it retires the ID in a packet to that same ID, which violates QUIC (RFC
    /// 9000 section 19.16).
    pub(super) fn provide(&mut self, quic: &mut Connection) {
        let has_come = |(name, packets)| stats(quic, name).is_none_or(|stats| stats.recv > packets);
        if self.lacking.take_if(|lacking| has_come(*lacking)).is_some()
            && quic.scids_left() == 0
            && quic.active_scids() <= quic.path_stats().count()
        {
            offer(quic, true);
        }
    }
}

/// Issues as many connection IDs as the server accepts: it needs an unused one for each new path.
pub(super) fn supply(quic: &mut Connection) {
    while quic.retired_scid_next().is_some() {}
    while quic.is_established() && quic.scids_left() > 0 {
        if !offer(quic, false) {
            return;
        }
    }
}

/// Issues another one, in place of an older one if necessary; returns whether the server accepts it.
pub(super) fn offer(quic: &mut Connection, retire: bool) -> bool {
    let (mut id, mut token) = ([0; CONNECTION_ID_BYTES], [0; 16]);
    let random = boring::rand::rand_bytes(&mut id).and_then(|()| boring::rand::rand_bytes(&mut token));
    let id = ConnectionId::from_ref(&id);
    random.is_ok() && quic.new_scid(&id, u128::from_ne_bytes(token), retire).is_ok()
}
