use std::path::Path;

use link_model::{Change, Discipline, Impairments, JitterShape, LossModel, QueueLimit, Rate};
use serde_json::{Value, json};

use super::{Backend, Config, Target, When};

mod mistakes;
mod noise;

/// Some traces, by path.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    Ok(match path.to_str() {
        Some("/good") => b"0\n5\n5\n12\n".to_vec(),
        Some("/empty") => Vec::new(),
        Some("/unsorted") => b"5\n3\n".to_vec(),
        Some("/binary") => vec![0, 0xFF, 0xFE, b'\n', 7],
        Some("/slow") => b"61000\n".to_vec(),
        _ => return Err("not found".to_owned()),
    })
}

fn parse(config: &Value) -> Result<Config, String> {
    Config::parse(&config.to_string(), &read)
}

/// A link whose first direction is `direction`, and whose second has a rate, loss and nothing else.
fn config(direction: &Value) -> Value {
    let back = json!({"rate": {"model": "constant", "bit_s": 1_000_000},
                      "loss": {"model": "bernoulli", "probability": 0, "key": "2"}});
    json!({"schema": 2, "mtu": 1500, "spin_us": 50, "pcapng": null, "links": [{
        "name": "a", "hosts": ["c", "s"], "interfaces": ["l0a", "l0b"], "directions": [direction, back],
    }]})
}

fn with(place: &str, value: &Value) -> Value {
    let mut whole = config(&json!({}));
    if let Some(known) = whole.pointer_mut(place) {
        *known = value.clone();
        return whole;
    }
    let (parent, name) = place.rsplit_once('/').expect("a place begins with /");
    whole.pointer_mut(parent).expect("a known place")[name] = value.clone();
    whole
}

fn everything() -> Value {
    json!({
        "overhead_bytes": 38,
        "loss": {"model": "gilbert_elliott", "to_bad": 0.01, "to_good": 0.3, "loss_good": 0, "loss_bad": 1,
                 "key": "18446744073709551615"},
        "corruption": {"probability": 0.1, "key": "1"},
        "duplication": {"probability": 0.2, "key": "2"},
        "rate": {"model": "token_bucket", "bit_s": 500_000, "burst_bytes": 32768},
        "queue": {"discipline": "fq_codel", "limit": {"ns": 70_000_000}, "target_ns": 5_000_000,
                  "interval_ns": 100_000_000, "ecn": true, "flows": 1024, "quantum_bytes": 1514},
        "delay_ns": 25_000_000,
        "jitter": {"distribution": "table", "samples_ns": [-5, 0, 7], "key": "3"},
        "reordering": {"probability": 0.01, "hold_ns": 10_000_000, "key": "4"},
    })
}

#[test]
fn every_impairment_is_read() {
    let config = parse(&config(&everything())).expect("valid");
    let impairments = &config.links[0].directions[0];
    assert_eq!(impairments.overhead_bytes, 38);
    let Some(LossModel::GilbertElliott(channel)) = &impairments.loss else { panic!("{impairments:?}") };
    assert_eq!((channel.to_good, channel.loss_bad, channel.key), (0.3, 1.0, u64::MAX));
    assert_eq!(impairments.corruption.map(|chance| (chance.probability, chance.key)), Some((0.1, 1)));
    assert_eq!(impairments.duplication.map(|chance| (chance.probability, chance.key)), Some((0.2, 2)));
    let Some(Rate::TokenBucket { rate, burst }) = impairments.rate else { panic!("{impairments:?}") };
    assert_eq!((rate.get(), burst.get()), (500_000, 32768));
    let Discipline::FqCoDel(fq) = impairments.queue.discipline else { panic!("{impairments:?}") };
    assert_eq!((fq.codel.target, fq.codel.ecn, fq.quantum.get()), (5_000_000, true, 1514));
    assert_eq!(impairments.queue.limit, QueueLimit::Time(70_000_000));
    assert_eq!(impairments.delay, 25_000_000);
    let jitter = impairments.jitter.as_ref().expect("given");
    assert!(matches!(&jitter.shape, JitterShape::Table(samples) if samples[..] == [-5, 0, 7]));
    let reordering = impairments.reordering.expect("given");
    assert_eq!((reordering.key, reordering.hold), (4, 10_000_000));
}

