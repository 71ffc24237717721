//! Changes of conditions that were made, and their reports.

use link_model::{Change, Nanos};
use serde::Serialize;

use crate::config::Config;

/// A change that one direction of a link has made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Changed {
    /// When, since the start; 0 before it.
    pub at: Nanos,
    /// The link.
    pub link: usize,
    /// The direction: 0 is from the first host to the second.
    pub side: usize,
    /// The change.
    pub change: Change,
    /// What caused it.
    pub by: By,
    /// The number of the next packet that arrives in that direction.
    pub next_number: u64,
}

/// What caused a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The configuration's schedule.
    Schedule,
    /// A command on stdin.
    Command,
    /// A trigger, by its place among those of the link.
    Trigger(usize),
}

/// A change, as reported.
#[derive(Debug, Serialize)]
pub struct ChangeReport<'a> {
    at_ns: Nanos,
    link: &'a str,
    direction: usize,
    change: Change,
    by: &'static str,
    /// The name of the trigger that caused the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: Option<&'a str>,
    next_number: u64,
}

impl<'a> ChangeReport<'a> {
    /// The report of a change.
    pub fn new(config: &'a Config, changed: &Changed) -> Self {
        let link = &config.links[changed.link];
        let (by, trigger) = match changed.by {
            By::Schedule => ("schedule", None),
            By::Command => ("command", None),
            By::Trigger(trigger) => ("trigger", Some(link.triggers[trigger].name.as_str())),
        };
        Self {
            at_ns: changed.at,
            link: &link.name,
            direction: changed.side,
            change: changed.change,
            by,
            trigger,
            next_number: changed.next_number,
        }
    }

    /// The reports of all changes, in order of time.
    pub fn all(config: &'a Config, changes: &[Changed]) -> Vec<Self> {
        let mut reports: Vec<Self> = changes.iter().map(|changed| Self::new(config, changed)).collect();
        // Each direction's changes are in order, but one direction may report later than the other.
        reports.sort_by_key(|report| report.at_ns);
        reports
    }
}
