//! Counter-based random numbers: `SplitMix64` (Steele, Lea and Flood 2014) addressed by index.
//!
//! `SplitMix64` adds a constant to its state for every draw and hashes the result, so draw *n* of the sequence with
//! seed `key` needs no draw before it. Impairments are therefore independent of one another, and any program can
//! recompute a fate from the key and the packet's number.

use serde::Deserialize;

use crate::bounds::{key, probability};

/// The odd constant nearest to 2^64 divided by the golden ratio.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// 2^-53: the distance between neighbouring values of [`Stream::unit`].
const UNIT: f64 = f64::EPSILON / 2.0;

/// The random sequence that belongs to one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    key: u64,
}

impl Stream {
    /// The sequence of `key`; different impairments take different keys.
    #[must_use]
    pub const fn new(key: u64) -> Self {
        Self { key }
    }

    /// Draw `n` as 64 uniform bits.
    #[must_use]
    pub const fn word(self, n: u64) -> u64 {
        finalise(self.key.wrapping_add(n.wrapping_add(1).wrapping_mul(GAMMA)))
    }

    /// Draw `n` as a number in `[0, 1)`, a multiple of 2^-53.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact in an f64")]
    pub const fn unit(self, n: u64) -> f64 {
        (self.word(n) >> 11) as f64 * UNIT
    }
}

/// An event that happens to each packet independently.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chance {
    /// In `[0, 1]`.
    #[serde(deserialize_with = "probability")]
    pub probability: f64,
    /// Of its random stream.
    #[serde(deserialize_with = "key")]
    pub key: u64,
}

const fn finalise(mut z: u64) -> u64 {
    z ^= z >> 30;
    z = z.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^= z >> 27;
    z = z.wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
