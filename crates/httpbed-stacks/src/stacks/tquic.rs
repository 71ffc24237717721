//! tquic, with its own HTTP/3. It has neither sockets nor a loop: one thread has both here.

use crate::Failure;
use crate::lines::{Answer, Content, Fetch};
use crate::options::Options;
use bytes::{Buf, Bytes};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;
use tquic::h3::connection::Http3Connection;
use tquic::h3::{Header, Http3Config, Http3Error, Http3Event, NameValue};
use tquic::{Config, Connection, Endpoint, PacketInfo, PacketSendHandler, TlsConfig, TransportHandler};

/// What `--version` prints.
pub const VERSION: &str = concat!("tquic ", env!("TQUIC_VERSION"));

/// The stack's own options: windows in bytes, the congestion window in packets.
pub const KNOBS: &[(&str, &str)] = &[
    ("congestion-control", "bbr"),
    ("initial-congestion-window", "10"),
    ("stream-window", "5242880"),
    ("max-stream-window", "6291456"),
    ("connection-window", "10485760"),
    ("max-connection-window", "15728640"),
];

/// `H3_NO_ERROR` and `H3_REQUEST_CANCELLED`, RFC 9114 section 8.1.
const NO_ERROR: u64 = 0x100;
const CANCELLED: u64 = 0x10c;

/// Bytes that are read from a stream at once, and of the longest datagram.
const CHUNK_BYTES: usize = 64 * 1024;

/// Datagrams that are read before a connection's answers to them are sent.
const BATCH: usize = 64;

/// Fetches files; `$SSLKEYLOGFILE` asks for TLS secrets.
pub fn get(options: &Options) -> Result<(), Failure> {
    let mut tls = TlsConfig::new_client_config(vec![b"h3".to_vec()], false)?;
    tls.set_ca_certs(text(&options.certificate)?)?;
    tls.set_verify(true);
    let any: SocketAddr =
        if options.address.is_ipv6() { ([0_u16; 8], 0).into() } else { ([0, 0, 0, 0], 0).into() };
    let wire = Rc::new(Wire::bind(any)?);
    let client = Client {
        options: options.clone(),
        start: Instant::now(),
        wire: wire.clone(),
        handshake_s: 0.0,
        rounds: options.rounds,
        http: None,
        fetches: HashMap::new(),
    };
    let mut endpoint = Endpoint::new(config(options, tls)?, false, Box::new(client), wire.clone());
    endpoint.connect(wire.local, options.address, Some(&options.name), None, None, None)?;
    wire.carry(&mut endpoint)
}

/// Answers until the process ends.
pub fn serve(options: &Options) -> Result<(), Failure> {
    let (chain, key) = (text(&options.certificate)?, text(&options.key)?);
    let tls = TlsConfig::new_server_config(chain, key, vec![b"h3".to_vec()], false)?;
    let wire = Rc::new(Wire::bind(options.address)?);
    let server =
        Server { options: options.clone(), content: Content::open(options)?, connections: HashMap::new() };
    let mut endpoint = Endpoint::new(config(options, tls)?, true, Box::new(server), wire.clone());
    wire.carry(&mut endpoint)
}

fn text(path: &Path) -> Result<&str, Failure> {
    Ok(path.to_str().ok_or("a path is not in UTF-8")?)
}

/// Returns the settings of all connections.
///
/// A connection is never idle: httpbed decides when a transfer has taken too long.
fn config(options: &Options, tls: TlsConfig) -> Result<Box<Config>, Failure> {
    let mut config = Config::new()?;
    config.set_max_handshake_timeout(0);
    config.set_congestion_control_algorithm(options.knob("congestion-control")?);
    config.set_initial_congestion_window(options.knob("initial-congestion-window")?);
    config.set_max_stream_window(options.knob("max-stream-window")?);
    config.set_max_connection_window(options.knob("max-connection-window")?);
    config.set_initial_max_data(options.knob("connection-window")?);
    config.set_initial_max_stream_data_bidi_local(options.knob("stream-window")?);
    config.set_tls_config(tls);
    Ok(Box::new(config))
}

/// A socket, and the loop between it and an endpoint.
struct Wire {
    socket: UdpSocket,
    local: SocketAddr,
    /// How the client ended, once it has.
    ended: RefCell<Option<Result<(), Failure>>>,
}

impl Wire {
    fn bind(address: SocketAddr) -> Result<Self, Failure> {
        let socket = UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        Ok(Self { local: socket.local_addr()?, socket, ended: RefCell::default() })
    }

    /// Carries datagrams until the client has ended; for a server it never returns.
    fn carry(&self, endpoint: &mut Endpoint) -> Result<(), Failure> {
        let mut buffer = vec![0; CHUNK_BYTES];
        loop {
            endpoint.process_connections()?;
            if let Some(result) = self.ended.take() {
                return result;
            }
            let limit = endpoint.timeout().map(TimeSpec::from);
            ppoll(&mut [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)], limit, None)?;
            for _ in 0..BATCH {
                match self.socket.recv_from(&mut buffer) {
                    Ok((length, src)) => {
                        let info = PacketInfo { src, dst: self.local, time: Instant::now() };
                        // A datagram that is not QUIC is dropped.
                        let _ = endpoint.recv(&mut buffer[..length], &info);
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    // An ICMP error about an earlier datagram.
                    Err(_) => {}
                }
            }
            endpoint.on_timeout(Instant::now());
        }
    }
}

