//! Readers for the numbers of a link's description. Each rejects what is out of range, and the message has the range.

use std::borrow::Cow;
use std::num::NonZeroU32;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::Nanos;

/// The longest delay or interval; a longer one is a mistake of unit.
pub const HOUR_NS: Nanos = 3_600_000_000_000;

/// A whole number from `MIN` to `MAX`, both included.
///
/// # Errors
/// When it is something else.
pub fn whole<'de, D, N, const MIN: u64, const MAX: u64>(deserializer: D) -> Result<N, D::Error>
where
    D: Deserializer<'de>,
    N: TryFrom<u64>,
{
    let number = u64::deserialize(deserializer)?;
    let within = Some(number).filter(|number| (MIN..=MAX).contains(number));
    let converted = within.and_then(|number| N::try_from(number).ok());
    converted.ok_or_else(|| D::Error::custom(format_args!("{number} is not within {MIN} to {MAX}")))
}

/// A positive whole number from `MIN` to `MAX`, both included.
pub(crate) fn positive<'de, D, const MIN: u32, const MAX: u32>(
    deserializer: D,
) -> Result<NonZeroU32, D::Error>
where
    D: Deserializer<'de>,
{
    let number = NonZeroU32::deserialize(deserializer)?;
    if (MIN..=MAX).contains(&number.get()) {
        return Ok(number);
    }
    Err(D::Error::custom(format_args!("{number} is not within {MIN} to {MAX}")))
}

/// A duration in ns, 0 to one hour.
///
/// # Errors
/// When it is something else.
pub fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Nanos, D::Error> {
    whole::<D, Nanos, 0, HOUR_NS>(deserializer)
}

/// A duration in ns, at most one hour, and not 0.
pub(crate) fn interval<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Nanos, D::Error> {
    whole::<D, Nanos, 1, HOUR_NS>(deserializer)
}

/// A probability.
///
/// # Errors
/// When it is not a number from 0 to 1.
pub fn probability<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(deserializer)?;
    if (0.0..=1.0).contains(&number) {
        return Ok(number);
    }
    Err(D::Error::custom(format_args!("{number} is not a probability within 0 to 1")))
}

/// The key of a random stream: decimal digits in a string, because JSON numbers of many programs are not 64 bits wide.
pub(crate) fn key<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let text = Cow::<str>::deserialize(deserializer)?;
    let reason = |_| D::Error::custom(format_args!("the key {text:?} is not a 64-bit number in decimal"));
    text.parse().map_err(reason)
}
