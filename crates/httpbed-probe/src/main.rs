//! `httpbed-probe`: traffic in which every packet is known, and its measurement at both ends.
//!
//! ```text
//! httpbed-probe serve [--bind ADDR]   echo, discard and chargen (RFC 862, 863, 864)
//! httpbed-probe send PLAN.json        a flow of datagrams at given times
//! httpbed-probe receive PLAN.json     takes such a flow until a line or the end of stdin
//! httpbed-probe fetch PLAN.json       reads a byte stream for a time
//! httpbed-probe names NETNS AT=TO...  passes name queries from a network on to resolvers of this one
//! httpbed-probe expose NETNS PORT...  passes connections and datagrams on: tcp/AT=TO or udp/AT=TO
//! ```
//!
//! It writes one JSON object a line on stdout: `{"event":"ready"}` once it is ready, `{"event":"result",...}` at
//! its end, or `{"event":"error","message":...}`. It exits with 2 for wrong arguments or a wrong plan, and with 1
//! when something fails at run time. `names` and `expose` say that they are ready by going
//! to the background.

mod clock;
mod datagrams;
mod expose;
mod fetch;
mod names;
mod payload;
mod plan;
mod receive;
mod relay;
mod send;
mod serve;

use std::ffi::OsString;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::ExitCode;

use nix::sys::prctl;
use nix::sys::signal::Signal;
use serde::Serialize;
use serde::de::DeserializeOwned;

use expose::Exposed;
use names::Relay;
use plan::{Fetching, Receiving, Sending};
use receive::Flow;
use serve::Services;

const USAGE: &str = "httpbed-probe serve [--bind ADDR] | send PLAN | receive PLAN | fetch PLAN | names NETNS AT=TO... | \
     expose NETNS PORT...";

/// A line on stdout.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Event<'a> {
    /// It is ready.
    Ready,
    /// The result.
    Result {
        /// Packets sent or received; 0 for a byte stream.
        packets: u64,
        /// Bytes read from a stream; 0 for datagrams.
        bytes: u64,
        /// Packets that this end lost: rejected by the kernel, or not read in time.
        failures: u64,
    },
    /// Why it ends.
    Error {
        /// The reason.
        message: &'a str,
    },
}

enum Failure {
    Usage(String),
    Run(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Run(error.to_string())
    }
}

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let (message, code) = match run(&words) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Usage(message)) => (message, 2),
        Err(Failure::Run(message)) => (message, 1),
    };
    // If stdout is closed, the exit code still reports the failure.
    let _ = emit(&Event::Error { message: &message });
    ExitCode::from(code)
}

fn run(words: &[OsString]) -> Result<(), Failure> {
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(io::Error::from)?;
    let words: Vec<&str> = words.iter().map(|word| word.to_str().unwrap_or("\u{fffd}")).collect();
    match words[..] {
        ["serve"] => serve(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
        ["serve", "--bind", address] => address
            .parse()
            .map_err(|_| Failure::Usage(format!("--bind: {address:?} is not an IP address")))
            .and_then(serve),
        ["send", path] => read(path).and_then(|plan| send(&plan)),
        ["receive", path] => read(path).and_then(receive),
        ["fetch", path] => read(path).and_then(|plan| fetch(&plan)),
        ["names", network, ref pairs @ ..] if !pairs.is_empty() => names(Path::new(network), pairs),
        ["expose", network, ref ports @ ..] if !ports.is_empty() => expose(Path::new(network), ports),
        _ => Err(Failure::Usage(format!("unknown arguments {words:?}; usage: {USAGE}"))),
    }
}

fn read<T: DeserializeOwned>(path: &str) -> Result<T, Failure> {
    plan::read(Path::new(path)).map_err(Failure::Usage)
}

fn serve(address: IpAddr) -> Result<(), Failure> {
    let services = Services::bind(address).map_err(Failure::Run)?;
    emit(&Event::Ready)?;
    services.serve();
    Ok(())
}

fn send(plan: &Sending) -> Result<(), Failure> {
    plan.check().map_err(Failure::Usage)?;
    emit(&Event::Ready)?;
    let sent = send::send(plan)?;
    Ok(emit(&Event::Result { packets: sent.packets, bytes: 0, failures: sent.failures })?)
}

fn receive(plan: Receiving) -> Result<(), Failure> {
    let flow = Flow::bind(plan)?;
    emit(&Event::Ready)?;
    let took = flow.run(io::stdin())?;
    Ok(emit(&Event::Result { packets: took.packets, bytes: 0, failures: took.overflown })?)
}

fn fetch(plan: &Fetching) -> Result<(), Failure> {
    emit(&Event::Ready)?;
    let bytes = fetch::fetch(plan)?;
    Ok(emit(&Event::Result { packets: 0, bytes, failures: 0 })?)
}

fn names(network: &Path, pairs: &[&str]) -> Result<(), Failure> {
    let pairs = parsed(pairs, relay::pair)?;
    let relays = bound(network, pairs, Relay::bind)?;
    names::relay(relays);
    Ok(())
}

fn expose(network: &Path, ports: &[&str]) -> Result<(), Failure> {
    let ports = parsed(ports, expose::port)?;
    let exposed = bound(network, ports, Exposed::bind)?;
    expose::relay(exposed);
    Ok(())
}

fn parsed<T>(words: &[&str], read: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, Failure> {
    words.iter().map(|word| read(word)).collect::<Result<_, _>>().map_err(Failure::Usage)
}

/// Binds the sockets of a relay in the network that is mounted at `path`, and goes on in the background.
fn bound<P: Send, S: Send>(
    path: &Path,
    places: Vec<P>,
    bind: impl Fn(P) -> io::Result<S> + Send,
) -> Result<Vec<S>, Failure> {
    let sockets = relay::within(path, || places.into_iter().map(bind).collect::<io::Result<Vec<_>>>())?;
    relay::go_on_in_background()?;
    Ok(sockets)
}

fn emit<T: Serialize>(event: &T) -> io::Result<()> {
    let mut line = serde_json::to_string(event)?;
    line.push('\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush())
}
