//! `httpbed-link CONFIG.json`: emulates links between network namespaces.
//!
//! It runs in a network namespace of its own, in which every link has two interfaces, one veth end towards each
//! host. What it is told on stdin and says on stdout is one JSON object a line; see `command` and `report`. It exits
//! with 0 after a result or at the end of stdin, with 2 when the configuration is wrong and with 1 when
//! something fails at run time.

mod capture;
mod clock;
mod command;
mod config;
mod emulator;
mod report;
mod runner;
mod sys;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::process::ExitCode;

use capture::Capture;
use config::Config;
use emulator::Emulator;
use report::Event;
use runner::{Runner, naming, say};

/// Enough that a capture is written in pieces of which each takes well under a millisecond.
const CAPTURE_BUFFER_BYTES: usize = 256 << 10;

enum Failure {
    Configuration(String),
    Run(String),
}

fn main() -> ExitCode {
    let (message, code) = match read_config().and_then(|config| run(&config)) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Configuration(message)) => (message, 2),
        Err(Failure::Run(message)) => (message, 1),
    };
    // If nobody reads stdout, the exit code still tells.
    let _ = say(&Event::Error { message: &message });
    ExitCode::from(code)
}

fn read_config() -> Result<Config, Failure> {
    let path = std::env::args_os().nth(1).ok_or_else(|| {
        Failure::Configuration(
            "the path of the configuration is missing: httpbed-link CONFIG.json".to_owned(),
        )
    })?;
    let text = fs::read_to_string(&path).map_err(naming(&path.to_string_lossy()));
    text.and_then(|text| Config::parse(&text)).map_err(Failure::Configuration)
}

fn run(config: &Config) -> Result<(), Failure> {
    let capture = open_capture(config).map_err(Failure::Run)?;
    let emulator = Emulator::new(config, capture);
    Runner::open(config, emulator).and_then(|mut runner| runner.run()).map_err(Failure::Run)
}

fn open_capture(config: &Config) -> Result<Option<Capture<Box<dyn Write>>>, String> {
    let Some(path) = &config.pcapng else { return Ok(None) };
    let name = path.to_string_lossy();
    let file = File::create(path).map_err(naming(&name))?;
    let out: Box<dyn Write> = Box::new(BufWriter::with_capacity(CAPTURE_BUFFER_BYTES, file));
    let sides: Vec<String> = config
        .links
        .iter()
        .flat_map(|link| link.hosts.iter().map(|host| format!("{}:{host}", link.name)))
        .collect();
    Capture::begin(out, sides.iter().map(String::as_str)).map(Some).map_err(naming(&name))
}
