//! The record of a connection's moves.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Since the program's start.
    pub at: Duration,
    /// Its kind.
    pub kind: Kind,
    /// The address; `None` if the kernel has none.
    pub local: Option<Local>,
    /// The reason; empty if the kind says everything.
    pub reason: String,
}

/// The local end of a path, or only its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Local {
    /// Without a port: the kernel's preference.
    Address(IpAddr),
    /// Of a socket.
    Socket(SocketAddr),
}

impl fmt::Display for Local {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(formatter),
            Self::Socket(address) => address.fmt(formatter),
        }
    }
}

/// Kinds of events; `--help` explains each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The kernel prefers another address, or none, or the one in use came or went.
    Changed,
    /// A `PATH_CHALLENGE` is sent on a new path.
    Probed,
    /// The server has answered on the new path.
    Validated,
    /// The connection uses this path from now on.
    Migrated,
    /// The connection sends from another socket.
    Rebound,
    /// The attempt failed.
    Failed,
    /// The server does not allow it.
    Refused,
    /// It is not possible yet.
    Waiting,
    /// No address of this machine reaches the server.
    Unreachable,
    /// The policy is not to move.
    Stayed,
    /// Changes are not seen.
    Unwatched,
}

impl Kind {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Changed => "network changed",
            Self::Probed => "probed",
            Self::Validated => "validated",
            Self::Migrated => "migrated",
            Self::Rebound => "rebound",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Waiting => "waiting",
            Self::Unreachable => "unreachable",
            Self::Stayed => "stayed",
            Self::Unwatched => "unwatched",
        }
    }
}

/// Numbers of attempts to migrate; the rest had not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All of them.
    pub tried: usize,
    /// Attempts in which the server answered on the new path.
    pub succeeded: usize,
    /// Attempts in which it did not answer or did not allow it, or the kernel's preference changed before.
    pub failed: usize,
}
