//! A relay for ports of this machine: an address of an emulated network leads to one port of the loopback each.
//!
//! Nothing else of this machine is reached: the relay connects to the addresses of its command line only, and passes on
//! only what came from them. A client's datagrams share a socket of their own (a flow), as behind a NAT, so that a
//! server can tell its clients apart.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::relay::{DATAGRAM_BYTES, Pair, Places, naming, pair, relay_streams};

/// A flow ends when its server was silent for so long; RFC 4787, section 4.3 asks NATs for two minutes.
const SILENCE: Duration = Duration::from_secs(120);

/// A port of this machine, reached at a bound socket.
pub enum Exposed {
    /// Connections.
    Tcp(TcpListener, SocketAddr),
    /// Datagrams.
    Udp(UdpSocket, SocketAddr),
}

/// Reads `tcp/AT=TO` or `udp/AT=TO`, such as `tcp/10.77.0.2:8099=127.0.0.1:8099`.
///
/// # Errors
/// When it is no such thing.
pub fn port(word: &str) -> Result<(bool, Pair), String> {
    match word.split_once('/') {
        Some(("tcp", rest)) => Ok((true, pair(rest)?)),
        Some(("udp", rest)) => Ok((false, pair(rest)?)),
        _ => Err(format!("{word:?} begins with neither tcp/ nor udp/")),
    }
}

impl Exposed {
    /// Binds the socket in the network of this thread.
    ///
    /// # Errors
    /// When the kernel rejects it, with its address.
    pub fn bind((is_tcp, (at, server)): (bool, Pair)) -> io::Result<Self> {
        Ok(if is_tcp {
            Self::Tcp(TcpListener::bind(at).map_err(naming(at))?, server)
        } else {
            Self::Udp(UdpSocket::bind(at).map_err(naming(at))?, server)
        })
    }
}

/// Passes on what clients send until the process ends.
pub fn relay(ports: Vec<Exposed>) {
    thread::scope(|scope| {
        for port in ports {
            scope.spawn(move || match port {
                Exposed::Tcp(listener, server) => relay_streams(&listener, server, None),
                Exposed::Udp(socket, server) => relay_datagrams(&Arc::new(socket), server),
            });
        }
    });
}

type Flows = Arc<Mutex<HashMap<SocketAddr, Arc<UdpSocket>>>>;

fn relay_datagrams(clients: &Arc<UdpSocket>, server: SocketAddr) {
    let (places, flows) = (Places::default(), Flows::default());
    let mut buffer = vec![0; DATAGRAM_BYTES];
    loop {
        let Ok((count, client)) = clients.recv_from(&mut buffer) else { continue };
        let known = locked(&flows).get(&client).cloned();
        let Some(flow) = known.or_else(|| begin(client, server, clients, &flows, &places)) else { continue };
        // A datagram that cannot be sent is lost, as any datagram may be.
        let _ = flow.send(&buffer[..count]);
    }
}

/// A client's socket towards the server, whose answers another thread passes back; none if the machine has no more.
fn begin(
    client: SocketAddr,
    server: SocketAddr,
    clients: &Arc<UdpSocket>,
    flows: &Flows,
    places: &Places,
) -> Option<Arc<UdpSocket>> {
    let flow = Arc::new(connected(server).ok()?);
    locked(flows).insert(client, Arc::clone(&flow));
    let (answers, back, ended) = (Arc::clone(&flow), Arc::clone(clients), Ended(Arc::clone(flows), client));
    places.run(move || {
        let _ended = ended;
        pass_back(&answers, &back, client);
    });
    // Without a place, the flow was dropped with its thread.
    locked(flows).contains_key(&client).then_some(flow)
}

/// Forgets a client when its thread ends, or never begins.
struct Ended(Flows, SocketAddr);

impl Drop for Ended {
    fn drop(&mut self) {
        locked(&self.0).remove(&self.1);
    }
}

fn connected(server: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr = match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(SILENCE))?;
    Ok(socket)
}

fn pass_back(flow: &UdpSocket, clients: &UdpSocket, client: SocketAddr) {
    let mut buffer = vec![0; DATAGRAM_BYTES];
    // An error is the silence of the server, or its port's end.
    while let Ok(count) = flow.recv(&mut buffer) {
        let _ = clients.send_to(&buffer[..count], client);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{Exposed, port, relay};
    use std::net::{SocketAddr, UdpSocket};
    use std::thread;

    /// The address of a relay to this server.
    fn relayed(server: SocketAddr) -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        thread::spawn(move || relay(vec![Exposed::Udp(socket, server)]));
        address
    }

    fn client(relay: SocketAddr) -> UdpSocket {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(relay).unwrap();
        socket
    }

    fn received(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
        let mut buffer = [0; 100];
        let (count, from) = socket.recv_from(&mut buffer).unwrap();
        (buffer[..count].to_vec(), from)
    }

    #[test]
    fn a_server_tells_its_clients_apart_and_answers_each() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let relay = relayed(server.local_addr().unwrap());
        let (one, two) = (client(relay), client(relay));
        one.send(b"one").unwrap();
        let (_, first) = received(&server);
        two.send(b"two").unwrap();
        let (_, second) = received(&server);
        one.send(b"again").unwrap();
        assert_eq!(received(&server), (b"again".to_vec(), first));
        assert_ne!(first, second);
        for answer in [b"a", b"b"] {
            server.send_to(answer, second).unwrap();
            assert_eq!(received(&two), (answer.to_vec(), relay));
        }
    }

    #[test]
    fn what_another_program_sends_to_a_flow_reaches_no_client() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let client = client(relayed(server.local_addr().unwrap()));
        client.send(b"ask").unwrap();
        let (_, flow) = received(&server);
        UdpSocket::bind("127.0.0.1:0").unwrap().send_to(b"forged", flow).unwrap();
        server.send_to(b"answer", flow).unwrap();
        assert_eq!(received(&client).0, b"answer");
    }

    #[test]
    fn a_port_has_a_protocol() {
        assert_eq!(port("udp/10.77.0.2:443=[::1]:443").unwrap().1.1.port(), 443);
        assert!(port("tcp/10.77.0.2:80=127.0.0.1:80").unwrap().0);
        for wrong in ["10.77.0.2:80=127.0.0.1:80", "sctp/10.77.0.2:80=127.0.0.1:80", "tcp/80"] {
            assert!(port(wrong).is_err());
        }
    }
}
