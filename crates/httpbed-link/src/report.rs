//! The emulator's events on stdout: one JSON object a line.

mod connections;

use std::net::SocketAddr;

use link_model::{Account, Cause, Direction, Distribution, Nanos, Observation, Tally};
use serde::{Serialize, Serializer};
use wire::{Connection, Protocol};

use connections::ConnectionReport;

use crate::changes::ChangeReport;
use crate::config::Config;
use crate::emulator::{Emulator, Sent};
use crate::timeline::TimelineReport;

/// Version of the result's format.
pub const SCHEMA: u32 = 5;

/// An event.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event<'a> {
    /// The sockets are open.
    Ready {
        /// This process, as its PID namespace numbers it.
        pid: u32,
    },
    /// The idle phase is over.
    Started,
    /// A server sent its first payload on a connection.
    Connection(Peers<'a>),
    /// A condition changed.
    Changed(ChangeReport<'a>),
    /// A trigger fired.
    Triggered {
        /// Its name.
        name: &'a str,
        /// The link.
        link: &'a str,
        /// When, since the start.
        at_ns: Nanos,
    },
    /// The counters up to now.
    Counters {
        /// When, since the start.
        at_ns: Nanos,
        /// CPU time of the emulator since the start.
        cpu_ns: u64,
        /// Time since the start in which it polled, as in [`Machine::polled_ns`].
        polled_ns: Nanos,
        /// Of each direction.
        directions: Vec<Counters<'a>>,
    },
    /// The result.
    Result(Box<Report<'a>>),
    /// A commanded change that cannot be made; the emulator continues.
    Refused {
        /// The reason.
        message: &'a str,
    },
    /// Why the emulator ends.
    Error {
        /// The reason.
        message: &'a str,
    },
}

/// The two ends of a connection.
#[derive(Debug, Serialize)]
pub struct Peers<'a> {
    link: &'a str,
    protocol: &'static str,
    client: SocketAddr,
    server: SocketAddr,
}

/// What a direction counted.
#[derive(Debug, Serialize)]
pub struct Counters<'a> {
    link: &'a str,
    from: &'a str,
    to: &'a str,
    packets: Fates,
    bytes: Fates,
}

/// The result of a run.
///
/// Times are in ns on one clock, `CLOCK_MONOTONIC`, from two zeros:
///
/// * *ready* (`origin_ns` on that clock): `started_ns`, `stopped_ns`, `first_ns` and `last_ns` of directions,
///   `from_ns` and `to_ns` of the witness, and every `..._ns` of a connection that is a time. Adding `origin_ns`
///   gives what `CLOCK_MONOTONIC` read then.
/// * *start*, the end of the idle phase (`origin_ns + started_ns`): `at_ns` of changes, also in the events
///   `changed`, `triggered` and `counters`, and `in_ns` and `out_ns` of the packet log. Adding both gives
///   `CLOCK_MONOTONIC`; adding `started_ns` gives a time comparable with a connection's. A change before the start
///   has time 0.
///
/// Both sums are exact: all times come from one clock, and kernel stamps are converted to it before anything is
/// computed.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    schema: u32,
    backend: &'static str,
    #[serde(flatten)]
    machine: Machine,
    socket_drops: u64,
    oversize_frames: u64,
    unstamped_frames: u64,
    stray_frames: u64,
    malformed_packets: u64,
    directions: Vec<DirectionReport<'a>>,
    connections: Vec<ConnectionReport<'a>>,
    changes: Vec<ChangeReport<'a>>,
}

/// Facts that only the running program knows.
#[derive(Debug, Serialize)]
pub struct Machine {
    /// Scheduling class of the emulator.
    pub scheduling: &'static str,
    /// The clock of the times.
    pub clock: &'static str,
    /// `CLOCK_MONOTONIC` when the emulator was ready; [`Report`] says how to compare times of other programs.
    pub origin_ns: i64,
    /// End of the idle phase, since the emulator was ready.
    pub started_ns: Nanos,
    /// When the result was asked for, since the emulator was ready.
    pub stopped_ns: Nanos,
    /// Frames of each direction lost because the emulator did not read them in time.
    #[serde(skip)]
    pub receive_drops: Vec<u64>,
    /// Frames that the kernel rejected.
    pub send_failures: u64,
    /// Actual send time minus due time.
    pub lateness_ns: Lateness,
    /// The most by which a frame was sent before it was due; more than 0 is a fault of the emulator.
    pub early_ns: Nanos,
    /// CPU time of the emulator.
    pub cpu_ns: u64,
    /// Time in which it was ready to run but had no CPU.
    pub run_delay_ns: Option<u64>,
    /// Time in which it polled for a due time in vain: a part of its CPU time, unless other processes had the CPU.
    pub polled_ns: Nanos,
}

/// How late packets were.
#[derive(Debug, Serialize)]
pub struct Lateness {
    count: u64,
    #[serde(flatten)]
    spread: Spread,
    p999: Option<Nanos>,
}

/// A distribution in three numbers, `None` without values.
#[derive(Debug, Serialize)]
struct Spread {
    p50: Option<Nanos>,
    p99: Option<Nanos>,
    max: Option<Nanos>,
}

#[derive(Debug, Serialize)]
struct DirectionReport<'a> {
    #[serde(flatten)]
    counters: Counters<'a>,
    sent: Sent,
    receive_drops: u64,
    queue_delay_ns: Spread,
    first_ns: Option<Nanos>,
    last_ns: Option<Nanos>,
    utilisation: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline: Option<TimelineReport>,
    witnessed: Observation,
    corrupted: u64,
    marked: u64,
    reordered: u64,
    queue_packets_max: u64,
    busy_ns: Nanos,
    #[serde(flatten)]
    dropped_numbers: ByCause<&'a [u64]>,
    duplicated_numbers: &'a [u64],
    corrupted_numbers: &'a [u64],
}

