//! Decides what to do when the network has changed: a state machine without sockets, clock or QUIC.
//!
//! # Theory of operation
//!
//! Its inputs are what the kernel sees ([`Migration::see`]) and the results of the last step ([`Migration::began`],
//! [`Migration::validated`], [`Migration::failed`], [`Migration::hindered`]). It returns the next [`Step`] and
//! records all of it.
//!
//! ```text
//!                          see: another address is preferred
//!          settled  ─────────────────────────────────────────────▶  attempt (probed, or moved at once)
//!             ▲                                                      │     │
//!             ├── validated: the server has answered on the new path ┘     │
//!             └── failed, or preferred no more: where it was before ───────┘   tried again after a while
//! ```
//!
//! The goal is the address that the kernel prefers; the connection follows it according to the policy:
//!
//! * `probe` (RFC 9000 sections 8.2 and 9.1): the client probes the new path with a `PATH_CHALLENGE` while it uses
//!   the old one, and moves when the new path has answered. Data arrives on it two round trips after the change. If
//!   the old address is gone, waiting has no use, and the client moves at once, as with `immediate`.
//! * `immediate` (section 9.2): the connection moves at once. The first two packets on the new path are padded
//!   `PING`s, which are not probing frames. The server sends its data there, up to three times what it received
//!   until it has validated the path (section 9.3). Data arrives one round trip after the change. The client's
//!   `PATH_CHALLENGE` is deferred until the server has sent its own, as section 9.2 allows.
//! * `rebind`: another socket and nothing else, as behind a NAT that lost its mapping (section 9.3.3 uses this
//!   word).
//! * `none`: the connection stays where it is.
//!
//! An obstacle is remembered as a complaint until the goal is reached or gone, so that it can explain the end of a
//! connection.

mod record;

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

pub use record::{Counts, Event, Kind, Local};

/// How long after a failure to try again, if nothing changes before.
const RETRY: Duration = Duration::from_secs(1);
/// How soon to check again for what comes without a message: the end of the handshake, more connection IDs.
const SOON: Duration = Duration::from_millis(20);
/// How long a server may take to answer a new source; for validation quiche has timers.
const PATIENCE: Duration = Duration::from_secs(5);

/// What to do when the kernel prefers another address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Validate the new path, then move.
    #[default]
    Probe,
    /// Move, then validate.
    Immediate,
    /// Send from another socket without telling the server.
    Rebind,
    /// Do not move.
    None,
}

impl FromStr for Policy {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "probe" => Ok(Self::Probe),
            "immediate" => Ok(Self::Immediate),
            "rebind" => Ok(Self::Rebind),
            "none" => Ok(Self::None),
            _ => Err(format!("{name:?} is none of probe, immediate, rebind, none")),
        }
    }
}

/// What the kernel sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// The address with which it would reach the server, or why it cannot.
    pub preferred: Result<IpAddr, String>,
    /// Whether the address in use is still one of this machine's.
    pub present: bool,
}

/// What the connection allows now.
#[derive(Clone, Copy, Debug)]
pub struct Leave {
    /// Whether the handshake is complete, as RFC 9000 section 9 requires.
    pub established: bool,
    /// Why the server does not allow it.
    pub refusal: Option<&'static str>,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Probe the path from the preferred address, and stay on the one in use.
    Probe,
    /// Move to the path from the preferred address, and validate it then.
    Move,
    /// Send from another socket.
    Rebind,
    /// Move to this path, which is being probed: there is no other one.
    Finish(SocketAddr),
    /// Return to this path, which works again.
    Back(SocketAddr),
    /// Send something: the server has received nothing for a while.
    Nudge,
}

/// A path without an answer so far.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    local: SocketAddr,
    /// Whether it is in use.
    moved: bool,
    /// When to give up; `None` if quiche decides.
    until: Option<Duration>,
}

/// The state machine.
pub struct Migration {
    policy: Policy,
    /// The path of the connection, or the last one known to work.
    home: SocketAddr,
    attempt: Option<Attempt>,
    seen: Option<(SocketAddr, Sight)>,
    retry: Option<Duration>,
    complaint: Option<(Kind, String)>,
    events: Vec<Event>,
    counts: Counts,
}

