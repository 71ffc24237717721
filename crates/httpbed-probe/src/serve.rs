//! The far end of a link: echo (RFC 862), discard (RFC 863) and character generator (RFC 864).
//!
//! Each listening socket and each TCP connection has a thread. One experiment has only a handful of connections,
//! and a blocked peer then delays no other.

use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;

/// RFC 862.
pub const ECHO: u16 = 7;
/// RFC 863.
pub const DISCARD: u16 = 9;
/// RFC 864.
pub const CHARGEN: u16 = 19;

/// Characters of a line of RFC 864, without its end.
const LINE_CHARACTERS: usize = 72;
/// The printing characters of ASCII, space included.
const FIRST_CHARACTER: u8 = b' ';
const CHARACTERS: usize = 95;
/// After this many lines the pattern repeats; several repetitions in one write keep a fast link busy.
const ROUNDS: usize = 8;
/// Size of one read.
const BUFFER_BYTES: usize = 64 << 10;

/// The bound sockets; they do not answer yet.
pub struct Services {
    echo: TcpListener,
    discard: TcpListener,
    chargen: TcpListener,
    udp_echo: UdpSocket,
    udp_discard: UdpSocket,
}

impl Services {
    /// Binds every port at `address`.
    ///
    /// # Errors
    /// When the kernel rejects one of them, with its name.
    pub fn bind(address: IpAddr) -> Result<Self, String> {
        let listener = |port| TcpListener::bind((address, port)).map_err(naming(address, port, "TCP"));
        let datagrams = |port| UdpSocket::bind((address, port)).map_err(naming(address, port, "UDP"));
        Ok(Self {
            echo: listener(ECHO)?,
            discard: listener(DISCARD)?,
            chargen: listener(CHARGEN)?,
            udp_echo: datagrams(ECHO)?,
            udp_discard: datagrams(DISCARD)?,
        })
    }

    /// Answers until the process ends.
    pub fn serve(self) {
        let Self { echo, discard, chargen, udp_echo, udp_discard } = self;
        thread::scope(|scope| {
            scope.spawn(move || accept(&echo, echo_stream));
            scope.spawn(move || accept(&discard, discard_stream));
            scope.spawn(move || accept(&chargen, generate));
            scope.spawn(move || answer(&udp_echo));
            scope.spawn(move || swallow(&udp_discard));
        });
    }
}

fn naming(address: IpAddr, port: u16, protocol: &str) -> impl Fn(io::Error) -> String {
    move |error| format!("{protocol} port {port} at {address}: {error}")
}

/// A connection that fails on either side ends and affects no other.
fn accept(listener: &TcpListener, handle: fn(TcpStream) -> io::Result<()>) {
    for stream in listener.incoming() {
        match stream {
            Ok(stream) => drop(thread::Builder::new().spawn(move || drop(handle(stream)))),
            // Out of descriptors or memory: open connections may end soon.
            Err(_) => thread::sleep(std::time::Duration::from_millis(10)),
        }
    }
}

fn echo_stream(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        match read(&mut stream, &mut buffer)? {
            0 => return Ok(()),
            count => stream.write_all(&buffer[..count])?,
        }
    }
}

fn discard_stream(mut stream: TcpStream) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    while read(&mut stream, &mut buffer)? > 0 {}
    Ok(())
}

/// Unread data of the client makes the close a reset, which ends the connection just as well.
fn generate(mut stream: TcpStream) -> io::Result<()> {
    let text = pattern().repeat(ROUNDS);
    loop {
        stream.write_all(&text)?;
    }
}

fn read(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match stream.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Lines of 72 characters, each beginning one character later than the one before it.
fn pattern() -> Vec<u8> {
    let character = |place: usize| FIRST_CHARACTER + u8::try_from(place % CHARACTERS).unwrap_or(0);
    (0..CHARACTERS).flat_map(|line| (line..line + LINE_CHARACTERS).map(character).chain(*b"\r\n")).collect()
}

/// Two echo services that answer each other would never stop, so no packet from such a port is answered.
fn answer(socket: &UdpSocket) {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let Ok((count, from)) = socket.recv_from(&mut buffer) else { continue };
        if ![ECHO, DISCARD, CHARGEN].contains(&from.port()) {
            // A datagram that cannot be sent back is lost, as any datagram may be.
            let _ = socket.send_to(&buffer[..count], from);
        }
    }
}

fn swallow(socket: &UdpSocket) {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let _ = socket.recv_from(&mut buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::{CHARACTERS, LINE_CHARACTERS, answer, discard_stream, echo_stream, generate, pattern};
    use std::io::{Read, Write};
    use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
    use std::thread;

    /// A client's end of a connection that `handle` serves.
    fn served(handle: fn(TcpStream) -> std::io::Result<()>) -> TcpStream {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        thread::spawn(move || drop(handle(server)));
        client
    }

    #[test]
    fn generated_lines_match_the_rfc() {
        let text = pattern();
        assert_eq!(text.len(), CHARACTERS * (LINE_CHARACTERS + 2));
        let lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
        assert!(lines[0].starts_with(b" !\"#$%&'()*+,-./0123456789"));
        assert!(lines[1].starts_with(b"!\"#"));
        assert!(lines[94].starts_with(b"~ !"));
        assert!(lines[..95].iter().all(|line| line.len() == LINE_CHARACTERS + 1));
    }

    #[test]
    fn echo_returns_what_it_receives() {
        let mut client = served(echo_stream);
        client.write_all(b"hello").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut received = Vec::new();
        client.read_to_end(&mut received).unwrap();
        assert_eq!(received, b"hello");
    }

    #[test]
    fn discard_sends_nothing_and_ends_with_its_peer() {
        let mut client = served(discard_stream);
        client.write_all(&vec![7; 300_000]).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(client.read(&mut [0; 8]).unwrap(), 0);
    }

    #[test]
    fn the_generator_continues_after_its_pattern() {
        let mut received = vec![0; 3 * pattern().len()];
        served(generate).read_exact(&mut received).unwrap();
        assert_eq!(received, pattern().repeat(3));
    }

    #[test]
    fn a_datagram_comes_back_whole() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        thread::spawn(move || answer(&socket));
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.send_to(&[5; 1400], address).unwrap();
        let mut buffer = [0; 2000];
        assert_eq!(client.recv_from(&mut buffer).unwrap(), (1400, address));
    }
}
