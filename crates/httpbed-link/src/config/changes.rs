//! What changes while a link runs: changes, when they are due, and what triggers them.

use link_model::{Change, Nanos, bounds};
use serde::{Deserialize, Deserializer};

use super::Link;

/// Times of a schedule beyond 30 days are mistakes of unit.
const LATEST_NS: u64 = 30 * 24 * bounds::HOUR_NS;

/// A change of one direction of a link or of both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// 0 is from the first host to the second; `None` is both.
    pub direction: Option<usize>,
    /// What changes.
    pub change: Change,
}

/// A change at a given time.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(from = "ScheduledDocument")]
pub struct Scheduled {
    /// Since the start.
    pub at: Nanos,
    /// What happens then.
    pub target: Target,
}

/// Something that happens once, because of packets that pass.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "TriggerDocument")]
pub struct Trigger {
    /// Its name in reports.
    pub name: String,
    /// What it waits for.
    pub when: When,
    /// Time from then to the change.
    pub after: Nanos,
    /// The change; without one the trigger is only reported.
    pub target: Option<Target>,
}

/// What a trigger waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "WhenDocument")]
pub enum When {
    /// At least so many bytes of IP packets have been delivered since the start.
    Delivered {
        /// Of the link.
        direction: usize,
        /// How many.
        bytes: u64,
    },
    /// The first packet with TCP or UDP payload arrives.
    FirstPacket {
        /// Of the link.
        direction: usize,
    },
    /// The handshake of a connection is complete.
    Handshake,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScheduledDocument {
    #[serde(deserialize_with = "bounds::whole::<_, _, 0, LATEST_NS>")]
    at_ns: Nanos,
    #[serde(default, deserialize_with = "side")]
    direction: Option<usize>,
    change: Change,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TriggerDocument {
    name: String,
    when: When,
    #[serde(default, deserialize_with = "bounds::duration")]
    after_ns: Nanos,
    #[serde(default, deserialize_with = "side")]
    direction: Option<usize>,
    change: Option<Change>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WhenDocument {
    delivered_bytes: Option<u64>,
    #[serde(default)]
    first_packet: bool,
    #[serde(default)]
    handshake: bool,
    #[serde(default, deserialize_with = "side")]
    direction: Option<usize>,
}

/// Reads a direction of a link, or `null` for both.
pub fn side<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    match Option::<u64>::deserialize(deserializer)? {
        None => Ok(None),
        Some(0) => Ok(Some(0)),
        Some(1) => Ok(Some(1)),
        Some(other) => {
            Err(serde::de::Error::custom(format_args!("the direction {other} is not within 0 to 1")))
        }
    }
}

impl From<ScheduledDocument> for Scheduled {
    fn from(document: ScheduledDocument) -> Self {
        let ScheduledDocument { at_ns, direction, change } = document;
        Self { at: at_ns, target: Target { direction, change } }
    }
}

impl From<TriggerDocument> for Trigger {
    fn from(document: TriggerDocument) -> Self {
        let TriggerDocument { name, when, after_ns, direction, change } = document;
        Self { name, when, after: after_ns, target: change.map(|change| Target { direction, change }) }
    }
}

impl TryFrom<WhenDocument> for When {
    type Error = &'static str;

    fn try_from(document: WhenDocument) -> Result<Self, Self::Error> {
        let WhenDocument { delivered_bytes, first_packet, handshake, direction } = document;
        match (delivered_bytes, first_packet, handshake) {
            (Some(0), false, false) => Err("delivered_bytes is 0; use at least 1"),
            (Some(bytes), false, false) => {
                direction.map(|direction| Self::Delivered { direction, bytes }).ok_or("direction is missing")
            }
            (None, true, false) => {
                direction.map(|direction| Self::FirstPacket { direction }).ok_or("direction is missing")
            }
            (None, false, true) if direction.is_none() => Ok(Self::Handshake),
            (None, false, true) => Err("a handshake has both directions: leave the direction out"),
            _ => Err(
                "use exactly one of \"delivered_bytes\": NUMBER, \"first_packet\": true, \"handshake\": true",
            ),
        }
    }
}

impl Target {
    /// The directions that it changes.
    pub fn directions(self) -> impl Iterator<Item = usize> {
        (0..2).filter(move |side| self.direction.is_none_or(|direction| direction == *side))
    }

    /// Checks that the change has an effect in each of its directions; a change without one would pass unnoticed.
    ///
    /// # Errors
    /// Which direction cannot make it, and why.
    pub fn check(self, link: &Link) -> Result<(), String> {
        if self.change == Change::Rebind {
            return self.check_rebinding(link.nat);
        }
        let obstacle =
            |side: usize| self.change.obstacle(&link.directions[side]).map(|reason| (side, reason));
        match self.directions().find_map(obstacle) {
            None => Ok(()),
            Some((side, reason)) => Err(format!("direction {side} {reason}")),
        }
    }

    fn check_rebinding(self, nat: bool) -> Result<(), String> {
        if !nat {
            return Err("the link has no NAT to rebind: give it \"nat\": true".to_owned());
        }
        if self.direction.is_some() {
            return Err("a mapping covers both directions: leave the direction out".to_owned());
        }
        Ok(())
    }
}

impl Link {
    /// Checks that the link can make all its changes, and that no two triggers have one name.
    pub(super) fn check_changes(&self) -> Result<(), String> {
        for (number, scheduled) in self.schedule.iter().enumerate() {
            let mistake = scheduled.target.check(self);
            mistake.map_err(|reason| format!("schedule[{number}].change: {reason}"))?;
        }
        for (number, Trigger { name, target, .. }) in self.triggers.iter().enumerate() {
            let mistake = target.map_or(Ok(()), |target| target.check(self));
            mistake.map_err(|reason| format!("triggers[{number}].change: {reason}"))?;
            if name.is_empty() {
                return Err(format!("triggers[{number}].name: it is empty"));
            }
            if self.triggers[..number].iter().any(|earlier| earlier.name == *name) {
                return Err(format!("triggers: the name {name:?} is used twice"));
            }
        }
        Ok(())
    }
}
