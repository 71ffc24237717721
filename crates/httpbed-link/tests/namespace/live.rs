//! Links whose conditions change while they run.

use serde_json::{Value, json};

use crate::bed::{Emulator, Hosts};
use crate::scenarios::{CLIENT, MTU, SERVER, assert_clean, unimpaired};

const MILLISECOND: u64 = 1_000_000;

/// Two hosts with pings answered, and an emulator that has started.
fn started(directions: [&Value; 2], of_link: &Value) -> (Hosts, Emulator) {
    let hosts = Hosts::new(MTU);
    let mut emulator = Emulator::with(directions, of_link, &json!({}));
    emulator.start();
    (hosts, emulator)
}

/// Changes a condition, and returns the report of the last direction.
fn change(emulator: &mut Emulator, direction: Option<u64>, change: &Value) -> Value {
    let command = json!({"do": "change", "link": "wire", "direction": direction, "change": change});
    emulator.write_line(&command.to_string());
    if direction.is_none() {
        emulator.await_event("changed");
    }
    emulator.await_event("changed")
}

pub fn a_delay_is_changed_by_command() {
    let slow = json!({"delay_ns": 5 * MILLISECOND});
    let (hosts, mut emulator) = started([&slow, &slow], &json!({}));
    let mut echo = hosts.start(SERVER, &["echo"]);
    assert_eq!(echo.line(), "ready");
    let before = hosts.start(CLIENT, &["ping", "3"]).numbers();
    let event = change(&mut emulator, Some(0), &json!({"delay_ns": 105 * MILLISECOND}));
    let after = hosts.start(CLIENT, &["ping", "3"]).numbers();
    emulator.write_line("{\"do\":\"counters\"}");
    let counters = emulator.await_event("counters");
    let (result, _) = emulator.stop();
    echo.child.kill().expect("our child");

    assert_eq!((before.len(), after.len()), (3, 3));
    let shortest = |times: &[u64]| *times.iter().min().expect("not empty");
    assert!(shortest(&before) >= 10 * MILLISECOND, "{before:?}");
    assert!(shortest(&after) >= 110 * MILLISECOND, "{after:?}");
    assert_eq!((&event["direction"], &event["by"]), (&json!(0), &json!("command")));
    assert_eq!(event["change"], json!({"delay_ns": 105 * MILLISECOND}));
    assert_eq!(counters["directions"][0]["packets"]["in"], 6);
    assert_eq!(counters["directions"][1]["bytes"]["delivered"], 6 * 84);
    assert!(counters["cpu_ns"].as_u64() > Some(0), "{counters}");
    assert!(counters["polled_ns"].as_u64() <= result["polled_ns"].as_u64(), "{counters}");
    assert_eq!(result["changes"].as_array().map(Vec::len), Some(1));
    assert_clean(&result);
}

pub fn a_link_goes_down_and_up_by_command() {
    let (hosts, mut emulator) = started([&unimpaired(), &unimpaired()], &json!({}));
    hosts.start(CLIENT, &["spray", "5", "100"]).numbers();
    change(&mut emulator, None, &json!({"down": true}));
    hosts.start(CLIENT, &["spray", "7", "100"]).numbers();
    change(&mut emulator, None, &json!({"down": false}));
    hosts.start(CLIENT, &["spray", "3", "100"]).numbers();
    let (result, _) = emulator.stop();

    let forth = &result["directions"][0];
    assert_eq!((&forth["packets"]["delivered"], &forth["packets"]["down_dropped"]), (&json!(8), &json!(7)));
    assert_eq!(forth["down_dropped_numbers"], json!([5, 6, 7, 8, 9, 10, 11]));
    let changes = result["changes"].as_array().expect("a list");
    let event = |change: &Value| json!([change["direction"], change["change"]["down"]]);
    let expected = json!([[0, true], [1, true], [0, false], [1, false]]);
    assert_eq!(changes.iter().map(event).collect::<Value>(), expected);
    assert_eq!((&changes[0]["next_number"], &changes[2]["next_number"]), (&json!(5), &json!(12)));
    assert_clean(&result);
}

