//! Values of options.

use std::str::FromStr;
use std::time::Duration;

use lexopt::{Parser, ValueExt};

/// The next word, read as a `T`.
pub fn parsed<T>(parser: &mut Parser) -> Result<T, String>
where
    T: FromStr,
    T::Err: ToString,
{
    let word = text(parser)?;
    word.parse().map_err(|error: T::Err| error.to_string())
}

/// The next word, which must be UTF-8.
pub fn text(parser: &mut Parser) -> Result<String, String> {
    let word = parser.value().map_err(|error| error.to_string())?;
    word.string().map_err(|error| error.to_string())
}

/// A number of at least 1.
pub fn count(parser: &mut Parser) -> Result<usize, String> {
    let word = text(parser)?;
    match word.parse() {
        Ok(0) | Err(_) => Err(format!("{word:?} is not a number of at least 1")),
        Ok(number) => Ok(number),
    }
}

/// A size such as `65536`, `64k` or `16M`.
pub fn bytes(parser: &mut Parser) -> Result<u64, String> {
    /// The largest integer that QUIC can write (RFC 9000 section 16).
    const MAX: u64 = (1 << 62) - 1;
    let word = text(parser)?;
    let (digits, shift) = match word.as_bytes().last() {
        Some(b'k' | b'K') => (&word[..word.len() - 1], 10),
        Some(b'm' | b'M') => (&word[..word.len() - 1], 20),
        Some(b'g' | b'G') => (&word[..word.len() - 1], 30),
        _ => (word.as_str(), 0),
    };
    let size = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    size.filter(|size| (1..=MAX).contains(size))
        .ok_or_else(|| format!("{word:?} is not a size such as 65536, 64k or 16M"))
}

/// A time in seconds.
pub fn seconds(parser: &mut Parser) -> Result<Duration, String> {
    let word = text(parser)?;
    let time = word.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| !time.is_zero() && *time < Duration::from_secs(1 << 31))
        .ok_or_else(|| format!("{word:?} is not a time in seconds above 0"))
}