#[test]
fn every_variant_is_read() {
    let shape = |name: &str| json!({"jitter": {"distribution": name, "spread_ns": 9, "key": "1"}});
    for (name, expected) in [("uniform", "Uniform(9)"), ("normal", "Normal(9)"), ("pareto", "Pareto(9)")] {
        let config = parse(&config(&shape(name))).expect("valid");
        let jitter = config.links[0].directions[0].jitter.clone().expect("given");
        assert_eq!(format!("{:?}", jitter.shape), expected);
    }
    let queues = [
        json!({"discipline": "droptail", "limit": {"packets": 3}}),
        json!({"discipline": "droptail", "limit": null}),
        json!({"discipline": "codel", "limit": {"bytes": 65536}, "target_ns": 1, "interval_ns": 2, "ecn": false}),
        json!({"discipline": "pie", "target_ns": 1, "update_ns": 15_000_000, "ecn": true, "key": "0"}),
    ];
    for queue in queues {
        parse(&config(&json!({"queue": queue}))).expect("valid");
    }
    let listed = json!({"loss": {"model": "listed", "numbers": [0, 3, 17]}, "rate": {"model": "trace", "path": "/good"}});
    let impairments = parse(&config(&listed)).expect("valid").links[0].directions[0].clone();
    assert!(matches!(impairments.loss, Some(LossModel::Listed(numbers)) if numbers[..] == [0, 3, 17]));
    assert!(matches!(impairments.rate, Some(Rate::Trace(_))));
}

#[test]
fn absent_impairments_do_nothing() {
    let nulls = json!({"loss": null, "corruption": null, "duplication": null, "rate": null, "jitter": null, "reordering": null});
    for nothing in [nulls, json!({})] {
        let direction = parse(&config(&nothing)).expect("valid").links[0].directions[0].clone();
        assert_eq!(direction, Impairments::default());
    }
    let config = parse(&config(&json!({}))).expect("valid");
    assert_eq!((config.backend, config.log, config.links[0].nat), (Backend::AfPacket, None, false));
}

#[test]
fn schedules_and_triggers_are_read() {
    let mut whole = config(&everything());
    whole["backend"] = json!("tun");
    whole["links"][0]["schedule"] = json!([
        {"at_ns": 5, "direction": 0, "change": {"rate_bit_s": 2_000_000}},
        {"at_ns": 6, "change": {"down": true}},
    ]);
    whole["links"][0]["triggers"] = json!([
        {"name": "half", "when": {"delivered_bytes": 2_000_000, "direction": 1}, "after_ns": 7, "direction": null,
         "change": {"loss": 0.5}},
        {"name": "event", "when": {"first_packet": true, "direction": 1}},
        {"name": "safe", "when": {"handshake": true}, "direction": 0, "change": {"delay_ns": 1}},
    ]);
    let config = parse(&whole).expect("valid");
    let link = &config.links[0];
    assert_eq!(config.backend, Backend::Tun);
    let rate = Change::Rate(2_000_000.try_into().expect("not 0"));
    assert_eq!(link.schedule[0].target, Target { direction: Some(0), change: rate });
    assert_eq!((link.schedule[1].at, link.schedule[1].target.directions().count()), (6, 2));
    assert_eq!(link.triggers[0].when, When::Delivered { direction: 1, bytes: 2_000_000 });
    assert_eq!(link.triggers[0].target, Some(Target { direction: None, change: Change::Loss(0.5) }));
    assert_eq!((link.triggers[1].when, link.triggers[1].target), (When::FirstPacket { direction: 1 }, None));
    assert_eq!((link.triggers[2].when, link.triggers[2].after), (When::Handshake, 0));
}

#[test]
fn changes_are_written_in_the_form_in_which_they_are_read() {
    for text in [
        r#"{"rate_bit_s":200}"#,
        r#"{"delay_ns":0}"#,
        r#"{"loss":0.25}"#,
        r#"{"down":true}"#,
        r#"{"down":false}"#,
        r#"{"rebind":true}"#,
    ] {
        let mut whole = config(&everything());
        let change: Value = serde_json::from_str(text).expect("JSON");
        whole["links"][0]["nat"] = json!(true);
        let direction = if text.contains("rebind") { Value::Null } else { json!(0) };
        whole["links"][0]["schedule"] = json!([{"at_ns": 0, "direction": direction, "change": change}]);
        let change = parse(&whole).expect("valid").links[0].schedule[0].target.change;
        assert_eq!(serde_json::to_string(&change).expect("JSON"), text);
    }
}

#[test]
fn a_name_used_twice_is_refused() {
    let word = json!({"name": "n", "when": {"handshake": true}});
    let message = parse(&with("/links/0/triggers", &json!([word, word]))).expect_err("twice");
    assert_eq!(message, "links[0].triggers: the name \"n\" is used twice");
}

#[test]
fn only_regular_files_of_limited_size_are_read() {
    let folder = std::env::temp_dir();
    assert_eq!(super::read_file(&folder), Err("not a regular file".to_owned()));
    assert!(super::read_file(Path::new("/dev/zero")).is_err_and(|error| error.contains("regular")));
    let path = folder.join(format!("httpbed-huge-{}", std::process::id()));
    let huge = std::fs::File::create(&path).expect("a writable temporary folder");
    huge.set_len(1 << 30).expect("it takes no room");
    let refusal = super::read_file(&path).expect_err("a gigabyte");
    std::fs::remove_file(&path).expect("ours");
    assert!(refusal.starts_with("1073741824 bytes are more than"), "{refusal}");
}
