//! Scenarios for the executable.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::Command;

use link_model::{Cause, Stream};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use serde_json::{Value, json};

use crate::bed::{Emulator, Hosts, temporary};
use crate::{interfaces, live, nat};

const SCENARIOS: [(&str, fn()); 26] = [
    ("round_trips_take_the_configured_time", round_trips_take_the_configured_time),
    ("a_transfer_gets_the_rate_and_no_more", a_transfer_gets_the_rate_and_no_more),
    ("losses_are_those_of_the_key", losses_are_those_of_the_key),
    ("a_short_queue_drops_the_tail", a_short_queue_drops_the_tail),
    ("oversize_frames_are_counted_and_dropped", oversize_frames_are_counted_and_dropped),
    ("the_capture_names_dropped_packets_and_the_reason", the_capture_names_dropped_packets_and_the_reason),
    ("an_interface_narrower_than_the_mtu_is_refused", an_interface_narrower_than_the_mtu_is_refused),
    ("the_log_has_a_line_for_every_packet", the_log_has_a_line_for_every_packet),
    ("a_corrupted_datagram_reaches_no_program", a_corrupted_datagram_reaches_no_program),
    ("a_delay_is_changed_by_command", live::a_delay_is_changed_by_command),
    ("a_link_goes_down_and_up_by_command", live::a_link_goes_down_and_up_by_command),
    ("delivered_bytes_trigger_a_change", live::delivered_bytes_trigger_a_change),
    ("a_schedule_is_kept", live::a_schedule_is_kept),
    ("a_wrong_change_does_not_end_the_emulator", live::a_wrong_change_does_not_end_the_emulator),
    ("a_datagrams_port_changes_and_its_answer_returns", nat::a_datagrams_port_changes_and_its_answer_returns),
    ("a_tcp_connection_does_not_outlive_its_port", nat::a_tcp_connection_does_not_outlive_its_port),
    ("times_are_since_the_reported_origin", nat::times_are_since_the_reported_origin),
    ("an_interface_goes_down_and_up", interfaces::an_interface_goes_down_and_up),
    ("an_interface_is_up_later_than_the_emulator", interfaces::an_interface_is_up_later_than_the_emulator),
    ("rings_take_as_much_memory_as_the_rate_needs", interfaces::rings_take_as_much_memory_as_the_rate_needs),
    ("a_tun_link_carries_pings", a_tun_link_carries_pings),
    ("a_tun_device_that_cannot_be_opened_is_named", a_tun_device_that_cannot_be_opened_is_named),
    ("a_missing_capability_for_tun_is_named", a_missing_capability_for_tun_is_named),
    ("a_missing_capability_is_named", a_missing_capability_is_named),
    ("the_emulator_ends_with_its_stdin", the_emulator_ends_with_its_stdin),
    ("mistakes_have_their_exit_codes", mistakes_have_their_exit_codes),
];

/// The device that creates interfaces.
const TUN: &str = "/dev/net/tun";
pub const MTU: u32 = 1500;
pub const CLIENT: usize = 0;
pub const SERVER: usize = 1;

/// The names of all scenarios.
pub fn names() -> impl ExactSizeIterator<Item = &'static str> {
    SCENARIOS.into_iter().map(|(name, _)| name)
}

/// Why this machine cannot run a scenario, if it cannot: those of TUN links need their device.
pub fn obstacle(name: &str) -> Option<String> {
    let needs_tun = matches!(name, "a_tun_link_carries_pings" | "a_missing_capability_for_tun_is_named");
    if needs_tun { tun_refusal() } else { None }
}

/// Why the user cannot open the device; an ordinary user often may not.
fn tun_refusal() -> Option<String> {
    let opened = OpenOptions::new().read(true).write(true).open(TUN);
    opened.err().map(|error| format!("{TUN}: {error}"))
}

/// Runs a scenario; it panics on a failure.
pub fn run(name: &str) {
    let (_, scenario) = SCENARIOS.into_iter().find(|(known, _)| *known == name).expect("a known scenario");
    scenario();
}

