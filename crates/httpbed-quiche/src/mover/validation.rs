//! Validation of a new path by both ends: when the client sends its challenge, and what it does if the server's
//! never comes.
//!
//! # Theory of operation
//!
//! Until the server's challenge on a path is answered, it may send three times what it received there (RFC 9000
//! sections 8.1 and 9.3). nginx (1.26 and 1.30) shows how this can fail. A challenge and a response count for its
//! congestion window, and it silently drops what does not fit. It repeats challenges after 1 and 3 seconds, but not
//! within an allowance below 1200 bytes. After 7 seconds it ends the connection without a word to the client, for
//! the same reason. During a download there is usually room for one packet. If the response to the client's
//! challenge takes it, the server's own challenge does not fit. If the client then sends only acknowledgements of
//! 50 bytes, the data uses three times 50 bytes, and the rest never suffices for a challenge. So:
//!
//! * The client's challenge on a path in use is *deferred* until the server has sent its own, as section 9.2
//!   allows, and goes in the datagram of the response, or after half a second at the latest. Until it is answered
//!   quiche pads all packets there, responses included, as section 8.2.2 requires. The server's allowance grows, so
//!   that it can send data and try again.
//! * A challenge without an answer is *repeated* after three round trips, twice that, and so on. A new connection
//!   with a known round trip repeats its Initial packet in the same way (section 8.2.1; RFC 9002 section 6.2.2).
//!   quiche repeats a challenge only if its packet is not acknowledged, and nginx acknowledges those it does not
//!   answer.
//! * A path that the server does not validate is *renewed*: the client moves once more, from another port of the
//!   same address, with unused connection IDs at both ends (section 9.5), and the server validates the new path. A
//!   server has not validated a path if it has never sent more than three times what it received, and has stayed at
//!   that limit, gone silent, or sent no challenge for long. An acknowledgement then goes with the move and makes
//!   room for a challenge.

use std::net::SocketAddr;
use std::time::Duration;

use quiche::{Connection, PathStats};

use super::{MAX_PATHS, Mover, Sockets, stats};

/// How long to wait for the answer of a server that sends data on the new path; then the data count as an answer.
pub(super) const GRACE: Duration = Duration::from_secs(1);
/// How long to wait for the server's challenge before sending the client's.
const DEFERRAL: Duration = Duration::from_millis(500);
/// Round trips until a challenge is repeated, or a path is given up that the server does not validate.
const ROUND_TRIPS: u32 = 3;
/// At least so long.
const SHORTEST: Duration = Duration::from_millis(50);
/// The assumed round trip where none was measured (RFC 9002 section 6.2.2).
const INITIAL: Duration = Duration::from_millis(333);
/// How long a server that has data to send but may not is silent.
const SILENCE: Duration = Duration::from_secs(1);
/// How long a server may send data and no challenge; nginx tries again after a second.
const OBLIVION: Duration = Duration::from_millis(1500);
/// Time between two checks of that.
const LOOK: Duration = Duration::from_millis(50);
/// The factor by which an unvalidated path may carry back more than it received.
const FACTOR: u64 = 3;
/// An allowance too small for a challenge and a response, which are padded to 1200 bytes each.
const LITTLE_BYTES: u64 = 2400;
/// Limit of moves without a change of the network.
const MAX_RENEWALS: u32 = 3;

/// Packets received on a path until a challenge on it can have been answered, and when that is.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceivedUntil {
    pub packets: usize,
    pub until: Duration,
    /// The path's round trips before, if packets of that time may still arrive.
    pub round_trips: Option<RoundTrips>,
}

/// Changes when a packet sent on a path is acknowledged: the mean round trip, its deviation, and the longest.
pub(super) type RoundTrips = (Duration, Duration, Option<Duration>);

/// A path that has not answered the client's challenge.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingChallenge {
    name: SocketAddr,
    /// When to challenge it, again if it was challenged before.
    pub due: Duration,
    wait: Duration,
    /// The number of the server's challenges before any of this, and before the client's last one.
    before: u64,
    heard: u64,
}

/// A path that the server may not have validated.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnvalidatedPath {
    name: SocketAddr,
    since: Duration,
    /// How long it may stay at its limit.
    patience: Duration,
    /// Since when it has been at its limit.
    limited: Option<Duration>,
    /// When to check next.
    pub due: Duration,
    /// The number of the server's challenges before.
    heard: u64,
    /// Bytes sent and received on it before.
    before: (u64, u64),
    /// Packets received on it, and when the last one came.
    last: (usize, Duration),
}

impl Mover {
    /// Expects the answer to a challenge on a path: one just sent, or, if the connection has moved there, a
    /// deferred one.
    pub(super) fn expect(&mut self, name: SocketAddr, moved: bool, quic: &Connection, now: Duration) {
        let wait = patience(quic);
        let due = now + if moved { DEFERRAL } else { wait };
        let heard = challenges(quic);
        self.challenge = Some(PendingChallenge { name, due, wait, before: heard, heard });
        if moved {
            self.stand(name, quic, now);
        }
    }

