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
//!
//! # Readings of the clock
//!
//! Where reading the clock is a system call, as in User Mode Linux, a reading costs more than sending a frame. So a
//! turn reads the clock once, and again only where an older reading would change what is sent or recorded:
//!
//! * *After the waiting frames were copied.* No frame arrived later than this reading, so a later stamp is wrong. What
//!   is due by this reading is sent in this turn. The sending is later, so no frame is sent early.
//! * *After each batch that was sent.* Every frame of the batch was sent before this reading, so no frame was later
//!   than its recorded lateness. The next turn begins with this reading.
//! * *After many frames or a command.* Handling them takes a while. What became due meanwhile is sent in this turn;
//!   otherwise it would wait for the frames of the next turn.
//!
//! Records contain no reading: a packet's times are its stamp and its due time. An interface without stamps is an
//! exception: each of its frames is stamped with a reading when it is copied.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process;

use link_model::{Distribution, Nanos};
use nix::sys::prctl;
use nix::sys::signal::Signal;

use crate::backend::{self, Port};
use crate::changes::ChangeReport;
use crate::clock::{Clock, Kernel};
use crate::command::{Command, CommandReader};
use crate::config::Config;
use crate::emulator::{Emulator, Happening, Outbox};
use crate::pressure::Pressure;
use crate::report::{Counters, Event, Lateness, Machine, Peers, Report};
use crate::spin::Spin;
use crate::stamps::arrival;
use crate::sys::batch::{FRAMES, Intake, Outgoing, Received};
use crate::sys::poll::{ClockWatch, Patience, Poll};
use crate::usage::{self, Usage};

/// After more frames than these, the clock is read again. Handling one takes about a microsecond.
const FEW_FRAMES: usize = 8;

