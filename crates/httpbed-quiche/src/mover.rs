//! Moves a connection: carries out [`Migration`]'s steps with quiche and sockets, and reports the results to it.
//!
//! # Theory of operation
//!
//! Each handover gets a new socket, and a path in quiche named after it, as long as quiche has room. quiche (0.30)
//! knows eight paths, forgets none before, and assigns the next new connection ID to every path without one, used
//! or not. After that, or if the server has no ID to spare (Envoy issues one at a time), a client that returns to
//! an address uses the existing path. If the path has got a new ID meanwhile, a new socket replaces the old one.
//! The server sees a new path in this case, too. But quiche considers it validated and does not pad its packets, so
//! the server may send less before it has validated the path.
//!
//! If a path was validated before, quiche raises no event for a second challenge. Then a packet received on it and
//! a round trip measured on it since show that the server has answered. Earlier packets may have waited in a queue
//! for a second, but they acknowledge nothing that was sent since. On a new path in use a packet is enough: nginx
//! leaves challenges unanswered while its congestion window is full, and sends its data. quiche abandons a path
//! without an answer, in use or not, and allows only challenges there. So a path that works is challenged again and
//! stays in use.
//!
//! A move sends two padded `PING`s. The client's own challenge goes with the answer to the server's, or alone after
//! a while; `validation` explains this, and how the client leaves a path that the server never validates. The
//! kernel reports one change in several messages, routes before addresses. So a probe first waits a moment for the
//! rest, and a client without any address does not probe.
//!
//! Connection IDs: the server gets as many of the client's as it accepts, and more as it retires them. Of the
//! server's IDs, that of a path that was left is retired if there is a spare one, which quiche then uses. Otherwise
//! the old socket is used again with its ID. So no ID is used from two sockets (RFC 9000 section 9.5), except by a
//! rebinding, which is exactly that.

mod identifiers;
mod validation;

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use quiche::{Connection, Error, PathEvent, PathStats};

pub use self::identifiers::CONNECTION_ID_BYTES;
use self::identifiers::{offer, supply};
use self::validation::{GRACE, PendingChallenge, ReceivedUntil, UnvalidatedPath};
use crate::migration::{Kind, Leave, Migration, Policy, Sight, Step};

/// How long to wait for the rest of a change before a new path is probed.
const SETTLING: Duration = Duration::from_millis(10);
/// The most paths that quiche knows at once: `active_connection_id_limit`.
const MAX_PATHS: usize = 8;

/// The client's sockets.
pub trait Sockets {
    /// The name of the last socket at the address that the kernel prefers now, or of a new one if there is none
    /// yet.
    ///
    /// # Errors
    /// When there is no route.
    fn open(&mut self, remote: SocketAddr) -> io::Result<SocketAddr>;

    /// The name of a new socket at the address that the kernel prefers now.
    ///
    /// # Errors
    /// When there is no route.
    fn add(&mut self, remote: SocketAddr) -> io::Result<SocketAddr>;

    /// Replaces a socket by one bound to the address that the kernel prefers now; returns that address.
    ///
    /// Packets that arrive there are passed on as if they had arrived at the old one.
    ///
    /// # Errors
    /// When there is no route; nothing has changed then.
    fn exchange(&mut self, name: SocketAddr, remote: SocketAddr) -> io::Result<SocketAddr>;
}

/// Moves one connection.
pub struct Mover {
    migration: Migration,
    remote: SocketAddr,
    /// Sockets that replaced others, with the names that quiche uses.
    names: Vec<(SocketAddr, SocketAddr)>,
    /// What the path being tried had received before it can have answered, if quiche will raise no event.
    heard: Option<ReceivedUntil>,
    /// The path to use, or to keep using, once the due packets on it are written.
    revived: Option<SocketAddr>,
    /// When the rest of a change has arrived.
    settled: Option<Duration>,
    /// The path that has not answered the client's challenge, sent or not.
    challenge: Option<PendingChallenge>,
    /// The path of the last move, until the server has validated it.
    unvalidated: Option<UnvalidatedPath>,
    /// A path, and how many packets had arrived on it when it was validated: the server may lack an ID for the next one.
    lacking: Option<(SocketAddr, usize)>,
    /// Moves without a change of the network since the server last validated a path.
    renewals: u32,
    /// The server's connection IDs, by the names of their paths.
    linked: Vec<(SocketAddr, u64)>,
    /// Paths that got a connection ID when they were left, still unused.
    fresh: BTreeSet<SocketAddr>,
    /// Paths that did not answer the last time: quiche can send only challenges there.
    failed: BTreeSet<SocketAddr>,
}

impl Mover {
    /// For a new connection.
    pub fn new(policy: Policy, local: SocketAddr, remote: SocketAddr) -> Self {
        Self {
            migration: Migration::new(policy, local),
            remote,
            names: Vec::new(),
            heard: None,
            revived: None,
            settled: None,
            challenge: None,
            unvalidated: None,
            lacking: None,
            renewals: 0,
            linked: vec![(local, 0)],
            fresh: BTreeSet::new(),
            failed: BTreeSet::new(),
        }
    }

