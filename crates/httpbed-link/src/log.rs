//! The packet log: a line for every packet, written when its fate is known.
//!
//! Fields are separated by tabs; the first line names them. Times are ns since the start. `out_ns` is when the
//! packet was due to leave, and `-` for a dropped one; the result has the emulator's lateness. `bytes` is the size
//! of the IP packet. `direction` is the place in the result's list: 0 and 1 for the first link. A copy has the
//! number of its original and the fate `copy`; its `out_ns` says whether it was delivered.

use std::io::{self, Write};

use link_model::{Fate, Nanos};

/// A log in progress.
pub struct PacketLog<W> {
    out: W,
    line: Vec<u8>,
}

/// A packet with its fate.
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
    /// Its fate.
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
mod tests {
    use link_model::{Cause, Fate};

    use super::{Entry, PacketLog};

    #[test]
    fn a_line_for_every_fate() {
        let mut text = Vec::new();
        let mut log = PacketLog::begin(&mut text).expect("memory");
        let plain = Entry {
            arrived: 5,
            at: 25,
            bytes: 1500,
            direction: 1,
            number: 7,
            copy: false,
            fate: Fate::Delivered,
        };
        let entries = [
            plain,
            Entry { fate: Fate::Dropped(Cause::Chance), ..plain },
            Entry { fate: Fate::Dropped(Cause::Queue), ..plain },
            Entry { fate: Fate::Dropped(Cause::Aqm), ..plain },
            Entry { fate: Fate::Dropped(Cause::Down), ..plain },
            Entry { fate: Fate::Dropped(Cause::Nat), ..plain },
            Entry { copy: true, ..plain },
            Entry { copy: true, fate: Fate::Dropped(Cause::Queue), ..plain },
        ];
        for entry in entries {
            log.packet(entry).expect("memory");
        }
        log.finish().expect("memory");
        let expected = "in_ns\tout_ns\tbytes\tdirection\tnumber\tfate\n\
            5\t25\t1500\t1\t7\tdelivered\n5\t-\t1500\t1\t7\tlost\n5\t-\t1500\t1\t7\tqueue\n5\t-\t1500\t1\t7\taqm\n\
            5\t-\t1500\t1\t7\tdown\n5\t-\t1500\t1\t7\tnat\n5\t25\t1500\t1\t7\tcopy\n5\t-\t1500\t1\t7\tcopy\n";
        assert_eq!(String::from_utf8(text).expect("text"), expected);
    }
}
