//! Changes of conditions: planned, made and reported.
//!
//! A direction makes its scheduled changes itself and exactly at their times, when the next packet arrives or
//! leaves. The report contains what the direction made, not what was requested. Without packets, the emulator
//! advances the direction after a while. It does not do so at the time of the change, because a packet that arrived
//! earlier may still wait to be read, and would meet the new condition.

use link_model::{Applied, Change, Nanos};

use super::{Emulator, Happening};
use crate::changes::{By, Changed};
use crate::config::Target;

/// After this time everything that arrived before a change has been read; it is many times the duration of a turn.
const PATIENCE: Nanos = 1_000_000;

impl Emulator {
    /// Schedules a change for `due`.
    pub(super) fn plan(&mut self, link: usize, due: Nanos, target: Target, by: By) {
        let at = self.since_start(due);
        for side in target.directions() {
            let direction = 2 * link + side;
            let id = self.directions[direction].schedule(at, target.change);
            self.note_asker(direction, id, by);
            self.set_turn(direction);
            self.look_again(direction);
        }
    }

    /// Changes a condition now, on one link or on all.
    ///
    /// # Errors
    /// When no such link exists, or one of its directions cannot make the change.
    pub fn command(&mut self, now: Nanos, link: Option<&str>, target: Target) -> Result<(), String> {
        let chosen = |of: &&usize| link.is_none_or(|name| self.links[**of].name == name);
        let all: Vec<usize> = (0..self.links.len()).collect();
        let links: Vec<usize> = all.iter().filter(chosen).copied().collect();
        if links.is_empty() {
            return Err(format!("there is no link {:?}", link.unwrap_or_default()));
        }
        for link in &links {
            let link = &self.links[*link];
            target.check(link).map_err(|reason| format!("link {:?}: {reason}", link.name))?;
        }
        for link in links {
            for side in target.directions() {
                let direction = 2 * link + side;
                let id = self.directions[direction].change(now, target.change);
                self.note_asker(direction, id, By::Command);
                self.note_changes(direction);
                self.look_again(direction);
            }
        }
        Ok(())
    }

    /// Makes every change that was due by `now`.
    pub fn catch_up(&mut self, now: Nanos) {
        self.take_turns(now.saturating_add(PATIENCE));
    }

    /// Makes the changes that were due long before `now`, if no packet has caused it.
    pub(super) fn take_turns(&mut self, now: Nanos) {
        while let Some((_, direction)) = self.turns.first().filter(|(turn, _)| *turn <= now) {
            if let Some(due) = self.directions[direction].next_change() {
                self.directions[direction].settle(due);
            }
            self.note_changes(direction);
            self.set_turn(direction);
            self.look_again(direction);
        }
    }

    /// Reports what a direction has changed since the last call.
    pub(super) fn note_changes(&mut self, direction: usize) {
        while let Some(applied) = self.directions[direction].next_applied() {
            let Applied { id, at, change, next_number } = applied;
            self.witnesses[direction].change(at, change);
            let (made, at, by) = (at, self.since_start(at), self.askers[direction][id]);
            let (link, side) = (direction / 2, direction % 2);
            if let (Change::Rebind, Some(nat)) = (change, &mut self.nats[link]) {
                nat.forget(side, made);
            }
            self.happenings.push_back(Happening::Changed(self.changes.len()));
            self.changes.push(Changed { at, link, side, change, by, next_number });
            self.set_turn(direction);
        }
    }

    /// A direction numbers its changes from 0.
    fn note_asker(&mut self, direction: usize, id: usize, by: By) {
        let askers = &mut self.askers[direction];
        debug_assert_eq!(askers.len(), id, "nobody else asks");
        askers.push(by);
    }

    fn set_turn(&mut self, direction: usize) {
        let next = self.directions[direction].next_change();
        self.turns.set(direction, next.map(|due| due.saturating_add(PATIENCE)));
    }
}
