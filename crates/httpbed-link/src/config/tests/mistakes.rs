//! Every mistake is refused, with its place and its reason.

use serde_json::{Value, json};

use super::{config, parse, with};

/// Where a value (JSON) is put into a valid configuration, what the refusal begins with, and a part of its reason.
type Case = (&'static str, &'static str, &'static str, &'static str);

const WHOLE: [Case; 14] = [
    ("", "[]", "the whole: ", "not an object"),
    ("", "{}", "links: ", "missing"),
    ("/schema", "1", "schema: ", "1 is not 2"),
    ("/mtu", "67", "mtu: ", "within 68 to 65535"),
    ("/mtu", "65536", "mtu: ", "within 68 to 65535"),
    ("/mtu", "1500.5", "mtu: ", "not a whole number"),
    ("/backend", r#""netem""#, "backend: ", "af_packet, tun, observer"),
    ("/links/0/ends", "1", "links[0]: ", "\"ends\" is not one of"),
    ("/links/0/interfaces", r#"["l0a", "l0a"]"#, "links: ", "used twice"),
    ("/links/0/interfaces", r#"["l0a"]"#, "links[0].interfaces: ", "1 elements instead of 2"),
    ("/links/0/interfaces/0", r#""a name too long for it""#, "links[0].interfaces[0]: ", "1 to 15"),
    ("/links/0/interfaces/1", r#""tap%d""#, "links[0].interfaces[1]: ", "no name"),
    ("/links/0/hosts/1", r#""""#, "links[0].hosts[1]: ", "empty"),
    ("/links/0/nat", "1", "links[0].nat: ", "not true or false"),
];

/// In the first direction.
const DIRECTION: [Case; 36] = [
    ("overhead_bytes", "18", "overhead_bytes: ", "none of 0"),
    ("delay_ns", "3600000000001", "delay_ns: ", "is not within"),
    ("delay_ns", "-1", "delay_ns: ", "not a whole number of at least 0"),
    (
        "loss",
        r#"{"model": "bernoulli", "probability": 1.01, "key": "1"}"#,
        "loss.probability: ",
        "1.01 is not within 0 to 1",
    ),
    (
        "loss",
        r#"{"model": "bernoulli", "probability": -0.1, "key": "1"}"#,
        "loss.probability: ",
        "within 0 to 1",
    ),
    ("loss", r#"{"model": "bernoulli", "probability": 0.1, "key": "-1"}"#, "loss.key: ", "64-bit"),
    ("loss", r#"{"model": "bernoulli", "probability": 0.1, "key": 1}"#, "loss.key: ", "not a text"),
    ("loss", r#"{"model": "markov"}"#, "loss.model: ", "bernoulli, gilbert_elliott, listed"),
    ("loss", r#"{"model": "listed", "numbers": [3, 3]}"#, "loss.numbers: ", "not above"),
    ("loss", r#"{"model": "gilbert_elliott", "to_bad": 2}"#, "loss.to_bad: ", "2 is not within"),
    ("corruption", r#"{"probability": 0.1}"#, "corruption.key: ", "missing"),
    ("duplication", r#"{"share": 0.1}"#, "duplication: ", "\"share\" is not one of"),
    (
        "jitter",
        r#"{"distribution": "table", "samples_ns": [], "key": "1"}"#,
        "jitter.samples_ns: ",
        "at least one",
    ),
    ("jitter", r#"{"distribution": "cauchy"}"#, "jitter.distribution: ", "uniform, normal, pareto, table"),
    ("reordering", r#"{"probability": 0.1, "key": "1"}"#, "reordering.hold_ns: ", "missing"),
    ("rate", "5", "rate: ", "5 is not an object"),
    ("rate", "{}", "rate.model: ", "missing"),
    ("rate", r#"{"model": "constant", "bit_s": 199}"#, "rate.bit_s: ", "199 is not within 200"),
    ("rate", r#"{"model": "constant", "bit_s": 0}"#, "rate.bit_s: ", "0 is not within 200"),
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
    (
        "queue",
        r#"{"discipline": "droptail", "limit": {"packets": 0}}"#,
        "queue.limit.packets: ",
        "0 is not within 1",
    ),
    (
        "queue",
        r#"{"discipline": "droptail", "limit": {"bytes": 0}}"#,
        "queue.limit.bytes: ",
        "0 is not within 1",
    ),
    ("queue", r#"{"discipline": "droptail", "limit": {"ns": 0}}"#, "queue.limit.ns: ", "0 is not within 1"),
    (
        "queue",
        r#"{"discipline": "droptail", "limit": {"bytes": 1499}}"#,
        "queue.limit.bytes: ",
        "no packet of the MTU",
    ),
    (
        "queue",
        r#"{"discipline": "droptail", "limit": {"packets": 1, "ns": 1}}"#,
        "queue.limit: ",
        "exactly one",
    ),
    ("queue", r#"{"discipline": "red"}"#, "queue.discipline: ", "droptail, codel, fq_codel, pie"),
    ("queue", r#"{"discipline": "droptail", "ecn": true}"#, "queue: ", "\"ecn\" is not one of"),
    ("queue", r#"{"discipline": "codel", "interval_ns": 0}"#, "queue.interval_ns: ", "within 1"),
    ("queue", r#"{"discipline": "codel", "ecn": 1}"#, "queue.ecn: ", "true or false"),
    ("queue", r#"{"discipline": "fq_codel", "flows": 0}"#, "queue.flows: ", "within 1"),
    ("queue", r#"{"discipline": "pie", "update_ns": 1}"#, "queue.update_ns: ", "within 1000000"),
];

/// In an entry of the schedule.
const SCHEDULE: [Case; 8] = [
    ("", r#"{"at_ns": 1, "change": {"down": true, "loss": 0}}"#, "change: ", "exactly one"),
    ("", r#"{"at_ns": 1, "direction": 2, "change": {"down": true}}"#, "direction: ", "within 0 to 1"),
    ("", r#"{"at_ns": 1, "direction": 0, "change": {"rate_bit_s": 1000}}"#, "change: ", "no constant rate"),
    ("", r#"{"at_ns": 1, "change": {"loss": 0.1}}"#, "change: ", "direction 0 has no random loss"),
    ("", r#"{"at_ns": 1, "direction": 1, "change": {"loss": 1.1}}"#, "change.loss: ", "within 0 to 1"),
    ("", r#"{"change": {"down": true}}"#, "at_ns: ", "missing"),
    ("", r#"{"at_ns": 1, "change": {"rebind": true}}"#, "change: ", "there is no NAT"),
    ("", r#"{"at_ns": 1, "change": {"rebind": false}}"#, "change.rebind: ", "only true"),
];

/// In a trigger.
const TRIGGER: [Case; 7] = [
    ("", r#"{"name": "n", "when": {}}"#, "when: ", "exactly one"),
    ("", r#"{"name": "n", "when": {"first_packet": true}}"#, "when.direction: ", "missing"),
    (
        "",
        r#"{"name": "n", "when": {"delivered_bytes": 0, "direction": 0}}"#,
        "when.delivered_bytes: ",
        "within 1",
    ),
    ("", r#"{"name": "n", "when": {"handshake": false}}"#, "when.handshake: ", "only true"),
    ("", r#"{"name": "n", "when": {"handshake": true, "direction": 0}}"#, "when.direction: ", "both"),
    ("", r#"{"when": {"handshake": true}}"#, "name: ", "missing"),
    (
        "",
        r#"{"name": "n", "when": {"handshake": true}, "change": {"rebind": true}}"#,
        "change: ",
        "there is no NAT",
    ),
];

/// What an observer would have to do to packets that the kernel carries, and where it is refused.
const OBSERVED: [(&str, &str, &str); 7] = [
    (
        "/links/0/directions/0",
        r#"{"delay_ns": 5, "overhead_bytes": 14}"#,
        "links[0].directions[0].delay_ns: ",
    ),
    (
        "/links/0/directions/0",
        r#"{"delay_ns": 5, "overhead_bytes": 14}"#,
        "links[0].directions[0].overhead_bytes: ",
    ),
    (
        "/links/0/directions/1",
        r#"{"rate": {"model": "constant", "bit_s": 1000}}"#,
        "links[0].directions[1].rate: ",
    ),
    ("/links/0/schedule", r#"[{"at_ns": 1, "change": {"down": true}}]"#, "links[0].schedule[0]: "),
    (
        "/links/0/triggers",
        r#"[{"name": "n", "when": {"handshake": true}, "change": {"down": true}}]"#,
        "links[0].triggers[0].change: ",
    ),
    ("/log", r#""/tmp/log""#, "log: "),
    ("/links/0/nat", "true", "links[0].nat: "),
];

fn value(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn assert_refused(config: &Value, beginning: &str, reason: &str) {
    let message = parse(config).expect_err(beginning);
    let fits = |mistake: &str| mistake.starts_with(beginning) && mistake.contains(reason);
    assert!(message.split("; ").any(fits), "{beginning}{reason}\n{message}");
}

#[test]
fn of_the_whole() {
    for (place, text, beginning, reason) in WHOLE {
        assert_refused(&with(place, &value(text)), beginning, reason);
    }
}

#[test]
fn of_a_direction() {
    for (name, text, beginning, reason) in DIRECTION {
        let mut direction = json!({});
        direction[name] = value(text);
        assert_refused(&config(&direction), &format!("links[0].directions[0].{beginning}"), reason);
    }
    assert_refused(
        &config(&json!({"delay_ms": 5})),
        "links[0].directions[0]: ",
        "\"delay_ms\" is not one of",
    );
}

#[test]
fn of_what_is_live() {
    for (list, cases) in [("schedule", &SCHEDULE[..]), ("triggers", &TRIGGER[..])] {
        for (_, text, beginning, reason) in cases {
            let whole = with(&format!("/links/0/{list}"), &json!([value(text)]));
            assert_refused(&whole, &format!("links[0].{list}[0].{beginning}"), reason);
        }
    }
}

/// A mapping is of both directions.
#[test]
fn of_a_rebinding_of_one_direction() {
    let mut whole = with("/links/0/nat", &json!(true));
    whole["links"][0]["schedule"] = json!([{"at_ns": 1, "direction": 0, "change": {"rebind": true}}]);
    assert_refused(&whole, "links[0].schedule[0].change: ", "leave the direction out");
}

#[test]
fn of_an_observer() {
    let observing = |place: &str, text: &str| {
        let mut whole = json!({"schema": 2, "mtu": 1500, "spin_us": 0, "backend": "observer", "links": [{
            "name": "a", "hosts": ["c", "s"], "interfaces": ["l0a", "l0b"], "directions": [{}, {}],
            "schedule": [], "triggers": [{"name": "seen", "when": {"handshake": true}, "change": null}],
        }]});
        if let Some((parent, name)) = place.rsplit_once('/') {
            let parent = whole.pointer_mut(parent).expect("a known place");
            match name.parse::<usize>() {
                Ok(number) => parent[number] = value(text),
                Err(_) => parent[name] = value(text),
            }
        }
        whole
    };
    parse(&observing("", "")).expect("it may tell what passes");
    for (place, text, beginning) in OBSERVED {
        assert_refused(&observing(place, text), beginning, "an observer");
    }
}
