//! `httpbed-link CONFIG.json`: emulates links between network namespaces.
//!
//! The program runs in a separate network namespace, in which every link has two interfaces, one towards each host;
//! see [`config::Backend`]. It reads commands on stdin and writes events on stdout, one JSON object a line; see
//! `command` and `report`. It exits with 0 after a result or at the end of stdin, with 2 when the configuration is
//! wrong and with 1 when something fails at run time.

mod backend;
mod capture;
mod changes;
mod clock;
mod command;
pub mod config;
mod emulator;
#[cfg(any(test, fuzzing))]
pub mod exercise;
mod heads;
mod log;
mod nat;
mod pressure;
mod records;
mod report;
mod runner;
mod spin;
mod spool;
mod stamps;
mod sys;
mod timeline;
mod triggers;
mod usage;

use std::fs;
use std::process::ExitCode;

use config::{Config, read_file};
use emulator::Emulator;
use records::Records;
use report::Event;
use runner::{Runner, emit, naming};

enum Failure {
    Configuration(String),
    Run(String),
}

/// Runs the program with the arguments of this process.
#[must_use]
pub fn run() -> ExitCode {
    let (message, code) = match read_config().and_then(|config| emulate(&config)) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Configuration(message)) => (message, 2),
        Err(Failure::Run(message)) => (message, 1),
    };
    // If stdout is closed, the exit code still reports the failure.
    let _ = emit(&Event::Error { message: &message });
    ExitCode::from(code)
}

fn read_config() -> Result<Config, Failure> {
    let path = std::env::args_os().nth(1).ok_or_else(|| {
        Failure::Configuration(
            "the path of the configuration is missing: httpbed-link CONFIG.json".to_owned(),
        )
    })?;
    let text = fs::read_to_string(&path).map_err(naming(&path.to_string_lossy()));
    text.and_then(|text| Config::parse(&text, &read_file)).map_err(Failure::Configuration)
}

fn emulate(config: &Config) -> Result<(), Failure> {
    let records = Records::open(config).map_err(Failure::Run)?;
    let emulator = Emulator::new(config, records);
    Runner::open(config, emulator).and_then(|mut runner| runner.run()).map_err(Failure::Run)
}
