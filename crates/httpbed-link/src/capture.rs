//! Records packets as pcapng, with a comment on those that were not carried.
//!
//! The format is draft-ietf-opsawg-pcapng: a section header, one interface description per side of each
//! link, then an enhanced packet block for every packet in the order of arrival. Stamps are nanoseconds
//! since 1970. Blocks are padded to 4 bytes and carry their length at both ends.

use std::io::{self, Write};

use link_model::Cause;

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

const OPTION_END: u16 = 0;
const OPTION_COMMENT: u16 = 1;
const OPTION_USER_APPLICATION: u16 = 4;
const OPTION_INTERFACE_NAME: u16 = 2;
const OPTION_TIME_RESOLUTION: u16 = 9;

const LINKTYPE_ETHERNET: u16 = 1;
const NANOSECONDS: u8 = 9;

/// A pcapng file being written.
pub struct Capture<W> {
    out: W,
    block: Vec<u8>,
}

impl<W: Write> Capture<W> {
    /// Writes the beginning: one interface per name, numbered from 0.
    pub fn begin<'a>(out: W, interfaces: impl Iterator<Item = &'a str>) -> io::Result<Self> {
        let mut capture = Self { out, block: Vec::new() };
        capture.section()?;
        for name in interfaces {
            capture.interface(name)?;
        }
        Ok(capture)
    }

    /// Writes a frame that arrived on an interface; `stamp` in nanoseconds since 1970.
    pub fn packet(
        &mut self,
        interface: u32,
        stamp: u64,
        frame: &[u8],
        dropped: Option<Cause>,
    ) -> io::Result<()> {
        let length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        self.u32(interface);
        self.u32(u32::try_from(stamp >> 32).unwrap_or(u32::MAX));
        self.u32(u32::try_from(stamp & 0xFFFF_FFFF).unwrap_or(u32::MAX));
        self.u32(length);
        self.u32(length);
        self.padded(frame);
        if let Some(cause) = dropped {
            self.option(OPTION_COMMENT, comment(cause).as_bytes());
            self.option(OPTION_END, &[]);
        }
        self.end_block(ENHANCED_PACKET)
    }

    /// Writes what is still buffered.
    pub fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn section(&mut self) -> io::Result<()> {
        self.u32(0x1A2B_3C4D);
        self.u16(1);
        self.u16(0);
        self.block.extend(u64::MAX.to_ne_bytes());
        self.option(OPTION_USER_APPLICATION, concat!("httpbed-link ", env!("CARGO_PKG_VERSION")).as_bytes());
        self.option(OPTION_END, &[]);
        self.end_block(SECTION_HEADER)
    }

    fn interface(&mut self, name: &str) -> io::Result<()> {
        self.u16(LINKTYPE_ETHERNET);
        self.u16(0);
        self.u32(0);
        self.option(OPTION_INTERFACE_NAME, name.as_bytes());
        self.option(OPTION_TIME_RESOLUTION, &[NANOSECONDS]);
        self.option(OPTION_END, &[]);
        self.end_block(INTERFACE_DESCRIPTION)
    }

    fn end_block(&mut self, kind: u32) -> io::Result<()> {
        let length = u32::try_from(self.block.len() + 12).unwrap_or(u32::MAX).to_ne_bytes();
        self.out.write_all(&kind.to_ne_bytes())?;
        self.out.write_all(&length)?;
        self.out.write_all(&self.block)?;
        self.out.write_all(&length)?;
        self.block.clear();
        Ok(())
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.u16(code);
        self.u16(u16::try_from(value.len()).unwrap_or(u16::MAX));
        self.padded(value);
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn u16(&mut self, value: u16) {
        self.block.extend(value.to_ne_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.block.extend(value.to_ne_bytes());
    }
}

const fn comment(cause: Cause) -> &'static str {
    match cause {
        Cause::Chance => "lost: chance",
        Cause::Queue => "dropped: queue",
    }
}

#[cfg(test)]
mod tests;
