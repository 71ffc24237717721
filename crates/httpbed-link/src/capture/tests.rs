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
