//! The loop: waits, reads frames, hands them to the emulator, sends what is due. It decides nothing.
//!
//! # Theory of operation
//!
//! One thread, one epoll. A turn reads at most one batch from each readable interface, then serves the directions
//! in which something is due at that time. Due times do not depend on the turn in which a frame was read, so a late
//! turn delays frames but changes neither rate nor loss (see `link_model`). Buffers and lists are kept from turn to
//! turn: once there are enough, no frame needs an allocation.
//!
//! Shortly before a due time the loop polls without waiting, as far as [`Spin`] and [`Pressure`] allow.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process;

use link_model::{Distribution, Nanos};

use crate::backend::{self, Port};
use crate::changes::ChangeReport;
use crate::clock::Clock;
use crate::command::{Command, CommandReader};
use crate::config::{Backend, Config};
use crate::emulator::{Arrival, Emulator, Happening, Outbox};
use crate::pressure::Pressure;
use crate::report::{Counters, Event, Lateness, Machine, Peers, Report};
use crate::spin::Spin;
use crate::sys::batch::{FRAMES, Intake, Outgoing, Received, Stamp};
use crate::sys::poll::{Patience, Poll};
use crate::sys::process as own;
use crate::usage::Usage;

/// A running emulator.
pub struct Runner<'a> {
    config: &'a Config,
    emulator: Emulator,
    clock: Clock,
    ports: Vec<Box<dyn Port>>,
    poll: Poll,
    ready: Vec<usize>,
    intake: Intake,
    received: Vec<Received>,
    outbox: Outbox,
    outgoing: Outgoing,
    stdin: File,
    commands: CommandReader,
    lateness: Distribution,
    /// The most by which a frame was sent before it was due.
    early: Nanos,
    send_failures: u64,
    usage: Usage,
    spin: Spin,
    pressure: Pressure,
}

