//! Properties that hold for any input.

use proptest::prelude::*;
use serde_json::json;

use super::{arrival, config, frame, leaving, link, run};
use crate::emulator::Emulator;
use crate::records::Records;

pub(super) fn conserved(emulator: &Emulator) {
    for direction in emulator.directions() {
        let account = direction.account();
        let gone = [
            account.delivered,
            account.dropped(link_model::Cause::Chance).tally,
            account.dropped(link_model::Cause::Queue).tally,
            account.dropped(link_model::Cause::Aqm).tally,
            account.dropped(link_model::Cause::Down).tally,
            account.dropped(link_model::Cause::Nat).tally,
        ];
        let packets: u64 = gone.iter().map(|tally| tally.packets).sum();
        assert_eq!(
            account.arrived.packets + account.duplicated.packets,
            packets + direction.in_flight().packets
        );
    }
    possible(emulator);
}

/// The witness of each direction has seen every delivered packet, and none that the link could not deliver.
fn possible(emulator: &Emulator) {
    for (direction, witness) in emulator.directions().iter().zip(emulator.witnesses()) {
        let seen = witness.observation();
        assert_eq!(seen.packets, direction.account().delivered.packets);
        assert!(seen.window.is_none_or(|window| window.slack_ns >= 0), "{seen:?}");
        assert!(seen.delay_slack_ns.is_none_or(|slack| slack >= 0), "{seen:?}");
    }
}

proptest! {
    /// Every frame is carried, dropped or counted as unexpected; nothing panics.
    #[test]
    fn garbage_is_survived(
        frames in prop::collection::vec(
            (0..2_usize, 0..1_000_000_u64, prop::sample::select(vec![0x0800_u16, 0x86DD, 0x0806]),
             prop::collection::vec(any::<u8>(), 0..200), 0..20_usize),
            1..60,
        ),
        nat: bool,
    ) {
        let impaired = json!({
            "corruption": {"probability": 0.5, "key": "1"}, "duplication": {"probability": 0.5, "key": "2"},
            "rate": {"model": "constant", "bit_s": 1_000_000}, "delay_ns": 1000,
            "queue": {"discipline": "fq_codel", "limit": {"packets": 5}, "target_ns": 5_000_000,
                      "interval_ns": 100_000_000, "ecn": true, "flows": 4, "quantum_bytes": 300},
            "jitter": {"distribution": "uniform", "spread_ns": 5000, "key": "3"},
        });
        let config = config(&link(&impaired, &json!({"nat": nat})));
        let mut emulator = Emulator::new(&config, Records::default());
        emulator.start(0);
        let mut carried = 0;
        let total = frames.len() as u64;
        let mut now = 0;
        for (interface, gap, ethertype, noise, begin) in frames {
            now += gap;
            run(&mut emulator, now);
            // Half of the input has valid headers at its beginning.
            let mut bytes = frame(80);
            bytes[12..14].copy_from_slice(&ethertype.to_be_bytes());
            bytes.truncate(14 + begin * 2);
            bytes.extend(noise);
            carried += u64::from(emulator.arrive(interface, arrival(now, bytes)).is_none());
        }
        run(&mut emulator, u64::MAX / 2);
        conserved(&emulator);
        let arrived: u64 = emulator.directions().iter().map(|of| of.account().arrived.packets).sum();
        let odd: u64 = emulator.sent().iter().map(|of| of.stray_frames + of.malformed_packets).sum();
        prop_assert_eq!(arrived, carried);
        prop_assert!(total - carried <= odd + emulator.oddities().oversize);
        prop_assert_eq!(emulator.directions()[0].in_flight().packets, 0);
    }

    /// The same packets meet the same fates however late the loop looks.
    #[test]
    fn lateness_changes_no_fate(gaps in prop::collection::vec(0..400_000_u64, 1..80), every in 1..20_usize) {
        let impaired = json!({
            "loss": {"model": "bernoulli", "probability": 0.2, "key": "9"},
            "rate": {"model": "constant", "bit_s": 10_000_000}, "delay_ns": 300_000,
            "queue": {"discipline": "droptail", "limit": {"packets": 3}},
        });
        let schedule = json!({"schedule": [{"at_ns": 5_000_000, "direction": 0, "change": {"rate_bit_s": 5_000_000}},
                                           {"at_ns": 9_000_000, "direction": 0, "change": {"loss": 0.5}}]});
        let config = config(&link(&impaired, &schedule));
        let fates = |every: usize| {
            let mut emulator = Emulator::new(&config, Records::default());
            emulator.start(0);
            let (mut now, mut due) = (0, Vec::new());
            for (n, gap) in gaps.iter().enumerate() {
                now += gap;
                if n % every == 0 {
                    due.extend(leaving(&mut emulator, 0, now.saturating_sub(1)).0);
                }
                emulator.arrive(0, arrival(now, frame(1000)));
            }
            due.extend(leaving(&mut emulator, 0, u64::MAX / 2).0);
            let account = emulator.directions()[0].account();
            (due, account.dropped(link_model::Cause::Chance).numbers.clone(), account.dropped(link_model::Cause::Queue).numbers.clone())
        };
        prop_assert_eq!(fates(1), fates(every));
    }
}
