//! One number for all packets of a flow.

use std::net::IpAddr;

use crate::frame::Packet;
use crate::transport::Transport;

impl Packet<'_> {
    /// Equal for packets with the same addresses, protocol and ports, and almost always different otherwise.
    ///
    /// RFC 8290 (4.1.1) asks for a secret key against senders that choose ports to share a queue with a victim. In
    /// a testbed all senders belong to the experimenter, and the same packets have to meet in the same queues in
    /// every run, so there is no key. The mixing function is the finaliser of `SplitMix64`, in which every input
    /// bit changes each output bit with probability one half (Steele, Lea and Flood 2014). FNV does not achieve
    /// that for addresses that differ in the last byte only.
    ///
    /// All fragments of a packet must share a queue, and only the first has ports. So the hash of fragments uses
    /// addresses and protocol only, as the kernel's flow dissector does.
    #[must_use]
    pub fn flow(&self) -> u64 {
        let ports = match &self.transport {
            _ if self.fragment => 0,
            Transport::Tcp(segment) => both(segment.source_port, segment.destination_port),
            Transport::Udp(datagram) => both(datagram.source_port, datagram.destination_port),
            _ => 0,
        };
        let [source, destination] = [self.source, self.destination].map(halves);
        let words = [source[0], source[1], destination[0], destination[1]];
        let hash = words.into_iter().fold(0, |hash, word| mix(hash ^ word));
        mix(hash ^ (u64::from(self.protocol) << 32 | u64::from(ports)))
    }
}

fn both(source: u16, destination: u16) -> u32 {
    u32::from(source) << 16 | u32::from(destination)
}

fn halves(address: IpAddr) -> [u64; 2] {
    match address {
        IpAddr::V4(address) => [0, u64::from(address.to_bits())],
        IpAddr::V6(address) => {
            let [high, low] = [address.to_bits() >> 64, address.to_bits() & u128::from(u64::MAX)];
            [u64::try_from(high).unwrap_or(0), u64::try_from(low).unwrap_or(0)]
        }
    }
}

/// One round of `SplitMix64`; the constant it adds keeps 0 from staying 0.
const fn mix(word: u64) -> u64 {
    let z = word.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
