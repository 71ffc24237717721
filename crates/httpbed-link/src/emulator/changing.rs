//! Changes of conditions: planned, made and told.

use link_model::Nanos;

use super::{Emulator, Happening};
use crate::changes::{By, Changed};
use crate::config::{Link, Target};

impl Emulator {
    /// Has a change made at `due`, and told then.
    pub(super) fn plan(&mut self, link: usize, due: Nanos, target: Target, by: By) {
        let at = self.since_start(due);
        for side in target.directions() {
            let direction = 2 * link + side;
            self.directions[direction].schedule(at, target.change);
            self.look_again(direction);
        }
        self.agenda.enter(due, Changed { at, link, target, by });
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
            let Link { name, directions, .. } = &self.links[*link];
            target.fault(directions).map_or(Ok(()), |fault| Err(format!("link {name:?}: {fault}")))?;
        }
        let at = self.since_start(now);
        for link in links {
            for side in target.directions() {
                self.directions[2 * link + side].change(now, target.change);
                self.look_again(2 * link + side);
            }
            self.tell(Changed { at, link, target, by: By::Command });
        }
        Ok(())
    }

    pub(super) fn tell(&mut self, changed: Changed) {
        self.happenings.push_back(Happening::Changed(self.changes.len()));
        self.changes.push(changed);
    }
}
