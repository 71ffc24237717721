//! `httpbed-quiche`: an HTTP/3 client, and a small HTTP/3 server, on Cloudflare's quiche.
//!
//! ```text
//! httpbed-quiche [OPTION ...] URL ...     fetches URLs over one connection; one JSON object on stdout
//! httpbed-quiche serve [OPTION ...]       serves the files of a folder; one JSON object a request
//! ```
//!
//! The client has three layers: [`client`] owns clock and sockets and waits; [`fetch`] turns datagrams into
//! datagrams and finished transfers, without clock and sockets; quiche does QUIC and HTTP/3. In addition,
//! [`kernel`] reports that the network has changed, [`migration`] decides what to do, without clock and sockets,
//! and [`mover`] does it.

mod bbr;
mod client;
mod command;
mod failure;
mod fetch;
mod kernel;
mod migration;
mod mover;
mod origin;
mod paths;
mod report;
mod serve;
#[cfg(test)]
mod test_server;
mod tls;
mod transfer;
mod transport;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use command::Command;
use failure::Failure;

/// Digest of the sources, which makes cargo rebuild: several checkouts share the compiled files, and by the times
/// of files alone cargo would mistake the program of one for that of another.
const _SOURCES: Option<&str> = option_env!("HTTPBED_QUICHE_SOURCES");

const PROGRAM: &str = concat!("httpbed-quiche ", env!("CARGO_PKG_VERSION"), " (quiche 0.30)\n");

fn main() -> ExitCode {
    let began = Instant::now();
    match command::read(std::env::args_os().skip(1)) {
        Ok(Command::Help(text)) => print(text),
        Ok(Command::Version) => print(PROGRAM),
        Ok(Command::Get(options)) => end(client::run(&options, began)),
        Ok(Command::Serve(options)) => end(serve::run(&options)),
        Err(mistakes) => end(Err(mistakes)),
    }
}

fn print(text: &str) -> ExitCode {
    // A reader that closes stdout early has read enough.
    let _ = io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

fn end(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("httpbed-quiche: {failure}");
            ExitCode::from(failure.code as u8)
        }
    }
}
