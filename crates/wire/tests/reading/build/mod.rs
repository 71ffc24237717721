//! Frames built by hand, byte by byte.

pub const CLIENT_PORT: u16 = 4242;
pub const SERVER_PORT: u16 = 443;

pub const FIN: u8 = 0x01;
pub const SYN: u8 = 0x02;
pub const RST: u8 = 0x04;
pub const ACK: u8 = 0x10;

fn length(bytes: usize) -> [u8; 2] {
    u16::try_from(bytes).expect("small").to_be_bytes()
}

pub fn ethernet(ethertype: u16, payload: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1][..], &ethertype.to_be_bytes(), payload].concat()
}

/// From 10.0.0.`source` to 10.0.0.`destination`.
pub fn ipv4(source: u8, destination: u8, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut header = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0];
    header[2..4].copy_from_slice(&length(20 + payload.len()));
    header.extend([10, 0, 0, source, 10, 0, 0, destination]);
    ethernet(0x0800, &[&header, payload].concat())
}

/// From `fd00::1` to `fd00::2`.
pub fn ipv6(next_header: u8, payload: &[u8]) -> Vec<u8> {
    ipv6_between([1, 2], next_header, payload)
}

/// From `fd00::2` to `fd00::1`.
pub fn ipv6_back(next_header: u8, payload: &[u8]) -> Vec<u8> {
    ipv6_between([2, 1], next_header, payload)
}

fn ipv6_between(ends: [u8; 2], next_header: u8, payload: &[u8]) -> Vec<u8> {
    let mut header = vec![0x60, 0, 0, 0, 0, 0, next_header, 64];
    header[4..6].copy_from_slice(&length(payload.len()));
    for last in ends {
        header.extend([0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    ethernet(0x86DD, &[&header, payload].concat())
}

pub fn tcp(ports: (u16, u16), sequence: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut header = [ports.0.to_be_bytes(), ports.1.to_be_bytes()].concat();
    header.extend(sequence.to_be_bytes());
    header.extend([0, 0, 0, 0, 0x50, flags, 0xFF, 0xFF, 0, 0, 0, 0]);
    [&header, payload].concat()
}

pub fn udp(ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let header = [ports.0.to_be_bytes(), ports.1.to_be_bytes(), length(8 + payload.len()), [0, 0]].concat();
    [&header, payload].concat()
}

pub fn tcp_from_client(sequence: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    ipv4(1, 2, 6, &tcp((CLIENT_PORT, SERVER_PORT), sequence, flags, payload))
}

pub fn tcp_from_server(sequence: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    ipv4(2, 1, 6, &tcp((SERVER_PORT, CLIENT_PORT), sequence, flags, payload))
}

pub fn udp_from_client(payload: &[u8]) -> Vec<u8> {
    ipv4(1, 2, 17, &udp((CLIENT_PORT, SERVER_PORT), payload))
}

pub fn udp_from_server(payload: &[u8]) -> Vec<u8> {
    ipv4(2, 1, 17, &udp((SERVER_PORT, CLIENT_PORT), payload))
}

pub fn tls_record(kind: u8, bytes: usize) -> Vec<u8> {
    [&[kind, 3, 3][..], &length(bytes), &vec![0xAB; bytes]].concat()
}

/// A long-header packet of version 1 with an 8-byte destination id of `id`, a 2-byte Length and `bytes` of rest.
pub fn quic_long(kind: u8, version: u32, id: u8, bytes: usize) -> Vec<u8> {
    let is_initial = kind == u8::from(version != 1);
    let mut packet = vec![0xC0 | kind << 4];
    packet.extend(version.to_be_bytes());
    packet.push(8);
    packet.extend([id; 8]);
    packet.extend([4, 9, 9, 9, 9]);
    if is_initial {
        packet.extend([3, 7, 7, 7]);
    }
    packet.extend([0x40 | length(bytes)[0], length(bytes)[1]]);
    packet.resize(packet.len() + bytes, 0xEE);
    packet
}

pub fn quic_short(id: u8) -> Vec<u8> {
    [&[0x5A][..], &[id; 8], &[0xEE; 20]].concat()
}
