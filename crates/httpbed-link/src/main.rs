//! The executable; see the library of the same name.

use std::process::ExitCode;

fn main() -> ExitCode {
    httpbed_link::run()
}
