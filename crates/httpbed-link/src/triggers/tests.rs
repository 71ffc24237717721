use link_model::Change;

use super::{Firing, Triggers};
use crate::config::{Link, Target, Trigger, When};

const DOWN: Target = Target { direction: None, change: Change::Down };

/// Links with the given triggers.
fn links(triggers: Vec<Vec<(When, u64, Option<Target>)>>) -> Vec<Link> {
    let text = r#"{"schema": 2, "mtu": 1500, "spin_us": 0, "links": [
        {"name": "a", "hosts": ["c", "s"], "interfaces": ["l0a", "l0b"], "directions": [{}, {}]}]}"#;
    let config = crate::config::Config::parse(text, &|_| Err(String::new())).expect("valid");
    let link = |triggers: Vec<(When, u64, Option<Target>)>| {
        let trigger = |(when, after, target)| Trigger { name: String::new(), when, after, target };
        Link { triggers: triggers.into_iter().map(trigger).collect(), ..config.links[0].clone() }
    };
    triggers.into_iter().map(link).collect()
}

const fn delivered(direction: usize, bytes: u64) -> When {
    When::Delivered { direction, bytes }
}

#[test]
fn bytes_are_summed_for_each_direction_of_each_link() {
    let mut triggers = Triggers::new(&links(vec![
        vec![(delivered(1, 3000), 5, Some(DOWN)), (delivered(0, 10), 0, None)],
        vec![(delivered(1, 1), 0, None)],
    ]));
    triggers.delivered(1, 10, 1500);
    triggers.delivered(0, 11, 9);
    triggers.delivered(2, 12, 9000);
    triggers.delivered(1, 13, 1499);
    assert_eq!(triggers.take_fired(), []);
    triggers.delivered(1, 14, 1);
    let firing = Firing { link: 0, trigger: 0, at: 14, change: Some((19, DOWN)) };
    assert_eq!(triggers.take_fired(), [firing]);
    triggers.delivered(0, 15, 1);
    triggers.delivered(3, 16, 40);
    let word = |link, trigger, at| Firing { link, trigger, at, change: None };
    assert_eq!(triggers.take_fired(), [word(0, 1, 15), word(1, 0, 16)]);
}

#[test]
fn triggers_fire_once_and_in_order() {
    let mut triggers = Triggers::new(&links(vec![vec![
        (delivered(0, 200), 0, None),
        (delivered(0, 100), 0, None),
        (delivered(0, 1000), 0, None),
    ]]));
    triggers.delivered(0, 1, 500);
    let fired: Vec<usize> = triggers.take_fired().iter().map(|firing| firing.trigger).collect();
    assert_eq!(fired, [0, 1]);
    triggers.delivered(0, 2, 499);
    assert_eq!(triggers.take_fired(), []);
    triggers.delivered(0, 3, 1);
    assert_eq!(triggers.take_fired().len(), 1);
    triggers.delivered(0, 4, u64::MAX / 2);
    assert_eq!(triggers.take_fired(), []);
}

#[test]
fn first_packets_and_handshakes_are_distinguished() {
    let mut triggers = Triggers::new(&links(vec![
        vec![(When::FirstPacket { direction: 1 }, 0, None), (When::Handshake, 7, Some(DOWN))],
        vec![(When::Handshake, 0, None)],
    ]));
    triggers.payload(0, 1);
    assert_eq!(triggers.take_fired(), []);
    triggers.payload(1, 2);
    triggers.payload(1, 3);
    assert_eq!(triggers.take_fired(), [Firing { link: 0, trigger: 0, at: 2, change: None }]);
    triggers.handshake(0, 4);
    triggers.handshake(0, 5);
    assert_eq!(triggers.take_fired(), [Firing { link: 0, trigger: 1, at: 4, change: Some((11, DOWN)) }]);
}
