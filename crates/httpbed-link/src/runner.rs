//! The loop: waits, reads frames, hands them to the emulator, sends what is due. It decides nothing.
//!
//! # Theory of operation
//!
//! One thread, one epoll. A turn reads at most one batch per interface, then sends all that is due. Due times
//! do not depend on the turn in which a frame was read, so a late turn makes frames late but
//! bends neither rate nor loss (see `link_model`).
//!
//! A sleeping thread is woken some tens of microseconds late. The last `spin_us` before a due time are
//! therefore spent looking without waiting. With many busy links there is always something due soon, and
//! the thread would never sleep; under `SCHED_FIFO` it would then keep a whole CPU from the programs it
//! serves. Beyond [`SPINNING_DIRECTIONS`] busy directions it sleeps to the end.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process;

use link_model::Distribution;
use wire::Sighting;

use crate::clock::Clock;
use crate::command::{Command, CommandReader};
use crate::config::Config;
use crate::emulator::{Arrival, Departure, Emulator};
use crate::report::{Event, Lateness, Machine, Peers, Report};
use crate::sys::batch::{self, Received, Receiver};
use crate::sys::packet_socket::PacketSocket;
use crate::sys::poll::{Patience, Poll};
use crate::sys::{process as own, time};

/// Four links, both ways.
const SPINNING_DIRECTIONS: usize = 8;

const CLOCK_TEXT: &str = "ns since the emulator's ready, CLOCK_MONOTONIC, from kernel receive stamps";

/// A running emulator.
pub struct Runner<'a> {
    config: &'a Config,
    emulator: Emulator,
    clock: Clock,
    sockets: Vec<PacketSocket>,
    poll: Poll,
    receiver: Receiver,
    stdin: File,
    commands: CommandReader,
    lateness: Distribution,
    send_failures: u64,
    usage: Usage,
}

/// What this process had used when it was last looked at.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    cpu: i64,
    run_delay: Option<u64>,
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Turn,
    Stop,
    /// Nobody is left to hear a result.
    Abandon,
}

impl<'a> Runner<'a> {
    /// Opens everything that `config` names.
    ///
    /// # Errors
    /// When the machine refuses something; the message says what.
    pub fn open(config: &'a Config, emulator: Emulator) -> Result<Self, String> {
        own::die_with_parent().map_err(naming("PR_SET_PDEATHSIG"))?;
        own::wake_precisely().map_err(naming("PR_SET_TIMERSLACK"))?;
        let interfaces = config.links.iter().flat_map(|link| &link.interfaces);
        let sockets = interfaces
            .map(|name| PacketSocket::open(name).map_err(naming(&format!("interface {name}"))))
            .collect::<Result<Vec<_>, _>>()?;
        let stdin = io::stdin().as_fd().try_clone_to_owned().map_err(naming("stdin"))?;
        let poll = Poll::new().map_err(naming("epoll"))?;
        for (number, socket) in sockets.iter().enumerate() {
            poll.add(socket.as_fd(), number).map_err(naming("epoll"))?;
        }
        poll.add(stdin.as_fd(), sockets.len()).map_err(naming("stdin must be a pipe: epoll"))?;
        Ok(Self {
            config,
            emulator,
            clock: Clock::start(),
            sockets,
            poll,
            receiver: Receiver::new(config.mtu + wire::ETHERNET_HEADER_BYTES),
            stdin: stdin.into(),
            commands: CommandReader::default(),
            lateness: Distribution::new(),
            send_failures: 0,
            usage: Usage::default(),
        })
    }

    /// Works until told to stop.
    ///
    /// # Errors
    /// When something fails that was open before.
    pub fn run(&mut self) -> Result<(), String> {
        say(&Event::Ready { pid: process::id() })?;
        loop {
            match self.turn()? {
                Next::Turn => {}
                Next::Stop => return self.stop(),
                Next::Abandon => return Ok(()),
            }
        }
    }

    fn turn(&mut self) -> Result<Next, String> {
        let patience = self.patience();
        let ready: Vec<usize> = self.poll.wait(patience).map_err(naming("epoll"))?.collect();
        self.clock.track();
        let mut next = Next::Turn;
        for number in ready {
            if number == self.sockets.len() {
                next = self.obey()?;
            } else {
                self.receive(number)?;
            }
        }
        self.send_due();
        Ok(next)
    }

    /// Until the next due time less the spin.
    fn patience(&self) -> Patience {
        let Some(due) = self.emulator.next_due() else { return Patience::Endless };
        let spins = self.emulator.busy_directions() <= SPINNING_DIRECTIONS;
        let spin = if spins { self.config.spin_us.saturating_mul(1000) } else { 0 };
        let wake = due.saturating_sub(spin);
        if wake <= self.clock.now() { Patience::None } else { Patience::Until(self.clock.monotonic(wake)) }
    }

    fn receive(&mut self, interface: usize) -> Result<usize, String> {
        let Self { config, emulator, clock, sockets, receiver, .. } = self;
        let mut outcome = Ok(());
        let count = receiver
            .receive(&sockets[interface], |receiver, received| {
                let admission = emulator.arrive(interface, arrival(clock, received));
                outcome = std::mem::replace(&mut outcome, Ok(())).and_then(|()| {
                    let admission = admission.map_err(naming("pcapng"))?;
                    admission.returned.into_iter().for_each(|buffer| receiver.recycle(buffer));
                    admission.sighting.map_or(Ok(()), |sighting| tell(config, emulator, sighting))
                });
            })
            .map_err(naming(&config.links[interface / 2].interfaces[interface % 2]))?;
        outcome.map(|()| count)
    }

