//! Packet-delivery traces in mahimahi's format (Netravali et al., USENIX ATC 2015).

use std::fmt;

/// Times at which a link can deliver, from the beginning of the trace. The trace repeats after its last time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Ascending, equal ones allowed, the last above 0.
    times_ms: Vec<u32>,
}

impl Trace {
    /// What one opportunity delivers: an IP packet of 1500 bytes and the 4 bytes that mahimahi's TUN
    /// device puts before it.
    pub const OPPORTUNITY_BYTES: u32 = 1504;

    /// The most opportunities: two minutes at 1 Gbit/s or three hours at 10 Mbit/s, in 40 MB of memory. A longer
    /// file is probably a mistake.
    pub const MAX_LINES: usize = 10_000_000;

    /// The largest file. Ten million lines in time order need less, unless they span many hours.
    pub const MAX_BYTES: usize = 64 << 20;

    /// Reads a file: one line for each opportunity, the time in whole milliseconds since the beginning.
    ///
    /// # Errors
    /// The first mistakes with their lines, if the file is no trace.
    pub fn parse(text: &[u8]) -> Result<Self, TraceError> {
        if text.len() > Self::MAX_BYTES {
            return Err(TraceError::of(1, Reason::TooLarge { bytes: text.len() }));
        }
        let text = readable(text)?;
        let mut reading = Reading::default();
        // Not `lines`, which would hide the carriage returns of a DOS file.
        for (index, line) in text.split_terminator('\n').enumerate() {
            if index == Self::MAX_LINES {
                reading.error.note(index + 1, Reason::TooLong);
                break;
            }
            reading.take(index + 1, line);
        }
        reading.finish()
    }

    /// Its mean rate in bit/s of opportunities, rounded down.
    #[must_use]
    pub fn mean_bit_s(&self) -> u64 {
        self.bits() * 1000 / u64::from(self.period_ms())
    }

    pub(crate) fn times_ms(&self) -> &[u32] {
        &self.times_ms
    }

    pub(crate) fn period_ms(&self) -> u32 {
        *self.times_ms.last().expect("a trace is not empty")
    }

    pub(super) fn bits(&self) -> u64 {
        self.times_ms.len() as u64 * u64::from(Self::OPPORTUNITY_BYTES) * 8
    }
}

/// The file as text. The other mistakes of a binary file would explain nothing.
fn readable(text: &[u8]) -> Result<&str, TraceError> {
    let valid = match std::str::from_utf8(text) {
        Ok(_) => text.len(),
        Err(error) => error.valid_up_to(),
    };
    let printable = text[..valid].iter().position(|byte| *byte < b' ' && !b"\t\n\r".contains(byte));
    let good = printable.unwrap_or(valid);
    if good < text.len() {
        let line = text[..good].split(|byte| *byte == b'\n').count();
        return Err(TraceError::of(line, Reason::Binary));
    }
    Ok(std::str::from_utf8(text).expect("checked above"))
}

#[derive(Default)]
struct Reading {
    times_ms: Vec<u32>,
    error: TraceError,
}

impl Reading {
    fn take(&mut self, line: usize, text: &str) {
        match time_ms(text) {
            Err(reason) => self.error.note(line, reason),
            Ok(time) => match self.times_ms.last() {
                Some(&before) if time < before => self.error.note(line, Reason::Unsorted { time, before }),
                _ => self.times_ms.push(time),
            },
        }
    }

    fn finish(mut self) -> Result<Trace, TraceError> {
        if self.error.mistakes.is_empty() {
            match self.times_ms.last() {
                None => self.error.note(1, Reason::Empty),
                Some(0) => self.error.note(self.times_ms.len(), Reason::OnlyZeros),
                Some(_) => return Ok(Trace { times_ms: self.times_ms }),
            }
        }
        Err(self.error)
    }
}

fn time_ms(text: &str) -> Result<u32, Reason> {
    if text.is_empty() {
        return Err(Reason::Blank);
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Reason::NotANumber { text: text.chars().take(Reason::SHOWN_CHARS).collect() });
    }
    text.parse().map_err(|_| Reason::TooLate)
}

/// Why a file is no trace: its first mistakes in the order of their lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceError {
    /// At least one and at most [`Self::SHOWN`].
    pub mistakes: Vec<Mistake>,
    /// How many more there are.
    pub more: usize,
}

/// A mistake in a trace file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// From 1.
    pub line: usize,
    /// What is wrong there.
    pub reason: Reason,
}

/// What can be wrong with a trace file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No line at all.
    Empty,
    /// More bytes than [`Trace::MAX_BYTES`].
    TooLarge {
        /// So many.
        bytes: usize,
    },
    /// More lines than [`Trace::MAX_LINES`]; this is the first one too many.
    TooLong,
    /// Not text.
    Binary,
    /// A line with nothing on it.
    Blank,
    /// A line that is not a whole number.
    NotANumber {
        /// Its first characters.
        text: String,
    },
    /// A time of more than 49 days (2^32 ms).
    TooLate,
    /// A time before that of an earlier line.
    Unsorted {
        /// This time, in ms.
        time: u32,
        /// The earlier line's.
        before: u32,
    },
    /// Every time is 0, so the trace has no length to loop over.
    OnlyZeros,
}

impl Reason {
    const SHOWN_CHARS: usize = 20;
}

impl TraceError {
    /// How many mistakes are reported; a wrong file has one on every line.
    pub const SHOWN: usize = 10;

    fn of(line: usize, reason: Reason) -> Self {
        Self { mistakes: vec![Mistake { line, reason }], more: 0 }
    }

    fn note(&mut self, line: usize, reason: Reason) {
        if self.mistakes.len() < Self::SHOWN {
            self.mistakes.push(Mistake { line, reason });
        } else {
            self.more += 1;
        }
    }
}

impl std::error::Error for TraceError {}

impl fmt::Display for TraceError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for mistake in &self.mistakes {
            writeln!(out, "line {}: {}", mistake.line, mistake.reason)?;
        }
        if self.more > 0 {
            writeln!(out, "and {} more lines", self.more)?;
        }
        let bytes = Trace::OPPORTUNITY_BYTES;
        write!(
            out,
            "a trace has one line for each {bytes} bytes that can be delivered: the whole number of "
        )?;
        write!(out, "milliseconds since its beginning, ascending (mahimahi's packet-delivery format)")
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(out, "the file is empty"),
            Self::TooLarge { bytes } => {
                write!(out, "the file has {bytes} bytes, more than {}", Trace::MAX_BYTES)
            }
            Self::TooLong => write!(out, "more than {} lines", Trace::MAX_LINES),
            Self::Binary => write!(out, "not text"),
            Self::Blank => write!(out, "nothing on the line"),
            Self::NotANumber { text } => write!(out, "{text:?} is not a whole number of milliseconds"),
            Self::TooLate => write!(out, "later than {} ms (49 days)", u32::MAX),
            Self::Unsorted { time, before } => write!(out, "{time} ms comes after {before} ms"),
            Self::OnlyZeros => write!(out, "every time is 0: the last one is the length of the loop"),
        }
    }
}
