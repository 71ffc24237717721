//! The client's report on stdout: one JSON object.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::failure::{Code, Failure};
use crate::fetch::Fetch;
use crate::migration::Migration;
use crate::origin::Url;
use crate::tls;
use crate::transfer::Transfer;

/// Raised when a field changes its meaning or is removed.
const SCHEMA: u32 = 1;

/// Seconds since the program's start; absent for steps that were not reached.
#[derive(Debug, Serialize)]
pub struct Times {
    handshake: Option<f64>,
    first_byte: Option<f64>,
    last_byte: Option<f64>,
    close: f64,
}

#[derive(Debug, Serialize)]
struct Report<'a> {
    schema: u32,
    quic_version: &'a str,
    tls_version: &'a str,
    cipher: &'a str,
    /// A ticket was accepted.
    resumed: bool,
    /// Requests were sent in 0-RTT packets, and the server accepted them.
    early_data: bool,
    times: &'a Times,
    streams: Vec<Stream<'a>>,
    paths: Vec<Path>,
    #[serde(flatten)]
    moves: &'a Moves,
    exit_code: u8,
    error: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Stream<'a> {
    url: &'a str,
    round: usize,
    http_version: &'a str,
    status: Option<u16>,
    bytes: u64,
    sha256: Option<&'a str>,
    began: f64,
    first_byte: Option<f64>,
    ended: Option<f64>,
    error: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Path {
    local: SocketAddr,
    remote: SocketAddr,
    active: bool,
    packets_sent: usize,
    packets_received: usize,
    sent_packets_lost: usize,
    bytes_sent: u64,
    bytes_received: u64,
    rtt: f64,
    rtt_min: Option<f64>,
    rtt_max: Option<f64>,
    rtt_variation: f64,
}

/// How the connection moved.
#[derive(Debug, Serialize)]
pub struct Moves {
    /// The value of `CLOCK_MONOTONIC` at time 0, to compare these times with those of other programs.
    clock_ns: u64,
    path_events: Vec<PathEvent>,
    migrations: Migrations,
}

#[derive(Debug, Serialize)]
struct PathEvent {
    at: f64,
    event: &'static str,
    local: String,
    remote: SocketAddr,
    reason: String,
}

#[derive(Debug, Serialize)]
struct Migrations {
    tried: usize,
    succeeded: usize,
    failed: usize,
}

impl Moves {
    /// The report of a connection to `remote`, of a program that started at this time.
    pub fn of(migration: &Migration, remote: SocketAddr, began: Instant) -> Self {
        let event = |event: &crate::migration::Event| PathEvent {
            at: seconds(event.at),
            event: event.kind.name(),
            local: event.local.map_or(String::new(), |local| local.to_string()),
            remote,
            reason: event.reason.clone(),
        };
        let counts = migration.counts();
        Self {
            clock_ns: clock(began),
            path_events: migration.events().iter().map(event).collect(),
            migrations: Migrations {
                tried: counts.tried,
                succeeded: counts.succeeded,
                failed: counts.failed,
            },
        }
    }
}

/// Seconds, in the report's precision.
pub fn seconds(time: Duration) -> f64 {
    // Clock and scheduler are precise to microseconds.
    (time.as_secs_f64() * 1e6).round() / 1e6
}

/// The value of `CLOCK_MONOTONIC` at an earlier instant, which `Instant` does not expose.
fn clock(then: Instant) -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from);
    u64::try_from(now.saturating_sub(then.elapsed()).as_nanos()).unwrap_or(u64::MAX)
}

impl Times {
    /// Adds a fetch that ended at `close`.
    pub fn of(fetch: &Fetch, close: Duration) -> Self {
        let whole = fetch.transfers().iter().filter(|transfer| transfer.failure.is_none());
        Self {
            handshake: fetch.handshake().map(seconds),
            first_byte: fetch.transfers().iter().filter_map(|one| one.first_byte).min().map(seconds),
            last_byte: whole.filter_map(|one| one.ended).max().map(seconds),
            close: seconds(close),
        }
    }
}

/// Writes the report.
///
/// # Errors
/// When stdout cannot be written.
pub fn write(
    fetch: &mut Fetch,
    urls: &[Url],
    times: &Times,
    moves: &Moves,
    failure: Option<&Failure>,
) -> Result<(), Failure> {
    let agreed = if fetch.is_established() { tls::agreed(fetch.quic()) } else { tls::Agreed::default() };
    let paths = fetch.quic().path_stats().map(|stats| path(&stats)).collect();
    let report = Report {
        schema: SCHEMA,
        quic_version: if fetch.is_established() { "1" } else { "" },
        tls_version: &agreed.version,
        cipher: &agreed.cipher,
        resumed: agreed.resumed,
        early_data: agreed.early_data && fetch.asked_early(),
        times,
        streams: fetch.transfers().iter().map(|transfer| stream(transfer, urls)).collect(),
        paths,
        moves,
        exit_code: failure.map_or(0, |failure| failure.code as u8),
        error: failure.map(|failure| failure.message.as_str()),
    };
    emit(&report).map_err(|error| Failure::new(Code::Write, format!("stdout: {error}")))
}

fn emit(report: &Report<'_>) -> io::Result<()> {
    let mut line = serde_json::to_string(report)?;
    line.push('\n');
    io::stdout().lock().write_all(line.as_bytes())
}

fn stream<'a>(transfer: &'a Transfer, urls: &'a [Url]) -> Stream<'a> {
    Stream {
        url: &urls[transfer.place].text,
        round: transfer.round + 1,
        http_version: "3",
        status: transfer.status,
        bytes: transfer.bytes,
        sha256: transfer.sha256.as_deref(),
        began: seconds(transfer.began),
        first_byte: transfer.first_byte.map(seconds),
        ended: transfer.ended.map(seconds),
        error: transfer.failure.as_ref().map(|failure| failure.message.as_str()),
    }
}

fn path(stats: &quiche::PathStats) -> Path {
    Path {
        local: stats.local_addr,
        remote: stats.peer_addr,
        active: stats.active,
        packets_sent: stats.sent,
        packets_received: stats.recv,
        sent_packets_lost: stats.lost,
        bytes_sent: stats.sent_bytes,
        bytes_received: stats.recv_bytes,
        rtt: seconds(stats.rtt),
        rtt_min: stats.min_rtt.map(seconds),
        rtt_max: stats.max_rtt.map(seconds),
        rtt_variation: seconds(stats.rttvar),
    }
}
