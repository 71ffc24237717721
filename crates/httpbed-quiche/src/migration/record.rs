//! What is told of a connection's moves.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// What happened, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Since the program's start.
    pub at: Duration,
    /// In a word or two.
    pub kind: Kind,
    /// The address that it is about; none where the kernel has none.
    pub local: Option<Local>,
    /// Why; empty where the kind says all.
    pub reason: String,
}

/// This end of a path, or only its address.
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
    /// It was tried, and came to nothing.
    Failed,
    /// The server does not allow it.
    Refused,
    /// It cannot be tried yet.
    Waiting,
    /// No address of this machine reaches the server.
    Unreachable,
    /// The policy is to stay.
    Stayed,
    /// Changes will not be noticed.
    Unwatched,
}

impl Kind {
    /// As reports call it.
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

/// Attempts to migrate; what is neither was not over at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All of them.
    pub tried: usize,
    /// The server has answered on the new path.
    pub succeeded: usize,
    /// It has not, or did not allow it, or the kernel changed its mind before.
    pub failed: usize,
}
