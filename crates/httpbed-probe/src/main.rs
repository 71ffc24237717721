//! `httpbed-probe`: traffic whose every packet is known, and the ends that measure it.
//!
//! ```text
//! httpbed-probe serve [--bind ADDR]   echo, discard and chargen (RFC 862, 863, 864), TCP and UDP
//! ```
//!
//! It says one JSON object a line on stdout: `{"event":"ready"}` once it can be used, and
//! `{"event":"error","message":...}` when it ends without success. It exits with 2 when it was asked wrongly
//! and with 1 when something fails at run time.

mod serve;
mod sys;

use std::ffi::OsString;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::process::ExitCode;

use serde::Serialize;

use serve::Services;

const USAGE: &str = "httpbed-probe serve [--bind ADDR]";

/// A line on stdout.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Event<'a> {
    /// It can be used.
    Ready,
    /// Why it ends.
    Error {
        /// In words.
        message: &'a str,
    },
}

enum Failure {
    Usage(String),
    Run(String),
}

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let (message, code) = match run(&words) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Usage(message)) => (message, 2),
        Err(Failure::Run(message)) => (message, 1),
    };
    // If nobody reads stdout, the exit code still tells.
    let _ = say(&Event::Error { message: &message });
    ExitCode::from(code)
}

fn run(words: &[OsString]) -> Result<(), Failure> {
    sys::process::die_with_parent().map_err(|error| Failure::Run(error.to_string()))?;
    let words: Vec<&str> = words.iter().map(|word| word.to_str().unwrap_or("\u{fffd}")).collect();
    match words[..] {
        ["serve"] => serve(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
        ["serve", "--bind", address] => address
            .parse()
            .map_err(|_| Failure::Usage(format!("--bind: {address:?} is not an IP address")))
            .and_then(serve),
        _ => Err(Failure::Usage(format!("not understood: {words:?}; use it like: {USAGE}"))),
    }
}

fn serve(address: IpAddr) -> Result<(), Failure> {
    let services = Services::bind(address).map_err(Failure::Run)?;
    say(&Event::Ready).map_err(|error| Failure::Run(error.to_string()))?;
    services.serve();
    Ok(())
}

fn say<T: Serialize>(event: &T) -> io::Result<()> {
    let mut line = serde_json::to_string(event)?;
    line.push('\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush())
}
