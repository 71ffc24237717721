//! A quiche server in memory, with its own certificate, for tests.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::thread;
use std::time::{Duration, Instant};

use boring::asn1::Asn1Time;
use boring::bn::BigNum;
use boring::ec::{EcGroup, EcKey};
use boring::hash::MessageDigest;
use boring::nid::Nid;
use boring::pkey::{PKey, Private};
use boring::ssl::{SslContextBuilder, SslMethod};
use boring::x509::extension::{BasicConstraints, SubjectAlternativeName};
use boring::x509::store::X509StoreBuilder;
use boring::x509::{X509, X509NameBuilder};
use quiche::h3::{self, Event, Header, NameValue};
use quiche::{Connection, ConnectionId, RecvInfo};

use crate::fetch::{Fetch, Plan};
use crate::transport::Transport;

/// The name in the certificate.
pub const NAME: &str = "server.test";
/// The client's first address.
pub const CLIENT: &str = "192.0.2.1:1000";
/// The server's address.
pub const SERVER: &str = "192.0.2.2:443";
/// More exchanges of datagrams than any test needs.
const MAX_EXCHANGES: usize = 2000;

/// A key, and a certificate that is its own authority.
pub struct Identity {
    key: PKey<Private>,
    certificate: X509,
}

/// How the server answers the request of a path.
#[derive(Clone)]
pub enum Answer {
    /// With this body, whole.
    Body(Vec<u8>),
    /// With this body, and a length that it does not have.
    Announcing(usize, Vec<u8>),
    /// With the beginning of a response, then a reset.
    Reset(Vec<u8>, u64),
    /// By closing the connection.
    Close(u64),
    /// By GOAWAY, after this body.
    GoAway(Vec<u8>),
    /// Not at all.
    Silence,
}

/// A server and its answers.
pub struct Server {
    quic: Connection,
    http: Option<h3::Connection>,
    answers: HashMap<String, Answer>,
    /// Requests whose responses did not fit yet.
    unanswered: Vec<(u64, Vec<Header>)>,
    /// Bodies that did not fit yet.
    pending: HashMap<u64, (Vec<u8>, usize)>,
    /// Paths in the order of the requests, and whether each came before the handshake was complete.
    pub requests: Vec<(String, bool)>,
    /// The client's addresses seen by the server.
    pub seen: BTreeSet<SocketAddr>,
}

impl Identity {
    /// For [`NAME`].
    pub fn new() -> Self {
        let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
        let key = PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap();
        let mut name = X509NameBuilder::new().unwrap();
        name.append_entry_by_text("CN", NAME).unwrap();
        let name = name.build();
        let mut builder = X509::builder().unwrap();
        builder.set_version(2).unwrap();
        builder.set_serial_number(&BigNum::from_u32(1).unwrap().to_asn1_integer().unwrap()).unwrap();
        builder.set_subject_name(&name).unwrap();
        builder.set_issuer_name(&name).unwrap();
        builder.set_pubkey(&key).unwrap();
        builder.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
        builder.set_not_after(&Asn1Time::days_from_now(1).unwrap()).unwrap();
        let constraints = BasicConstraints::new().ca().build().unwrap();
        builder.append_extension(&constraints).unwrap();
        let names =
            SubjectAlternativeName::new().dns(NAME).build(&builder.x509v3_context(None, None)).unwrap();
        builder.append_extension(&names).unwrap();
        builder.sign(&key, MessageDigest::sha256()).unwrap();
        Self { key, certificate: builder.build() }
    }

    /// The server's configuration with this certificate; tickets are valid as long as this lives.
    pub fn server(&self) -> quiche::Config {
        let mut tls = SslContextBuilder::new(SslMethod::tls()).unwrap();
        tls.set_private_key(&self.key).unwrap();
        tls.set_certificate(&self.certificate).unwrap();
        let mut config = Transport::default().configure(tls).unwrap();
        config.enable_pacing(false);
        config.enable_early_data();
        config
    }

    /// The configuration of a client that trusts it.
    pub fn client(&self) -> quiche::Config {
        let mut store = X509StoreBuilder::new().unwrap();
        store.add_cert(&self.certificate).unwrap();
        let mut tls = SslContextBuilder::new(SslMethod::tls()).unwrap();
        tls.set_cert_store_builder(store);
        let mut config = Transport::default().configure(tls).unwrap();
        config.verify_peer(true);
        config.enable_early_data();
        config
    }
}

/// A client's end of a connection to `name`.
pub fn connect(config: &mut quiche::Config, name: &str) -> Connection {
    let id = ConnectionId::from_ref(&[1; 16]);
    quiche::connect(Some(name), &id, address(CLIENT), address(SERVER), config).unwrap()
}

/// A fetch of paths at [`NAME`].
pub fn fetch(quic: Connection, paths: &[&str], rounds: usize, max_parallel: usize) -> Fetch {
    let url = |path: &&str| format!("https://{NAME}{path}").parse().unwrap();
    Fetch::new(
        quic,
        Plan { urls: paths.iter().map(url).collect(), outputs: Vec::new(), rounds, max_parallel },
    )
}

/// Exchanges datagrams until the fetch has ended; each exchange takes a millisecond of `now`.
///
/// When both sides are silent, the test waits for a real timer, because quiche reads the clock itself.
pub fn run(fetch: &mut Fetch, server: &mut Server) {
    run_with(fetch, server, |_, _| address(CLIENT).ip());
}

