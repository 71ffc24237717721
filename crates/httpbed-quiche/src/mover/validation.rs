//! Both ends validate a new path: when our challenge is sent, and what is done where the server's never comes.
//!
//! # Theory of operation
//!
//! A server may send three times what it got on a path until its challenge there is answered (RFC 9000 sections 8.1
//! and 9.3). How that can go wrong is shown by nginx (1.26 and 1.30): a challenge and a response count for its congestion
//! window, and what does not fit into that is dropped without a word. Challenges are repeated after 1 and 3 seconds, but not
//! within an allowance below 1200 bytes, and after 7 seconds the connection is over, which the client is not told, for
//! the same reason. A download leaves room for one packet as a rule: if the response to our challenge takes
//! it, there is none for the server's own; and if we, content with the response, send acknowledgements of 50 bytes from
//! then on, the data takes three times 50 bytes, and what is left is never enough for a challenge. So:
//!
//! * Our challenge on a path that was moved to is *deferred* until the server has sent its own, as section 9.2 allows, and
//!   goes in the datagram of the response; at the latest it goes after half a second. Until it is answered quiche pads all
//!   packets there, responses with them as section 8.2.2 wants: the server's allowance grows, so that it can
//!   send data and try again.
//! * A challenge that stays unanswered is *repeated* after three round trips, the double of that, and so on: what a new
//!   connection's Initial packet would wait for with a known round trip (section 8.2.1; RFC 9002 section 6.2.2). quiche
//!   repeats one only if its packet is not acknowledged, and nginx acknowledges those it does not answer.
//! * A path that the server does not validate is *renewed*: we move once more, from another port of the same address, with
//!   unused connection IDs at both ends (section 9.5). The server validates it anew. That it has not validated a
//!   path shows in that it has never sent more than three times what it got, and has stayed at that limit, fallen
//!   silent, or sent no challenge for long; then an acknowledgement goes with the move and makes room for one.

use std::net::SocketAddr;
use std::time::Duration;

use quiche::{Connection, PathStats};

use super::{MOST_PATHS, Mover, Sockets, stats};

/// How long the answer of a server that sends data on the new path is waited for before the data will do.
pub(super) const GRACE: Duration = Duration::from_secs(1);
/// How long the server's challenge is waited for before ours is sent.
const DEFERRAL: Duration = Duration::from_millis(500);
/// Round trips until a challenge is repeated, or a path given up that the server does not validate.
const ROUND_TRIPS: u32 = 3;
/// At least so long.
const SHORTEST: Duration = Duration::from_millis(50);
/// A round trip where none was measured (RFC 9002 section 6.2.2).
const INITIAL: Duration = Duration::from_millis(333);
/// The silence of a server that has something to send but may not.
const SILENCE: Duration = Duration::from_secs(1);
/// How long a server may send data and no challenge: nginx tries again after a second.
const OBLIVION: Duration = Duration::from_millis(1500);
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// What an unvalidated path carries back for each byte.
const FACTOR: u64 = 3;
/// An allowance that leaves no room for a challenge and a response, which are padded to 1200 bytes each.
const LITTLE_BYTES: u64 = 2400;
/// Moves without a change of the network.
const MOST_RENEWALS: u32 = 3;

/// Packets received on a path until a challenge on it can have been answered, and when that is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    pub packets: usize,
    pub until: Duration,
    /// What was known of its round trips before, where packets of before may still be on their way.
    pub round_trips: Option<RoundTrips>,
}

/// Changes when something sent on a path is acknowledged: their mean, its deviation, and the longest.
pub(super) type RoundTrips = (Duration, Duration, Option<Duration>);

/// A path that has not answered our challenge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asking {
    name: SocketAddr,
    /// When it is challenged, once more if it was before.
    pub due: Duration,
    wait: Duration,
    /// The server's challenges before all of it, and before ours was sent last.
    before: u64,
    heard: u64,
}

/// A path that the server may not have validated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    name: SocketAddr,
    since: Duration,
    /// How long it may be at its limit.
    patience: Duration,
    /// Since when it has been.
    limited: Option<Duration>,
    /// When to look next.
    pub due: Duration,
    /// The server's challenges before.
    heard: u64,
    /// What had been sent and received on it before, in bytes.
    before: (u64, u64),
    /// Packets received on it, and when the last was seen.
    last: (usize, Duration),
}