    fn send_due(&mut self) {
        for direction in 0..self.sockets.len() {
            while self.send_batch(direction) == batch::FRAMES {}
        }
    }

    /// Sends what is due in one direction, at most one batch; the number of frames.
    fn send_batch(&mut self, direction: usize) -> usize {
        let now = self.clock.now();
        let due = std::iter::from_fn(|| self.emulator.depart(direction, now));
        let departures: Vec<Departure> = due.take(batch::FRAMES).collect();
        if departures.is_empty() {
            return 0;
        }
        let socket = &self.sockets[Emulator::exit(direction)];
        let frames = departures.iter().map(|departure| &departure.frame[..]);
        let mut failures = 0;
        batch::send(socket, frames, |taken| failures += u64::from(!taken));
        self.send_failures += failures;
        self.settle(departures)
    }

    /// The clock is read after the whole batch, so no frame was later than its recorded lateness.
    fn settle(&mut self, departures: Vec<Departure>) -> usize {
        let sent = self.clock.now();
        let count = departures.len();
        for departure in departures {
            if departure.counted {
                self.lateness.record(sent.saturating_sub(departure.due));
            }
            self.receiver.recycle(departure.frame);
        }
        count
    }

    fn obey(&mut self) -> Result<Next, String> {
        let mut bytes = [0; 4096];
        let length = self.stdin.read(&mut bytes).map_err(naming("stdin"))?;
        if length == 0 {
            return Ok(Next::Abandon);
        }
        for command in self.commands.push(&bytes[..length])? {
            match command {
                Command::Start {} => self.start()?,
                Command::Stop {} => return Ok(Next::Stop),
            }
        }
        Ok(Next::Turn)
    }

    fn start(&mut self) -> Result<(), String> {
        if self.emulator.started().is_some() {
            return Err("started twice".to_owned());
        }
        self.take_drops()?;
        self.lateness = Distribution::new();
        self.send_failures = 0;
        self.usage = Usage::now();
        self.emulator.start(self.clock.now());
        say(&Event::Started)
    }

    fn stop(&mut self) -> Result<(), String> {
        let stopped = self.clock.now();
        self.drain()?;
        self.send_due();
        self.emulator.finish().map_err(naming("pcapng"))?;
        let usage = Usage::now();
        let machine = Machine {
            scheduling: own::scheduling_class(),
            clock: CLOCK_TEXT,
            started_ns: self.emulator.started().unwrap_or(stopped),
            stopped_ns: stopped,
            socket_drops: self.take_drops()?,
            send_failures: self.send_failures,
            lateness_ns: Lateness::of(&self.lateness),
            cpu_ns: u64::try_from(usage.cpu - self.usage.cpu).unwrap_or(0),
            run_delay_ns: usage.run_delay.zip(self.usage.run_delay).map(|(now, then)| now - then),
        };
        say(&Event::Result(Box::new(Report::new(self.config, &self.emulator, machine))))
    }

    /// Reads what arrived before the end; bounded, in case somebody goes on sending.
    fn drain(&mut self) -> Result<(), String> {
        const MOST_BATCHES: usize = 1000;
        for interface in 0..self.sockets.len() {
            for _ in 0..MOST_BATCHES {
                if self.receive(interface)? < batch::FRAMES {
                    break;
                }
            }
        }
        Ok(())
    }

    fn take_drops(&self) -> Result<u64, String> {
        self.sockets.iter().map(|socket| socket.take_drops().map_err(naming("PACKET_STATISTICS"))).sum()
    }
}

impl Usage {
    fn now() -> Self {
        Self { cpu: time::process_cpu(), run_delay: own::run_delay() }
    }
}

/// A stamp of the future, left over from a clock that was set back, is no better than none.
fn arrival(clock: &Clock, received: Received) -> Arrival {
    let now = clock.now();
    let at = received.stamp.map_or(now, |stamp| clock.of_stamp(stamp).min(now));
    Arrival {
        at,
        stamp: clock.stamp_of(at),
        stamped: received.stamp.is_some(),
        finished: received.finished,
        length: received.length,
        frame: received.frame,
    }
}

fn tell(config: &Config, emulator: &Emulator, sighting: Sighting) -> Result<(), String> {
    let Sighting::ServerSpoke(place) = sighting;
    say(&Event::Connection(Peers::of(config, &emulator.connections().connections()[place])))
}

/// Writes an event as one line.
///
/// # Errors
/// When nobody reads stdout any more.
pub fn say(event: &Event<'_>) -> Result<(), String> {
    let mut line = serde_json::to_string(event).map_err(|error| error.to_string())?;
    line.push('\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush()).map_err(naming("stdout"))
}

/// Puts the name of what failed before the reason.
pub fn naming(what: &str) -> impl Fn(io::Error) -> String {
    let what = what.to_owned();
    move |error| format!("{what}: {error}")
}
