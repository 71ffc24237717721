//! The hosts' programs.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use crate::bed::ADDRESSES;

const PORT: u16 = 7;
const SERVER: (&str, u16) = (ADDRESSES[1], PORT);

/// Plays a role; results are numbers on stdout, one a line.
pub fn play(role: &str, arguments: &[&str]) {
    let number = |place: usize| arguments[place].parse().expect("a number");
    match role {
        "keep" => keep(),
        "echo" => echo(),
        "ping" => ping(number(0)),
        "spray" => spray(number(0), number(1)),
        "serve" => serve(number(0)),
        "fetch" => fetch(),
        "mirror" => mirror(),
        "look" => look(),
        "accept" => accept(),
        "talk" => talk(),
        _ => panic!("no role {role}"),
    }
}

/// Does nothing until its stdin ends.
fn keep() {
    println!("kept");
    let _ = io::stdin().read_to_end(&mut Vec::new());
}

fn echo() {
    let socket = UdpSocket::bind(SERVER).expect("the server's address");
    println!("ready");
    let mut bytes = [0; 2048];
    loop {
        let (length, peer) = socket.recv_from(&mut bytes).expect("a datagram");
        socket.send_to(&bytes[..length], peer).expect("a way back");
    }
}

/// Prints round-trip times in ns of datagrams of 84 bytes (IP); stops at the first without an answer.
fn ping(count: usize) {
    let socket = UdpSocket::bind((ADDRESSES[0], 0)).expect("the client's address");
    socket.connect(SERVER).expect("a route");
    socket.set_read_timeout(Some(Duration::from_secs(2))).expect("not 0");
    for _ in 0..count {
        let begin = Instant::now();
        socket.send(&[0; 56]).expect("a route");
        if socket.recv(&mut [0; 64]).is_err() {
            return;
        }
        println!("{}", begin.elapsed().as_nanos());
    }
}

/// Sends datagrams with `bytes` of payload without an answer. The socket is not connected, because an ICMP error
/// would then be returned instead of the next datagram being sent.
fn spray(count: usize, bytes: usize) {
    let socket = UdpSocket::bind((ADDRESSES[0], 0)).expect("the client's address");
    for _ in 0..count {
        socket.send_to(&vec![0; bytes], SERVER).expect("a route");
    }
}

/// Answers every datagram with the port that it came from.
fn mirror() {
    let socket = UdpSocket::bind(SERVER).expect("the server's address");
    println!("ready");
    loop {
        let (_, peer) = socket.recv_from(&mut [0; 2048]).expect("a datagram");
        socket.send_to(&peer.port().to_be_bytes(), peer).expect("a way back");
    }
}

/// Prints its own port, and after every line of its stdin the port that the mirror sees.
fn look() {
    let socket = UdpSocket::bind((ADDRESSES[0], 0)).expect("the client's address");
    socket.connect(SERVER).expect("a route");
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("not 0");
    println!("{}", socket.local_addr().expect("bound").port());
    for _ in io::stdin().lines() {
        let mut port = [0; 2];
        socket.send(&[0; 56]).expect("a route");
        socket.recv(&mut port).expect("an answer");
        println!("{}", u16::from_be_bytes(port));
    }
}

/// Returns every byte of one connection, whose port it prints.
fn accept() {
    let listener = TcpListener::bind(SERVER).expect("the server's address");
    println!("ready");
    let (mut stream, peer) = listener.accept().expect("a client");
    println!("{}", peer.port());
    let mut byte = [0];
    while stream.read_exact(&mut byte).and_then(|()| stream.write_all(&byte)).is_ok() {}
}

/// Prints its own port, and after every line of its stdin the result of sending a byte that should return: 0, or
/// the error number.
fn talk() {
    let mut stream = TcpStream::connect(SERVER).expect("the server");
    stream.set_read_timeout(Some(Duration::from_secs(5))).expect("not 0");
    println!("{}", stream.local_addr().expect("bound").port());
    for _ in io::stdin().lines() {
        let returned = stream.write_all(&[7]).and_then(|()| stream.read_exact(&mut [0]));
        println!("{}", returned.map_or_else(|error| error.raw_os_error().unwrap_or(-1), |()| 0));
    }
}

fn serve(bytes: usize) {
    let listener = TcpListener::bind(SERVER).expect("the server's address");
    println!("ready");
    let (mut stream, _) = listener.accept().expect("a client");
    stream.read_exact(&mut [0]).expect("a request");
    stream.write_all(&vec![0; bytes]).expect("a reader");
}

/// Prints the number of received bytes, and the time in ns from connecting to the last of them.
fn fetch() {
    let begin = Instant::now();
    let mut stream = TcpStream::connect(SERVER).expect("the server");
    stream.write_all(&[0]).expect("a reader");
    let mut body = Vec::new();
    stream.read_to_end(&mut body).expect("all of it");
    println!("{}\n{}", body.len(), begin.elapsed().as_nanos());
}