/// Ten datagrams of 1028 bytes, one after the other at 1 Mbit/s; the link goes down 1 ms after the fifth, while the
/// others wait.
pub fn delivered_bytes_trigger_a_change() {
    let triggers = json!({"triggers": [
        {"name": "five", "when": {"delivered_bytes": 5 * 1028, "direction": 0}, "after_ns": MILLISECOND,
         "direction": 0, "change": {"down": true}},
        {"name": "spoke", "when": {"first_packet": true, "direction": 0}},
    ]});
    let slow = json!({"rate": {"model": "constant", "bit_s": 1_000_000}});
    let (hosts, mut emulator) = started([&slow, &unimpaired()], &triggers);
    hosts.start(CLIENT, &["spray", "10", "1000"]).numbers();
    let spoke = emulator.await_event("triggered");
    let five = emulator.await_event("triggered");
    let changed = emulator.await_event("changed");
    let (result, _) = emulator.stop();

    assert_eq!((&spoke["name"], &five["name"]), (&json!("spoke"), &json!("five")));
    let at = |event: &Value| event["at_ns"].as_u64().expect("a time");
    assert!(at(&five) - at(&spoke) >= 5 * 1028 * 8000);
    let after = at(&changed) - at(&five);
    assert_eq!((&changed["by"], &changed["trigger"]), (&json!("trigger"), &json!("five")));
    let forth = &result["directions"][0];
    let fates = &forth["packets"];
    // A very late loop may have sent packets that were already due then.
    let delivered = fates["delivered"].as_u64().expect("a count");
    assert!((5..=10).contains(&delivered), "{fates}");
    if delivered == 5 {
        assert_eq!(after, MILLISECOND);
    } else {
        assert!(after >= MILLISECOND, "{after} ns");
    }
    assert_eq!(fates["down_dropped"].as_u64(), Some(10 - delivered));
    assert_clean(&result);
}

pub fn a_schedule_is_kept() {
    let schedule = json!({"schedule": [
        {"at_ns": 0, "direction": 0, "change": {"delay_ns": 50 * MILLISECOND}},
        {"at_ns": 20 * MILLISECOND, "direction": 1, "change": {"down": true}},
        {"at_ns": 40 * MILLISECOND, "direction": 1, "change": {"down": false}},
    ]});
    let (hosts, mut emulator) = started([&unimpaired(), &unimpaired()], &schedule);
    let mut echo = hosts.start(SERVER, &["echo"]);
    assert_eq!(echo.line(), "ready");
    let event: Vec<Value> = (0..3).map(|_| emulator.await_event("changed")).collect();
    let times: Vec<&Value> = event.iter().map(|event| &event["at_ns"]).collect();
    assert_eq!(times, [&json!(0), &json!(20 * MILLISECOND), &json!(40 * MILLISECOND)]);
    let round_trips = hosts.start(CLIENT, &["ping", "2"]).numbers();
    let (result, _) = emulator.stop();
    echo.child.kill().expect("our child");
    assert!(
        round_trips.len() == 2 && round_trips.iter().all(|time| *time >= 50 * MILLISECOND),
        "{round_trips:?}"
    );
    assert_eq!(result["changes"].as_array().map(Vec::len), Some(3));
    assert_clean(&result);
}

/// Whether it cannot be read or cannot be made.
pub fn a_wrong_change_does_not_end_the_emulator() {
    let (hosts, mut emulator) = started([&unimpaired(), &unimpaired()], &json!({}));
    for (wrong, reason) in [
        (json!({"do": "change", "link": "nowhere", "change": {"down": true}}), "no link"),
        (json!({"do": "change", "change": {"loss": 0.1}}), "no random loss"),
        (json!({"do": "change", "change": {"loss": 2}}), "loss"),
    ] {
        emulator.write_line(&wrong.to_string());
        let refused = emulator.event();
        assert_eq!(refused["event"], "refused", "{refused}");
        assert!(refused["message"].as_str().is_some_and(|message| message.contains(reason)), "{refused}");
    }
    hosts.start(CLIENT, &["spray", "5", "100"]).numbers();
    let (result, _) = emulator.stop();
    assert_eq!(
        (&result["directions"][0]["packets"]["delivered"], &result["changes"]),
        (&json!(5), &json!([]))
    );
    assert_clean(&result);
}