fn at_10_mbit_s() -> Value {
    json!({"rate": {"model": "constant", "bit_s": 10_000_000}, "delay_ns": 25_000_000,
           "queue": {"discipline": "droptail", "limit": {"packets": 1000}}})
}

pub fn unimpaired() -> Value {
    json!({})
}

pub fn assert_clean(result: &Value) {
    for counter in [
        "socket_drops",
        "oversize_frames",
        "unstamped_frames",
        "send_failures",
        "stray_frames",
        "malformed_packets",
    ] {
        assert_eq!(result[counter], 0, "{counter}: {result}");
    }
}

fn round_trips_take_the_configured_time() {
    const PINGS: usize = 20;
    // Two delays, and 84 bytes serialised at 10 Mbit/s each way.
    const SHORTEST_NS: u64 = 2 * (25_000_000 + 67_200);
    let hosts = Hosts::new(MTU);
    let mut emulator = Emulator::new([&at_10_mbit_s(), &at_10_mbit_s()]);
    let mut echo = hosts.start(SERVER, &["echo"]);
    assert_eq!(echo.line(), "ready");
    let probes = hosts.start(CLIENT, &["ping", "3"]).numbers();
    emulator.start();
    let round_trips = hosts.start(CLIENT, &["ping", &PINGS.to_string()]).numbers();
    let (result, events) = emulator.stop();
    echo.child.kill().expect("our child");

    assert_eq!((probes.len(), round_trips.len()), (3, PINGS));
    let shortest = *probes.iter().chain(&round_trips).min().expect("not empty");
    assert!(shortest >= SHORTEST_NS, "{shortest}");
    assert_clean(&result);
    for direction in [0, 1] {
        let direction = &result["directions"][direction];
        let mut expected = json!({"in": PINGS, "duplicated": 0, "delivered": PINGS, "in_flight": 0});
        for cause in Cause::ALL {
            expected[cause.names().counter] = json!(0);
        }
        assert_eq!(direction["packets"], expected, "{direction}");
        assert_eq!(direction["bytes"]["delivered"], PINGS * 84);
        assert_eq!(direction["busy_ns"], PINGS * 67_200);
    }
    assert_eq!(result["lateness_ns"]["count"], 2 * PINGS);
    assert_eq!((events.len(), &events[0]["protocol"]), (1, &json!("udp")));
    let connection = &result["connections"][0];
    assert_eq!(connection["server"], "10.0.0.2:7");
    assert_eq!(
        (&connection["client_packets"], &connection["server_packets"]),
        (&json!(PINGS), &json!(PINGS))
    );
}

/// Goodput is bounded by the rate times 1448 payload bytes in 1500.
fn a_transfer_gets_the_rate_and_no_more() {
    const BYTES: u64 = 1_000_000;
    const SHORTEST_NS: u64 = BYTES * 8 * 100 * 1500 / 1448;
    let hosts = Hosts::new(MTU);
    let mut emulator = Emulator::new([&at_10_mbit_s(), &at_10_mbit_s()]);
    let mut server = hosts.start(SERVER, &["serve", &BYTES.to_string()]);
    assert_eq!(server.line(), "ready");
    emulator.start();
    let fetched = hosts.start(CLIENT, &["fetch"]).numbers();
    let (result, events) = emulator.stop();

    let [received, elapsed] = fetched[..] else { panic!("{fetched:?}") };
    assert_eq!(received, BYTES);
    assert!(elapsed >= SHORTEST_NS, "{elapsed} ns, {SHORTEST_NS} is the least");
    assert_clean(&result);
    let down = &result["directions"][1];
    let bytes = down["bytes"]["delivered"].as_u64().expect("bytes");
    assert_eq!(down["busy_ns"].as_u64(), Some(bytes * 800));
    assert!(down["utilisation"].as_f64().expect("it has a rate") <= 1.0);
    let connection = &result["connections"][0];
    assert_eq!((&connection["protocol"], &events[0]["protocol"]), (&json!("tcp"), &json!("tcp")));
    let again = connection["server_retransmitted_bytes"].as_u64().expect("TCP");
    let payload = connection["server_payload_bytes"].as_u64().expect("TCP");
    // A segment that another one overtook on the way to the link counts as repeated, too.
    assert!((BYTES..=BYTES + again).contains(&payload), "{connection}");
    assert!(connection["client_close_ns"].is_u64(), "{connection}");
}

