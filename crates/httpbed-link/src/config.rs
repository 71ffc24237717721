//! The configuration file: what the links are. Reading it looks at nothing but the traces it names.
//!
//! It is one JSON object; [`SCHEMA`] is its version. Times are integers in ns, sizes in bytes, rates in bit/s. An absent
//! field does nothing: no impairment, no file. [`Impairments`] describes a direction of a link.

mod changes;
mod document;
mod traces;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use link_model::{Impairments, Nanos, Trace, bounds};
use serde::Deserialize;

pub(crate) use changes::side;
pub use changes::{Scheduled, Target, Trigger, When};
pub(crate) use document::from_json;
pub use traces::{ReadFile, read_file};

use traces::Traces;

/// The one version of the format.
pub const SCHEMA: u32 = 2;

/// The links of one emulator. `T` stands for the traces of rates: the paths in the file, or what was read from them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config<T = Arc<Trace>> {
    /// Version of the format.
    pub schema: u32,
    /// Largest IP packet in bytes; longer frames mean that an offload was left on.
    #[serde(deserialize_with = "bounds::whole::<_, _, 68, 65535>")]
    pub mtu: u16,
    /// Time in microseconds for which a wake-up is awaited in a busy loop.
    #[serde(deserialize_with = "bounds::whole::<_, _, 0, 1_000_000>")]
    pub spin_us: u64,
    /// How frames come and go.
    #[serde(default)]
    pub backend: Backend,
    /// Where to record every packet, if wanted.
    pub pcapng: Option<PathBuf>,
    /// Where to write a line for every packet, if wanted.
    pub log: Option<PathBuf>,
    /// The links.
    pub links: Vec<Link<T>>,
}

/// How frames come and go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// `AF_PACKET` sockets on interfaces that exist already, usually ends of veth pairs.
    #[default]
    AfPacket,
    /// The kernel's tun driver, whose interfaces are the hosts' ends of the links.
    Tun,
}

/// A link between two hosts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link<T = Arc<Trace>> {
    /// Unique name.
    pub name: String,
    /// The two hosts.
    pub hosts: [String; 2],
    /// The interface towards each host; see [`Backend`].
    pub interfaces: [String; 2],
    /// From the first host to the second, and back.
    pub directions: [Impairments<T>; 2],
    /// Whether a network address translator is at the second host's end.
    #[serde(default)]
    pub nat: bool,
    /// Of which directions the result has a timeline: for each, the least time from a packet's leaving until its
    /// answer can enter the link, which is the round trip beyond the link.
    #[serde(default)]
    pub timelines: [Option<Nanos>; 2],
    /// Changes at given times.
    #[serde(default)]
    pub schedule: Vec<Scheduled>,
    /// Changes and events that passing packets cause.
    #[serde(default)]
    pub triggers: Vec<Trigger>,
}

impl Backend {
    /// Its name in the configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AfPacket => "af_packet",
            Self::Tun => "tun",
        }
    }
}

impl Config {
    /// Reads a configuration; the traces that it names are read by `read`.
    ///
    /// # Errors
    /// The first mistake with its place, in one line.
    pub fn parse(text: &str, read: ReadFile<'_>) -> Result<Self, String> {
        document::check_schema(text)?;
        let config: Config<PathBuf> = from_json(text.as_bytes())?;
        config.check_names()?;
        let config = config.with_traces(&mut Traces::new(read))?;
        for (number, link) in config.links.iter().enumerate() {
            link.check(config.mtu).map_err(|mistake| format!("links[{number}].{mistake}"))?;
        }
        Ok(config)
    }
}

impl Config<PathBuf> {
    fn check_names(&self) -> Result<(), String> {
        check_unique("name", self.links.iter().map(|link| &link.name))?;
        check_unique("interface", self.links.iter().flat_map(|link| &link.interfaces))?;
        for (number, link) in self.links.iter().enumerate() {
            link.check_names().map_err(|mistake| format!("links[{number}].{mistake}"))?;
        }
        Ok(())
    }

    fn with_traces(self, traces: &mut Traces<'_>) -> Result<Config, String> {
        let links = self.links.into_iter().enumerate().map(|(number, link)| {
            link.with_traces(traces).map_err(|mistake| format!("links[{number}].{mistake}"))
        });
        Ok(Config {
            schema: self.schema,
            mtu: self.mtu,
            spin_us: self.spin_us,
            backend: self.backend,
            pcapng: self.pcapng,
            log: self.log,
            links: links.collect::<Result<_, _>>()?,
        })
    }
}

impl Link<PathBuf> {
    fn check_names(&self) -> Result<(), String> {
        let texts = std::iter::once(("name".to_owned(), &self.name));
        let hosts = self.hosts.iter().enumerate().map(|(side, host)| (format!("hosts[{side}]"), host));
        if let Some((place, _)) = texts.chain(hosts).find(|(_, text)| text.is_empty()) {
            return Err(format!("{place}: it is empty"));
        }
        let wrong = self.interfaces.iter().position(|name| !is_interface_name(name));
        wrong.map_or(Ok(()), |side| {
            let name = &self.interfaces[side];
            Err(format!("interfaces[{side}]: {name:?} is no name for an interface: {INTERFACE_NAME}"))
        })
    }

    fn with_traces(self, traces: &mut Traces<'_>) -> Result<Link, String> {
        let [forth, back] = self.directions;
        let mut load = |side: usize, impairments: Impairments<PathBuf>| {
            let load = |path: PathBuf| traces.get(&path);
            impairments.with_trace(load).map_err(|reason| format!("directions[{side}].rate.path: {reason}"))
        };
        Ok(Link {
            name: self.name,
            hosts: self.hosts,
            interfaces: self.interfaces,
            directions: [load(0, forth)?, load(1, back)?],
            nat: self.nat,
            timelines: self.timelines,
            schedule: self.schedule,
            triggers: self.triggers,
        })
    }
}

impl Link {
    fn check(&self, mtu: u16) -> Result<(), String> {
        for (side, direction) in self.directions.iter().enumerate() {
            direction.check_mtu(u32::from(mtu)).map_err(|mistake| format!("directions[{side}].{mistake}"))?;
        }
        self.check_changes()
    }
}

const LONGEST_INTERFACE_NAME: usize = nix::libc::IFNAMSIZ - 1;
const INTERFACE_NAME: &str = "use 1 to 15 bytes without space, /, : or %";

/// What the kernel takes as a name (`dev_valid_name`), less the `%` that makes it choose a number.
fn is_interface_name(name: &str) -> bool {
    let odd = |c: char| c.is_whitespace() || c.is_control() || "/:%".contains(c);
    (1..=LONGEST_INTERFACE_NAME).contains(&name.len()) && !name.contains(odd) && !matches!(name, "." | "..")
}

fn check_unique<'a>(what: &str, mut names: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let mut known = HashSet::new();
    match names.find(|name| !known.insert(*name)) {
        None => Ok(()),
        Some(name) => Err(format!("links: the {what} {name:?} is used twice")),
    }
}

#[cfg(test)]
mod tests;
