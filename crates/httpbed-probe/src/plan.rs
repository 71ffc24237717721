//! A flow's description, read from a file: one JSON object. Messages name the place of every mistake.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use crate::payload::HEADER_BYTES;

/// IPv4 and UDP headers (RFC 791, RFC 768): sizes in plans are those of IP packets.
pub const HEADERS_BYTES: usize = 28;
const MAX_BYTES: usize = 9000;
const MAX_PACKETS: usize = 20_000_000;

/// A flow of datagrams to send.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sending {
    /// Destination of the first of its ports; packet `n` goes to port number `n` modulo `ports`.
    pub to: SocketAddr,
    /// Number of ports, each with its own receive buffer.
    pub ports: u16,
    /// Key of the payload, a decimal string.
    #[serde(deserialize_with = "decimal")]
    pub key: u64,
    /// Whether datagrams have a checksum; without one, damaged datagrams still arrive.
    pub checksum: bool,
    /// Whether they are ECN-capable: ECT(0) of RFC 3168.
    #[serde(default)]
    pub ecn: bool,
    /// Datagrams per call; more than 1 uses segmentation offload.
    pub segments: usize,
    /// How long before each packet's time it polls the clock instead of sleeping, in ns.
    pub spin_ns: i64,
    /// When the first packet is due, in ns from the start.
    pub begin_ns: i64,
    /// The packets, one train after the other.
    pub trains: Vec<Train>,
    /// File of the times, three little-endian 64-bit numbers a packet: planned, before and after the call that sent
    /// it.
    pub out: PathBuf,
}

/// Packets of one size and spacing.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Train {
    /// How many.
    pub count: usize,
    /// Size of each as an IP packet.
    pub bytes: usize,
    /// Time from the packet before it, also for the train's first, in ns; 0 is as fast as the socket accepts them.
    pub gap_ns: i64,
}

/// A flow of datagrams to receive.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receiving {
    /// The first port.
    pub port: u16,
    /// How many ports.
    pub ports: u16,
    /// Key of the payload, a decimal string.
    #[serde(deserialize_with = "decimal")]
    pub key: u64,
    /// File of the records, one per packet; see `receive`.
    pub out: PathBuf,
}

/// A byte stream to read.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fetching {
    /// The sender, which begins when it is connected.
    pub from: SocketAddr,
    /// Longest duration in ns.
    pub for_ns: i64,
    /// File of times and bytes so far: two little-endian 64-bit numbers a sample.
    pub out: PathBuf,
}

impl Sending {
    /// Checks everything beyond the format.
    ///
    /// # Errors
    /// All mistakes, each with its place.
    pub fn check(&self) -> Result<(), String> {
        let least = HEADERS_BYTES + HEADER_BYTES;
        let mut mistakes = Vec::new();
        for (place, train) in self.trains.iter().enumerate() {
            if !(least..=MAX_BYTES).contains(&train.bytes) {
                let bytes = train.bytes;
                mistakes.push(format!("trains[{place}].bytes: {bytes} is outside {least} to {MAX_BYTES}"));
            }
            if train.gap_ns < 0 {
                mistakes.push(format!("trains[{place}].gap_ns: {} is negative", train.gap_ns));
            }
        }
        if self.packets() > MAX_PACKETS {
            mistakes.push(format!("trains: more than {MAX_PACKETS} packets"));
        }
        if !(1..=64).contains(&self.segments) {
            mistakes.push(format!("segments: {} is outside 1 to 64", self.segments));
        }
        if self.ports == 0 || self.to.port().checked_add(self.ports).is_none() {
            mistakes.push(format!("ports: {} ports from {} on exceed 65535", self.ports, self.to.port()));
        }
        if mistakes.is_empty() { Ok(()) } else { Err(mistakes.join("; ")) }
    }

    /// Packets of all trains.
    pub fn packets(&self) -> usize {
        self.trains.iter().fold(0, |sum, train| sum.saturating_add(train.count))
    }
}

/// Reads a plan.
///
/// # Errors
/// When the file cannot be read or is no such plan; the message has its name and place.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    let name = path.display();
    let text = fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))?;
    serde_json::from_str(&text).map_err(|error| format!("{name}: {error}"))
}

fn decimal<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|_| serde::de::Error::custom(format!("{text:?} is not a decimal number of 64 bits")))
}

#[cfg(test)]
mod tests {
    use super::Sending;

    const GOOD: &str = r#"{"to":"10.0.0.2:5001","ports":1,"key":"18446744073709551615","checksum":true,
        "segments":1,"spin_ns":0,"begin_ns":0,"trains":[{"count":3,"bytes":1500,"gap_ns":0}],"out":"x"}"#;

    #[test]
    fn a_valid_plan_is_accepted() {
        let plan: Sending = serde_json::from_str(GOOD).unwrap();
        assert_eq!((plan.check(), plan.packets(), plan.key), (Ok(()), 3, u64::MAX));
    }

    #[test]
    fn every_mistake_is_reported() {
        let bad = GOOD
            .replace("1500", "51")
            .replace("\"segments\":1", "\"segments\":0")
            .replace("\"gap_ns\":0", "\"gap_ns\":-1");
        let message = serde_json::from_str::<Sending>(&bad).unwrap().check().unwrap_err();
        assert_eq!(message.matches("; ").count(), 2, "{message}");
        assert!(serde_json::from_str::<Sending>(&GOOD.replace("18446744073709551615", "-1")).is_err());
    }
}
