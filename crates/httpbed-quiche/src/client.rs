//! Fetches over one connection: clock, files and sockets for [`Fetch`].

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind};
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::errno::Errno;

use crate::command::Get;
use crate::failure::{Code, Failure};
use crate::fetch::{Fetch, Plan};
use crate::kernel::{self, Kernel};
use crate::mover::{CONNECTION_ID_BYTES, Mover, Sockets};
use crate::paths::Paths;
use crate::report::{self, Times};
use crate::tls;

/// The largest datagram that is sent.
const DATAGRAM_BYTES: usize = 1500;

/// The resources of a fetch.
struct Machine {
    began: Instant,
    remote: SocketAddr,
    paths: Paths,
    /// `None` if this process may not listen to it.
    kernel: Option<Kernel>,
}

/// Fetches everything and reports it on stdout.
///
/// The first failure; once there is a connection, the report is written before.
/// With the first thing that went wrong; from the connection on, the report is written before that.
pub fn run(options: &Get, began: Instant) -> Result<(), Failure> {
    let origin = &options.urls[0].origin;
    let mut config = configure(options)?;
    let remote = origin.resolve(&options.connect_to, options.family)?;
    let mut machine = Machine { began, remote, paths: Paths::new(), kernel: None };
    let local = machine.paths.open(remote).map_err(|error| unreachable(remote, &error))?;
    let mut mover = Mover::new(options.migration, local, remote);
    match Kernel::watch() {
        Ok(kernel) => machine.kernel = Some(kernel),
        Err(error) => mover.unwatched(&error, began.elapsed()),
    }
    let mut fetch = Fetch::new(connect(options, &mut config, local, remote)?, plan(options));
    drive(&mut fetch, &mut machine, &mut mover, options);
    farewell(&mut fetch, &machine);
    let times = Times::of(&fetch, began.elapsed());
    let kept = options.session.as_deref().map_or(Ok(()), |file| keep_session(&mut fetch, file));
    let verdict = verdict(&fetch, options).map_err(|failure| explain(failure, &mover)).and(kept);
    let record = report::Moves::of(mover.migration(), remote, began);
    report::write(&mut fetch, &options.urls, &times, &record, verdict.as_ref().err())?;
    verdict
}

fn plan(options: &Get) -> Plan {
    Plan {
        urls: options.urls.clone(),
        outputs: options.outputs.clone(),
        rounds: options.rounds,
        max_parallel: options.max_parallel,
    }
}

fn configure(options: &Get) -> Result<quiche::Config, Failure> {
    let mut config = options.transport.configure(tls::client_context(options.authorities.as_deref())?)?;
    config.verify_peer(!options.insecure);
    // A client sends little, and at once.
    config.enable_pacing(false);
    if options.early_data {
        config.enable_early_data();
    }
    if options.keylog.is_some() {
        config.log_keys();
    }
    Ok(config)
}

fn connect(
    options: &Get,
    config: &mut quiche::Config,
    local: SocketAddr,
    remote: SocketAddr,
) -> Result<quiche::Connection, Failure> {
    let origin = &options.urls[0].origin;
    let mut id = [0; CONNECTION_ID_BYTES];
    boring::rand::rand_bytes(&mut id).map_err(|error| Failure::new(Code::Tls, tls::reason(&error)))?;
    let id = quiche::ConnectionId::from_ref(&id);
    let name = origin.address().is_none().then_some(origin.host.as_str());
    let mut quic = quiche::connect(name, &id, local, remote, config)
        .map_err(|error| Failure::new(Code::Quic, format!("{}: {error}", origin.host)))?;
    if let Some(address) = origin.address() {
        tls::expect_address(quic.as_mut(), address)?;
    }
    resume(&mut quic, options)?;
    keep_logs(&mut quic, options)?;
    Ok(quic)
}

