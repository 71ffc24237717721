//! A relay for name queries: from an address of an emulated network to a resolver of this machine.
//!
//! The resolver may be where the emulated network has no route: on this machine's loopback, or at an IPv6 address.
//! So the relay listens in one network and asks from another. It passes messages on as they are (RFC 1035, sections
//! 4.2.1 and 4.2.2) and stores nothing. Each query leaves from another source port (RFC 5452, section 9.2). A lost
//! query is repeated by the client.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use nix::sched::{CloneFlags, setns};
use nix::unistd::{ForkResult, fork};

/// Longer than any client waits for a resolver.
const PATIENCE: Duration = Duration::from_secs(30);
/// Queries, and likewise connections, under way at each address; further ones are dropped.
const MAX_QUERIES: usize = 256;
/// The largest datagram.
const DATAGRAM_BYTES: usize = 64 << 10;
/// RFC 1035, section 4.1.1: the header, and in it the bit of an answer and the code of a failed server.
const HEADER_BYTES: usize = 12;
const ANSWER: u8 = 0x80;
const CODE: u8 = 0x0f;
const SERVER_FAILURE: u8 = 2;

/// Where queries arrive, and the resolver that they are for.
pub type Pair = (SocketAddr, SocketAddr);

/// Reads `AT=TO`, such as `10.79.0.3:53=[2001:db8::1]:53`.
///
/// # Errors
/// When it is no such pair.
pub fn pair(word: &str) -> Result<Pair, String> {
    let read = |(at, to): (&str, &str)| Some((at.parse().ok()?, to.parse().ok()?));
    word.split_once('=').and_then(read).ok_or_else(|| format!("{word:?} is not ADDRESS:PORT=ADDRESS:PORT"))
}

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
        let naming = |error: io::Error| io::Error::new(error.kind(), format!("{at}: {error}"));
        let datagrams = UdpSocket::bind(at).map_err(naming)?;
        Ok(Self { datagrams, streams: TcpListener::bind(at).map_err(naming)?, resolver })
    }
}

/// Runs `make` in the network namespace that is mounted at `path`; this thread stays in its own.
///
/// # Errors
/// When the namespace cannot be entered, or the error of `make`.
pub fn within<T: Send>(path: &Path, make: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let namespace = File::open(path)?;
    let enter = || {
        // The call concerns the new thread only.
        setns(namespace, CloneFlags::CLONE_NEWNET)?;
        make()
    };
    thread::scope(|scope| scope.spawn(enter).join())
        .unwrap_or_else(|_| Err(io::Error::other("the thread in the namespace panicked")))
}

/// Goes on in a child process; this process exits with 0, which tells its parent that all is ready.
///
/// # Errors
/// When the kernel refuses another process.
pub fn go_on_in_background() -> io::Result<()> {
    // SAFETY: this process has one thread now, so the child has the whole state.
    match unsafe { fork() }? {
        ForkResult::Child => Ok(()),
        ForkResult::Parent { .. } => std::process::exit(0),
    }
}

/// Passes queries on until the process ends.
pub fn relay(relays: Vec<Relay>) {
    thread::scope(|scope| {
        for Relay { datagrams, streams, resolver } in relays {
            scope.spawn(move || relay_datagrams(&Arc::new(datagrams), resolver));
            scope.spawn(move || relay_streams(&streams, resolver));
        }
    });
}

fn relay_datagrams(socket: &Arc<UdpSocket>, resolver: SocketAddr) {
    let mut buffer = vec![0; DATAGRAM_BYTES];
    let places = Arc::new(AtomicUsize::new(0));
    loop {
        let Ok((count, client)) = socket.recv_from(&mut buffer) else { continue };
        let (query, socket) = (buffer[..count].to_vec(), Arc::clone(socket));
        one_more(&places, move || {
            if let Some(answer) = answer(resolver, query) {
                // A datagram that cannot be sent is lost, as any datagram may be.
                let _ = socket.send_to(&answer, client);
            }
        });
    }
}

fn relay_streams(listener: &TcpListener, resolver: SocketAddr) {
    let places = Arc::new(AtomicUsize::new(0));
    for client in listener.incoming() {
        match client {
            Ok(client) => one_more(&places, move || drop(join(&client, resolver))),
            // Out of descriptors or memory: open connections may end soon.
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// Does `work` in another thread, if there is a place for it.
fn one_more(places: &Arc<AtomicUsize>, work: impl FnOnce() + Send + 'static) {
    if places.fetch_add(1, Ordering::Relaxed) >= MAX_QUERIES {
        places.fetch_sub(1, Ordering::Relaxed);
        return;
    }
    let taken = Arc::clone(places);
    let begun = thread::Builder::new().spawn(move || {
        work();
        taken.fetch_sub(1, Ordering::Relaxed);
    });
    if begun.is_err() {
        places.fetch_sub(1, Ordering::Relaxed);
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

/// Copies both directions of a client's connection until both have ended.
fn join(client: &TcpStream, resolver: SocketAddr) -> io::Result<()> {
    let server = TcpStream::connect_timeout(&resolver, PATIENCE)?;
    for stream in [client, &server] {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
    }
    thread::scope(|scope| {
        scope.spawn(|| copy(client, &server));
        copy(&server, client);
    });
    Ok(())
}

fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    // An error of one stream ends both directions: the other side reads the end, or waits no longer than `PATIENCE`.
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

#[cfg(test)]
mod tests {
    use super::{Relay, failure, pair, relay};
    use std::io::{Read, Write};
    use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
    use std::thread;

    const QUERY: [u8; 17] = [7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1];

    /// A relay to this resolver: its addresses for datagrams and for streams.
    fn relayed(resolver: SocketAddr) -> (SocketAddr, SocketAddr) {
        let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
        let streams = TcpListener::bind("127.0.0.1:0").unwrap();
        let addresses = (datagrams.local_addr().unwrap(), streams.local_addr().unwrap());
        thread::spawn(move || relay(vec![Relay { datagrams, streams, resolver }]));
        addresses
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
            let (at, _) = relayed(resolver);
            assert_eq!(asked(at, b"one"), (b"eno".to_vec(), at));
            assert_eq!(asked(at, b"two"), (b"owt".to_vec(), at));
        }
    }

    #[test]
    fn a_resolver_that_is_not_there_fails_at_once() {
        let (at, _) = relayed("127.0.0.1:1".parse().unwrap());
        let (answer, _) = asked(at, &QUERY);
        assert_eq!(answer[..4], [7, 7, 0x81, 2]);
        assert_eq!(answer[4..], QUERY[4..]);
        assert_eq!(failure(vec![0; 11]), None);
    }

    #[test]
    fn streams_are_passed_on_both_ways() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (_, at) = relayed(listener.local_addr().unwrap());
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut query = Vec::new();
            stream.read_to_end(&mut query).unwrap();
            stream.write_all(&query.repeat(2)).unwrap();
        });
        let mut client = TcpStream::connect(at).unwrap();
        client.write_all(b"long").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap();
        assert_eq!(answer, b"longlong");
    }

    #[test]
    fn pairs_have_addresses_with_ports() {
        let (at, to) = pair("10.79.0.3:53=[fe80::1%2]:53").unwrap();
        assert_eq!((at.port(), to.is_ipv6()), (53, true));
        for wrong in ["", "10.79.0.3:53", "10.79.0.3=127.0.0.1:53", "a:53=b:53"] {
            assert!(pair(wrong).unwrap_err().contains("ADDRESS:PORT"));
        }
    }
}
