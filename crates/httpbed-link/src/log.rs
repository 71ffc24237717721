//! A line for every packet, when its fate is known.
//!
//! Fields are separated by tabs; the first line names them. Times are ns since the start. `out_ns` is when the
//! packet was due to leave, `-` for a dropped one; how late the emulator was is in the result. `bytes` are those of
//! the IP packet. `direction` is its place in the result's list: 0 and 1 for the first link. Copies, which have
//! the number of their original, say so instead of what became of them; whether they were delivered is in
//! `out_ns`.

use std::io::{self, Write};

use link_model::{Fate, Nanos};

/// A log being written.
pub struct PacketLog<W> {
    out: W,
    line: Vec<u8>,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// When it arrived, since the start.
    pub arrived: Nanos,
    /// When its fate was decided, since the start.
    pub at: Nanos,
    /// Size of the IP packet.
    pub bytes: u32,
    /// From 0, two for each link.
    pub direction: usize,
    /// Among the packets of its direction, from 0.
    pub number: u64,
    /// Whether duplication made it.
    pub copy: bool,
    /// What became of it.
    pub fate: Fate,
}

impl<W: Write> PacketLog<W> {
    /// Writes the first line.
    pub fn begin(mut out: W) -> io::Result<Self> {
        out.write_all(b"in_ns\tout_ns\tbytes\tdirection\tnumber\tfate\n")?;
        Ok(Self { out, line: Vec::new() })
    }

    /// Writes a line.
    pub fn packet(&mut self, entry: Entry) -> io::Result<()> {
        let Entry { arrived, at, bytes, direction, number, .. } = entry;
        let fate = word(entry);
        self.line.clear();
        match entry.fate {
            Fate::Delivered => write!(self.line, "{arrived}\t{at}"),
            Fate::Dropped(_) => write!(self.line, "{arrived}\t-"),
        }?;
        writeln!(self.line, "\t{bytes}\t{direction}\t{number}\t{fate}")?;
        self.out.write_all(&self.line)
    }

    /// Writes what is still buffered.
    pub fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

const fn word(entry: Entry) -> &'static str {
    match entry.fate {
        _ if entry.copy => "copy",
        Fate::Delivered => "delivered",
        Fate::Dropped(cause) => cause.names().fate,
    }
}

#[cfg(test)]
mod tests;
