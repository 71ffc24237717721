//! Whether a program listens, according to the kernel's socket tables of its network.
//!
//! To list the TCP sockets of one network, the kernel walks through the connections of all of them: a millisecond or
//! more on a machine with much memory, whose table is long. So the tables are read only when the number of sockets in
//! use changes (`/proc/net/sockstat`). That number does not show when one socket takes the place of another, so the
//! tables are also read now and then.

use std::fs;
use std::time::{Duration, Instant};

const TCP_LISTEN: &str = "0A";
const UDP_UNCONNECTED: &str = "07";
/// The longest time between two readings of the tables.
const LONGEST: Duration = Duration::from_millis(50);

/// Looks for ports that a starting program opens.
#[derive(Debug)]
pub struct PortWatch {
    tcp: Vec<u16>,
    udp: Vec<u16>,
    /// The sockets in use when the tables were last read.
    in_use: Vec<u64>,
    read: Instant,
}

impl PortWatch {
    /// Begin to look for ports of a network that has no sockets yet, as far as is known.
    pub fn new(tcp: Vec<u16>, udp: Vec<u16>) -> Self {
        Self { tcp, udp, in_use: Vec::new(), read: Instant::now() }
    }

    /// Return whether all ports are open in the network of process `pid`.
    pub fn are_open(&mut self, pid: i32) -> bool {
        // The kernel counts a socket after it has entered it into the table.
        let in_use = sockets_in_use(pid);
        if in_use == self.in_use && self.read.elapsed() < LONGEST {
            return false;
        }
        (self.in_use, self.read) = (in_use, Instant::now());
        open(pid, "tcp", TCP_LISTEN, &self.tcp) && open(pid, "udp", UDP_UNCONNECTED, &self.udp)
    }
}

/// The number of sockets in use of each protocol that has any.
fn sockets_in_use(pid: i32) -> Vec<u64> {
    let files = ["sockstat", "sockstat6"]
        .map(|name| fs::read_to_string(format!("/proc/{pid}/net/{name}")).unwrap_or_default());
    files.iter().flat_map(|text| text.lines()).filter_map(in_use).filter(|count| *count > 0).collect()
}

/// The count of a line such as `TCP: inuse 2 orphan 0 tw 0 alloc 3 mem 0`.
fn in_use(line: &str) -> Option<u64> {
    let (protocol, counts) = line.split_once(": inuse ")?;
    let counted = ["TCP", "UDP", "TCP6", "UDP6"].contains(&protocol);
    counts.split_whitespace().next().filter(|_| counted)?.parse().ok()
}

fn open(pid: i32, protocol: &str, state: &str, ports: &[u16]) -> bool {
    if ports.is_empty() {
        return true;
    }
    let table = ["", "6"]
        .map(|family| fs::read_to_string(format!("/proc/{pid}/net/{protocol}{family}")).unwrap_or_default());
    ports.iter().all(|port| table.iter().any(|text| has(text, state, *port)))
}

/// Find the port in a table such as `/proc/net/tcp`: local address is column 1, state column 3.
fn has(table: &str, state: &str, port: u16) -> bool {
    let suffix = format!(":{port:04X}");
    table.lines().skip(1).any(|line| {
        let mut columns = line.split_whitespace().skip(1);
        let local = columns.next().unwrap_or_default();
        local.ends_with(&suffix) && columns.nth(1) == Some(state)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue
   0: 00000000:01BB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0
   1: 0100000A:01BC 0200000A:D431 01 00000000:00000000 00:00000000 00000000     0
";

    #[test]
    fn a_listening_port_is_found() {
        assert!(has(TABLE, TCP_LISTEN, 443));
    }

    #[test]
    fn sockets_in_use_are_counted_by_protocol() {
        let text =
            "sockets: used 7\nTCP: inuse 2 orphan 0 tw 0 alloc 3 mem 0\nUDP: inuse 1 mem 0\nRAW: inuse 4\n";
        assert_eq!(text.lines().filter_map(in_use).collect::<Vec<_>>(), [2, 1]);
    }

    #[test]
    fn ports_that_a_process_opens_are_found_by_the_next_look() {
        let pid = i32::try_from(std::process::id()).expect("a PID");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
        let ports =
            [listener.local_addr(), socket.local_addr()].map(|address| address.expect("bound").port());
        assert!(PortWatch::new(vec![ports[0]], vec![ports[1]]).are_open(pid));
        assert!(!PortWatch::new(vec![ports[0]], vec![0]).are_open(pid), "no program has port 0");
    }

    #[test]
    fn tables_are_read_again_after_a_while_although_no_count_changed() {
        let pid = i32::try_from(std::process::id()).expect("a PID");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let mut watch = PortWatch::new(vec![port], Vec::new());
        watch.in_use = sockets_in_use(pid);
        watch.read = Instant::now().checked_sub(LONGEST).expect("the machine runs for longer");
        assert!(watch.are_open(pid));
    }

    #[test]
    fn a_connected_port_does_not_listen() {
        assert!(!has(TABLE, TCP_LISTEN, 444));
        assert!(!has(TABLE, TCP_LISTEN, 80));
    }
}
