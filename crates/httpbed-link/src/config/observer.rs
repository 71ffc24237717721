//! What an observer's configuration may not have: the kernel carries the packets, and nobody here touches them.
//! An impairment that did nothing would be worse than none.

use super::reading::Field;

const REASON: &str = "an observer changes nothing, the kernel carries the packets: leave it out";

/// Refuses everything that would change what packets meet; triggers may tell what passes.
pub fn refuse_changes(link: &Field<'_>) {
    for direction in link.get("directions").given().iter().flat_map(Field::items) {
        direction.given_fields().iter().for_each(|field| field.wrong(REASON));
    }
    if let Some(nat) = link.get("nat").given().filter(Field::flag) {
        nat.wrong(REASON);
    }
    for (list, change) in [("schedule", false), ("triggers", true)] {
        for entry in link.get(list).given().iter().flat_map(Field::items) {
            let entry = if change { entry.get("change").given() } else { Some(entry) };
            if let Some(entry) = entry {
                entry.wrong(REASON);
            }
        }
    }
}

/// Refuses a log of fates: which packet left when, and whether it was dropped, only the kernel knows.
pub fn refuse_log(log: &Field<'_>) {
    if let Some(log) = log.clone().given() {
        log.wrong("an observer does not know what became of a packet: leave it out");
    }
}
