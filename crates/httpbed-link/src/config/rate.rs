//! How fast packets leave: `{"model": NAME, ...}`; and the files that traces are read from.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Read;
use std::num::{NonZeroU32, NonZeroU64};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use link_model::{Rate, Trace};

use super::reading::Field;

/// One delivery opportunity of 1504 bytes a minute.
pub const SLOWEST_BIT_S: u64 = 1504 * 8 / 60;
/// Beyond this a rate is a mistake of unit.
const FASTEST_BIT_S: u64 = 1_000_000_000_000;

/// More than an hour of 20 Mbit/s; in memory it takes about as much again.
const LONGEST_TRACE_BYTES: u64 = 64 << 20;

/// Gives the content of a file, or says why not.
pub type ReadFile<'a> = &'a dyn Fn(&Path) -> Result<Vec<u8>, String>;

/// The traces of a configuration; one that several directions name is read once.
pub struct Traces<'a> {
    read: ReadFile<'a>,
    known: RefCell<HashMap<PathBuf, Result<Arc<Trace>, String>>>,
}

impl<'a> Traces<'a> {
    /// From files that are read by `read`.
    pub fn new(read: ReadFile<'a>) -> Self {
        Self { read, known: RefCell::default() }
    }

    fn get(&self, path: &Path) -> Result<Arc<Trace>, String> {
        let mut known = self.known.borrow_mut();
        known.entry(path.to_owned()).or_insert_with(|| self.load(path)).clone()
    }

    fn load(&self, path: &Path) -> Result<Arc<Trace>, String> {
        let trace = Trace::parse(&(self.read)(path)?).map_err(|error| error.to_string())?;
        let mean = trace.mean_bit_s().get();
        if mean < SLOWEST_BIT_S {
            return Err(format!("its mean rate is less than one packet a minute ({SLOWEST_BIT_S} bit/s)"));
        }
        Ok(Arc::new(trace))
    }
}

/// Reads a rate that has to carry packets of `largest` bytes. `None` stands for a mistake.
pub fn rate(field: &Field<'_>, largest: u64, traces: &Traces<'_>) -> Option<Rate> {
    match field.choice("model", &["constant", "token_bucket", "trace"])? {
        "constant" => Some(Rate::Constant(bit_s(&field.fields(&["model", "bit_s"]).get("bit_s")))),
        "token_bucket" => {
            let fields = field.fields(&["model", "bit_s", "burst_bytes"]);
            let burst = burst(&fields.get("burst_bytes"), largest);
            Some(Rate::TokenBucket { rate: bit_s(&fields.get("bit_s")), burst })
        }
        _ => trace(&field.fields(&["model", "path"]).get("path"), traces).map(Rate::Trace),
    }
}

/// Reads a rate in bit/s, at least one packet a minute.
pub fn bit_s(field: &Field<'_>) -> NonZeroU64 {
    NonZeroU64::new(field.whole(SLOWEST_BIT_S..=FASTEST_BIT_S)).unwrap_or(NonZeroU64::MIN)
}

fn burst(field: &Field<'_>, largest: u64) -> NonZeroU32 {
    let burst = field.whole(1..=u32::MAX.into());
    if burst < largest {
        field.wrong(format_args!(
            "{burst} bytes never pass a packet of the MTU: with its overhead it has {largest}"
        ));
    }
    u32::try_from(burst).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN)
}

fn trace(field: &Field<'_>, traces: &Traces<'_>) -> Option<Arc<Trace>> {
    let path = field.text();
    if path.is_empty() {
        return None;
    }
    traces.get(path.as_ref()).map_err(|reason| field.wrong(format_args!("{path:?}: {reason}"))).ok()
}

/// Reads a regular file of bearable length.
///
/// # Errors
/// In words, without the path.
pub fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    let words = |error: std::io::Error| error.to_string();
    // Non-blocking, because opening a named pipe would wait for a writer.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(words)?;
    let metadata = file.metadata().map_err(words)?;
    if !metadata.is_file() {
        return Err("not a regular file".to_owned());
    }
    let mut content = Vec::new();
    let longest = LONGEST_TRACE_BYTES;
    if metadata.len() <= longest {
        file.take(longest + 1).read_to_end(&mut content).map_err(words)?;
    }
    if metadata.len() > longest || content.len() as u64 > longest {
        return Err(format!(
            "{} bytes are more than the {longest} that a trace may have: cut it, it is looped anyway",
            metadata.len()
        ));
    }
    Ok(content)
}
