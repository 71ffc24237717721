//! What to do when the network has changed: a machine without sockets, clock or QUIC.
//!
//! # Theory of operation
//!
//! It is told what the kernel sees ([`Migration::see`]) and what became of the last step ([`Migration::began`],
//! [`Migration::validated`], [`Migration::failed`], [`Migration::hindered`]); it answers with the next [`Step`], and
//! keeps the record of all of it.
//!
//! ```text
//!                          see: another address is preferred
//!          settled  ─────────────────────────────────────────────▶  attempt (probed, or moved at once)
//!             ▲                                                      │     │
//!             ├── validated: the server has answered on the new path ┘     │
//!             └── failed, or preferred no more: where it was before ───────┘   tried again after a while
//! ```
//!
//! The kernel's preferred address is the wish; the connection follows it as the policy says:
//!
//! * `probe` (RFC 9000 sections 8.2 and 9.1): the new path is probed with a `PATH_CHALLENGE` while the old one is in
//!   use, and taken when it has answered. Data comes on it two round trips after the change. Where the old address
//!   is gone there is nothing to lose by going at once, so that is what is done: as with `immediate`.
//! * `immediate` (section 9.2): the connection moves at once. The first two packets on the new path are `PING`s, which
//!   are not probing frames, both padded: the server sends its data there, three times what it got until it has
//!   validated the path (section 9.3). Data comes one round trip after the change. The own `PATH_CHALLENGE` is
//!   deferred until the server has sent its own, as section 9.2 allows.
//! * `rebind`: another socket and nothing else, as behind a NAT that forgot its mapping (section 9.3.3 calls it so).
//! * `none`: the connection stays where it is.
//!
//! What hinders it is remembered as a complaint until the wish is fulfilled or gone, so that the end of a
//! connection can be explained by it.

mod record;

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

pub use record::{Counts, Event, Kind, Local};

/// How long after a failure it is tried again, if nothing changes before.
const RETRY: Duration = Duration::from_secs(1);
/// How soon to look again for what comes by itself: the end of the handshake, more connection IDs.
const SOON: Duration = Duration::from_millis(20);
/// How long a server may take to answer a new source; validation has quiche's timers instead.
const PATIENCE: Duration = Duration::from_secs(5);

/// What to do when the kernel prefers another address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Validate the new path, then go.
    #[default]
    Probe,
    /// Go, and validate then.
    Immediate,
    /// Send from another socket and say nothing.
    Rebind,
    /// Stay.
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
    /// The address that it would reach the server with, or why it cannot.
    pub preferred: Result<IpAddr, String>,
    /// Whether the address in use is still one of this machine's.
    pub present: bool,
}

/// What the connection allows now.
#[derive(Clone, Copy, Debug)]
pub struct Leave {
    /// RFC 9000 section 9 wants the handshake over.
    pub established: bool,
    /// Why the server will not have it.
    pub refusal: Option<&'static str>,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Probe the path from the preferred address, staying on the one in use.
    Probe,
    /// Move to the path from the preferred address, and validate it then.
    Move,
    /// Send from another socket.
    Rebind,
    /// Move to this path, which is being probed: there is no other.
    Finish(SocketAddr),
    /// Go back to this path, which is fine again.
    Back(SocketAddr),
    /// Send something: the server has heard nothing for a while.
    Nudge,
}

/// A path that has not answered yet.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    local: SocketAddr,
    /// Whether it is in use already.
    moved: bool,
    /// When to give up; none where quiche says so.
    until: Option<Duration>,
}

/// The machine.
pub struct Migration {
    policy: Policy,
    /// Where the connection is, or was last known to work.
    home: SocketAddr,
    attempt: Option<Attempt>,
    seen: Option<(SocketAddr, Sight)>,
    retry: Option<Duration>,
    complaint: Option<(Kind, String)>,
    events: Vec<Event>,
    counts: Counts,
}

impl Migration {
    /// A connection that is on the path from there.
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

    /// This end of the path in use.
    pub fn local(&self) -> SocketAddr {
        self.attempt.filter(|attempt| attempt.moved).map_or(self.home, |attempt| attempt.local)
    }

    /// When to look again, whether something changes or not.
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

    /// What happened so far.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// How often it was tried.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Why the connection is not where it should be, if it is not.
    pub fn explanation(&self) -> Option<String> {
        let pending = || {
            let attempt = self.attempt?;
            Some(format!("nothing came on the new path from {} yet", attempt.local))
        };
        let reason = self.complaint.as_ref().map(|(_, reason)| reason.clone()).or_else(pending)?;
        let change = self.events.iter().rev().find(|event| event.kind == Kind::Changed)?;
        Some(format!("the network changed after {:.3} s: {reason}", change.at.as_secs_f64()))
    }

