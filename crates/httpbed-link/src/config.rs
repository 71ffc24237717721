//! The configuration file: what the links are. Reading it looks at nothing but the traces it names.
//!
//! It is one JSON object; [`SCHEMA`] is its version. Times are integers in ns, sizes in bytes, rates in bit/s.
//! What is absent or `null` is not there: an impairment does nothing, a file is not written.

mod direction;
mod live;
mod observer;
mod queue;
mod rate;
mod reading;

use std::collections::HashSet;
use std::path::PathBuf;

use serde_json::Value;

pub use direction::Direction;
pub use live::{Changeable, Scheduled, Target, Trigger, When, Written};
pub use rate::{ReadFile, read_file};
pub(crate) use reading::{Field, Mistakes};

use rate::Traces;

/// The one version of the format.
pub const SCHEMA: u32 = 2;

/// Delays beyond an hour are mistakes of unit.
const LONGEST_NS: u64 = 3_600_000_000_000;
const LONGEST_SPIN_US: u64 = 1_000_000;

/// The links of one emulator.
#[derive(Clone, Debug)]
pub struct Config {
    /// Largest IP packet in bytes; longer frames are an offload that was left on.
    pub mtu: usize,
    /// Time in microseconds for which a wake-up is awaited in a busy loop.
    pub spin_us: u64,
    /// How frames come and go.
    pub backend: Backend,
    /// Where to record every packet, if wanted.
    pub pcapng: Option<PathBuf>,
    /// Where to write a line for every packet, if wanted.
    pub log: Option<PathBuf>,
    /// The links.
    pub links: Vec<Link>,
}

/// How frames come and go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// `AF_PACKET` sockets on interfaces that are there already, veth ends as a rule.
    AfPacket,
    /// The kernel's tun driver, in whose interfaces the hosts' ends of the links are.
    Tun,
    /// None: the kernel carries the packets, and what it does to them. They are only seen coming and going.
    Observer,
}

/// A link between two hosts.
#[derive(Clone, Debug)]
pub struct Link {
    /// Unique name.
    pub name: String,
    /// The two hosts.
    pub hosts: [String; 2],
    /// The interface towards each host; see [`Backend`].
    pub interfaces: [String; 2],
    /// From the first host to the second, and back.
    pub directions: [Direction; 2],
    /// Whether a network address translator is at the second host's end.
    pub nat: bool,
    /// Changes at given times.
    pub schedule: Vec<Scheduled>,
    /// Changes and words because of what passes.
    pub triggers: Vec<Trigger>,
}

impl Backend {
    /// As the configuration has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AfPacket => "af_packet",
            Self::Tun => "tun",
            Self::Observer => "observer",
        }
    }
}

impl Config {
    /// Reads a configuration; the traces that it names are read by `read`.
    ///
    /// # Errors
    /// All mistakes in one line, each with its place.
    pub fn parse(text: &str, read: ReadFile<'_>) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"))?;
        let mistakes = Mistakes::default();
        let config = Self::read(&Field::root(&value, &mistakes), &Traces::new(read));
        mistakes.none_in(config)
    }

    fn read(field: &Field<'_>, traces: &Traces<'_>) -> Self {
        let fields = field.fields(&["schema", "mtu", "spin_us", "backend", "pcapng", "log", "links"]);
        let (schema, mtu) = (fields.get("schema"), fields.get("mtu").whole(68..=65535));
        let version = schema.whole(0..=u64::MAX);
        if version != u64::from(SCHEMA) {
            schema.wrong(format_args!("{version} is not {SCHEMA}"));
        }
        let path = |name| fields.get(name).given().map(|field| PathBuf::from(field.text()));
        let backend = fields.get("backend").given().map_or(Backend::AfPacket, |field| backend(&field));
        let places = fields.get("links");
        let links: Vec<Link> = places.items().iter().map(|link| Link::read(link, mtu, traces)).collect();
        if backend == Backend::Observer {
            places.items().iter().for_each(observer::refuse_changes);
            observer::refuse_log(&fields.get("log"));
        }
        refuse_repeated(&places, "name", links.iter().map(|link| &link.name));
        refuse_repeated(&places, "interface", links.iter().flat_map(|link| &link.interfaces));
        Self {
            mtu: usize::try_from(mtu).unwrap_or(usize::MAX),
            spin_us: fields.get("spin_us").whole(0..=LONGEST_SPIN_US),
            backend,
            pcapng: path("pcapng"),
            log: path("log"),
            links,
        }
    }
}

impl Link {
    fn read(field: &Field<'_>, mtu: u64, traces: &Traces<'_>) -> Self {
        let fields =
            field.fields(&["name", "hosts", "interfaces", "directions", "nat", "schedule", "triggers"]);
        let directions =
            fields.get("directions").pair().map(|direction| Direction::read(&direction, mtu, traces));
        let given = |name| fields.get(name).given();
        let nat = given("nat").is_some_and(|field| field.flag());
        let changeable = Changeable { directions: &directions, nat };
        let schedule = given("schedule").map(|field| live::schedule(&field, changeable)).unwrap_or_default();
        let triggers = given("triggers").map(|field| live::triggers(&field, changeable)).unwrap_or_default();
        Self {
            name: fields.get("name").text().to_owned(),
            hosts: fields.get("hosts").pair().map(|host| host.text().to_owned()),
            interfaces: fields.get("interfaces").pair().map(|name| interface(&name)),
            directions,
            nat,
            schedule,
            triggers,
        }
    }

    /// What a change has to fit.
    #[must_use]
    pub const fn changeable(&self) -> Changeable<'_> {
        Changeable { directions: &self.directions, nat: self.nat }
    }
}

fn backend(field: &Field<'_>) -> Backend {
    match field.text() {
        "tun" => return Backend::Tun,
        "observer" => return Backend::Observer,
        "af_packet" | "" => {}
        other => field.wrong(format_args!("{other:?} is not one of af_packet, tun, observer")),
    }
    Backend::AfPacket
}

/// What the kernel takes as a name (`dev_valid_name`), less the `%` that makes it choose a number.
fn interface(field: &Field<'_>) -> String {
    const LONGEST: usize = libc::IFNAMSIZ - 1;
    let name = field.text();
    let odd = |c: char| c.is_whitespace() || c.is_control() || "/:%".contains(c);
    if name.len() > LONGEST || name.contains(odd) || matches!(name, "." | "..") {
        field.wrong(format_args!("{name:?} is no name for an interface: 1 to {LONGEST} bytes"));
    }
    name.to_owned()
}

fn refuse_repeated<'a>(place: &Field<'_>, what: &str, names: impl Iterator<Item = &'a String>) {
    let mut seen = HashSet::new();
    // What is empty was missing, and that has been said already.
    for name in names.filter(|name| !name.is_empty() && !seen.insert(*name)) {
        place.wrong(format_args!("the {what} {name:?} is used twice"));
    }
}

#[cfg(test)]
mod tests;
