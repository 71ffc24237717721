//! Downloads files over HTTP/3 with quinn and h3, or serves a folder. Recipe quinn of httpbed starts it.

mod get;
mod options;
mod serve;
mod transport;

use options::Options;
use std::process::ExitCode;

/// An error for one line of output.
type Failure = Box<dyn std::error::Error + Send + Sync>;

const USAGE: &str = "usage: httpbed-quinn get | serve | --version";

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let verb = words.next().unwrap_or_default();
    if verb == "--version" {
        println!("quinn {}, h3 {}", env!("QUINN_VERSION"), env!("H3_VERSION"));
        return ExitCode::SUCCESS;
    }
    let options = match Options::read(words) {
        Ok(options) if verb == "get" || verb == "serve" => options,
        Ok(_) => return usage(USAGE),
        Err(error) => return usage(&error.to_string()),
    };
    let runtime = tokio::runtime::Runtime::new().expect("the kernel gives threads");
    let result = if verb == "get" {
        runtime.block_on(get::run(options))
    } else {
        runtime.block_on(serve::run(options))
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if verb == "get" {
                println!("{}", serde_json::json!({ "error": error.to_string() }));
            }
            eprintln!("httpbed-quinn: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(2)
}