impl Mover {
    /// Expects the answer to a challenge on a path: to one that has just been asked for, or, where the connection has
    /// moved there, to one that is deferred.
    pub(super) fn expect(&mut self, name: SocketAddr, moved: bool, quic: &Connection, now: Duration) {
        let wait = patience(quic);
        let due = now + if moved { DEFERRAL } else { wait };
        let heard = challenges(quic);
        self.asking = Some(Asking { name, due, wait, before: heard, heard });
        if moved {
            self.stand(name, quic, now);
        }
    }

    /// The connection is on this path now; what the server thinks of it is to be seen.
    pub(super) fn stand(&mut self, name: SocketAddr, quic: &Connection, now: Duration) {
        let stats = stats(quic, name);
        self.standing = Some(Standing {
            name,
            since: now,
            patience: patience(quic),
            limited: None,
            due: now + LOOK,
            // Of a path that is probed before it is moved to the server may have asked already.
            heard: self
                .asking
                .filter(|asking| asking.name == name)
                .map_or(challenges(quic), |asking| asking.before),
            before: stats.as_ref().map_or((0, 0), |stats| (stats.sent_bytes, stats.recv_bytes)),
            last: (0, now),
        });
    }

    /// Challenges a path when it is time to.
    pub(super) fn ask(&mut self, quic: &mut Connection, now: Duration) {
        let Some(asking) = &mut self.asking else { return };
        let is_open = quic.is_path_validated(asking.name, self.remote) == Ok(false);
        if !is_open || self.failed.contains(&asking.name) {
            self.asking = None;
        } else if challenges(quic) > asking.heard || asking.due <= now {
            // Refused where the server has retired its connection ID.
            let _ = quic.probe_path(asking.name, self.remote);
            asking.heard = challenges(quic);
            asking.due = now + asking.wait;
            asking.wait *= 2;
        }
    }

    /// Whether the server still waits for the path in use to be validated, and cannot go on before.
    pub(super) fn is_starved(&mut self, quic: &Connection, now: Duration) -> bool {
        let Some(standing) = &mut self.standing else { return false };
        let Some(stats) = stats(quic, standing.name).filter(|stats| stats.active) else {
            self.standing = None;
            return false;
        };
        let (sent, received) = (stats.sent_bytes - standing.before.0, stats.recv_bytes - standing.before.1);
        if received > FACTOR * sent {
            self.standing = None;
            self.renewals = 0;
            return false;
        }
        let is_fresh = stats.recv != standing.last.0;
        if is_fresh {
            standing.last = (stats.recv, now);
        }
        standing.due = now + LOOK;
        // Who is not at the limit for good gets beyond it.
        let arrived = sent.saturating_sub(stats.lost_bytes);
        let is_limited = FACTOR * arrived < received + LITTLE_BYTES;
        standing.limited = is_limited.then(|| standing.limited.unwrap_or(now));
        let is_stuck = standing.limited.is_some_and(|since| now >= since + standing.patience);
        let is_unasked = challenges(quic) == standing.heard;
        let is_silent = is_unasked && now >= standing.last.1 + SILENCE;
        // The acknowledgement that is due goes in front of the PING then, and makes room for the challenge.
        let is_ignored = is_unasked && is_fresh && now >= standing.since + OBLIVION;
        let is_ours = quic.is_path_validated(standing.name, self.remote) == Ok(true);
        self.migration.trying().is_none() && (is_ignored || is_ours && (is_stuck || is_silent))
    }

    /// Takes a packet for an answer where it cannot have been on its way before.
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
        self.standing = None;
        self.renewals += 1;
        let is_possible = quic.available_dcids() > 0 && quic.path_stats().count() < MOST_PATHS;
        if !is_possible || self.renewals > MOST_RENEWALS {
            return;
        }
        // Without a route the kernel's next word is waited for.
        let Ok(added) = sockets.add(self.remote) else { return };
        self.go(added, added, true, quic, now);
        self.migration.renewed(added, "the server had not validated the path before");
    }
}

impl Heard {
    pub(super) fn until_answer(stats: &PathStats, now: Duration) -> Self {
        // A little less than the shortest round trip: an answer must not be missed.
        let soonest = stats.min_rtt.unwrap_or_default() * 9 / 10;
        Self { packets: stats.recv, until: now + soonest, round_trips: Some(round_trips(stats)) }
    }

    /// Whether what has been received by now is an answer.
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

/// What a path of unknown round trip time is given (RFC 9002 section 6.2.1: three of the connection's round trips).
fn patience(quic: &Connection) -> Duration {
    let known = quic.path_stats().filter_map(|stats| stats.min_rtt).max();
    (known.unwrap_or(INITIAL) * ROUND_TRIPS).max(SHORTEST)
}

/// How many the server has sent.
fn challenges(quic: &Connection) -> u64 {
    quic.stats().path_challenge_rx_count
}
