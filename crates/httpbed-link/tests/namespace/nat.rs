//! A translator between real sockets. The kernel drops wrong checksums, so packets that arrive have right ones.

use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use crate::bed::{Emulator, Hosts, Program};
use crate::scenarios::{CLIENT, MTU, SERVER, assert_clean, unimpaired};

const ECONNRESET: u16 = 104;

/// Two hosts with a program on each, and a started emulator with a translator.
fn started(client: &str, server: &str) -> (Hosts, Emulator, Program, Program) {
    let hosts = Hosts::new(MTU);
    let of_link =
        json!({"nat": true, "triggers": [{"name": "first", "when": {"first_packet": true, "direction": 0}}]});
    let mut emulator = Emulator::with([&unimpaired(), &unimpaired()], &of_link, &json!({}));
    emulator.start();
    let mut serving = hosts.start(SERVER, &[server]);
    assert_eq!(serving.line(), "ready");
    let asking = hosts.start(CLIENT, &[client]);
    (hosts, emulator, asking, serving)
}

fn number(program: &mut Program) -> u16 {
    program.line().parse().expect("a number")
}

/// What the client prints after a line.
fn next_number(program: &mut Program) -> u16 {
    program.write_line("");
    number(program)
}

fn rebind(emulator: &mut Emulator) -> [Value; 2] {
    emulator.write_line(&json!({"do": "change", "link": "wire", "change": {"rebind": true}}).to_string());
    [0, 1].map(|direction| {
        let event = emulator.await_event("changed");
        assert_eq!(event["direction"], direction, "{event}");
        assert_eq!((&event["change"], &event["by"]), (&json!({"rebind": true}), &json!("command")));
        event
    })
}

pub fn a_datagrams_port_changes_and_its_answer_returns() {
    let (_hosts, mut emulator, mut client, mut server) = started("look", "mirror");
    let own = number(&mut client);
    assert_eq!([next_number(&mut client), next_number(&mut client)], [own, own]);
    rebind(&mut emulator);
    let second = [next_number(&mut client), next_number(&mut client)];
    assert!(second[0] == second[1] && second[0] != own, "{own}, then {second:?}");
    rebind(&mut emulator);
    let third = next_number(&mut client);
    assert!(third != own && third != second[0]);
    let (result, _) = emulator.stop();
    server.child.kill().expect("our child");

    assert_clean(&result);
    for direction in [0, 1] {
        assert_eq!(result["directions"][direction]["packets"]["delivered"], 5);
        assert_eq!(result["directions"][direction]["nat_dropped_numbers"], json!([]));
    }
    let [connection] = &result["connections"].as_array().expect("a list")[..] else { panic!("{result}") };
    assert_eq!(connection["client"], format!("10.0.0.1:{own}"), "the link's record has the client's side");
    assert_eq!((&connection["client_packets"], &connection["server_packets"]), (&json!(5), &json!(5)));
    assert_eq!(connection["opening"], "other");
    assert_eq!(connection["client_first_sizes"], json!([56, 56, 56, 56]));
    assert_eq!(connection["server_first_sizes"], json!([2, 2, 2, 2]));
}

/// The server does not know the new port and resets; its retransmissions to the old port reach no program.
pub fn a_tcp_connection_does_not_outlive_its_port() {
    let (_hosts, mut emulator, mut client, mut server) = started("talk", "accept");
    let own = number(&mut client);
    assert_eq!((number(&mut server), next_number(&mut client)), (own, 0));
    rebind(&mut emulator);
    assert_eq!(next_number(&mut client), ECONNRESET);
    // The server's end of the connection still exists: it notices nothing until it sends.
    assert!(server.child.try_wait().expect("our child").is_none());
    server.child.kill().expect("our child");
    server.child.wait().expect("our child");
    let (result, _) = emulator.stop();

    assert_clean(&result);
    let [connection] = &result["connections"].as_array().expect("a list")[..] else { panic!("{result}") };
    assert_eq!((&connection["server_reset"], &connection["opening"]), (&json!(true), &Value::Null));
    assert_eq!(
        (&connection["client_first_sizes"], &connection["server_first_sizes"]),
        (&Value::Null, &Value::Null)
    );
    // The kernel closes the killed server's connection with a segment to the old port.
    let back = &result["directions"][1];
    let turned_away = back["packets"]["nat_dropped"].as_u64().expect("a count");
    assert!(turned_away >= 1, "{back}");
    assert_eq!(back["nat_dropped_numbers"].as_array().map(|numbers| numbers.len() as u64), Some(turned_away));
}

/// All stamps can be converted to the machine's clock, whichever zero they have.
pub fn times_are_since_the_reported_origin() {
    let before = monotonic();
    let (_hosts, mut emulator, mut client, mut server) = started("look", "mirror");
    number(&mut client);
    let asking = monotonic();
    next_number(&mut client);
    let answered = monotonic();
    let first = emulator.await_event("triggered");
    let commanding = monotonic();
    let [event, _] = rebind(&mut emulator);
    let rebound = monotonic();
    let (result, _) = emulator.stop();
    server.child.kill().expect("our child");

    let time = |value: &Value| value.as_u64().expect("a time");
    let origin = time(&result["origin_ns"]);
    let start = origin + time(&result["started_ns"]);
    let within =
        |at: u64, from: u64, to: u64| assert!((from..=to).contains(&at), "{at} not in {from}..={to}");
    within(origin, before, asking);
    let connection = &result["connections"][0];
    within(origin + time(&connection["client_first_ns"]), asking, answered);
    within(origin + time(&connection["server_first_ns"]), asking, answered);
    within(start + time(&first["at_ns"]), asking, answered);
    assert_eq!(
        start + time(&first["at_ns"]),
        origin + time(&connection["client_first_ns"]),
        "the same packet"
    );
    within(start + time(&event["at_ns"]), commanding, rebound);
    assert_eq!(result["changes"][0]["at_ns"], event["at_ns"]);
}

fn monotonic() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("it exists");
    u64::try_from(now.num_nanoseconds()).expect("since boot")
}
