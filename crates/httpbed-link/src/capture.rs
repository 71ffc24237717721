//! Records packets as pcapng, with a comment on those that were dropped.
//!
//! The format is draft-ietf-opsawg-pcapng: a section header, one interface description per side of each
//! link, then an enhanced packet block for every packet in the order of arrival. Stamps are nanoseconds
//! since 1970. Blocks are padded to 4 bytes and carry their length at both ends.
//!
//! The fate of a packet is known after its arrival, and fates are not known in the order of arrival. A copy of each
//! packet waits until its fate and those of all before it are known, so the file is in the order of arrival.

use std::collections::VecDeque;
use std::io::{self, Write};

use link_model::Fate;

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

/// How many buffers are kept for reuse after a burst.
const MAX_SPARE: usize = 4096;

/// A pcapng file being written.
pub struct Capture<W> {
    out: W,
    block: Vec<u8>,
    waiting: VecDeque<Waiting>,
    /// How many packets were written; this is the place of the first one that waits.
    written: u64,
    spare: Vec<Vec<u8>>,
}

/// A packet that is not written yet.
struct Waiting {
    interface: u32,
    stamp: u64,
    frame: Vec<u8>,
    fate: Option<Fate>,
}

impl<W: Write> Capture<W> {
    /// Writes the beginning: one interface for each name, numbered from 0.
    pub fn begin<'a>(out: W, interfaces: impl Iterator<Item = &'a str>) -> io::Result<Self> {
        let mut capture =
            Self { out, block: Vec::new(), waiting: VecDeque::new(), written: 0, spare: Vec::new() };
        capture.section()?;
        for name in interfaces {
            capture.interface(name)?;
        }
        Ok(capture)
    }

    /// Keeps a frame that arrived on an interface, `stamp` nanoseconds after 1970, until its fate is known. Returns
    /// its place: 0, 1, 2 ...
    pub fn arrived(&mut self, interface: u32, stamp: u64, frame: &[u8]) -> u64 {
        let mut kept = self.spare.pop().unwrap_or_default();
        kept.extend_from_slice(frame);
        let place = self.written + self.waiting.len() as u64;
        self.waiting.push_back(Waiting { interface, stamp, frame: kept, fate: None });
        place
    }

    /// Sets the fate of the frame at `place`, and writes every frame that need not wait any longer.
    pub fn settled(&mut self, place: u64, fate: Fate) -> io::Result<()> {
        let offset = place.checked_sub(self.written).and_then(|offset| usize::try_from(offset).ok());
        if let Some(waiting) = offset.and_then(|offset| self.waiting.get_mut(offset)) {
            waiting.fate = Some(fate);
        }
        while self.waiting.front().is_some_and(|first| first.fate.is_some()) {
            self.write_first()?;
        }
        Ok(())
    }

    /// Writes everything, also packets in flight.
    pub fn finish(&mut self) -> io::Result<()> {
        while !self.waiting.is_empty() {
            self.write_first()?;
        }
        self.out.flush()
    }

    fn write_first(&mut self) -> io::Result<()> {
        let Some(mut first) = self.waiting.pop_front() else { return Ok(()) };
        self.written += 1;
        self.packet(&first)?;
        first.frame.clear();
        if self.spare.len() < MAX_SPARE {
            self.spare.push(first.frame);
        }
        Ok(())
    }

    fn packet(&mut self, Waiting { interface, stamp, frame, fate }: &Waiting) -> io::Result<()> {
        let length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        self.u32(*interface);
        self.u32(u32::try_from(stamp >> 32).unwrap_or(u32::MAX));
        self.u32(u32::try_from(stamp & 0xFFFF_FFFF).unwrap_or(u32::MAX));
        self.u32(length);
        self.u32(length);
        self.padded(frame);
        if let Some(Fate::Dropped(cause)) = fate {
            self.option(OPTION_COMMENT, cause.names().comment.as_bytes());
            self.option(OPTION_END, &[]);
        }
        self.end_block(ENHANCED_PACKET)
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use link_model::{Cause, Fate};
    use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
    use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
    use pcap_file::pcapng::{Block, PcapNgReader};

    use super::Capture;

    /// 21 November 2026, plus a nanosecond that a microsecond stamp could not hold.
    const STAMP: u64 = 1_795_219_200_000_000_001;

    fn written() -> Vec<u8> {
        let mut file = Vec::new();
        let mut capture = Capture::begin(&mut file, ["a:client", "a:server"].into_iter()).expect("memory");
        assert_eq!(capture.arrived(0, STAMP, &[1, 2, 3, 4, 5]), 0);
        assert_eq!(capture.arrived(1, STAMP + 1, &[6; 64]), 1);
        assert_eq!(capture.arrived(0, STAMP + 2, &[]), 2);
        // The fates of the later ones are known first.
        capture.settled(1, Fate::Dropped(Cause::Chance)).expect("memory");
        capture.settled(2, Fate::Dropped(Cause::Queue)).expect("memory");
        capture.settled(0, Fate::Delivered).expect("memory");
        assert_eq!(capture.arrived(0, STAMP + 3, &[7]), 3);
        assert_eq!(capture.arrived(0, STAMP + 4, &[8]), 4);
        assert_eq!(capture.arrived(1, STAMP + 5, &[9]), 5);
        capture.settled(4, Fate::Dropped(Cause::Aqm)).expect("memory");
        capture.settled(5, Fate::Dropped(Cause::Down)).expect("memory");
        assert_eq!(capture.arrived(1, STAMP + 6, &[10]), 6);
        capture.settled(6, Fate::Dropped(Cause::Nat)).expect("memory");
        // Packet 3 is still in flight at the end.
        capture.finish().expect("memory");
        file
    }

    #[test]
    fn another_reader_finds_interfaces_packets_and_comments() {
        let file = written();
        let mut reader = PcapNgReader::new(&file[..]).expect("a section header");
        let mut names = Vec::new();
        let mut packets = Vec::new();
        while let Some(block) = reader.next_block() {
            match block.expect("a readable block") {
                Block::InterfaceDescription(interface) => {
                    assert!(interface.options.contains(&InterfaceDescriptionOption::IfTsResol(9)));
                    names.extend(interface.options.iter().filter_map(|option| match option {
                        InterfaceDescriptionOption::IfName(name) => Some(name.to_string()),
                        _ => None,
                    }));
                }
                Block::EnhancedPacket(packet) => {
                    let comment = packet.options.iter().find_map(|option| match option {
                        EnhancedPacketOption::Comment(text) => Some(text.to_string()),
                        _ => None,
                    });
                    packets.push((packet.interface_id, packet.data.to_vec(), comment));
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(names, ["a:client", "a:server"]);
        let comment = |text: &str| Some(text.to_owned());
        assert_eq!(
            packets,
            [
                (0, vec![1, 2, 3, 4, 5], None),
                (1, vec![6; 64], comment("lost: chance")),
                (0, vec![], comment("dropped: queue")),
                (0, vec![7], None),
                (0, vec![8], comment("dropped: aqm")),
                (1, vec![9], comment("dropped: link down")),
                (1, vec![10], comment("dropped: no mapping")),
            ]
        );
    }

    #[test]
    fn stamps_are_nanoseconds() {
        let file = written();
        let at = |offset: usize| u32::from_ne_bytes(file[offset..][..4].try_into().expect("4 bytes"));
        let mut offset = 0;
        while at(offset) != super::ENHANCED_PACKET {
            offset += at(offset + 4) as usize;
        }
        let stamp = u64::from(at(offset + 12)) << 32 | u64::from(at(offset + 16));
        assert_eq!(Duration::from_nanos(stamp), Duration::from_nanos(STAMP));
    }

    #[test]
    fn blocks_tile_the_file() {
        let file = written();
        let length_at =
            |offset: usize| u32::from_ne_bytes(file[offset..][..4].try_into().expect("4 bytes")) as usize;
        let mut offset = 0;
        while offset < file.len() {
            let length = length_at(offset + 4);
            assert_eq!((length % 4, length_at(offset + length - 4)), (0, length));
            offset += length;
        }
        assert_eq!(offset, file.len());
    }
}