impl Migration {
    /// A connection that uses this path.
    pub fn new(policy: Policy, local: SocketAddr) -> Self {
        Self {
            policy,
            home: local,
            attempt: None,
            seen: None,
            retry: None,
            complaint: None,
            events: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// The local end of the path in use.
    pub fn local(&self) -> SocketAddr {
        self.attempt.filter(|attempt| attempt.moved).map_or(self.home, |attempt| attempt.local)
    }

    /// When to look again, even if nothing changes.
    pub fn due(&self) -> Option<Duration> {
        let patience = self.attempt.and_then(|attempt| attempt.until);
        [self.retry, patience].into_iter().flatten().min()
    }

    /// Whether to look again now, though nothing has changed.
    pub fn wants_look(&self, now: Duration) -> bool {
        self.retry.is_some_and(|retry| retry <= now)
    }

    /// Gives up what has taken too long.
    pub fn expire(&mut self, now: Duration) {
        if self.attempt.and_then(|attempt| attempt.until).is_some_and(|until| until <= now) {
            self.give_up(now);
        }
    }

    /// The record so far.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The numbers of attempts.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Why the connection is not where it should be, if so.
    pub fn explanation(&self) -> Option<String> {
        let pending = || {
            let attempt = self.attempt?;
            Some(format!("nothing came on the new path from {} yet", attempt.local))
        };
        let reason = self.complaint.as_ref().map(|(_, reason)| reason.clone()).or_else(pending)?;
        let change = self.events.iter().rev().find(|event| event.kind == Kind::Changed)?;
        Some(format!("the network changed after {:.3} s: {reason}", change.at.as_secs_f64()))
    }

    /// Takes what the kernel sees now, and returns what to do.
    pub fn see(&mut self, sight: &Sight, leave: Leave, now: Duration) -> Option<Step> {
        let was_cut_off = self.note(sight, now);
        self.retry = None;
        let preferred = match &sight.preferred {
            Ok(address) => *address,
            Err(reason) => {
                let reason = format!("no address of this machine reaches the server ({reason})");
                self.complain(Kind::Unreachable, None, reason, now);
                return None;
            }
        };
        if let Some(attempt) = self.attempt {
            if attempt.local.ip() == preferred {
                return (!attempt.moved && !sight.present).then_some(Step::Finish(attempt.local));
            }
            self.fall("the kernel prefers another address by now", now);
            if self.home.ip() == preferred && self.policy != Policy::Rebind && attempt.moved {
                self.complaint = None;
                return Some(Step::Back(self.home));
            }
        }
        if self.home.ip() == preferred {
            self.complaint = None;
            return (was_cut_off && sight.present).then_some(Step::Nudge);
        }
        self.choose(sight, preferred, leave, now)
    }

    /// Records a step: `local` is probed, or `moved` to.
    pub fn began(&mut self, kind: Kind, local: SocketAddr, now: Duration) {
        self.complaint = None;
        self.counts.tried += 1;
        let until = (kind == Kind::Rebound).then(|| now + PATIENCE);
        self.attempt = Some(Attempt { local, moved: kind != Kind::Probed, until });
        self.record_event(kind, Some(Local::Socket(local)), String::new(), now);
    }

    /// Records another move from the same address: `local` replaces a path that did not work.
    pub fn renewed(&mut self, local: SocketAddr, reason: &str) {
        let moved = self.events.last_mut().filter(|event| event.local == Some(Local::Socket(local)));
        if let Some(event) = moved {
            reason.clone_into(&mut event.reason);
        }
    }

    /// Records that the path being tried is in use from now on, because there was no time to wait for its answer.
    pub fn finished(&mut self, now: Duration) {
        if let Some(attempt) = &mut self.attempt {
            attempt.moved = true;
            let local = attempt.local;
            self.record_event(
                Kind::Migrated,
                Some(Local::Socket(local)),
                "the old address is gone".to_owned(),
                now,
            );
        }
    }

    /// Records that the connection has returned to an earlier path.
    pub fn went_back(&mut self, now: Duration) {
        let reason = "back to the path before".to_owned();
        self.record_event(Kind::Migrated, Some(Local::Socket(self.home)), reason, now);
    }

    /// Records that a step could not be taken.
    pub fn hindered(&mut self, kind: Kind, reason: String, now: Duration) {
        let wanted = self.seen.as_ref().and_then(|(_, sight)| sight.preferred.clone().ok());
        self.complain(kind, wanted, reason, now);
        self.retry = Some(now + if kind == Kind::Waiting { SOON } else { RETRY });
    }

    /// Records the server's answer on a path, and any defect of it; returns whether to move there now.
    pub fn validated(&mut self, local: SocketAddr, reason: &str, now: Duration) -> bool {
        let Some(attempt) = self.attempt.take_if(|attempt| attempt.local == local) else { return false };
        self.counts.succeeded += 1;
        self.home = local;
        self.record_event(Kind::Validated, Some(Local::Socket(local)), reason.to_owned(), now);
        if !attempt.moved {
            self.record_event(Kind::Migrated, Some(Local::Socket(local)), String::new(), now);
        }
        !attempt.moved
    }

    /// Records that a path did not answer; the connection is where it was before.
    pub fn failed(&mut self, local: SocketAddr, now: Duration) {
        if self.attempt.is_some_and(|attempt| attempt.local == local) {
            self.give_up(now);
        }
    }

    /// Records that changes are not seen.
    pub fn unwatched(&mut self, reason: String, now: Duration) {
        self.record_event(Kind::Unwatched, None, reason, now);
    }

    /// The path being tried, if any.
    pub fn trying(&self) -> Option<SocketAddr> {
        self.attempt.map(|attempt| attempt.local)
    }

    /// The connection's path, or the one to which it falls back.
    pub fn home(&self) -> SocketAddr {
        self.home
    }

    /// Records news; returns whether the address in use was unusable before.
    fn note(&mut self, sight: &Sight, now: Duration) -> bool {
        let local = self.local();
        let before = self.seen.replace((local, sight.clone()));
        let before = before.unwrap_or_else(|| (local, Sight { preferred: Ok(local.ip()), present: true }));
        let comparable = before.0.ip() == local.ip();
        let presence = comparable && before.1.present != sight.present;
        if presence || before.1.preferred != sight.preferred {
            let reason = match (presence, sight.present) {
                (true, true) => format!("{} is back", local.ip()),
                (true, false) => format!("{} is gone", local.ip()),
                _ => String::new(),
            };
            self.record_event(
                Kind::Changed,
                sight.preferred.as_ref().ok().copied().map(Local::Address),
                reason,
                now,
            );
        }
        comparable && (!before.1.present || before.1.preferred.is_err())
    }

    fn choose(&mut self, sight: &Sight, wanted: IpAddr, leave: Leave, now: Duration) -> Option<Step> {
        if self.policy == Policy::None {
            let state = if sight.present { "is used" } else { "is gone" };
            let reason =
                format!("{} {state}, and --migration none keeps the connection there", self.home.ip());
            self.complain(Kind::Stayed, Some(wanted), reason, now);
            return None;
        }
        if !leave.established {
            self.hindered(Kind::Waiting, "the handshake is not over".to_owned(), now);
            return None;
        }
        // A NAT does not ask the server.
        if let Some(refusal) = leave.refusal.filter(|_| self.policy != Policy::Rebind) {
            let state = if sight.present { "is still used" } else { "is gone" };
            let reason = format!("{refusal}, and {} {state}", self.home.ip());
            if self.complain(Kind::Refused, Some(wanted), reason, now) {
                self.counts.tried += 1;
                self.counts.failed += 1;
            }
            return None;
        }
        Some(match self.policy {
            Policy::Probe if sight.present => Step::Probe,
            Policy::Rebind => Step::Rebind,
            _ => Step::Move,
        })
    }

    fn give_up(&mut self, now: Duration) {
        let Some(attempt) = self.attempt else { return };
        self.fall("the server did not answer on this path", now);
        // The missing route explains more.
        self.complaint
            .get_or_insert((Kind::Failed, format!("nothing came on the new path from {}", attempt.local)));
        // Another socket would be another rebinding; QUIC itself retransmits from this one.
        self.retry = (self.policy != Policy::Rebind).then(|| now + RETRY);
    }

    fn fall(&mut self, reason: &str, now: Duration) {
        let Some(attempt) = self.attempt.take() else { return };
        self.counts.failed += 1;
        // A replaced socket does not come back.
        if self.policy == Policy::Rebind {
            self.home = attempt.local;
        }
        self.record_event(Kind::Failed, Some(Local::Socket(attempt.local)), reason.to_owned(), now);
    }

    /// Whether this complaint is new; a continuing one is recorded once.
    fn complain(&mut self, kind: Kind, local: Option<IpAddr>, reason: String, now: Duration) -> bool {
        let fresh = Some((kind, reason));
        if self.complaint == fresh {
            return false;
        }
        self.complaint.clone_from(&fresh);
        if let Some((kind, reason)) = fresh {
            self.record_event(kind, local.map(Local::Address), reason, now);
        }
        true
    }

    fn record_event(&mut self, kind: Kind, local: Option<Local>, reason: String, at: Duration) {
        self.events.push(Event { at, kind, local, reason });
    }
}

#[cfg(test)]
mod tests;
