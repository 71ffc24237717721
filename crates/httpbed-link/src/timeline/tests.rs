use link_model::{Cause, Fate, Nanos};
use serde_json::{Value, json};

use super::{FIRST_WIDTH, MOST_BINS, Settled, Timeline, Timelines};

const MS: Nanos = 1_000_000;

fn timelines() -> Timelines {
    Timelines(vec![None, Some(Timeline::new(0))])
}

fn passing(arrived: Nanos, at: Nanos, bytes: u32) -> Settled {
    Settled { arrived, at, waited: (at - arrived) / 2, bytes, fate: Fate::Delivered }
}

fn column(timelines: &Timelines, name: &str) -> Value {
    serde_json::to_value(timelines.report(1)).expect("JSON")[name].clone()
}

fn sum(timelines: &Timelines, name: &str) -> u64 {
    column(timelines, name).as_array().expect("a column").iter().filter_map(Value::as_u64).sum()
}

#[test]
fn bytes_stand_in_the_bins_of_their_times() {
    let mut seen = timelines();
    seen.settled(1, passing(0, 2 * MS, 1500));
    seen.settled(1, passing(MS, 4 * MS, 100));
    assert_eq!(column(&seen, "sent_bytes"), json!([1500, 100, 0, 0, 0]));
    assert_eq!(column(&seen, "delivered_bytes"), json!([0, 0, 1500, 0, 100]));
    assert_eq!(column(&seen, "queue_us"), json!([null, null, 1000, null, 1500]));
    assert_eq!(column(&seen, "rtt_us"), json!([null, null, null, null, null]));
}

#[test]
fn the_answer_is_the_first_packet_that_entered_after_the_delivery() {
    let mut seen = timelines();
    seen.settled(1, passing(0, 5 * MS, 1500));
    seen.settled(0, passing(4 * MS, 7 * MS, 40));
    assert_eq!(sum(&seen, "answered_bytes"), 0, "it entered before, and answers something else");
    seen.settled(0, passing(5 * MS, 8 * MS, 40));
    seen.settled(0, passing(6 * MS, 9 * MS, 40));
    assert_eq!(column(&seen, "answered_bytes"), json!([0, 0, 0, 0, 0, 0, 0, 0, 1500]));
    assert_eq!(column(&seen, "rtt_us")[8], json!(8000));
}

#[test]
fn what_was_under_way_beyond_the_link_is_no_answer() {
    let mut seen = Timelines(vec![None, Some(Timeline::new(2 * MS))]);
    seen.settled(1, passing(0, 5 * MS, 1500));
    seen.settled(0, passing(6 * MS, 7 * MS, 40));
    assert_eq!(sum(&seen, "answered_bytes"), 0);
    seen.settled(0, passing(7 * MS, 8 * MS, 40));
    assert_eq!(column(&seen, "rtt_us")[8], json!(8000));
}

#[test]
fn one_answer_may_be_to_several_packets() {
    let mut seen = timelines();
    seen.settled(1, passing(0, 5 * MS, 1000));
    seen.settled(1, passing(2 * MS, 6 * MS, 1000));
    seen.settled(0, passing(6 * MS, 10 * MS, 40));
    assert_eq!(column(&seen, "answered_bytes")[10], json!(2000));
    assert_eq!(column(&seen, "rtt_us")[10], json!(9000), "the mean of 10 and 8 ms");
}

#[test]
fn a_dropped_answer_is_none() {
    let mut seen = timelines();
    seen.settled(1, passing(0, MS, 1000));
    let lost = Settled { fate: Fate::Dropped(Cause::Chance), ..passing(2 * MS, 2 * MS, 40) };
    seen.settled(0, lost);
    assert_eq!(sum(&seen, "answered_bytes"), 0);
}

#[test]
fn dropped_bytes_are_in_flight_until_a_later_packet_is_answered() {
    let mut seen = timelines();
    seen.settled(1, passing(0, 5 * MS, 1000));
    let lost = Settled { fate: Fate::Dropped(Cause::Queue), ..passing(MS, MS, 700) };
    seen.settled(1, lost);
    seen.settled(1, passing(2 * MS, 6 * MS, 1000));
    seen.settled(0, passing(5 * MS, 9 * MS, 40));
    assert_eq!(sum(&seen, "answered_bytes"), 1000, "the first answer reveals nothing of the loss");
    seen.settled(0, passing(6 * MS, 10 * MS, 40));
    assert_eq!(sum(&seen, "answered_bytes"), 2700);
    assert_eq!(sum(&seen, "sent_bytes"), 2700);
    assert_eq!(sum(&seen, "dropped_packets"), 1);
}

#[test]
fn a_long_run_has_longer_bins_and_the_same_sums() {
    let mut seen = timelines();
    for number in 0..10_000 {
        let arrived = number * MS;
        seen.settled(1, passing(arrived, arrived + 2 * MS, 1000));
        seen.settled(0, passing(arrived + 2 * MS, arrived + 4 * MS, 40));
    }
    assert_eq!(column(&seen, "bin_ns"), json!(64 * FIRST_WIDTH));
    let bins = column(&seen, "sent_bytes").as_array().expect("a column").len();
    assert!((MOST_BINS / 2..=MOST_BINS).contains(&bins), "{bins}");
    for name in ["sent_bytes", "delivered_bytes", "answered_bytes"] {
        assert_eq!(sum(&seen, name), 10_000_000, "{name}");
    }
    let times = column(&seen, "rtt_us");
    assert!(times.as_array().expect("a column").iter().all(|time| *time == json!(4000)));
}

#[test]
fn a_direction_without_answers_uses_bounded_memory() {
    let mut seen = timelines();
    for number in 0..200_000 {
        seen.settled(1, passing(number, number + 1, 100));
    }
    let own = seen.0[1].as_ref().expect("a timeline");
    assert!(own.delivered.len() <= super::MOST_WAITING);
    assert_eq!(sum(&seen, "delivered_bytes"), 20_000_000);
}

#[test]
fn a_direction_has_a_timeline_only_if_it_is_wanted() {
    let mut seen = timelines();
    seen.settled(0, passing(0, MS, 100));
    assert!(seen.report(0).is_none());
}
