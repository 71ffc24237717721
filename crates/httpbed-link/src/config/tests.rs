use link_model::QueueLimit;

use super::Config;

fn config(direction: &str) -> String {
    format!(
        r#"{{"schema": 1, "mtu": 1500, "spin_us": 50, "pcapng": null, "links": [
            {{"name": "a", "hosts": ["c", "s"], "interfaces": ["l0a", "l0b"], "directions": [{direction}, {direction}]}}
        ]}}"#
    )
}

const NOTHING: &str = r#"{"rate_bit_s": null, "delay_ns": null, "loss": null, "queue": null}"#;

#[test]
fn every_impairment_is_read() {
    let text = config(
        r#"{"rate_bit_s": 10000000, "delay_ns": 25000000,
            "loss": {"probability": 0.02, "key": "18446744073709551615"}, "queue": {"bytes": 65536}}"#,
    );
    let impairments = Config::parse(&text).expect("valid").links[0].directions[1].impairments();
    assert_eq!(impairments.loss, Some((0.02, u64::MAX)));
    let (rate, limit) = impairments.bottleneck.expect("a rate");
    assert_eq!((rate.get(), limit), (10_000_000, QueueLimit::Bytes(65536)));
    assert_eq!(impairments.delay, 25_000_000);
}

#[test]
fn absent_impairments_do_nothing() {
    let impairments = Config::parse(&config(NOTHING)).expect("valid").links[0].directions[0].impairments();
    assert!(impairments.loss.is_none() && impairments.bottleneck.is_none() && impairments.delay == 0);
}

#[test]
fn mistakes_are_refused() {
    let cases = [
        (config(&NOTHING.replace("\"rate_bit_s\": null", "\"rate_bit_s\": 0")), "nonzero"),
        (config(&NOTHING.replace("\"queue\": null", "\"queue\": {\"packets\": 0}")), "nonzero"),
        (config(&NOTHING.replace("\"delay_ns\"", "\"delay_ms\"")), "unknown field"),
        (config(NOTHING).replace("\"hosts\"", "\"ends\""), "unknown field"),
        (config(NOTHING).replace("l0b", "l0a"), "used twice"),
        (
            config(&NOTHING.replace("\"loss\": null", "\"loss\": {\"probability\": 0.1, \"key\": \"-1\"}")),
            "64-bit",
        ),
    ];
    for (text, reason) in cases {
        let message = Config::parse(&text).expect_err(&text);
        assert!(message.contains(reason), "{message}");
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let text = config(
        r#"{"rate_bit_s": 1, "delay_ns": 9000000000000, "queue": null,
            "loss": {"probability": 1.5, "key": "0"}}"#,
    );
    let text = text.replace("\"schema\": 1", "\"schema\": 2").replace("1500", "10");
    let message = Config::parse(&text).expect_err("four kinds of mistake");
    assert_eq!(message.split("; ").count(), 6, "{message}");
}
