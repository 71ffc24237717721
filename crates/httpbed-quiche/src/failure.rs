//! What can go wrong, with curl's exit codes, so that who knows curl knows them.

use std::fmt;

/// An exit code; `--help` explains each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Code {
    /// The command line is wrong.
    Usage = 2,
    /// A URL is none, or is not of this connection.
    Url = 3,
    /// A name has no address.
    Resolve = 6,
    /// Nobody answers at that address and port.
    Connect = 7,
    /// A body ended early.
    Partial = 18,
    /// The server said 400 or more, and `--fail` was given.
    Status = 22,
    /// A file cannot be written.
    Write = 23,
    /// A file cannot be read.
    Read = 26,
    /// The time was up.
    Time = 28,
    /// The TLS handshake failed.
    Tls = 35,
    /// The connection was lost.
    Receive = 56,
    /// The server's certificate is not to be trusted.
    Certificate = 60,
    /// The file of trusted certificates is unusable.
    Authorities = 77,
    /// HTTP/3 was broken by either side.
    Http3 = 95,
    /// QUIC was broken by either side.
    Quic = 96,
}

/// Why it failed, with the way out where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The exit code.
    pub code: Code,
    /// In words.
    pub message: String,
}

impl Failure {
    /// A failure of that kind.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "({}) {}", self.code as u8, self.message)
    }
}