    /// When [`Self::turn`] has something to do, even if no packet arrives.
    pub fn due(&self) -> Option<Duration> {
        if self.revived.is_some() {
            return Some(Duration::ZERO);
        }
        let challenge = self.challenge.map(|challenge| challenge.due);
        let unvalidated = self.unvalidated.map(|unvalidated| unvalidated.due);
        [self.migration.due(), self.settled, challenge, unvalidated].into_iter().flatten().min()
    }

    /// The record.
    pub fn migration(&self) -> &Migration {
        &self.migration
    }

    /// Records that changes will not be seen.
    pub fn unwatched(&mut self, error: &io::Error, now: Duration) {
        self.migration.unwatched(format!("changes of the network are not seen: {error}"), now);
    }

    /// Does everything that is due; `look` asks the kernel, given the address in use, and is called if necessary.
    pub fn turn(
        &mut self,
        quic: &mut Connection,
        sockets: &mut impl Sockets,
        changed: bool,
        look: impl FnOnce(SocketAddr) -> Sight,
        now: Duration,
    ) {
        supply(quic);
        if let Some(name) = self.revived.take() {
            let _ = self.switch(name, quic);
        }
        self.take_answers(quic, now);
        self.provide(quic);
        self.migration.expire(now);
        self.ask(quic, now);
        if self.is_starved(quic, now) {
            self.renew(quic, sockets, now);
        }
        let settled = self.settled.is_some_and(|settled| settled <= now);
        if changed || settled || self.migration.wants_look(now) {
            let sight = look(self.migration.local());
            let step = self.migration.see(&sight, leave(quic), now);
            if step == Some(Step::Probe) && !settled {
                self.settled.get_or_insert(now + SETTLING);
                return;
            }
            self.settled = None;
            if let Some(step) = step {
                self.take(step, quic, sockets, now);
            }
        }
    }

    fn take_answers(&mut self, quic: &mut Connection, now: Duration) {
        while let Some(event) = quic.path_event_next() {
            match event {
                PathEvent::Validated(name, _) => self.arrive(self.socket(name), "", quic, now),
                PathEvent::FailedValidation(name, _) => self.fall_back(name, quic, now),
                _ => {}
            }
        }
        self.listen(quic, now);
    }

    /// quiche's name for the path of a socket.
    fn name(&self, socket: SocketAddr) -> SocketAddr {
        self.names.iter().find(|(known, _)| *known == socket).map_or(socket, |(_, name)| *name)
    }

    /// The socket of a path.
    fn socket(&self, name: SocketAddr) -> SocketAddr {
        self.names.iter().find(|(_, known)| *known == name).map_or(name, |(socket, _)| *socket)
    }

    fn exchange(&mut self, name: SocketAddr, sockets: &mut impl Sockets) -> io::Result<SocketAddr> {
        let socket = sockets.exchange(name, self.remote)?;
        self.names.retain(|(_, known)| *known != name);
        self.names.push((socket, name));
        Ok(socket)
    }

    fn arrive(&mut self, local: SocketAddr, reason: &str, quic: &mut Connection, now: Duration) {
        if self.migration.trying() != Some(local) {
            return;
        }
        self.heard = None;
        self.failed.remove(&self.name(local));
        let left = self.name(self.migration.home());
        if self.migration.validated(local, reason, now) {
            // Its connection IDs exist already, so this cannot fail.
            let _ = self.switch(self.name(local), quic);
            self.stand(self.name(local), quic, now);
        }
        if left != self.name(local) {
            self.retire(left, quic);
        }
        let packets = stats(quic, self.name(local)).map_or(0, |stats| stats.recv);
        self.lacking = Some((self.name(local), packets));
    }

    fn fall_back(&mut self, name: SocketAddr, quic: &mut Connection, now: Duration) {
        if self.migration.trying().is_none() && self.socket(name) == self.migration.home() {
            self.revived = quic.probe_path(name, self.remote).is_ok().then_some(name);
            return;
        }
        self.failed.insert(name);
        self.migration.failed(self.socket(name), now);
        // quiche would accept any path that was ever validated.
        let _ = quic.migrate(self.name(self.migration.local()), self.remote);
    }

    fn take(&mut self, step: Step, quic: &mut Connection, sockets: &mut impl Sockets, now: Duration) {
        match step {
            Step::Probe => self.start(false, quic, sockets, now),
            Step::Move => self.start(true, quic, sockets, now),
            Step::Rebind => self.rebind(quic, sockets, now),
            Step::Finish(local) => {
                let name = self.name(local);
                if self.switch(name, quic).is_ok() {
                    // The challenge may not be written yet, and would take the PING's place.
                    self.revived = Some(name);
                    self.stand(name, quic, now);
                    self.migration.finished(now);
                }
            }
            Step::Back(local) => {
                self.heard = None;
                if self.switch(self.name(local), quic).is_ok() {
                    self.migration.went_back(now);
                }
            }
            Step::Nudge => drop(quic.send_ack_eliciting()),
        }
    }