fn losses_are_those_of_the_key() {
    const PACKETS: u64 = 500;
    let hosts = Hosts::new(MTU);
    let mut lossy = unimpaired();
    lossy["loss"] = json!({"model": "bernoulli", "probability": 0.1, "key": "1"});
    let mut emulator = Emulator::new([&lossy, &unimpaired()]);
    emulator.start();
    hosts.start(CLIENT, &["spray", &PACKETS.to_string(), "100"]).numbers();
    let (result, _) = emulator.stop();

    let expected: Vec<u64> = (0..PACKETS).filter(|n| Stream::new(1).unit(*n) < 0.1).collect();
    assert_eq!(result["directions"][0]["lost_numbers"], json!(expected));
    assert_eq!(result["directions"][0]["packets"]["in"], PACKETS);
    assert_clean(&result);
}

/// 100 datagrams of 1028 bytes at once into a queue for 10 that takes 80 ms for each.
fn a_short_queue_drops_the_tail() {
    let hosts = Hosts::new(MTU);
    let slow = json!({"rate": {"model": "constant", "bit_s": 100_000},
                      "queue": {"discipline": "droptail", "limit": {"packets": 10}}});
    let mut emulator = Emulator::new([&slow, &unimpaired()]);
    emulator.start();
    hosts.start(CLIENT, &["spray", "100", "1000"]).numbers();
    let (result, _) = emulator.stop();

    let direction = &result["directions"][0];
    assert_eq!(direction["queue_packets_max"], 10);
    let dropped = direction["queue_dropped_numbers"].as_array().expect("numbers");
    assert_eq!(dropped[0], 10);
    let count = |fate: &str| direction["packets"][fate].as_u64().expect("a count");
    assert_eq!(dropped.len() as u64, count("queue_dropped"));
    assert_eq!((count("in"), count("lost")), (100, 0));
    assert_eq!(count("delivered") + count("queue_dropped") + count("in_flight"), 100);
}

/// Hosts whose frames are longer than the configuration allows, as with an offload left on.
fn oversize_frames_are_counted_and_dropped() {
    let hosts = Hosts::new(MTU + 500);
    let mut emulator = Emulator::new([&unimpaired(), &unimpaired()]);
    emulator.start();
    hosts.start(CLIENT, &["spray", "5", "1700"]).numbers();
    hosts.start(CLIENT, &["spray", "2", "1472"]).numbers();
    let (result, _) = emulator.stop();
    assert_eq!(result["oversize_frames"], 5);
    assert_eq!(result["directions"][0]["packets"]["in"], 2);
    assert_eq!(result["send_failures"], 0);
}

fn the_capture_names_dropped_packets_and_the_reason() {
    const PACKETS: usize = 200;
    let hosts = Hosts::new(MTU);
    let mut lossy = unimpaired();
    lossy["loss"] = json!({"model": "bernoulli", "probability": 0.2, "key": "7"});
    let path = temporary("link.pcapng");
    let mut emulator = Emulator::with([&lossy, &unimpaired()], &json!({}), &json!({"pcapng": path}));
    hosts.start(CLIENT, &["spray", "5", "100"]).numbers();
    emulator.start();
    hosts.start(CLIENT, &["spray", &PACKETS.to_string(), "100"]).numbers();
    let (result, _) = emulator.stop();

    let file = fs::File::open(&path).expect("a capture");
    fs::remove_file(&path).expect("it is there");
    let mut reader = PcapNgReader::new(file).expect("a section header");
    let (mut forth, mut lost) = (0_u64, Vec::new());
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.expect("a readable block") else { continue };
        if packet.interface_id != 0 {
            continue;
        }
        assert_eq!(packet.data.len(), 14 + 28 + 100);
        let comment = EnhancedPacketOption::Comment("lost: chance".into());
        if packet.options.contains(&comment) {
            lost.push(forth);
        }
        forth += 1;
    }
    assert_eq!(forth, PACKETS as u64);
    assert_eq!(result["directions"][0]["lost_numbers"], json!(lost));
}

