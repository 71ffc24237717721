//! Every mistake is refused; the message has its place and the reason.

use serde_json::{Value, json};

use super::{config, parse, with};

/// Where a value (JSON) is put into a valid configuration, what the refusal begins with, and a part of its reason.
type Case = (&'static str, &'static str, &'static str, &'static str);

const WHOLE: [Case; 14] = [
    ("", "[]", "the whole: ", "invalid length 0"),
    ("", "{}", "the whole: ", "missing field `schema`"),
    ("/schema", "1", "schema: ", "1 is not 2"),
    ("/mtu", "67", "mtu: ", "within 68 to 65535"),
    ("/mtu", "65536", "mtu: ", "within 68 to 65535"),
    ("/mtu", "1500.5", "mtu: ", "floating point `1500.5`"),
    ("/backend", r#""netem""#, "backend: ", "expected `af_packet` or `tun`"),
    ("/links/0/ends", "1", "links[0].ends: ", "unknown field `ends`"),
    ("/links/0/interfaces", r#"["l0a", "l0a"]"#, "links: ", "used twice"),
    ("/links/0/interfaces", r#"["l0a"]"#, "links[0].interfaces: ", "invalid length 1"),
    ("/links/0/interfaces/0", r#""a name too long for it""#, "links[0].interfaces[0]: ", "1 to 15"),
    ("/links/0/interfaces/1", r#""tap%d""#, "links[0].interfaces[1]: ", "no name"),
    ("/links/0/hosts/1", r#""""#, "links[0].hosts[1]: ", "empty"),
    ("/links/0/nat", "1", "links[0].nat: ", "expected a boolean"),
];

/// In the first direction.
const DIRECTION: [Case; 36] = [
    ("overhead_bytes", "18", "overhead_bytes: ", "none of 0"),
    ("delay_ns", "3600000000001", "delay_ns: ", "is not within"),
    ("delay_ns", "-1", "delay_ns: ", "integer `-1`"),
    (
        "loss",
        r#"{"model": "bernoulli", "probability": 1.01, "key": "1"}"#,
        "loss: ",
        "1.01 is not a probability",
    ),
    ("loss", r#"{"model": "bernoulli", "probability": -0.1, "key": "1"}"#, "loss: ", "within 0 to 1"),
    ("loss", r#"{"model": "bernoulli", "probability": 0.1, "key": "-1"}"#, "loss: ", "64-bit"),
    ("loss", r#"{"model": "bernoulli", "probability": 0.1, "key": 1}"#, "loss: ", "expected a string"),
    ("loss", r#"{"model": "markov"}"#, "loss.model: ", "`bernoulli`, `gilbert_elliott`, `listed`"),
    ("loss", r#"{"model": "listed", "numbers": [3, 3]}"#, "loss: ", "not above"),
    ("loss", r#"{"model": "gilbert_elliott", "to_bad": 2}"#, "loss: ", "2 is not a probability"),
    ("corruption", r#"{"probability": 0.1}"#, "corruption: ", "missing field `key`"),
    ("duplication", r#"{"share": 0.1}"#, "duplication.share: ", "unknown field `share`"),
    ("jitter", r#"{"distribution": "table", "samples_ns": [], "key": "1"}"#, "jitter: ", "at least one"),
    (
        "jitter",
        r#"{"distribution": "cauchy", "key": "1"}"#,
        "jitter: ",
        "`uniform`, `normal`, `pareto`, `table`",
    ),
    ("reordering", r#"{"probability": 0.1, "key": "1"}"#, "reordering: ", "missing field `hold_ns`"),
    ("rate", "5", "rate: ", "integer `5`"),
    ("rate", "{}", "rate: ", "missing field `model`"),
    ("rate", r#"{"model": "constant", "bit_s": 199}"#, "rate: ", "199 is not within 200"),
    ("rate", r#"{"model": "constant", "bit_s": 0}"#, "rate: ", "0 is not within 200"),
    (
        "rate",
        r#"{"model": "token_bucket", "bit_s": 1000, "burst_bytes": 1499}"#,
        "rate.burst_bytes: ",
        "never pass",
    ),
    ("rate", r#"{"model": "trace", "path": "/empty"}"#, "rate.path: ", "/empty"),
    ("rate", r#"{"model": "trace", "path": "/unsorted"}"#, "rate.path: ", "/unsorted"),
    ("rate", r#"{"model": "trace", "path": "/binary"}"#, "rate.path: ", "/binary"),
    ("rate", r#"{"model": "trace", "path": "/slow"}"#, "rate.path: ", "one packet a minute"),
    ("rate", r#"{"model": "trace", "path": "/nowhere"}"#, "rate.path: ", "not found"),
    ("queue", r#"{"discipline": "droptail", "limit": {"packets": 0}}"#, "queue.limit.packets: ", "within 1"),
    ("queue", r#"{"discipline": "droptail", "limit": {"bytes": 0}}"#, "queue.limit.bytes: ", "within 1"),
    ("queue", r#"{"discipline": "droptail", "limit": {"ns": 0}}"#, "queue.limit.ns: ", "within 1"),
    (
        "queue",
        r#"{"discipline": "droptail", "limit": {"bytes": 1499}}"#,
        "queue.limit.bytes: ",
        "no packet of the MTU",
    ),
    ("queue", r#"{"discipline": "droptail", "limit": {"packets": 1, "ns": 1}}"#, "queue.limit: ", "column"),
    ("queue", r#"{"discipline": "red"}"#, "queue: ", "`droptail`, `codel`, `fq_codel`, `pie`"),
    ("queue", r#"{"discipline": "droptail", "ecn": true}"#, "queue: ", "unknown field `ecn`"),
    ("queue", r#"{"discipline": "codel", "interval_ns": 0}"#, "queue: ", "0 is not within 1"),
    ("queue", r#"{"discipline": "codel", "ecn": 1}"#, "queue: ", "expected a boolean"),
    ("queue", r#"{"discipline": "fq_codel", "flows": 0}"#, "queue: ", "nonzero"),
    ("queue", r#"{"discipline": "pie", "update_ns": 1}"#, "queue: ", "within 1000000"),
];

/// In an entry of the schedule.
const SCHEDULE: [Case; 8] = [
    ("", r#"{"at_ns": 1, "change": {"down": true, "loss": 0}}"#, "change: ", "column"),
    ("", r#"{"at_ns": 1, "direction": 2, "change": {"down": true}}"#, "direction: ", "within 0 to 1"),
    ("", r#"{"at_ns": 1, "direction": 0, "change": {"rate_bit_s": 1000}}"#, "change: ", "no constant rate"),
    ("", r#"{"at_ns": 1, "change": {"loss": 0.1}}"#, "change: ", "direction 0 has no random loss"),
    ("", r#"{"at_ns": 1, "direction": 1, "change": {"loss": 1.1}}"#, "change.loss: ", "within 0 to 1"),
    ("", r#"{"change": {"down": true}}"#, "", "missing field `at_ns`"),
    ("", r#"{"at_ns": 1, "change": {"rebind": true}}"#, "change: ", "no NAT"),
    ("", r#"{"at_ns": 1, "change": {"rebind": false}}"#, "change: ", "only be true"),
];

/// In a trigger.
const TRIGGER: [Case; 7] = [
    ("", r#"{"name": "n", "when": {}}"#, "when: ", "exactly one"),
    ("", r#"{"name": "n", "when": {"first_packet": true}}"#, "when: ", "direction is missing"),
    ("", r#"{"name": "n", "when": {"delivered_bytes": 0, "direction": 0}}"#, "when: ", "at least 1"),
    ("", r#"{"name": "n", "when": {"handshake": false}}"#, "when: ", "exactly one"),
    ("", r#"{"name": "n", "when": {"handshake": true, "direction": 0}}"#, "when: ", "both directions"),
    ("", r#"{"when": {"handshake": true}}"#, "", "missing field `name`"),
    ("", r#"{"name": "n", "when": {"handshake": true}, "change": {"rebind": true}}"#, "change: ", "no NAT"),
];

fn value(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn assert_refused(config: &Value, beginning: &str, reason: &str) {
    let message = parse(config).expect_err(beginning);
    assert!(message.starts_with(beginning) && message.contains(reason), "{beginning}{reason}\n{message}");
}

#[test]
fn mistakes_of_the_whole_are_refused() {
    for (place, text, beginning, reason) in WHOLE {
        assert_refused(&with(place, &value(text)), beginning, reason);
    }
}

#[test]
fn mistakes_of_a_direction_are_refused() {
    for (name, text, beginning, reason) in DIRECTION {
        let mut direction = json!({});
        direction[name] = value(text);
        assert_refused(&config(&direction), &format!("links[0].directions[0].{beginning}"), reason);
    }
    assert_refused(
        &config(&json!({"delay_ms": 5})),
        "links[0].directions[0].delay_ms: ",
        "unknown field `delay_ms`",
    );
}

#[test]
fn mistakes_of_schedules_and_triggers_are_refused() {
    for (list, cases) in [("schedule", &SCHEDULE[..]), ("triggers", &TRIGGER[..])] {
        for (_, text, beginning, reason) in cases {
            let whole = with(&format!("/links/0/{list}"), &json!([value(text)]));
            let dot = if beginning.is_empty() { ": " } else { "." };
            assert_refused(&whole, &format!("links[0].{list}[0]{dot}{beginning}"), reason);
        }
    }
}

#[test]
fn a_rebinding_of_one_direction_is_refused() {
    let mut whole = with("/links/0/nat", &json!(true));
    whole["links"][0]["schedule"] = json!([{"at_ns": 1, "direction": 0, "change": {"rebind": true}}]);
    assert_refused(&whole, "links[0].schedule[0].change: ", "leave the direction out");
}