impl PacketSendHandler for Wire {
    fn on_packets_send(&self, packets: &[(Vec<u8>, PacketInfo)]) -> tquic::Result<usize> {
        for (count, (packet, info)) in packets.iter().enumerate() {
            match self.socket.send_to(packet, info.dst) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(count),
                // Any other failure loses the packet, as a network would.
                _ => {}
            }
        }
        Ok(packets.len())
    }
}

/// Prepares a connection for its observers.
fn observe(connection: &mut Connection, options: &Options, name: &str) -> Result<(), Failure> {
    if let Some(file) = std::env::var_os("SSLKEYLOGFILE") {
        connection.set_keylog(Box::new(OpenOptions::new().create(true).append(true).open(file)?));
    }
    if let Some(file) = options.qlog_file(name)? {
        connection.set_qlog(Box::new(file), name.to_owned(), String::new());
    }
    Ok(())
}

fn header(name: &str, value: &str) -> Header {
    Header::new(name.as_bytes(), value.as_bytes())
}

/// Returns the value of a header field; an empty text if there is none.
fn field<'a>(headers: &'a [Header], name: &str) -> &'a str {
    let found = headers.iter().find(|header| header.name() == name.as_bytes());
    found.and_then(|header| std::str::from_utf8(header.value()).ok()).unwrap_or_default()
}

struct Client {
    options: Options,
    start: Instant,
    wire: Rc<Wire>,
    handshake_s: f64,
    /// Rounds that have not begun.
    rounds: u32,
    http: Option<Http3Connection>,
    /// By stream.
    fetches: HashMap<u64, Fetch>,
}

impl Client {
    /// Sends the requests of the next round; returns whether there is one.
    fn begin(&mut self, connection: &mut Connection) -> Result<bool, Failure> {
        let (Some(http), 1..) = (&mut self.http, self.rounds) else { return Ok(false) };
        self.rounds -= 1;
        for wanted in &self.options.requests {
            let name = self.wire.local.to_string();
            let fetch = Fetch::begin(wanted, self.start, self.handshake_s, &name)?;
            let headers = [
                header(":method", "GET"),
                header(":scheme", "https"),
                header(":authority", &self.options.name),
                header(":path", &wanted.0),
                header("user-agent", "httpbed-stacks"),
            ];
            let stream = http.stream_new(connection)?;
            http.send_headers(connection, stream, &headers, true)?;
            self.fetches.insert(stream, fetch);
        }
        Ok(true)
    }

    /// Reads what has come; returns whether more is to come.
    fn read(&mut self, connection: &mut Connection) -> Result<bool, Failure> {
        let mut buffer = vec![0; CHUNK_BYTES];
        while let Some(http) = &mut self.http {
            let (stream, event) = match http.poll(connection) {
                Err(Http3Error::Done) => break,
                result => result?,
            };
            let Some(fetch) = self.fetches.get_mut(&stream) else { continue };
            match event {
                Http3Event::Headers { headers, .. } => {
                    fetch.status = field(&headers, ":status").parse().unwrap_or(fetch.status);
                }
                Http3Event::Data => loop {
                    match http.recv_body(connection, stream, &mut buffer) {
                        Err(Http3Error::Done) => break,
                        result => fetch.receive(&buffer[..result?])?,
                    }
                },
                Http3Event::Finished => {
                    self.fetches.remove(&stream).into_iter().for_each(Fetch::end);
                    if self.fetches.is_empty() {
                        return self.begin(connection);
                    }
                }
                Http3Event::Reset(code) => return Err(format!("a stream was reset: {code:#x}").into()),
                Http3Event::GoAway | Http3Event::PriorityUpdate => {}
            }
        }
        Ok(true)
    }

    /// Closes the connection if nothing is to come, or after an error.
    fn check(&mut self, connection: &mut Connection, more: Result<bool, Failure>) {
        if !matches!(more, Ok(true)) {
            let _ = connection.close(true, if more.is_ok() { NO_ERROR } else { CANCELLED }, b"");
            self.wire.ended.borrow_mut().get_or_insert(more.map(|_| ()));
        }
    }
}

impl TransportHandler for Client {
    fn on_conn_created(&mut self, connection: &mut Connection) {
        let result = observe(connection, &self.options, "client");
        self.check(connection, result.map(|()| true));
    }

    fn on_conn_established(&mut self, connection: &mut Connection) {
        self.handshake_s = self.start.elapsed().as_secs_f64();
        let http = Http3Connection::new_with_quic_conn(connection, &Http3Config::default());
        let more = http.map_err(Failure::from).and_then(|http| {
            self.http = Some(http);
            self.begin(connection)
        });
        self.check(connection, more);
    }

