//! What changes while a link runs: changes, when they are due, and what triggers them.

use link_model::{Change, Nanos};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::LONGEST_NS;
use super::direction::Direction;
use super::rate::bit_s;
use super::reading::Field;

/// Times of a schedule beyond 30 days are mistakes of unit.
const LATEST_NS: u64 = 30 * 24 * 3_600_000_000_000;

/// A change of one direction of a link or of both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// 0 is from the first host to the second; `None` is both.
    pub direction: Option<usize>,
    /// What changes.
    pub change: Change,
}

/// A change at a given time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scheduled {
    /// Since the start.
    pub at: Nanos,
    /// What happens then.
    pub target: Target,
}

/// Something that happens once, because of what passes.
#[derive(Clone, Debug, PartialEq)]
pub struct Trigger {
    /// By which it is told.
    pub name: String,
    /// What it waits for.
    pub when: When,
    /// Time from then to the change.
    pub after: Nanos,
    /// The change, if it is more than a word.
    pub target: Option<Target>,
}

/// What a trigger waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// The handshake of a connection is over.
    Handshake,
}

/// What of a link a change has to fit.
#[derive(Clone, Copy, Debug)]
pub struct Changeable<'a> {
    /// From the first host to the second, and back.
    pub directions: &'a [Direction; 2],
    /// Whether it has a network address translator.
    pub nat: bool,
}

impl Target {
    /// The directions that it changes.
    pub fn directions(self) -> impl Iterator<Item = usize> {
        (0..2).filter(move |side| self.direction.is_none_or(|direction| direction == *side))
    }

    /// Why it would not do in some direction what it says; a silent change of nothing would be worse.
    #[must_use]
    pub fn fault(self, of: Changeable<'_>) -> Option<String> {
        let (fits, reason): (fn(&Direction) -> bool, _) = match self.change {
            Change::Rate(_) => {
                (Direction::has_changeable_rate, "has no constant rate or token bucket to change")
            }
            Change::Loss(_) => (
                Direction::has_loss_stream,
                "has no random loss whose stream the change could go on with: give it one of probability 0",
            ),
            Change::Rebind => return self.fault_of_rebinding(of.nat).map(str::to_owned),
            _ => return None,
        };
        let side = self.directions().find(|side| !fits(&of.directions[*side]))?;
        Some(format!("direction {side} {reason}"))
    }

    const fn fault_of_rebinding(self, nat: bool) -> Option<&'static str> {
        if !nat {
            return Some("there is no NAT whose mappings could be forgotten: give the link \"nat\": true");
        }
        if self.direction.is_some() {
            return Some("a mapping is of both directions: leave the direction out");
        }
        None
    }

    /// Reads `direction` and `change` of an object.
    pub(crate) fn read(direction: Field<'_>, change: &Field<'_>) -> Option<Self> {
        let direction = direction.given().map(|field| side(&field));
        read_change(change).map(|change| Self { direction, change })
    }
}

/// Reads the schedule of a link.
pub fn schedule(field: &Field<'_>, of: Changeable<'_>) -> Vec<Scheduled> {
    field.items().iter().filter_map(|item| scheduled(item, of)).collect()
}

fn scheduled(field: &Field<'_>, of: Changeable<'_>) -> Option<Scheduled> {
    let fields = field.fields(&["at_ns", "direction", "change"]);
    let at = fields.get("at_ns").whole(0..=LATEST_NS);
    let change = fields.get("change");
    let target = Target::read(fields.get("direction"), &change)?;
    refuse_faults(target, &change, of);
    Some(Scheduled { at, target })
}

/// Reads the triggers of a link.
pub fn triggers(field: &Field<'_>, of: Changeable<'_>) -> Vec<Trigger> {
    let items = field.items();
    let triggers: Vec<Trigger> = items.iter().filter_map(|item| trigger(item, of)).collect();
    for (number, Trigger { name, .. }) in triggers.iter().enumerate() {
        if triggers[..number].iter().any(|earlier| earlier.name == *name) {
            field.wrong(format_args!("the name {name:?} is used twice"));
        }
    }
    triggers
}

fn trigger(field: &Field<'_>, of: Changeable<'_>) -> Option<Trigger> {
    let fields = field.fields(&["name", "when", "after_ns", "direction", "change"]);
    let name = fields.get("name").text().to_owned();
    let when = when(&fields.get("when"));
    let after = fields.get("after_ns").given().map_or(0, |field| field.whole(0..=LONGEST_NS));
    let change = fields.get("change");
    let target = match change.clone().given() {
        Some(change) => Some(Target::read(fields.get("direction"), &change)?),
        None => None,
    };
    if let Some(target) = target {
        refuse_faults(target, &change, of);
    }
    Some(Trigger { name, when: when?, after, target })
}

fn when(field: &Field<'_>) -> Option<When> {
    const KINDS: [&str; 3] = ["delivered_bytes", "first_packet", "handshake"];
    let fields = field.fields(&[KINDS[0], KINDS[1], KINDS[2], "direction"]);
    let kind = fields.only(&KINDS)?;
    if kind == "delivered_bytes" {
        let bytes = fields.get(kind).whole(1..=u64::MAX);
        return Some(When::Delivered { direction: side(&fields.get("direction")), bytes });
    }
    only_true(&fields.get(kind));
    if kind == "first_packet" {
        return Some(When::FirstPacket { direction: side(&fields.get("direction")) });
    }
    if let Some(direction) = fields.get("direction").given() {
        direction.wrong("a handshake has both");
    }
    Some(When::Handshake)
}

fn refuse_faults(target: Target, change: &Field<'_>, of: Changeable<'_>) {
    if let Some(fault) = target.fault(of) {
        change.wrong(fault);
    }
}

fn only_true(field: &Field<'_>) {
    if !field.flag() {
        field.wrong("only true makes sense");
    }
}

fn side(field: &Field<'_>) -> usize {
    usize::from(field.whole(0..=1) == 1)
}

fn read_change(field: &Field<'_>) -> Option<Change> {
    const KINDS: [&str; 5] = ["rate_bit_s", "delay_ns", "loss", "down", "rebind"];
    let fields = field.fields(&KINDS);
    let kind = fields.only(&KINDS)?;
    let value = fields.get(kind);
    Some(match kind {
        "rate_bit_s" => Change::Rate(bit_s(&value)),
        "delay_ns" => Change::Delay(value.whole(0..=LONGEST_NS)),
        "loss" => Change::Loss(value.probability()),
        "rebind" => {
            only_true(&value);
            Change::Rebind
        }
        _ if value.flag() => Change::Down,
        _ => Change::Up,
    })
}

/// A change as the configuration has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Written(pub Change);

impl Serialize for Written {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        match self.0 {
            Change::Rate(rate) => map.serialize_entry("rate_bit_s", &rate)?,
            Change::Delay(delay) => map.serialize_entry("delay_ns", &delay)?,
            Change::Loss(probability) => map.serialize_entry("loss", &probability)?,
            Change::Down => map.serialize_entry("down", &true)?,
            Change::Up => map.serialize_entry("down", &false)?,
            Change::Rebind => map.serialize_entry("rebind", &true)?,
        }
        map.end()
    }
}
