//! The connection IDs that the server gets of us.

use quiche::{Connection, ConnectionId};

/// RFC 9000 section 5.1 leaves the length open; 16 bytes do not collide.
pub const CONNECTION_ID_BYTES: usize = 16;

/// Gives the server as many connection IDs as it takes: it needs an unused one for each new path.
pub(super) fn supply(quic: &mut Connection) {
    while quic.retired_scid_next().is_some() {}
    while quic.is_established() && quic.scids_left() > 0 {
        if !offer(quic, false) {
            return;
        }
    }
}

/// Gives it another one, instead of an older one if need be; whether it takes it.
pub(super) fn offer(quic: &mut Connection, retire: bool) -> bool {
    let (mut id, mut token) = ([0; CONNECTION_ID_BYTES], [0; 16]);
    let random = boring::rand::rand_bytes(&mut id).and_then(|()| boring::rand::rand_bytes(&mut token));
    let id = ConnectionId::from_ref(&id);
    random.is_ok() && quic.new_scid(&id, u128::from_ne_bytes(token), retire).is_ok()
}
