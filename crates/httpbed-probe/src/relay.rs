//! What the relays from an emulated network to this machine share: they listen in one network and ask from another.
//!
//! What they lead to may be where the emulated network has no route: on this machine's loopback, or at an IPv6 address.

use std::fs::File;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use nix::sched::{CloneFlags, setns};
use nix::unistd::{ForkResult, fork};

/// How long a server may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Connections or flows of datagrams under way at each address; further ones are dropped.
const MAX_PLACES: usize = 256;
/// The largest datagram.
pub const DATAGRAM_BYTES: usize = 64 << 10;

/// Where clients arrive, and the server that they are for.
pub type Pair = (SocketAddr, SocketAddr);

/// Reads `AT=TO`, such as `10.79.0.3:53=[2001:db8::1]:53`.
///
/// # Errors
/// When it is no such pair.
pub fn pair(word: &str) -> Result<Pair, String> {
    let read = |(at, to): (&str, &str)| Some((at.parse().ok()?, to.parse().ok()?));
    word.split_once('=').and_then(read).ok_or_else(|| format!("{word:?} is not ADDRESS:PORT=ADDRESS:PORT"))
}

/// Adds the address to an error of a socket.
pub fn naming(at: SocketAddr) -> impl Fn(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{at}: {error}"))
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

/// Passes the connections of a listener on to a server, until the process ends.
///
/// A stream that is silent for longer than `silence` ends its connection; without it, streams may be silent.
pub fn relay_streams(listener: &TcpListener, server: SocketAddr, silence: Option<Duration>) {
    let places = Places::default();
    for client in listener.incoming() {
        match client {
            Ok(client) => places.run(move || drop(join(&client, server, silence))),
            // Out of descriptors or memory: open connections may end soon.
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// Copies both directions of a client's connection until both have ended.
fn join(client: &TcpStream, server: SocketAddr, silence: Option<Duration>) -> io::Result<()> {
    let server = TcpStream::connect_timeout(&server, CONNECT_TIMEOUT)?;
    for stream in [client, &server] {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(silence)?;
    }
    thread::scope(|scope| {
        scope.spawn(|| copy(client, &server));
        copy(&server, client);
    });
    Ok(())
}

/// Copies one direction until it ends; an error ends both.
fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    let ended = match io::copy(&mut from, &mut to) {
        Ok(_) => to.shutdown(Shutdown::Write),
        Err(_) => from.shutdown(Shutdown::Both).and(to.shutdown(Shutdown::Both)),
    };
    // A stream that the peer has reset cannot be shut down, and need not be.
    drop(ended);
}

/// Bounds the threads of one address.
#[derive(Clone, Default)]
pub struct Places(Arc<AtomicUsize>);

impl Places {
    /// Does `work` in another thread, if there is a place for it; else drops it.
    pub fn run(&self, work: impl FnOnce() + Send + 'static) {
        if self.0.fetch_add(1, Ordering::Relaxed) >= MAX_PLACES {
            self.0.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let taken = Arc::clone(&self.0);
        let begun = thread::Builder::new().spawn(move || {
            work();
            taken.fetch_sub(1, Ordering::Relaxed);
        });
        if begun.is_err() {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{pair, relay_streams};
    use std::io::{Read, Write};
    use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
    use std::thread;

    fn relayed(server: SocketAddr) -> TcpStream {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        thread::spawn(move || relay_streams(&listener, server, None));
        TcpStream::connect(at).unwrap()
    }

    #[test]
    fn streams_are_passed_on_both_ways() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = relayed(listener.local_addr().unwrap());
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut query = Vec::new();
            stream.read_to_end(&mut query).unwrap();
            stream.write_all(&query.repeat(2)).unwrap();
        });
        client.write_all(b"long").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap();
        assert_eq!(answer, b"longlong");
    }

    #[test]
    fn a_connection_that_no_server_takes_is_closed() {
        let mut client = relayed("127.0.0.1:1".parse().unwrap());
        assert!(matches!(client.read(&mut [0; 1]), Ok(0) | Err(_)));
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