    fn start(&mut self, move_on: bool, quic: &mut Connection, sockets: &mut impl Sockets, now: Duration) {
        let opened = self.open(quic, sockets);
        match opened {
            Ok((name, local)) => self.go(name, local, move_on, quic, now),
            Err(error) => self.migration.hindered(Kind::Failed, error.to_string(), now),
        }
    }

    fn go(
        &mut self,
        name: SocketAddr,
        local: SocketAddr,
        move_on: bool,
        quic: &mut Connection,
        now: Duration,
    ) {
        let move_on = move_on && !self.failed.contains(&name);
        let is_validated = quic.is_path_validated(name, self.remote) == Ok(true);
        self.heard = match stats(quic, name) {
            Some(stats) if is_validated => Some(ReceivedUntil::until_answer(&stats, now)),
            _ => move_on.then_some(ReceivedUntil { packets: 0, until: now + GRACE, round_trips: None }),
        };
        match self.challenge(name, move_on, quic) {
            Ok(()) => {
                self.fresh.remove(&name);
                self.expect(name, move_on, quic, now);
                self.migration.began(if move_on { Kind::Migrated } else { Kind::Probed }, local, now);
            }
            Err(Error::OutOfIdentifiers) => {
                let reason = "the server has given no connection ID that is not in use".to_owned();
                self.migration.hindered(Kind::Waiting, reason, now);
            }
            Err(error) => self.migration.hindered(Kind::Failed, format!("quiche: {error}"), now),
        }
    }

    /// A path from the preferred address, and its socket; both are new if possible.
    fn open(
        &mut self,
        quic: &Connection,
        sockets: &mut impl Sockets,
    ) -> io::Result<(SocketAddr, SocketAddr)> {
        let name = sockets.open(self.remote)?;
        if !self.fresh.contains(&name) {
            return Ok((name, self.socket(name)));
        }
        if quic.available_dcids() > 0 && quic.path_stats().count() < MAX_PATHS {
            let added = sockets.add(self.remote)?;
            return Ok((added, added));
        }
        Ok((name, self.exchange(name, sockets)?))
    }

    fn challenge(&mut self, name: SocketAddr, move_on: bool, quic: &mut Connection) -> quiche::Result<()> {
        let is_ours = quic.available_dcids() > 0 || stats(quic, name).is_some();
        match self.try_challenge(name, move_on, quic) {
            // The server has retired no ID: the same packet asks it to.
            Err(Error::OutOfIdentifiers) if is_ours && quic.scids_left() == 0 && offer(quic, true) => {
                self.try_challenge(name, move_on, quic)
            }
            done => done,
        }
    }

    fn try_challenge(
        &mut self,
        name: SocketAddr,
        move_on: bool,
        quic: &mut Connection,
    ) -> quiche::Result<()> {
        let sequence = if move_on {
            let sequence = self.switch(name, quic)?;
            // A second one: the server may send three times what it receives.
            self.revived = Some(name);
            sequence
        } else {
            quic.probe_path(name, self.remote)?
        };
        self.linked.retain(|(known, _)| *known != name);
        self.linked.push((name, sequence));
        Ok(())
    }

    /// Uses a path from now on, and sends packets so that the server notices.
    fn switch(&self, name: SocketAddr, quic: &mut Connection) -> quiche::Result<u64> {
        if self.failed.contains(&name) {
            return Err(Error::InvalidState);
        }
        let sequence = quic.migrate(name, self.remote)?;
        quic.send_ack_eliciting_on_path(name, self.remote)?;
        Ok(sequence)
    }

    fn rebind(&mut self, quic: &mut Connection, sockets: &mut impl Sockets, now: Duration) {
        let name = self.name(self.migration.local());
        match self.exchange(name, sockets) {
            Ok(local) => {
                // Packets sent before cannot arrive at a new socket.
                let packets = stats(quic, name).map(|stats| stats.recv);
                self.heard = packets.map(|packets| ReceivedUntil { packets, until: now, round_trips: None });
                self.migration.began(Kind::Rebound, local, now);
                // A client behind a NAT sends something sooner or later, but a client that only downloads would
                // never.
                let _ = quic.send_ack_eliciting_on_path(name, self.remote);
            }
            Err(error) => self.migration.hindered(Kind::Failed, error.to_string(), now),
        }
    }
}

fn stats(quic: &Connection, local: SocketAddr) -> Option<PathStats> {
    quic.path_stats().find(|stats| stats.local_addr == local)
}

fn leave(quic: &Connection) -> Leave {
    let forbids = quic.peer_transport_params().is_some_and(|parameters| parameters.disable_active_migration);
    let refusal = if forbids {
        Some("the server forbids migration (disable_active_migration)")
    } else if quic.is_established() && quic.destination_id().is_empty() {
        Some("the server has no connection IDs, without which a connection cannot migrate")
    } else {
        None
    };
    Leave { established: quic.is_established(), refusal }
}

#[cfg(test)]
mod tests;
