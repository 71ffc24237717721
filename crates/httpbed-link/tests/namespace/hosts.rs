//! What runs on the hosts.

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

/// Prints round-trip times in ns of datagrams of 84 bytes (IP); stops at the first that does not return.
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

/// Sends datagrams with `bytes` of payload without an answer. The socket is not connected, or the server's
/// word that nobody listens would be returned instead of the next datagram being sent.
fn spray(count: usize, bytes: usize) {
    let socket = UdpSocket::bind((ADDRESSES[0], 0)).expect("the client's address");
    for _ in 0..count {
        socket.send_to(&vec![0; bytes], SERVER).expect("a route");
    }
}

fn serve(bytes: usize) {
    let listener = TcpListener::bind(SERVER).expect("the server's address");
    println!("ready");
    let (mut stream, _) = listener.accept().expect("a client");
    stream.read_exact(&mut [0]).expect("a request");
    stream.write_all(&vec![0; bytes]).expect("a reader");
}

/// Prints the bytes that came and the time in ns from connecting to the last of them.
fn fetch() {
    let begin = Instant::now();
    let mut stream = TcpStream::connect(SERVER).expect("the server");
    stream.write_all(&[0]).expect("a reader");
    let mut body = Vec::new();
    stream.read_to_end(&mut body).expect("all of it");
    println!("{}\n{}", body.len(), begin.elapsed().as_nanos());
}