/// A running emulator.
pub struct Runner<'a> {
    config: &'a Config,
    emulator: Emulator,
    clock: Clock,
    /// Reports that the realtime clock was set.
    watch: ClockWatch,
    ports: Vec<Box<dyn Port>>,
    poll: Poll,
    /// Numbers of readable files: the ports, then stdin, then the watch.
    ready: Vec<usize>,
    intake: Intake,
    /// A batch of each port.
    received: Vec<Vec<Received>>,
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
    /// Time spent polling in vain.
    polled: Nanos,
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
        prctl::set_pdeathsig(Signal::SIGKILL).map_err(naming("PR_SET_PDEATHSIG"))?;
        prctl::set_timerslack(1).map_err(naming("PR_SET_TIMERSLACK"))?;
        let ports = backend::open(config)?;
        let stdin = io::stdin().as_fd().try_clone_to_owned().map_err(naming("stdin"))?;
        Self::new(config, emulator, ports, stdin.into(), Clock::start(Box::new(Kernel)))
    }

    fn new(
        config: &'a Config,
        emulator: Emulator,
        ports: Vec<Box<dyn Port>>,
        stdin: File,
        clock: Clock,
    ) -> Result<Self, String> {
        let poll = Poll::new().map_err(naming("epoll"))?;
        for (number, port) in ports.iter().enumerate() {
            poll.add(port.descriptor(), number).map_err(naming("epoll"))?;
        }
        poll.add(stdin.as_fd(), ports.len()).map_err(naming("stdin must be a pipe: epoll"))?;
        let watch = ClockWatch::new().map_err(naming("TFD_TIMER_CANCEL_ON_SET"))?;
        poll.add(watch.as_fd(), ports.len() + 1).map_err(naming("epoll"))?;
        let pressure = Pressure::new(clock.now());
        Ok(Self {
            config,
            emulator,
            clock,
            watch,
            poll,
            ready: Vec::new(),
            intake: Intake::new(usize::from(config.mtu) + wire::ETHERNET_HEADER_BYTES),
            received: ports.iter().map(|_| Vec::with_capacity(FRAMES)).collect(),
            ports,
            outbox: Outbox::default(),
            outgoing: Outgoing::new(),
            stdin,
            commands: CommandReader::default(),
            lateness: Distribution::new(),
            early: 0,
            send_failures: 0,
            usage: Usage::default(),
            spin: Spin::new(config.spin_us.saturating_mul(1000), config.links.len()),
            pressure,
            polled: 0,
        })
    }

    /// Runs until a command or the end of stdin stops it.
    ///
    /// # Errors
    /// When something fails that was open before.
    pub fn run(&mut self) -> Result<(), String> {
        emit(&Event::Ready { pid: process::id() })?;
        let mut last = self.clock.now();
        loop {
            let (next, at) = self.turn(last)?;
            last = at;
            match next {
                Next::Turn => {}
                Next::Stop => return self.stop(),
                Next::Abandon => return Ok(()),
            }
        }
    }

    /// One turn after the reading `last` of the clock; also returns its own last reading.
    fn turn(&mut self, last: Nanos) -> Result<(Next, Nanos), String> {
        let patience = self.patience(last);
        self.poll.wait(patience, &mut self.ready).map_err(|error| naming("epoll")(error))?;
        self.read_ready()?;
        let mut now = self.clock.now();
        self.account(patience, last, now);
        self.pressure.look(now);
        let frames = self.accept_all(now);
        // A command applies to what comes after it: frames that have arrived are read first.
        let ordered = self.ready.contains(&self.ports.len());
        let next = if ordered { self.obey()? } else { Next::Turn };
        if ordered || frames > FEW_FRAMES {
            now = self.clock.now();
        }
        let sent = self.send_due(now)?;
        self.report_happenings()?;
        Ok((next, sent))
    }

    /// Until the next due time less the lead; without a lead while other processes need the CPUs.
    fn patience(&self, now: Nanos) -> Patience {
        let Some(due) = self.emulator.next_due() else { return Patience::Endless };
        let lead = if self.pressure.busy(now) { 0 } else { self.spin.lead() };
        let wake = due.saturating_sub(lead);
        if wake <= now { Patience::None } else { Patience::Until(self.clock.monotonic(wake)) }
    }

    /// A turn that finds nothing ready and nothing due has polled in vain, from one reading of the clock to the next.
    fn account(&mut self, patience: Patience, last: Nanos, now: Nanos) {
        let passed = now - last;
        match patience {
            Patience::None if self.ready.is_empty() && self.emulator.next_due() > Some(now) => {
                self.spin.looked(passed);
                self.polled += passed;
            }
            Patience::None => {}
            Patience::Until(_) | Patience::Endless => self.spin.slept(passed),
        }
    }

    /// Copies at most one batch from each readable interface.
    fn read_ready(&mut self) -> Result<(), String> {
        for place in 0..self.ready.len() {
            let number = self.ready[place];
            if number < self.ports.len() {
                self.read(number)?;
            }
        }
        if self.ready.contains(&(self.ports.len() + 1)) && self.watch.was_set() {
            self.clock.compare();
        }
        Ok(())
    }

    /// Copies at most one batch.
    fn read(&mut self, interface: usize) -> Result<(), String> {
        let Self { config, ports, intake, received, .. } = self;
        ports[interface].receive(intake, &mut received[interface]).map_err(|error| {
            format!("interface {}: {error}", config.links[interface / 2].interfaces[interface % 2])
        })
    }

    /// Hands all frames that were copied before `now` to the emulator; returns their number.
    fn accept_all(&mut self, now: Nanos) -> usize {
        (0..self.ports.len()).map(|interface| self.accept(interface, now)).sum()
    }

    fn accept(&mut self, interface: usize, now: Nanos) -> usize {
        let Self { emulator, clock, intake, received, .. } = self;
        let count = received[interface].len();
        for frame in received[interface].drain(..) {
            if let Some(buffer) = emulator.arrive(interface, arrival(clock, now, frame)) {
                intake.recycle(buffer);
            }
        }
        count
    }

    /// Sends what is due at `now`; what becomes due meanwhile waits for the next turn. Returns the last reading of
    /// the clock.
    fn send_due(&mut self, now: Nanos) -> Result<Nanos, String> {
        let mut last = now;
        while let Some(direction) = self.emulator.look(now) {
            let Self { emulator, ports, outbox, outgoing, .. } = self;
            emulator.depart(direction, now, FRAMES, outbox).map_err(|error| error.to_string())?;
            if !outbox.frames.is_empty() {
                self.send_failures += ports[Emulator::exit(direction)].send(outgoing, &outbox.frames);
                last = self.clock.now();
            }
            self.settle(now, last);
        }
        Ok(last)
    }

    /// Records the lateness of a batch that was sent between the readings `before` and `after` of the clock.
    fn settle(&mut self, before: Nanos, after: Nanos) {
        for due in self.outbox.due.drain(..) {
            self.lateness.record(after.saturating_sub(due));
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
        self.polled = 0;
        self.usage = Usage::now();
        self.emulator.start(self.clock.now());
        emit(&Event::Started)
    }

    fn count(&mut self) -> Result<(), String> {
        let at_ns = self.send_due(self.clock.now()).map(|sent| self.emulator.since_start(sent))?;
        let (cpu_ns, polled_ns) = (Usage::now().cpu_since(self.usage), self.polled);
        let directions = Counters::all(self.config, &self.emulator);
        emit(&Event::Counters { at_ns, cpu_ns, polled_ns, directions })
    }

    fn stop(&mut self) -> Result<(), String> {
        let stopped = self.clock.now();
        self.drain()?;
        self.send_due(self.clock.now())?;
        self.emulator.catch_up(stopped);
        self.report_happenings()?;
        self.emulator.finish().map_err(|error| error.to_string())?;
        let usage = Usage::now();
        let machine = Machine {
            scheduling: usage::scheduling_class(),
            clock: backend::clock_text(self.config.backend),
            origin_ns: self.clock.monotonic(0),
            started_ns: self.emulator.started().unwrap_or(stopped),
            stopped_ns: stopped,
            receive_drops: self.take_drops()?,
            send_failures: self.send_failures,
            lateness_ns: Lateness::of(&self.lateness),
            early_ns: self.early,
            cpu_ns: usage.cpu_since(self.usage),
            run_delay_ns: usage.run_delay_since(self.usage),
            polled_ns: self.polled,
        };
        emit(&Event::Result(Box::new(Report::new(self.config, &self.emulator, machine))))?;
        backend::close(std::mem::take(&mut self.ports));
        Ok(())
    }

    /// Reads what arrived before the end; bounded, because a host may continue to send.
    fn drain(&mut self) -> Result<(), String> {
        const MAX_BATCHES: usize = 1000;
        for interface in 0..self.ports.len() {
            for _ in 0..MAX_BATCHES {
                self.read(interface)?;
                if self.accept(interface, self.clock.now()) < FRAMES {
                    break;
                }
            }
        }
        Ok(())
    }

    fn take_drops(&mut self) -> Result<Vec<u64>, String> {
        self.ports.iter_mut().map(|port| port.take_drops().map_err(naming("PACKET_STATISTICS"))).collect()
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
pub fn naming<E: Into<io::Error>>(what: &str) -> impl Fn(E) -> String {
    let what = what.to_owned();
    move |error| format!("{what}: {}", error.into())
}

#[cfg(test)]
mod tests;
