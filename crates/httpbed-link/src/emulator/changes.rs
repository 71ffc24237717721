//! Changes of conditions: planned, made and told.
//!
//! A direction makes its scheduled changes by itself and exactly at their times, when the next packet arrives or leaves.
//! What it says of them is told, not what was asked for. Where nothing passes, it is made to look after a while:
//! not at the very time, since a packet that arrived before it may still wait to be read, and would meet the new
//! condition.

use link_model::{Applied, Change, Nanos};

use super::{Emulator, Happening};
use crate::changes::{By, Changed};
use crate::config::Target;

/// After which time all that arrived before a change has been read, many times what a turn of the loop takes.
const PATIENCE: Nanos = 1_000_000;

impl Emulator {
    /// Has a change made at `due`.
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
    /// When there is no such link or a direction of it has nothing that could change so.
    pub fn command(&mut self, now: Nanos, link: Option<&str>, target: Target) -> Result<(), String> {
        if self.observes() {
            return Err("an observer cannot change what the kernel does".to_owned());
        }
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

    /// Lets every change be made that was due by `now`.
    pub fn catch_up(&mut self, now: Nanos) {
        self.take_turns(now.saturating_add(PATIENCE));
    }

    /// Makes the changes that were due long before `now`, if nothing that passed has done it.
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

    /// Tells what a direction has changed since it was last asked.
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

    /// A direction numbers what it is asked for from 0.
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
