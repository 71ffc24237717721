//! Whether a program listens, according to the kernel's socket tables of its network.

use std::fs;

const TCP_LISTEN: &str = "0A";
const UDP_UNCONNECTED: &str = "07";

/// Return whether all these ports are open in the network of process `pid`.
pub fn all(pid: i32, tcp: &[u16], udp: &[u16]) -> bool {
    open(pid, "tcp", TCP_LISTEN, tcp) && open(pid, "udp", UDP_UNCONNECTED, udp)
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
    fn a_connected_port_does_not_listen() {
        assert!(!has(TABLE, TCP_LISTEN, 444));
        assert!(!has(TABLE, TCP_LISTEN, 80));
    }
}