/// Whether to continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Turn,
    Stop,
    /// Stdin ended: no program waits for a result.
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
        let ports = backend::open(config)?;
        let stdin = io::stdin().as_fd().try_clone_to_owned().map_err(naming("stdin"))?;
        let poll = Poll::new().map_err(naming("epoll"))?;
        for (number, port) in ports.iter().enumerate() {
            poll.add(port.descriptor(), number).map_err(naming("epoll"))?;
        }
        poll.add(stdin.as_fd(), ports.len()).map_err(naming("stdin must be a pipe: epoll"))?;
        let clock = Clock::start();
        let pressure = Pressure::new(clock.now());
        Ok(Self {
            config,
            emulator,
            clock,
            ports,
            poll,
            ready: Vec::new(),
            intake: Intake::new(usize::from(config.mtu) + wire::ETHERNET_HEADER_BYTES),
            received: Vec::with_capacity(FRAMES),
            outbox: Outbox::default(),
            outgoing: Outgoing::new(),
            stdin: stdin.into(),
            commands: CommandReader::default(),
            lateness: Distribution::new(),
            early: 0,
            send_failures: 0,
            usage: Usage::default(),
            spin: Spin::new(config.spin_us.saturating_mul(1000), config.links.len()),
            pressure,
        })
    }

    /// Runs until a command or the end of stdin stops it.
    ///
    /// # Errors
    /// When something fails that was open before.
    pub fn run(&mut self) -> Result<(), String> {
        emit(&Event::Ready { pid: process::id() })?;
        loop {
            match self.turn()? {
                Next::Turn => {}
                Next::Stop => return self.stop(),
                Next::Abandon => return Ok(()),
            }
        }
    }

    fn turn(&mut self) -> Result<Next, String> {
        let began = self.clock.now();
        let patience = self.patience(began);
        self.poll.wait(patience, &mut self.ready).map_err(|error| naming("epoll")(error))?;
        self.account(patience, self.clock.now() - began);
        self.clock.track();
        self.pressure.look(began);
        let mut ordered = false;
        for place in 0..self.ready.len() {
            let number = self.ready[place];
            if number == self.ports.len() {
                ordered = true;
            } else {
                self.receive(number)?;
            }
        }
        // A command applies to what comes after it: frames that have arrived are read first.
        let next = if ordered { self.obey()? } else { Next::Turn };
        self.send_due()?;
        self.report_happenings()?;
        Ok(next)
    }

    /// Until the next due time less the lead; without a lead while other processes need the CPUs.
    fn patience(&self, now: Nanos) -> Patience {
        let Some(due) = self.emulator.next_due() else { return Patience::Endless };
        let lead = if self.pressure.busy() { 0 } else { self.spin.lead() };
        let wake = due.saturating_sub(lead);
        if wake <= now { Patience::None } else { Patience::Until(self.clock.monotonic(wake)) }
    }

    /// A turn that finds nothing ready has polled in vain; the rest of the turn costs about as much again.
    fn account(&mut self, patience: Patience, waited: Nanos) {
        match patience {
            Patience::None if self.ready.is_empty() => self.spin.looked(2 * waited),
            Patience::None => {}
            Patience::Until(_) | Patience::Endless => self.spin.slept(waited),
        }
    }

    /// Reads at most one batch; the number of frames.
    fn receive(&mut self, interface: usize) -> Result<usize, String> {
        let Self { config, emulator, clock, ports, intake, received, .. } = self;
        ports[interface].receive(intake, received).map_err(|error| {
            format!("interface {}: {error}", config.links[interface / 2].interfaces[interface % 2])
        })?;
        let (count, now) = (received.len(), clock.now());
        for frame in received.drain(..) {
            let leaving = frame.leaving;
            let arrival = arrival(clock, now, frame);
            let done = if leaving {
                Some(emulator.leave(interface, arrival))
            } else {
                emulator.arrive(interface, arrival)
            };
            if let Some(buffer) = done {
                intake.recycle(buffer);
            }
        }
        Ok(count)
    }

    /// Sends what is due now; what becomes due meanwhile waits for the next turn.
    fn send_due(&mut self) -> Result<(), String> {
        let now = self.clock.now();
        while let Some(direction) = self.emulator.look(now) {
            let Self { emulator, ports, outbox, outgoing, .. } = self;
            emulator.depart(direction, now, FRAMES, outbox).map_err(|error| error.to_string())?;
            if !outbox.frames.is_empty() {
                self.send_failures += ports[Emulator::exit(direction)].send(outgoing, &outbox.frames);
            }
            self.settle(now);
        }
        Ok(())
    }

    /// The clock is read after the whole batch, so no frame was later than its recorded lateness. It was also read
    /// before the batch, at `before`, so no frame was sent earlier than recorded.
    fn settle(&mut self, before: Nanos) {
        let sent = self.clock.now();
        for due in self.outbox.due.drain(..) {
            self.lateness.record(sent.saturating_sub(due));
            self.early = self.early.max(due.saturating_sub(before));
        }
        for buffer in self.outbox.frames.drain(..).chain(self.outbox.returned.drain(..)) {
            self.intake.recycle(buffer);
        }
    }

    fn obey(&mut self) -> Result<Next, String> {
        let mut bytes = [0; 4096];
        let length = self.stdin.read(&mut bytes).map_err(naming("stdin"))?;
        if length == 0 {
            return Ok(Next::Abandon);
        }
        for command in self.commands.push(&bytes[..length])? {
            match command {
                Command::Start => self.start()?,
                Command::Stop => return Ok(Next::Stop),
                Command::Counters => self.count()?,
                Command::Change { link, target } => {
                    if let Err(message) = self.emulator.command(self.clock.now(), link.as_deref(), target) {
                        emit(&Event::Refused { message: &message })?;
                    }
                }
                Command::Refuse(message) => emit(&Event::Refused { message: &message })?,
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
        self.early = 0;
        self.send_failures = 0;
        self.usage = Usage::now();
        self.emulator.start(self.clock.now());
        emit(&Event::Started)
    }

    fn count(&mut self) -> Result<(), String> {
        self.send_due()?;
        let at_ns = self.emulator.since_start(self.clock.now());
        emit(&Event::Counters { at_ns, directions: Counters::all(self.config, &self.emulator) })
    }

    fn stop(&mut self) -> Result<(), String> {
        let stopped = self.clock.now();
        self.drain()?;
        self.send_due()?;
        self.emulator.catch_up(stopped);
        self.report_happenings()?;
        self.emulator.finish().map_err(|error| error.to_string())?;
        let usage = Usage::now();
        let machine = Machine {
            scheduling: own::scheduling_class(),
            clock: clock_text(self.config.backend),
            origin_ns: self.clock.monotonic(0),
            started_ns: self.emulator.started().unwrap_or(stopped),
            stopped_ns: stopped,
            socket_drops: self.take_drops()?,
            send_failures: self.send_failures,
            lateness_ns: Lateness::of(&self.lateness),
            early_ns: self.early,
            cpu_ns: usage.cpu_since(self.usage),
            run_delay_ns: usage.run_delay_since(self.usage),
        };
        emit(&Event::Result(Box::new(Report::new(self.config, &self.emulator, machine))))?;
        backend::close(std::mem::take(&mut self.ports));
        Ok(())
    }

    /// Reads what arrived before the end; bounded, because a host may continue to send.
    fn drain(&mut self) -> Result<(), String> {
        const MOST_BATCHES: usize = 1000;
        for interface in 0..self.ports.len() {
            for _ in 0..MOST_BATCHES {
                if self.receive(interface)? < FRAMES {
                    break;
                }
            }
        }
        Ok(())
    }

    fn take_drops(&mut self) -> Result<u64, String> {
        self.ports.iter_mut().map(|port| port.take_drops().map_err(naming("PACKET_STATISTICS"))).sum()
    }

    fn report_happenings(&mut self) -> Result<(), String> {
        while let Some(happening) = self.emulator.next_happening() {
            let (config, emulator) = (self.config, &self.emulator);
            emit(&match happening {
                Happening::ServerSpoke(place) => {
                    Event::Connection(Peers::of(config, &emulator.connections().connections()[place]))
                }
                Happening::Triggered { link, trigger, at } => {
                    let link = &config.links[link];
                    Event::Triggered { name: &link.triggers[trigger].name, link: &link.name, at_ns: at }
                }
                Happening::Changed(place) => {
                    Event::Changed(ChangeReport::new(config, &emulator.changes()[place]))
                }
            })?;
        }
        Ok(())
    }
}

const fn clock_text(backend: Backend) -> &'static str {
    match backend {
        Backend::AfPacket | Backend::Observer => {
            "ns since the emulator's ready, CLOCK_MONOTONIC, from kernel receive stamps"
        }
        Backend::Tun => "ns since the emulator's ready, CLOCK_MONOTONIC, when frames were read",
    }
}

