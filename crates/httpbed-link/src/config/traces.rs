//! The files that traces are read from.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use link_model::{SLOWEST_BIT_S, Trace, TraceError};

/// Gives the content of a file, or says why not.
pub type ReadFile<'a> = &'a dyn Fn(&Path) -> Result<Vec<u8>, String>;

/// The traces of a configuration; one that several directions name is read once.
pub struct Traces<'a> {
    read: ReadFile<'a>,
    known: HashMap<PathBuf, Arc<Trace>>,
}

impl<'a> Traces<'a> {
    /// From files that are read by `read`.
    pub fn new(read: ReadFile<'a>) -> Self {
        Self { read, known: HashMap::new() }
    }

    /// The trace in a file.
    ///
    /// # Errors
    /// The path, and what is wrong with the file.
    pub fn get(&mut self, path: &Path) -> Result<Arc<Trace>, String> {
        if let Some(trace) = self.known.get(path) {
            return Ok(Arc::clone(trace));
        }
        let trace = self.load(path).map_err(|reason| format!("{:?}: {reason}", path.to_string_lossy()))?;
        self.known.insert(path.to_owned(), Arc::clone(&trace));
        Ok(trace)
    }

    fn load(&self, path: &Path) -> Result<Arc<Trace>, String> {
        // The error has a line for each mistake; a message has one line.
        let one_line = |error: TraceError| error.to_string().lines().collect::<Vec<_>>().join(", ");
        let trace = Trace::parse(&(self.read)(path)?).map_err(one_line)?;
        if trace.mean_bit_s() < SLOWEST_BIT_S {
            return Err(format!("its mean rate is less than one packet a minute ({SLOWEST_BIT_S} bit/s)"));
        }
        Ok(Arc::new(trace))
    }
}

/// Reads a regular file that is not longer than a trace may be.
///
/// # Errors
/// The reason, without the path.
pub fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    let words = |error: std::io::Error| error.to_string();
    // Non-blocking, because opening a named pipe would wait for a writer.
    let file = OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK).open(path).map_err(words)?;
    let metadata = file.metadata().map_err(words)?;
    if !metadata.is_file() {
        return Err("not a regular file".to_owned());
    }
    let mut content = Vec::new();
    let longest = Trace::MAX_BYTES as u64;
    if metadata.len() <= longest {
        file.take(longest + 1).read_to_end(&mut content).map_err(words)?;
    }
    if metadata.len() > longest || content.len() as u64 > longest {
        return Err(format!(
            "{} bytes are more than the {longest} that a trace may have: cut it, the emulator repeats it anyway",
            metadata.len()
        ));
    }
    Ok(content)
}
