//! The configuration file: what the links are. Reading it never looks at the machine.

use std::collections::HashSet;
use std::num::NonZeroU64;
use std::path::PathBuf;

use link_model::{Impairments, QueueLimit};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// The one version of the format.
pub const SCHEMA: u32 = 1;

/// Delays beyond an hour are mistakes of unit.
const LONGEST_DELAY_NS: u64 = 3_600_000_000_000;

/// The links of one emulator.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Version of the format.
    pub schema: u32,
    /// Largest IP packet in bytes; longer frames are an offload that was left on.
    pub mtu: usize,
    /// Time in microseconds for which a wake-up is awaited in a busy loop.
    pub spin_us: u64,
    /// The links.
    pub links: Vec<Link>,
    /// Where to record every packet, if wanted.
    pub pcapng: Option<PathBuf>,
}

/// A link between two hosts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Unique name.
    pub name: String,
    /// The two hosts.
    pub hosts: [String; 2],
    /// The emulator's interface towards each host.
    pub interfaces: [String; 2],
    /// From the first host to the second, and back.
    pub directions: [Direction; 2],
}

/// What happens in one direction; `null` is absence.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    rate_bit_s: Option<NonZeroU64>,
    delay_ns: Option<u64>,
    loss: Option<Loss>,
    queue: Option<Queue>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Loss {
    probability: f64,
    /// A decimal string, because JSON numbers of other programs are not 64 bits wide.
    #[serde(deserialize_with = "decimal")]
    key: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Queue {
    Packets(NonZeroU64),
    Bytes(NonZeroU64),
}

impl Config {
    /// Reads a configuration.
    ///
    /// # Errors
    /// All mistakes in one line, each with its place.
    pub fn parse(text: &str) -> Result<Self, String> {
        let config: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let mistakes = config.mistakes();
        if mistakes.is_empty() { Ok(config) } else { Err(mistakes.join("; ")) }
    }

    fn mistakes(&self) -> Vec<String> {
        let mut mistakes = Vec::new();
        if self.schema != SCHEMA {
            mistakes.push(format!("schema: {} is not {SCHEMA}", self.schema));
        }
        if !(68..=65535).contains(&self.mtu) {
            mistakes.push(format!("mtu: {} is not within 68 to 65535", self.mtu));
        }
        let repeated = |what: &str, name: &String| format!("{what}: {name:?} is used twice");
        let mut names = HashSet::new();
        mistakes.extend(
            self.links.iter().map(|l| &l.name).filter(|n| !names.insert(*n)).map(|n| repeated("name", n)),
        );
        let mut interfaces = HashSet::new();
        let all = self.links.iter().flat_map(|link| &link.interfaces);
        mistakes.extend(all.filter(|n| !interfaces.insert(*n)).map(|n| repeated("interfaces", n)));
        for link in &self.links {
            let directions = link.directions.iter().enumerate();
            mistakes.extend(directions.flat_map(|(side, direction)| direction.mistakes(&link.name, side)));
        }
        mistakes
    }
}

impl Direction {
    /// Whether it has a rate, without which there is no utilisation.
    pub const fn has_rate(&self) -> bool {
        self.rate_bit_s.is_some()
    }

    /// The same for the link model.
    pub fn impairments(&self) -> Impairments {
        let limit = match self.queue {
            Some(Queue::Packets(limit)) => QueueLimit::Packets(limit.get()),
            Some(Queue::Bytes(limit)) => QueueLimit::Bytes(limit.get()),
            None => QueueLimit::Unlimited,
        };
        Impairments {
            loss: self.loss.as_ref().map(|loss| (loss.probability, loss.key)),
            bottleneck: self.rate_bit_s.map(|rate| (rate, limit)),
            delay: self.delay_ns.unwrap_or(0),
        }
    }

    fn mistakes(&self, link: &str, side: usize) -> Vec<String> {
        let place = |what: &str| format!("link {link:?} direction {side}: {what}");
        let mut mistakes = Vec::new();
        if self.delay_ns.is_some_and(|delay| delay > LONGEST_DELAY_NS) {
            mistakes.push(place("delay_ns is more than an hour"));
        }
        if self.loss.as_ref().is_some_and(|loss| !(0.0..=1.0).contains(&loss.probability)) {
            mistakes.push(place("probability is not within 0 to 1"));
        }
        mistakes
    }
}

fn decimal<'de, D: Deserializer<'de>>(source: D) -> Result<u64, D::Error> {
    let text = String::deserialize(source)?;
    text.parse().map_err(|_| D::Error::custom(format!("{text:?} is not the decimal form of a 64-bit number")))
}

#[cfg(test)]
mod tests;