    /// Takes what the kernel sees now and says what to do about it.
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

    /// A step has been taken: `local` is probed, or `moved` to.
    pub fn began(&mut self, kind: Kind, local: SocketAddr, now: Duration) {
        self.complaint = None;
        self.counts.tried += 1;
        let until = (kind == Kind::Rebound).then(|| now + PATIENCE);
        self.attempt = Some(Attempt { local, moved: kind != Kind::Probed, until });
        self.tell(kind, Some(Local::Socket(local)), String::new(), now);
    }

    /// The connection has moved once more, from the same address: `local` instead of a path that did not get it going.
    pub fn renewed(&mut self, local: SocketAddr, reason: &str) {
        let moved = self.events.last_mut().filter(|event| event.local == Some(Local::Socket(local)));
        if let Some(event) = moved {
            reason.clone_into(&mut event.reason);
        }
    }

    /// The path that is being tried is in use from now on; there was no time to wait for its answer.
    pub fn finished(&mut self, now: Duration) {
        if let Some(attempt) = &mut self.attempt {
            attempt.moved = true;
            let local = attempt.local;
            self.tell(Kind::Migrated, Some(Local::Socket(local)), "the old address is gone".to_owned(), now);
        }
    }

    /// The connection is on a path again that it was on before.
    pub fn went_back(&mut self, now: Duration) {
        let reason = "back to the path before".to_owned();
        self.tell(Kind::Migrated, Some(Local::Socket(self.home)), reason, now);
    }

    /// A step could not be taken.
    pub fn hindered(&mut self, kind: Kind, reason: String, now: Duration) {
        let wanted = self.seen.as_ref().and_then(|(_, sight)| sight.preferred.clone().ok());
        self.complain(kind, wanted, reason, now);
        self.retry = Some(now + if kind == Kind::Waiting { SOON } else { RETRY });
    }

    /// The server has answered on a path, and how if not as it should; whether the connection has to move there now.
    pub fn validated(&mut self, local: SocketAddr, reason: &str, now: Duration) -> bool {
        let Some(attempt) = self.attempt.take_if(|attempt| attempt.local == local) else { return false };
        self.counts.succeeded += 1;
        self.home = local;
        self.tell(Kind::Validated, Some(Local::Socket(local)), reason.to_owned(), now);
        if !attempt.moved {
            self.tell(Kind::Migrated, Some(Local::Socket(local)), String::new(), now);
        }
        !attempt.moved
    }

    /// No answer on a path; the connection is where it was before.
    pub fn failed(&mut self, local: SocketAddr, now: Duration) {
        if self.attempt.is_some_and(|attempt| attempt.local == local) {
            self.give_up(now);
        }
    }

    /// Changes are not seen.
    pub fn unwatched(&mut self, reason: String, now: Duration) {
        self.tell(Kind::Unwatched, None, reason, now);
    }

    /// The path that is tried, if one is.
    pub fn trying(&self) -> Option<SocketAddr> {
        self.attempt.map(|attempt| attempt.local)
    }

    /// Where the connection is, or where it falls back to.
    pub fn home(&self) -> SocketAddr {
        self.home
    }

    /// Tells of what is new in it; whether the address in use could not be used before.
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
            self.tell(Kind::Changed, sight.preferred.as_ref().ok().copied().map(Local::Address), reason, now);
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
            let state = if sight.present { "is used still" } else { "is gone" };
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
        // That there is no route any more says more.
        self.complaint
            .get_or_insert((Kind::Failed, format!("nothing came on the new path from {}", attempt.local)));
        // Another socket once more would be another rebinding; QUIC itself asks again from this one.
        self.retry = (self.policy != Policy::Rebind).then(|| now + RETRY);
    }

    fn fall(&mut self, reason: &str, now: Duration) {
        let Some(attempt) = self.attempt.take() else { return };
        self.counts.failed += 1;
        // A socket that was exchanged does not come back.
        if self.policy == Policy::Rebind {
            self.home = attempt.local;
        }
        self.tell(Kind::Failed, Some(Local::Socket(attempt.local)), reason.to_owned(), now);
    }

    /// Whether it is a new complaint; one that goes on is told once.
    fn complain(&mut self, kind: Kind, local: Option<IpAddr>, reason: String, now: Duration) -> bool {
        let fresh = Some((kind, reason));
        if self.complaint == fresh {
            return false;
        }
        self.complaint.clone_from(&fresh);
        if let Some((kind, reason)) = fresh {
            self.tell(kind, local.map(Local::Address), reason, now);
        }
        true
    }

    fn tell(&mut self, kind: Kind, local: Option<Local>, reason: String, at: Duration) {
        self.events.push(Event { at, kind, local, reason });
    }
}

#[cfg(test)]
mod tests;