    /// The connection uses this path now; whether the server has validated it is still unknown.
    pub(super) fn stand(&mut self, name: SocketAddr, quic: &Connection, now: Duration) {
        let stats = stats(quic, name);
        self.unvalidated = Some(UnvalidatedPath {
            name,
            since: now,
            patience: patience(quic),
            limited: None,
            due: now + LOOK,
            // On a path that is probed before the move, the server may have sent its challenge already.
            heard: self
                .challenge
                .filter(|challenge| challenge.name == name)
                .map_or(challenges(quic), |challenge| challenge.before),
            before: stats.as_ref().map_or((0, 0), |stats| (stats.sent_bytes, stats.recv_bytes)),
            last: (0, now),
        });
    }

    /// Challenges a path when it is time to.
    pub(super) fn ask(&mut self, quic: &mut Connection, now: Duration) {
        let Some(challenge) = &mut self.challenge else { return };
        let is_open = quic.is_path_validated(challenge.name, self.remote) == Ok(false);
        if !is_open || self.failed.contains(&challenge.name) {
            self.challenge = None;
        } else if challenges(quic) > challenge.heard || challenge.due <= now {
            // An error if the server has retired its connection ID.
            let _ = quic.probe_path(challenge.name, self.remote);
            challenge.heard = challenges(quic);
            challenge.due = now + challenge.wait;
            challenge.wait *= 2;
        }
    }

    /// Whether the server still waits for the path in use to be validated, and cannot continue before.
    pub(super) fn is_starved(&mut self, quic: &Connection, now: Duration) -> bool {
        let Some(unvalidated) = &mut self.unvalidated else { return false };
        let Some(stats) = stats(quic, unvalidated.name).filter(|stats| stats.active) else {
            self.unvalidated = None;
            return false;
        };
        let (sent, received) =
            (stats.sent_bytes - unvalidated.before.0, stats.recv_bytes - unvalidated.before.1);
        if received > FACTOR * sent {
            self.unvalidated = None;
            self.renewals = 0;
            return false;
        }
        let is_fresh = stats.recv != unvalidated.last.0;
        if is_fresh {
            unvalidated.last = (stats.recv, now);
        }
        unvalidated.due = now + LOOK;
        // A server that is not permanently at the limit exceeds it.
        let arrived = sent.saturating_sub(stats.lost_bytes);
        let is_limited = FACTOR * arrived < received + LITTLE_BYTES;
        unvalidated.limited = is_limited.then(|| unvalidated.limited.unwrap_or(now));
        let is_stuck = unvalidated.limited.is_some_and(|since| now >= since + unvalidated.patience);
        let is_unasked = challenges(quic) == unvalidated.heard;
        let is_silent = is_unasked && now >= unvalidated.last.1 + SILENCE;
        // The due acknowledgement then precedes the PING, and makes room for the challenge.
        let is_ignored = is_unasked && is_fresh && now >= unvalidated.since + OBLIVION;
        let is_ours = quic.is_path_validated(unvalidated.name, self.remote) == Ok(true);
        self.migration.trying().is_none() && (is_ignored || is_ours && (is_stuck || is_silent))
    }

    /// Counts a packet as an answer if it cannot have been sent before the challenge.
    pub(super) fn listen(&mut self, quic: &mut Connection, now: Duration) {
        let Some(local) = self.migration.trying() else { return };
        let name = self.name(local);
        let Some(heard) = &mut self.heard else { return };
        let Some(stats) = stats(quic, name) else { return };
        if heard.is_answer(stats.recv, round_trips(&stats), now) {
            self.arrive(local, "by a packet that came on this path", quic, now);
        }
    }

    /// Moves once more, from another port.
    pub(super) fn renew(&mut self, quic: &mut Connection, sockets: &mut impl Sockets, now: Duration) {
        self.unvalidated = None;
        self.renewals += 1;
        let is_possible = quic.available_dcids() > 0 && quic.path_stats().count() < MAX_PATHS;
        if !is_possible || self.renewals > MAX_RENEWALS {
            return;
        }
        // Without a route, the kernel's next message decides.
        let Ok(added) = sockets.add(self.remote) else { return };
        self.go(added, added, true, quic, now);
        self.migration.renewed(added, "the server had not validated the path before");
    }
}

impl ReceivedUntil {
    pub(super) fn until_answer(stats: &PathStats, now: Duration) -> Self {
        // A little less than the shortest round trip, so that no answer is missed.
        let soonest = stats.min_rtt.unwrap_or_default() * 9 / 10;
        Self { packets: stats.recv, until: now + soonest, round_trips: Some(round_trips(stats)) }
    }

    /// Whether the packets received by now are an answer.
    pub(super) fn is_answer(&mut self, packets: usize, known: RoundTrips, now: Duration) -> bool {
        if now < self.until {
            self.packets = packets;
            return false;
        }
        packets > self.packets && self.round_trips != Some(known)
    }
}

fn round_trips(stats: &PathStats) -> RoundTrips {
    (stats.rtt, stats.rttvar, stats.max_rtt)
}

/// The timeout of a path with an unknown round trip time (RFC 9002 section 6.2.1: three of the connection's round
/// trips).
fn patience(quic: &Connection) -> Duration {
    let known = quic.path_stats().filter_map(|stats| stats.min_rtt).max();
    (known.unwrap_or(INITIAL) * ROUND_TRIPS).max(SHORTEST)
}

/// How many challenges the server has sent.
fn challenges(quic: &Connection) -> u64 {
    quic.stats().path_challenge_rx_count
}
