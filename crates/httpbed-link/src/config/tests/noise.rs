//! No text makes the reader of configurations panic.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{config, everything, parse, read};
use crate::config::Config;

/// Values of JSON that a configuration may have anywhere.
fn leaf() -> impl Strategy<Value = Value> {
    let words = [
        "droptail",
        "fq_codel",
        "pie",
        "constant",
        "trace",
        "/good",
        "/binary",
        "tun",
        "18446744073709551616",
        "",
    ];
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(words.to_vec()).prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!([null, null])),
    ]
}

/// All places in a value, itself included.
fn places(value: &Value, place: &str, into: &mut Vec<String>) {
    into.push(place.to_owned());
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| places(value, &format!("{place}/{key}"), into));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, value)| places(value, &format!("{place}/{n}"), into));
        }
        _ => {}
    }
}

proptest! {
    #[test]
    fn any_text_is_survived(text in ".{0,200}") {
        let _ = Config::parse(&text, &read);
    }

    #[test]
    fn almost_json_is_survived(text in r#"[\[\]{}",:a-z_0-9. ]{0,300}"#) {
        let _ = Config::parse(&text, &read);
    }

    #[test]
    fn bent_configurations_are_read_or_refused_with_a_place(
        bends in prop::collection::vec((any::<prop::sample::Index>(), leaf()), 1..6),
    ) {
        let mut whole = config(&everything());
        whole["links"][0]["schedule"] = json!([{"at_ns": 6, "change": {"down": true}}]);
        whole["links"][0]["triggers"] = json!([{"name": "n", "when": {"delivered_bytes": 1, "direction": 0},
                                                "change": {"loss": 0.1}}]);
        for (place, value) in bends {
            let mut all = Vec::new();
            places(&whole, "", &mut all);
            *whole.pointer_mut(&all[place.index(all.len())]).expect("it is there") = value;
        }
        if let Err(message) = parse(&whole) {
            prop_assert!(message.contains(": ") && !message.contains('\n'), "{}", message);
        }
    }
}