    fn on_stream_readable(&mut self, connection: &mut Connection, _: u64) {
        let more = self.read(connection);
        self.check(connection, more);
    }

    fn on_conn_closed(&mut self, connection: &mut Connection) {
        let error = connection.peer_error().or(connection.local_error());
        self.check(connection, Err(format!("the connection was closed: {error:?}").into()));
    }

    fn on_stream_writable(&mut self, _: &mut Connection, _: u64) {}
    fn on_stream_created(&mut self, _: &mut Connection, _: u64) {}
    fn on_stream_closed(&mut self, _: &mut Connection, _: u64) {}
    fn on_new_token(&mut self, _: &mut Connection, _: Vec<u8>) {}
}

struct Server {
    options: Options,
    content: Content,
    /// By number: HTTP/3, and the responses under way by stream.
    connections: HashMap<u64, (Http3Connection, HashMap<u64, Response>)>,
}

/// A response, and what was read of its body and is not sent.
type Response = (Answer, Bytes);

/// Sends what a stream takes of a response; returns whether that was the rest.
fn send(
    (answer, chunk): &mut Response,
    http: &mut Http3Connection,
    connection: &mut Connection,
    stream: u64,
) -> Result<bool, Failure> {
    loop {
        if chunk.is_empty() {
            *chunk = answer.next()?;
        }
        let is_last = answer.sent + chunk.len() as u64 == answer.length;
        match http.send_body(connection, stream, chunk.clone(), is_last) {
            Ok(bytes) => {
                chunk.advance(bytes);
                answer.sent += bytes as u64;
                if is_last && chunk.is_empty() {
                    return Ok(true);
                }
            }
            // The headers went first.
            Err(Http3Error::NoError) => {}
            Err(Http3Error::Done | Http3Error::StreamBlocked) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
}

impl Server {
    fn read(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        let number = number(connection);
        while let Some((http, responses)) = self.connections.get_mut(&number) {
            let (stream, event) = match http.poll(connection) {
                Err(Http3Error::Done) => break,
                result => result?,
            };
            if let Http3Event::Headers { headers, .. } = event {
                let answer = self.content.answer(field(&headers, ":path"), field(&headers, ":authority"));
                let headers = [
                    header(":status", &answer.status.to_string()),
                    header("content-length", &answer.length.to_string()),
                ];
                match http.send_headers(connection, stream, &headers, false) {
                    Err(Http3Error::StreamBlocked) => {}
                    result => result?,
                }
                responses.insert(stream, (answer, Bytes::new()));
                self.write(connection, stream);
            }
        }
        Ok(())
    }

    fn write(&mut self, connection: &mut Connection, stream: u64) {
        let number = number(connection);
        let Some((http, responses)) = self.connections.get_mut(&number) else { return };
        let Some(response) = responses.get_mut(&stream) else { return };
        match send(response, http, connection, stream) {
            Ok(false) => {}
            Ok(true) => self.end(number, stream),
            Err(error) => {
                eprintln!("connection {number}: {error}");
                let _ = connection.stream_shutdown(stream, tquic::Shutdown::Write, CANCELLED);
                self.end(number, stream);
            }
        }
    }

    /// Logs a response, whole or not.
    fn end(&mut self, number: u64, stream: u64) {
        let responses = self.connections.get_mut(&number).map(|(_, responses)| responses);
        let Some((answer, _)) = responses.and_then(|responses| responses.remove(&stream)) else { return };
        if let Err(error) = self.content.record(&answer, number) {
            eprintln!("connection {number}: {error}");
        }
    }
}

fn number(connection: &Connection) -> u64 {
    connection.index().map_or(0, |index| index + 1)
}

impl TransportHandler for Server {
    fn on_conn_created(&mut self, connection: &mut Connection) {
        let name = format!("server-{}", number(connection));
        if let Err(error) = observe(connection, &self.options, &name) {
            eprintln!("{name}: {error}");
        }
    }

    fn on_conn_established(&mut self, connection: &mut Connection) {
        if let Ok(http) = Http3Connection::new_with_quic_conn(connection, &Http3Config::default()) {
            self.connections.insert(number(connection), (http, HashMap::new()));
        }
    }

    fn on_stream_readable(&mut self, connection: &mut Connection, _: u64) {
        if let Err(error) = self.read(connection) {
            eprintln!("connection {}: {error}", number(connection));
        }
    }

    fn on_stream_writable(&mut self, connection: &mut Connection, stream: u64) {
        self.write(connection, stream);
    }

    fn on_stream_closed(&mut self, connection: &mut Connection, stream: u64) {
        self.end(number(connection), stream);
    }

    fn on_conn_closed(&mut self, connection: &mut Connection) {
        self.connections.remove(&number(connection));
    }

    fn on_stream_created(&mut self, _: &mut Connection, _: u64) {}
    fn on_new_token(&mut self, _: &mut Connection, _: Vec<u8>) {}
}