fn an_interface_narrower_than_the_mtu_is_refused() {
    let _hosts = Hosts::new(MTU - 100);
    let link =
        json!({"name": "a", "hosts": ["c", "s"], "interfaces": ["l0a", "l0b"], "directions": [{}, {}]});
    let config = json!({"schema": 2, "mtu": MTU, "spin_us": 0, "links": [link]});
    let mut narrow = Emulator::with_config(&config.to_string());
    let message = narrow.event()["message"].to_string();
    assert!(message.contains("l0a: its MTU of 1400 bytes is smaller"), "{message}");
    assert_eq!(narrow.exit_code(), Some(1));
}

fn the_log_has_a_line_for_every_packet() {
    let hosts = Hosts::new(MTU);
    let lossy = json!({"loss": {"model": "listed", "numbers": [3, 17]}, "delay_ns": 2_000_000});
    let path = temporary("link.log");
    let mut emulator = Emulator::with([&lossy, &unimpaired()], &json!({}), &json!({"log": path}));
    hosts.start(CLIENT, &["spray", "5", "100"]).numbers();
    emulator.start();
    hosts.start(CLIENT, &["spray", "20", "100"]).numbers();
    let (result, _) = emulator.stop();

    let text = fs::read_to_string(&path).expect("a log");
    fs::remove_file(&path).expect("it is there");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("in_ns\tout_ns\tbytes\tdirection\tnumber\tfate"));
    let (mut lost, mut delivered) = (Vec::new(), 0);
    for line in lines {
        let fields: Vec<&str> = line.split('\t').collect();
        let [arrived, out, bytes, direction, number, fate] = fields[..] else { panic!("{line}") };
        if direction != "0" {
            continue;
        }
        let whole = |text: &str| text.parse::<u64>().expect("a number");
        assert_eq!(bytes, "128");
        match fate {
            "lost" => lost.push(whole(number)),
            "delivered" => {
                delivered += 1;
                assert_eq!(whole(out), whole(arrived) + 2_000_000);
            }
            _ => panic!("{line}"),
        }
    }
    lost.sort_unstable();
    assert_eq!(json!(lost), json!([3, 17]));
    assert_eq!(result["directions"][0]["packets"]["delivered"], delivered);
}

/// The UDP checksum of a packet with one bit flipped is wrong, whichever bit of it that is; only one in the
/// checksum field itself could make it 0, which stands for none.
fn a_corrupted_datagram_reaches_no_program() {
    let hosts = Hosts::new(MTU);
    let bad = json!({"corruption": {"probability": 1, "key": "3"}});
    let mut emulator = Emulator::new([&bad, &unimpaired()]);
    let mut echo = hosts.start(SERVER, &["echo"]);
    assert_eq!(echo.line(), "ready");
    assert_eq!(hosts.start(CLIENT, &["ping", "3"]).numbers().len(), 3, "the idle phase meets no draw");
    emulator.start();
    assert_eq!(hosts.start(CLIENT, &["ping", "1"]).numbers().len(), 0);
    let (result, _) = emulator.stop();
    echo.child.kill().expect("our child");
    let forth = &result["directions"][0];
    assert_eq!((&forth["corrupted"], &forth["corrupted_numbers"]), (&json!(1), &json!([0])));
    assert_eq!(forth["packets"]["delivered"], 1);
}