/// How far a stamp may be ahead of the clock, because the difference between the two clocks is not known exactly.
const CLOCK_DOUBT: Nanos = 1_000_000;

/// A stamp in the future, from a clock that was set back, is no better than none.
fn arrival(clock: &Clock, now: Nanos, received: Received) -> Arrival {
    let stamp = match received.stamp {
        Stamp::Kernel(stamp) => clock.of_stamp(stamp),
        Stamp::Reading(reading) => clock.of_monotonic(reading),
    };
    let at = stamp.min(now);
    Arrival {
        at,
        stamp: clock.stamp_of(at),
        stamped: stamp - at <= CLOCK_DOUBT,
        finished: received.finished,
        length: received.length,
        frame: received.frame,
    }
}

/// Writes an event as one line.
///
/// # Errors
/// When stdout is closed.
pub fn emit(event: &Event<'_>) -> Result<(), String> {
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

#[cfg(test)]
mod tests {
    use super::{CLOCK_DOUBT, Stamp, arrival};
    use crate::clock::Clock;
    use crate::sys::batch::Received;

    #[test]
    fn a_stamp_in_the_future_is_ignored() {
        let clock = Clock::start();
        let now = 7_000_000_000;
        let arrived = |at| {
            let stamp = Stamp::Kernel(clock.stamp_of(at));
            let frame = Received { frame: vec![], length: 0, stamp, finished: true, leaving: false };
            let arrival = arrival(&clock, now, frame);
            (arrival.at, arrival.stamped)
        };
        assert_eq!(arrived(now - 5), (now - 5, true));
        assert_eq!(arrived(now + CLOCK_DOUBT), (now, true));
        assert_eq!(arrived(now + CLOCK_DOUBT + 1), (now, false));
    }
}