/// The same with a moving client: `turn` is called after each exchange, and returns which address of the client
/// works from then on.
pub fn run_with(
    fetch: &mut Fetch,
    server: &mut Server,
    mut turn: impl FnMut(&mut Connection, Duration) -> IpAddr,
) {
    let mut alive = address(CLIENT).ip();
    for exchange in 0..MAX_EXCHANGES {
        let now = Duration::from_millis(exchange as u64);
        let requests = ask(fetch, server, alive, now);
        if fetch.is_over() {
            return;
        }
        server.serve();
        if !answer(fetch, server, alive) && !requests {
            let due = [fetch.deadline(), server.quic.timeout_instant()].into_iter().flatten().min();
            thread::sleep(due.expect("a timer").saturating_duration_since(Instant::now()));
            fetch.expire();
            server.quic.on_timeout();
        }
        fetch.advance(now);
        alive = turn(fetch.quic(), now);
    }
    panic!("not over after {MAX_EXCHANGES} exchanges");
}

fn ask(fetch: &mut Fetch, server: &mut Server, alive: IpAddr, now: Duration) -> bool {
    let mut buffer = [0; 1500];
    let mut any = false;
    while let Some((length, route)) = fetch.send(&mut buffer, now) {
        let info = RecvInfo { from: route.from, to: route.to };
        if route.from.ip() == alive {
            server.seen.insert(route.from);
            let _ = server.quic.recv(&mut buffer[..length], info);
        }
        any = true;
    }
    any
}

fn answer(fetch: &mut Fetch, server: &mut Server, alive: IpAddr) -> bool {
    let mut buffer = [0; 1500];
    let mut any = false;
    while let Ok((length, route)) = server.quic.send(&mut buffer) {
        if route.to.ip() == alive {
            fetch.receive(&mut buffer[..length], RecvInfo { from: route.from, to: route.to });
        }
        any = true;
    }
    any
}

impl Server {
    /// A server that has received nothing yet.
    pub fn new<const N: usize>(config: &mut quiche::Config, answers: [(&str, Answer); N]) -> Self {
        let id = ConnectionId::from_ref(&[2; 16]);
        let quic = quiche::accept(&id, None, address(SERVER), address(CLIENT), config).unwrap();
        let answers = answers.map(|(path, answer)| (path.to_owned(), answer)).into();
        Self {
            quic,
            http: None,
            answers,
            unanswered: Vec::new(),
            pending: HashMap::new(),
            requests: Vec::new(),
            seen: BTreeSet::new(),
        }
    }

    fn serve(&mut self) {
        if self.http.is_none() && (self.quic.is_established() || self.quic.is_in_early_data()) {
            let http = h3::Connection::with_transport(&mut self.quic, &h3::Config::new().unwrap());
            self.http = Some(http.unwrap());
        }
        if self.quic.is_established() && self.quic.scids_left() > 0 {
            let id =
                ConnectionId::from_ref(&[3 + u8::try_from(self.quic.scids_left()).unwrap(); 16]).into_owned();
            self.quic.new_scid(&id, 7, false).unwrap();
        }
        let Some(mut http) = self.http.take() else { return };
        let mut requests = std::mem::take(&mut self.unanswered);
        while let Ok((stream, event)) = http.poll(&mut self.quic) {
            if let Event::Headers { list, .. } = event {
                let path = list.iter().find(|field| field.name() == b":path").unwrap().value();
                let path = String::from_utf8(path.to_vec()).unwrap();
                self.requests.push((path, !self.quic.is_established()));
                requests.push((stream, list));
            }
        }
        for (stream, fields) in requests {
            if self.answer(&mut http, stream, &fields).is_err() {
                self.unanswered.push((stream, fields));
            }
        }
        for (stream, (body, sent)) in std::mem::take(&mut self.pending) {
            self.give(&mut http, stream, body, sent);
        }
        self.http = Some(http);
    }

    /// An error means that there is no room now.
    fn answer(&mut self, http: &mut h3::Connection, stream: u64, fields: &[Header]) -> h3::Result<()> {
        let path = fields.iter().find(|field| field.name() == b":path").unwrap().value();
        let mut head = |length: usize| {
            let length = length.to_string();
            let fields = [Header::new(b":status", b"200"), Header::new(b"content-length", length.as_bytes())];
            http.send_response(&mut self.quic, stream, &fields, false)
        };
        match self.answers[str::from_utf8(path).unwrap()].clone() {
            Answer::Body(body) => {
                head(body.len())?;
                self.give(http, stream, body, 0);
            }
            Answer::Announcing(length, body) => {
                head(length)?;
                self.give(http, stream, body, 0);
            }
            Answer::Reset(body, code) => {
                head(body.len() + 1)?;
                http.send_body(&mut self.quic, stream, &body, false)?;
                self.quic.stream_shutdown(stream, quiche::Shutdown::Write, code)?;
            }
            Answer::Close(code) => self.quic.close(true, code, b"enough")?,
            Answer::GoAway(body) => {
                head(body.len())?;
                self.give(http, stream, body, 0);
                http.send_goaway(&mut self.quic, stream)?;
            }
            Answer::Silence => {}
        }
        Ok(())
    }

    fn give(&mut self, http: &mut h3::Connection, stream: u64, body: Vec<u8>, sent: usize) {
        match http.send_body(&mut self.quic, stream, &body[sent..], true) {
            Ok(count) if sent + count < body.len() => {
                self.pending.insert(stream, (body, sent + count));
            }
            Ok(_) => {}
            Err(_) => drop(self.pending.insert(stream, (body, sent))),
        }
    }
}

/// An address written correctly.
pub fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}