fn a_tun_link_carries_pings() {
    const PINGS: usize = 20;
    let (slow, tun) = (json!({"delay_ns": 10_000_000}), json!({"backend": "tun"}));
    let hosts = Hosts::unconnected();
    let mut emulator = Emulator::with([&slow, &slow], &json!({}), &tun);
    hosts.take_interfaces();
    let mut echo = hosts.start(SERVER, &["echo"]);
    assert_eq!(echo.line(), "ready");
    assert_eq!(hosts.start(CLIENT, &["ping", "3"]).numbers().len(), 3);
    emulator.start();
    let round_trips = hosts.start(CLIENT, &["ping", &PINGS.to_string()]).numbers();
    let (result, events) = emulator.stop();
    echo.child.kill().expect("our child");

    assert_eq!(round_trips.len(), PINGS);
    assert!(round_trips.iter().all(|time| *time >= 20_000_000), "{round_trips:?}");
    assert_clean(&result);
    assert_eq!((&result["backend"], events.len()), (&json!("tun"), 1));
    for direction in [0, 1] {
        assert_eq!(result["directions"][direction]["packets"]["delivered"], PINGS);
        assert_eq!(result["directions"][direction]["bytes"]["delivered"], PINGS * 84);
    }
}

/// The device is hidden, as a machine without one is not at hand.
fn a_tun_device_that_cannot_be_opened_is_named() {
    let hidden = Command::new("mount").args(["-t", "tmpfs", "none", "/dev/net"]).status();
    assert!(!Path::new("/dev/net").exists() || hidden.is_ok_and(|status| status.success()));
    let message = Emulator::with_config(&linked("tun", "x")).event()["message"].to_string();
    assert!(message.contains("/dev/net/tun: "), "{message}");
}

/// The configuration of a link without impairments between this interface and another.
fn linked(backend: &str, interface: &str) -> String {
    let link =
        json!({"name": "a", "hosts": ["c", "s"], "interfaces": [interface, "l0b"], "directions": [{}, {}]});
    json!({"schema": 2, "mtu": MTU, "spin_us": 0, "backend": backend, "links": [link]}).to_string()
}

fn a_missing_capability_is_named() {
    refuses_without("net_raw", "af_packet", "lo");
}

fn a_missing_capability_for_tun_is_named() {
    refuses_without("net_admin", "tun", "l0a");
}

fn refuses_without(capability: &str, backend: &str, interface: &str) {
    let mut emulator = Emulator::without(capability, &linked(backend, interface));
    let message = emulator.event()["message"].to_string();
    assert_eq!(emulator.exit_code(), Some(1));
    let named = format!("CAP_{}", capability.to_uppercase());
    assert!(message.contains(&format!("interface {interface}: ")) && message.contains(&named), "{message}");
}

fn the_emulator_ends_with_its_stdin() {
    let _hosts = Hosts::new(MTU);
    let mut emulator = Emulator::new([&unimpaired(), &unimpaired()]);
    emulator.start();
    emulator.hang_up();
    assert_eq!(emulator.exit_code(), Some(0));
}

fn mistakes_have_their_exit_codes() {
    let mut misread = Emulator::with_config("{\"schema\": 2}");
    assert_eq!(misread.event()["event"], "error");
    assert_eq!(misread.exit_code(), Some(2));

    let nowhere = json!({"schema": 2, "mtu": 1500, "spin_us": 0, "pcapng": null, "links": [{
        "name": "a", "hosts": ["c", "s"], "interfaces": ["nowhere", "neither"],
        "directions": [unimpaired(), unimpaired()],
    }]});
    let mut unconnected = Emulator::with_config(&nowhere.to_string());
    let message = unconnected.event()["message"].to_string();
    assert!(message.contains("interface nowhere"), "{message}");
    assert_eq!(unconnected.exit_code(), Some(1));

    let _hosts = Hosts::new(MTU);
    let mut confused = Emulator::new([&unimpaired(), &unimpaired()]);
    confused.write_line("dance");
    assert_eq!(confused.event()["event"], "error");
    assert_eq!(confused.exit_code(), Some(1));
}
