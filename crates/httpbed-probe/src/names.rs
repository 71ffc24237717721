//! A relay for name queries: from an address of an emulated network to a resolver of this machine.
//!
//! It passes messages on as they are (RFC 1035, sections 4.2.1 and 4.2.2) and stores nothing. Each query leaves from
//! another source port (RFC 5452, section 9.2). A lost query is repeated by the client.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::relay::{DATAGRAM_BYTES, Pair, Places, naming, relay_streams};

/// Longer than any client waits for a resolver.
const PATIENCE: Duration = Duration::from_secs(30);
/// RFC 1035, section 4.1.1: the header, and in it the bit of an answer and the code of a failed server.
const HEADER_BYTES: usize = 12;
const ANSWER: u8 = 0x80;
const CODE: u8 = 0x0f;
const SERVER_FAILURE: u8 = 2;

/// The bound sockets of one pair.
pub struct Relay {
    datagrams: UdpSocket,
    streams: TcpListener,
    resolver: SocketAddr,
}

impl Relay {
    /// Binds both sockets in the network of this thread.
    ///
    /// # Errors
    /// When the kernel rejects one of them, with its address.
    pub fn bind((at, resolver): Pair) -> io::Result<Self> {
        let datagrams = UdpSocket::bind(at).map_err(naming(at))?;
        Ok(Self { datagrams, streams: TcpListener::bind(at).map_err(naming(at))?, resolver })
    }
}

/// Passes queries on until the process ends.
pub fn relay(relays: Vec<Relay>) {
    thread::scope(|scope| {
        for Relay { datagrams, streams, resolver } in relays {
            scope.spawn(move || relay_datagrams(&Arc::new(datagrams), resolver));
            scope.spawn(move || relay_streams(&streams, resolver, Some(PATIENCE)));
        }
    });
}

fn relay_datagrams(socket: &Arc<UdpSocket>, resolver: SocketAddr) {
    let mut buffer = vec![0; DATAGRAM_BYTES];
    let places = Places::default();
    loop {
        let Ok((count, client)) = socket.recv_from(&mut buffer) else { continue };
        let (query, socket) = (buffer[..count].to_vec(), Arc::clone(socket));
        places.run(move || {
            if let Some(answer) = answer(resolver, query) {
                // A datagram that cannot be sent is lost, as any datagram may be.
                let _ = socket.send_to(&answer, client);
            }
        });
    }
}

/// The answer to a query; none if the resolver says nothing in time.
fn answer(resolver: SocketAddr, query: Vec<u8>) -> Option<Vec<u8>> {
    match ask(resolver, &query) {
        Ok(answer) => Some(answer),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => None,
        // No resolver is there. The client learns it at once, as it would from the kernel without a relay.
        Err(_) => failure(query),
    }
}

fn ask(resolver: SocketAddr, query: &[u8]) -> io::Result<Vec<u8>> {
    let any: SocketAddr = match resolver {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    socket.connect(resolver)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.send(query)?;
    let mut answer = vec![0; DATAGRAM_BYTES];
    let count = socket.recv(&mut answer)?;
    answer.truncate(count);
    Ok(answer)
}

/// A query turned into the answer that its server failed; none if it is no query.
fn failure(mut query: Vec<u8>) -> Option<Vec<u8>> {
    if query.len() < HEADER_BYTES {
        return None;
    }
    query[2] |= ANSWER;
    query[3] = query[3] & !CODE | SERVER_FAILURE;
    Some(query)
}

#[cfg(test)]
mod tests {
    use super::{Relay, failure, relay};
    use std::net::{SocketAddr, TcpListener, UdpSocket};
    use std::thread;

    const QUERY: [u8; 17] = [7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1];

    /// The address for datagrams of a relay to this resolver.
    fn relayed(resolver: SocketAddr) -> SocketAddr {
        let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
        let streams = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = datagrams.local_addr().unwrap();
        thread::spawn(move || relay(vec![Relay { datagrams, streams, resolver }]));
        address
    }

    fn asked(relay: SocketAddr, query: &[u8]) -> (Vec<u8>, SocketAddr) {
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.send_to(query, relay).unwrap();
        let mut buffer = [0; 2000];
        let (count, from) = client.recv_from(&mut buffer).unwrap();
        (buffer[..count].to_vec(), from)
    }

    /// A resolver that answers each datagram with its bytes in reverse order, unless it has no IPv6.
    fn reversing(address: &str) -> Option<SocketAddr> {
        let socket = UdpSocket::bind(address).ok()?;
        let at = socket.local_addr().unwrap();
        thread::spawn(move || {
            let mut buffer = [0; 2000];
            while let Ok((count, from)) = socket.recv_from(&mut buffer) {
                buffer[..count].reverse();
                socket.send_to(&buffer[..count], from).unwrap();
            }
        });
        Some(at)
    }

    #[test]
    fn answers_come_from_the_address_that_was_asked() {
        for resolver in ["127.0.0.53:0", "[::1]:0"].iter().filter_map(|address| reversing(address)) {
            let at = relayed(resolver);
            assert_eq!(asked(at, b"one"), (b"eno".to_vec(), at));
            assert_eq!(asked(at, b"two"), (b"owt".to_vec(), at));
        }
    }

    #[test]
    fn a_resolver_that_is_not_there_fails_at_once() {
        let at = relayed("127.0.0.1:1".parse().unwrap());
        let (answer, _) = asked(at, &QUERY);
        assert_eq!(answer[..4], [7, 7, 0x81, 2]);
        assert_eq!(answer[4..], QUERY[4..]);
        assert_eq!(failure(vec![0; 11]), None);
    }
}
