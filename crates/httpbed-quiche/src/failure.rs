//! Kinds of failure, with curl's exit codes.

use std::fmt;

/// An exit code; `--help` explains each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Code {
    /// The command line is wrong.
    Usage = 2,
    /// Not a URL, or not one of this connection's host.
    Url = 3,
    /// A name has no address.
    Resolve = 6,
    /// No server answers at that address and port.
    Connect = 7,
    /// A body ended early.
    Partial = 18,
    /// The status was 400 or more, and `--fail` was given.
    Status = 22,
    /// A file cannot be written.
    Write = 23,
    /// A file cannot be read.
    Read = 26,
    /// The time limit was reached.
    Time = 28,
    /// The TLS handshake failed.
    Tls = 35,
    /// The connection was lost.
    Receive = 56,
    /// The server's certificate is not trusted.
    Certificate = 60,
    /// The file of trusted certificates is unusable.
    Authorities = 77,
    /// Either side violated HTTP/3.
    Http3 = 95,
    /// Either side violated QUIC.
    Quic = 96,
}

/// A failure: the reason, with a remedy where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The exit code.
    pub code: Code,
    /// The message.
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
