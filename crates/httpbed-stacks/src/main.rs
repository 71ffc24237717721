//! Downloads files over HTTP/3 with one stack, or serves a folder. A recipe of httpbed starts it.

mod lines;
mod options;
#[cfg(any(feature = "msquic", feature = "quinn"))]
mod over_h3;

#[cfg(feature = "msquic")]
#[path = "stacks/msquic.rs"]
mod stack;
#[cfg(feature = "quinn")]
#[path = "stacks/quinn.rs"]
mod stack;
#[cfg(feature = "tquic")]
#[path = "stacks/tquic.rs"]
mod stack;

use options::Options;
use std::process::ExitCode;

/// An error for one line of output.
type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let verb = words.next().unwrap_or_default();
    if verb == "--version" {
        println!("{}", stack::VERSION);
        return ExitCode::SUCCESS;
    }
    let run = match verb.to_str() {
        Some("get") => stack::get,
        Some("serve") => stack::serve,
        _ => return usage("a verb is missing: get, serve or --version"),
    };
    let options = match Options::read(words, stack::KNOBS) {
        Ok(options) => options,
        Err(error) => return usage(&error.to_string()),
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if verb == "get" {
                println!("{}", serde_json::json!({ "error": error.to_string() }));
            }
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn usage(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(2)
}
