//! Reads a byte stream for a time, and records the number of bytes at regular times.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::clock;
use crate::plan::Fetching;

/// Time between two samples.
const SAMPLE_NS: i64 = 1_000_000;
/// A stream that is silent for this long has ended.
const PATIENCE: Duration = Duration::from_secs(5);
const BUFFER_BYTES: usize = 1 << 20;

/// Bytes read.
///
/// # Errors
/// When there is no connection, it ends early or falls silent, or the samples cannot be
/// written.
pub fn fetch(plan: &Fetching) -> io::Result<u64> {
    let mut stream = TcpStream::connect_timeout(&plan.from, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut out = BufWriter::new(File::create(&plan.out)?);
    let mut buffer = vec![0; BUFFER_BYTES];
    let (began, mut sampled, mut total) = (clock::monotonic(), 0, 0_u64);
    while sampled < began + plan.for_ns {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        total += count as u64;
        let now = clock::monotonic();
        if now >= sampled + SAMPLE_NS {
            sampled = now;
            out.write_all(&now.to_le_bytes())?;
            out.write_all(&total.to_le_bytes())?;
        }
    }
    out.flush().map(|()| total)
}