/// Packets, or the bytes of IP packets: `in + duplicated` is the sum of all other fields.
#[derive(Debug, Serialize)]
struct Fates {
    r#in: u64,
    delivered: u64,
    duplicated: u64,
    #[serde(flatten)]
    dropped: ByCause<u64>,
    in_flight: u64,
}

/// A field for each cause of drops: its counter's name with this suffix.
#[derive(Debug)]
struct ByCause<T> {
    suffix: &'static str,
    values: [T; Cause::ALL.len()],
}

impl<T: Serialize> Serialize for ByCause<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = Cause::ALL.iter().map(|cause| format!("{}{}", cause.names().counter, self.suffix));
        serializer.collect_map(names.zip(&self.values))
    }
}

impl<'a> Peers<'a> {
    /// The peers of a connection in the table.
    pub fn of(config: &'a Config, (link, connection): &(usize, Connection)) -> Self {
        Self {
            link: &config.links[*link].name,
            protocol: match connection.protocol {
                Protocol::Tcp => "tcp",
                Protocol::Udp => "udp",
            },
            client: connection.client,
            server: connection.server,
        }
    }
}

impl<'a> Report<'a> {
    /// The result up to now.
    pub fn new(config: &'a Config, emulator: &'a Emulator, machine: Machine) -> Self {
        let oddities = emulator.oddities();
        let directions = emulator.directions().iter().enumerate();
        let connections = emulator.connections().connections().iter();
        let sum = |count: fn(&Sent) -> u64| emulator.sent().iter().map(count).sum::<u64>();
        Self {
            schema: SCHEMA,
            backend: config.backend.name(),
            socket_drops: machine.receive_drops.iter().sum(),
            oversize_frames: oddities.oversize,
            unstamped_frames: oddities.unstamped,
            stray_frames: sum(|sent| sent.stray_frames),
            malformed_packets: oddities.unfinished + sum(|sent| sent.malformed_packets),
            directions: directions
                .map(|(n, direction)| DirectionReport::new(config, emulator, &machine, n, direction))
                .collect(),
            connections: connections.map(|entry| ConnectionReport::new(config, entry)).collect(),
            changes: ChangeReport::all(config, emulator.changes()),
            machine,
        }
    }
}

impl<'a> Counters<'a> {
    /// The counters of all directions.
    pub fn all(config: &'a Config, emulator: &Emulator) -> Vec<Self> {
        let directions = emulator.directions().iter().enumerate();
        directions.map(|(number, direction)| Self::new(config, number, direction)).collect()
    }

    fn new<B>(config: &'a Config, number: usize, direction: &Direction<B>) -> Self {
        let (link, side) = (&config.links[number / 2], number % 2);
        let overhead = u64::from(link.directions[side].overhead_bytes);
        // The model counts bytes as the rate does.
        let bytes = |tally: Tally| tally.bytes - overhead * tally.packets;
        let packets = |tally: Tally| tally.packets;
        let (account, in_flight) = (direction.account(), direction.in_flight());
        Self {
            link: &link.name,
            from: &link.hosts[side],
            to: &link.hosts[1 - side],
            packets: Fates::new(account, in_flight, packets),
            bytes: Fates::new(account, in_flight, bytes),
        }
    }
}

impl Fates {
    fn new(account: &Account, in_flight: Tally, unit: impl Fn(Tally) -> u64) -> Self {
        Self {
            r#in: unit(account.arrived),
            delivered: unit(account.delivered),
            duplicated: unit(account.duplicated),
            dropped: ByCause {
                suffix: "",
                values: Cause::ALL.map(|cause| unit(account.dropped(cause).tally)),
            },
            in_flight: unit(in_flight),
        }
    }
}

impl<'a> DirectionReport<'a> {
    fn new<B>(
        config: &'a Config,
        emulator: &'a Emulator,
        machine: &Machine,
        number: usize,
        direction: &'a Direction<B>,
    ) -> Self {
        let account = direction.account();
        let has_rate = config.links[number / 2].directions[number % 2].rate.is_some();
        Self {
            counters: Counters::new(config, number, direction),
            sent: emulator.sent()[number],
            receive_drops: machine.receive_drops[number],
            queue_delay_ns: Spread::of(&account.queue_delay),
            first_ns: account.first_arrival,
            last_ns: account.last_delivery,
            utilisation: account.utilisation().filter(|_| has_rate),
            timeline: emulator.timelines().report(number),
            witnessed: emulator.witnesses()[number].observation(),
            corrupted: account.corrupted.packets,
            marked: account.marked.packets,
            reordered: account.reordered.packets,
            queue_packets_max: direction.queue_packets_max(),
            busy_ns: account.busy,
            dropped_numbers: ByCause {
                suffix: "_numbers",
                values: Cause::ALL.map(|cause| &account.dropped(cause).numbers[..]),
            },
            duplicated_numbers: &account.duplicated_numbers,
            corrupted_numbers: &account.corrupted_numbers,
        }
    }
}

impl Lateness {
    /// The lateness of a run's packets.
    pub fn of(distribution: &Distribution) -> Self {
        Self {
            count: distribution.count(),
            spread: Spread::of(distribution),
            p999: distribution.quantile(0.999),
        }
    }
}

impl Spread {
    fn of(distribution: &Distribution) -> Self {
        Self { p50: distribution.quantile(0.5), p99: distribution.quantile(0.99), max: distribution.max() }
    }
}
