use super::*;

const A: &str = "192.0.2.1:1000";
const B: &str = "198.51.100.1:2000";
const READY: Leave = Leave { established: true, refusal: None };

fn socket(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn at(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// The kernel prefers `local`, and the address in use exists or not.
fn prefers(local: &str, present: bool) -> Sight {
    Sight { preferred: Ok(socket(local).ip()), present }
}

fn nothing() -> Sight {
    Sight { preferred: Err("Network is unreachable".to_owned()), present: false }
}

fn kinds(migration: &Migration) -> Vec<Kind> {
    migration.events().iter().map(|event| event.kind).collect()
}

fn counts(migration: &Migration) -> (usize, usize, usize) {
    let counts = migration.counts();
    (counts.tried, counts.succeeded, counts.failed)
}

#[test]
fn a_look_without_news_is_not_recorded() {
    let mut migration = Migration::new(Policy::Probe, socket(A));
    assert_eq!(migration.see(&prefers(A, true), READY, at(1)), None);
    assert!(migration.events().is_empty() && migration.due().is_none() && migration.explanation().is_none());
}

#[test]
fn each_policy_takes_its_step() {
    for (policy, present, step) in [
        (Policy::Probe, true, Some(Step::Probe)),
        (Policy::Probe, false, Some(Step::Move)),
        (Policy::Immediate, true, Some(Step::Move)),
        (Policy::Immediate, false, Some(Step::Move)),
        (Policy::Rebind, true, Some(Step::Rebind)),
        (Policy::Rebind, false, Some(Step::Rebind)),
        (Policy::None, true, None),
        (Policy::None, false, None),
    ] {
        let mut migration = Migration::new(policy, socket(A));
        assert_eq!(migration.see(&prefers(B, present), READY, at(1)), step, "{policy:?} {present}");
    }
}

#[test]
fn a_probed_path_is_taken_when_it_has_answered() {
    let mut migration = Migration::new(Policy::Probe, socket(A));
    migration.see(&prefers(B, true), READY, at(1));
    migration.began(Kind::Probed, socket(B), at(1));
    assert_eq!(migration.local(), socket(A));
    assert!(!migration.validated(socket("192.0.2.9:9"), "", at(2)));
    assert!(migration.validated(socket(B), "", at(42)));
    assert_eq!(migration.local(), socket(B));
    assert_eq!(kinds(&migration), [Kind::Changed, Kind::Probed, Kind::Validated, Kind::Migrated]);
    assert_eq!(counts(&migration), (1, 1, 0));
    assert_eq!(migration.see(&prefers(B, true), READY, at(50)), None);
}

#[test]
fn a_probed_path_is_taken_at_once_when_there_is_no_other() {
    let mut migration = Migration::new(Policy::Probe, socket(A));
    migration.see(&prefers(B, true), READY, at(1));
    migration.began(Kind::Probed, socket(B), at(1));
    assert_eq!(migration.see(&prefers(B, false), READY, at(2)), Some(Step::Finish(socket(B))));
    migration.finished(at(2));
    assert_eq!(migration.local(), socket(B));
    assert!(!migration.validated(socket(B), "", at(42)));
    assert_eq!(counts(&migration), (1, 1, 0));
}

#[test]
fn a_path_without_an_answer_is_reported_and_tried_again() {
    let mut migration = Migration::new(Policy::Probe, socket(A));
    migration.see(&prefers(B, true), READY, at(0));
    migration.began(Kind::Probed, socket(B), at(0));
    migration.failed(socket(B), at(7000));
    assert_eq!(counts(&migration), (1, 0, 1));
    assert!(migration.explanation().unwrap().contains("nothing came on the new path from 198.51.100.1"));
    assert_eq!(migration.due(), Some(at(8000)));
    assert!(!migration.wants_look(at(7999)) && migration.wants_look(at(8000)));
    assert_eq!(migration.see(&prefers(B, true), READY, at(8000)), Some(Step::Probe));
}

#[test]
fn a_new_preference_during_an_attempt_is_followed() {
    let mut migration = Migration::new(Policy::Immediate, socket(A));
    assert_eq!(migration.see(&prefers(B, false), READY, at(0)), Some(Step::Move));
    migration.began(Kind::Migrated, socket(B), at(0));
    assert_eq!(migration.local(), socket(B));
    assert_eq!(migration.see(&prefers(A, false), READY, at(5)), Some(Step::Back(socket(A))));
    assert_eq!((migration.local(), counts(&migration)), (socket(A), (1, 0, 1)));

    let mut migration = Migration::new(Policy::Probe, socket(A));
    migration.see(&prefers(B, true), READY, at(0));
    migration.began(Kind::Probed, socket(B), at(0));
    assert_eq!(migration.see(&prefers(A, true), READY, at(5)), None);
    assert_eq!((migration.trying(), counts(&migration)), (None, (1, 0, 1)));
}

#[test]
fn without_any_address_the_client_waits_for_one() {
    let mut migration = Migration::new(Policy::Probe, socket(A));
    assert_eq!(migration.see(&nothing(), READY, at(0)), None);
    assert_eq!(migration.see(&nothing(), READY, at(1)), None);
    assert_eq!(kinds(&migration), [Kind::Changed, Kind::Unreachable]);
    assert_eq!(migration.due(), None);
    assert!(migration.explanation().unwrap().contains("no address of this machine"));
    assert_eq!(migration.see(&prefers(A, true), READY, at(9)), Some(Step::Nudge));
    assert_eq!(migration.explanation(), None);
    assert_eq!(counts(&migration), (0, 0, 0));
}

#[test]
fn a_server_that_forbids_migration_is_recorded_once_and_does_not_stop_a_rebinding() {
    let refused = Leave { established: true, refusal: Some("the server forbids migration") };
    let mut migration = Migration::new(Policy::Probe, socket(A));
    assert_eq!(migration.see(&prefers(B, false), refused, at(0)), None);
    assert_eq!(migration.see(&prefers(B, false), refused, at(1)), None);
    assert_eq!(kinds(&migration), [Kind::Changed, Kind::Refused]);
    assert_eq!(counts(&migration), (1, 0, 1));
    assert!(migration.explanation().unwrap().contains("forbids migration, and 192.0.2.1 is gone"));

    let mut migration = Migration::new(Policy::Rebind, socket(A));
    assert_eq!(migration.see(&prefers(B, false), refused, at(0)), Some(Step::Rebind));
}

#[test]
fn an_impossible_attempt_is_reported_once_and_checked_again_soon() {
    let early = Leave { established: false, refusal: None };
    let mut migration = Migration::new(Policy::Probe, socket(A));
    for time in [0, 20, 40] {
        assert_eq!(migration.see(&prefers(B, true), early, at(time)), None);
        assert_eq!(migration.due(), Some(at(time + 20)));
    }
    assert_eq!(kinds(&migration), [Kind::Changed, Kind::Waiting]);
    assert_eq!(migration.see(&prefers(B, true), READY, at(60)), Some(Step::Probe));
}

#[test]
fn a_rebinding_without_an_answer_is_reported_but_not_repeated() {
    let mut migration = Migration::new(Policy::Rebind, socket(A));
    migration.see(&prefers(B, false), READY, at(0));
    migration.began(Kind::Rebound, socket(B), at(0));
    assert_eq!((migration.local(), migration.due()), (socket(B), Some(at(5000))));
    migration.expire(at(5000));
    assert_eq!((migration.local(), migration.due(), counts(&migration)), (socket(B), None, (1, 0, 1)));
    assert!(migration.explanation().is_some());
}

#[test]
fn a_path_without_a_route_is_explained_by_the_missing_route() {
    let mut migration = Migration::new(Policy::Probe, socket(A));
    migration.see(&prefers(B, false), READY, at(0));
    migration.began(Kind::Migrated, socket(B), at(0));
    migration.see(&nothing(), READY, at(1));
    migration.failed(socket(B), at(9));
    assert!(migration.explanation().unwrap().contains("no address of this machine"));
}
