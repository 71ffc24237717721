//! Variation of the delay from packet to packet.
//!
//! The draws of packet `n`, from its key:
//!
//! * uniform: `(2 u - 1) spread`, with `u` draw `n`;
//! * normal: `sqrt(-2 ln(1 - u)) cos(2 pi v) spread` (Box and Muller 1958), with `u` draw `2 n` and `v` draw
//!   `2 n + 1`;
//! * Pareto: `((1 - u)^(-1/3) - 3/2) spread / (sqrt(3) / 2)`, with `u` draw `n`: a Pareto distribution of shape 3 and
//!   scale 1 has mean 3/2 and standard deviation `sqrt(3) / 2`;
//! * table: the sample with index `floor(u length)`, with `u` draw `n`.
//!
//! Results are rounded to whole nanoseconds, half away from 0. A program that recomputes them with another
//! mathematical library must allow one nanosecond.

use std::f64::consts::TAU;
use std::sync::Arc;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::bounds::{HOUR_NS, duration, key};
use crate::{Nanos, Stream};

/// What varies the delay.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Jitter {
    /// How.
    #[serde(flatten)]
    pub shape: JitterShape,
    /// Of its random stream.
    #[serde(deserialize_with = "key")]
    pub key: u64,
}

/// The distribution that is added to the delay; the sum never falls below 0.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "distribution", rename_all = "snake_case")]
pub enum JitterShape {
    /// Between minus and plus this.
    #[serde(deserialize_with = "spread")]
    Uniform(Nanos),
    /// Mean 0 and this standard deviation.
    #[serde(deserialize_with = "spread")]
    Normal(Nanos),
    /// A Pareto distribution of shape 3, shifted to mean 0 and scaled to this standard deviation.
    #[serde(deserialize_with = "spread")]
    Pareto(Nanos),
    /// One of these (ns, may be negative), each as likely.
    #[serde(deserialize_with = "samples")]
    Table(Arc<[i64]>),
}

fn spread<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Nanos, D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Fields {
        #[serde(deserialize_with = "duration")]
        spread_ns: Nanos,
    }
    Fields::deserialize(deserializer).map(|fields| fields.spread_ns)
}

fn samples<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[i64]>, D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Fields {
        samples_ns: Vec<i64>,
    }
    let Fields { samples_ns } = Fields::deserialize(deserializer)?;
    if samples_ns.is_empty() {
        return Err(D::Error::custom("samples_ns needs at least one sample"));
    }
    match samples_ns.iter().find(|sample| sample.unsigned_abs() > HOUR_NS) {
        None => Ok(samples_ns.into()),
        Some(far) => Err(D::Error::custom(format_args!("{far} is not within -{HOUR_NS} to {HOUR_NS}"))),
    }
}

/// Mean of a Pareto distribution of shape 3 and scale 1.
const PARETO_MEAN: f64 = 1.5;

/// Its standard deviation, `sqrt(3) / 2`.
const PARETO_DEVIATION: f64 = 0.866_025_403_784_438_6;

/// The furthest that a normal draw can lie from the mean, in standard deviations: `sqrt(-2 ln 2^-53)` is 8.572.
const NORMAL_REACH: f64 = 8.573;

impl Jitter {
    /// The jitter of packet `number` in ns; it may be negative.
    #[must_use]
    pub fn offset(&self, number: u64) -> i64 {
        let stream = Stream::new(self.key);
        match &self.shape {
            JitterShape::Uniform(spread) => scaled(2.0 * stream.unit(number) - 1.0, *spread),
            JitterShape::Normal(spread) => scaled(normal(stream, number), *spread),
            JitterShape::Pareto(spread) => scaled(pareto(stream.unit(number)), *spread),
            JitterShape::Table(samples) => sample(samples, stream.unit(number)),
        }
    }

    /// The lower bound of [`Self::offset`].
    #[must_use]
    pub fn least(&self) -> i64 {
        match &self.shape {
            JitterShape::Uniform(spread) => scaled(-1.0, *spread),
            JitterShape::Normal(spread) => scaled(-NORMAL_REACH, *spread),
            JitterShape::Pareto(spread) => scaled(pareto(0.0), *spread),
            JitterShape::Table(samples) => samples.iter().copied().min().unwrap_or(0),
        }
    }
}

fn normal(stream: Stream, number: u64) -> f64 {
    let radius = stream.unit(number.wrapping_mul(2));
    let angle = stream.unit(number.wrapping_mul(2).wrapping_add(1));
    (-2.0 * (1.0 - radius).ln()).sqrt() * (TAU * angle).cos()
}

fn pareto(u: f64) -> f64 {
    ((1.0 - u).cbrt().recip() - PARETO_MEAN) / PARETO_DEVIATION
}

#[expect(clippy::cast_precision_loss, reason = "a spread above 2^53 ns (104 days) may lose its nanoseconds")]
#[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
fn scaled(factor: f64, spread: u64) -> i64 {
    (factor * spread as f64).round() as i64
}

#[expect(clippy::cast_precision_loss, reason = "no table has 2^53 samples")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the index is below the length")]
fn sample(samples: &[i64], u: f64) -> i64 {
    samples.get((u * samples.len() as f64) as usize).copied().unwrap_or(0)
}