/// Takes the ticket of an earlier connection, if there is one.
fn resume(quic: &mut quiche::Connection, options: &Get) -> Result<(), Failure> {
    let Some(file) = &options.session else { return Ok(()) };
    match fs::read(file) {
        Ok(ticket) => quic.set_session(&ticket).map_err(|_| {
            let message = format!("{}: not a ticket of httpbed-quiche; delete it", file.display());
            Failure::new(Code::Read, message)
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Failure::new(Code::Read, format!("{}: {error}", file.display()))),
    }
}

fn keep_logs(quic: &mut quiche::Connection, options: &Get) -> Result<(), Failure> {
    if let Some(path) = &options.keylog {
        let file = OpenOptions::new().create(true).append(true).open(path);
        quic.set_keylog(Box::new(file.map_err(|error| unwritable(path, &error))?));
    }
    if let Some(path) = &options.qlog {
        let file = File::create(path).map_err(|error| unwritable(path, &error))?;
        quic.set_qlog(Box::new(BufWriter::new(file)), "httpbed-quiche".to_owned(), "a client".to_owned());
    }
    Ok(())
}

/// Receives, waits and sends until the fetch has ended.
fn drive(fetch: &mut Fetch, machine: &mut Machine, mover: &mut Mover, options: &Get) {
    let limit = options.max_time.unwrap_or(Duration::MAX);
    let end = machine.began.checked_add(limit);
    while !fetch.is_over() {
        let step = step(fetch, machine, mover, end);
        let now = machine.began.elapsed();
        if let Err(error) = step.or_else(|error| lost(fetch, error)) {
            fetch.give_up(unreachable(machine.remote, &error), now);
        } else if end.is_some_and(|end| end <= Instant::now()) && !fetch.is_over() {
            let message = format!("not finished within {} s (--max-time)", limit.as_secs_f64());
            fetch.give_up(Failure::new(Code::Time, message), now);
        }
    }
}

fn step(fetch: &mut Fetch, machine: &mut Machine, mover: &mut Mover, end: Option<Instant>) -> io::Result<()> {
    flush(fetch, machine)?;
    let looking = mover.due().and_then(|due| machine.began.checked_add(due));
    let due = [fetch.deadline(), looking, end].into_iter().flatten().min();
    let most = due.map(|due| due.saturating_duration_since(Instant::now()));
    let woken = machine.paths.wait(machine.kernel.as_ref().map(Kernel::file), most)?;
    let received = if woken.received {
        machine.paths.receive(|datagram, info| fetch.receive(datagram, info))
    } else {
        Ok(())
    };
    fetch.expire();
    fetch.advance(machine.began.elapsed());
    let changed = woken.other && machine.kernel.as_ref().is_some_and(Kernel::has_changed);
    let (remote, now) = (machine.remote, machine.began.elapsed());
    mover.turn(fetch.quic(), &mut machine.paths, changed, |local| kernel::sight(remote, local), now);
    received
}

fn flush(fetch: &mut Fetch, machine: &Machine) -> io::Result<()> {
    let mut buffer = [0; DATAGRAM_BYTES];
    while let Some((length, info)) = fetch.send(&mut buffer, machine.began.elapsed()) {
        machine.paths.send(&buffer[..length], &info).or_else(|error| lost(fetch, error))?;
    }
    Ok(())
}

/// Once there is a connection, network errors count as loss, and only silence ends it. Before that, a send error of
/// this machine also counts as loss, because its address or route may come back; a refusal by the server does not.
fn lost(fetch: &Fetch, error: io::Error) -> io::Result<()> {
    let is_without_way = matches!(
        error.raw_os_error().map(Errno::from_raw),
        // The kernel reports a missing address as an invalid argument.
        Some(Errno::ENETUNREACH | Errno::ENETDOWN | Errno::EADDRNOTAVAIL | Errno::EINVAL)
    );
    if fetch.is_established() || is_without_way { Ok(()) } else { Err(error) }
}

/// Sends the close of the connection, without waiting for an answer.
fn farewell(fetch: &mut Fetch, machine: &Machine) {
    fetch.advance(machine.began.elapsed());
    // A server that does not get it notices the silence.
    let _ = flush(fetch, machine);
}

fn keep_session(fetch: &mut Fetch, file: &Path) -> Result<(), Failure> {
    let Some(ticket) = fetch.quic().session() else { return Ok(()) };
    let mut fresh = file.as_os_str().to_owned();
    fresh.push(".new");
    fs::write(&fresh, ticket)
        .and_then(|()| fs::rename(&fresh, file))
        .map_err(|error| unwritable(file, &error))
}

/// The connection's failure, or else the first of a request.
fn verdict(fetch: &Fetch, options: &Get) -> Result<(), Failure> {
    let named = |failure: &Failure, place: usize| {
        Failure::new(failure.code, format!("{}: {}", options.urls[place].text, failure.message))
    };
    if let Some(failure) = fetch.failure() {
        return Err(failure.clone());
    }
    for transfer in fetch.transfers() {
        if let Some(failure) = &transfer.failure {
            return Err(named(failure, transfer.place));
        }
        if let Some(status) = transfer.status.filter(|status| options.fail && *status >= 400) {
            return Err(named(&Failure::new(Code::Status, format!("status {status}")), transfer.place));
        }
    }
    Ok(())
}

/// A connection that could not move as it should has probably ended because of that.
fn explain(failure: Failure, mover: &Mover) -> Failure {
    let is_silence = matches!(failure.code, Code::Connect | Code::Time | Code::Receive);
    match mover.migration().explanation().filter(|_| is_silence) {
        Some(reason) => Failure::new(failure.code, format!("{}; {reason}", failure.message)),
        None => failure,
    }
}

fn unreachable(remote: SocketAddr, error: &io::Error) -> Failure {
    let remedy = "check that an HTTP/3 server runs there and that UDP is allowed";
    Failure::new(Code::Connect, format!("no server answers at {remote} over UDP: {error}; {remedy}"))
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Code::Write, format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_server::{Answer, Identity, NAME, Server, connect, fetch, run};

    #[test]
    fn before_the_handshake_only_a_refusal_ends_the_connection() {
        let identity = Identity::new();
        let mut fetch = fetch(connect(&mut identity.client(), NAME), &["/a"], 1, 1);
        for error in [Errno::ENETUNREACH, Errno::ENETDOWN, Errno::EADDRNOTAVAIL, Errno::EINVAL] {
            assert!(lost(&fetch, error.into()).is_ok(), "{error}");
        }
        for error in [Errno::ECONNREFUSED, Errno::EHOSTUNREACH] {
            assert!(lost(&fetch, error.into()).is_err(), "{error}");
        }
        let mut server = Server::new(&mut identity.server(), [("/a", Answer::Body(vec![1]))]);
        run(&mut fetch, &mut server);
        assert!(lost(&fetch, Errno::ECONNREFUSED.into()).is_ok());
    }
}
