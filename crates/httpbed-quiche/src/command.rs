//! The command line. All mistakes are reported at once.

mod get;
mod serve;
#[cfg(test)]
mod tests;
mod values;

use std::ffi::OsString;

use lexopt::Parser;

use crate::failure::{Code, Failure};
pub use get::Options as Get;
pub use serve::Options as Serve;

/// The requested action.
#[derive(Debug, PartialEq)]
pub enum Command {
    /// Print how to use it.
    Help(&'static str),
    /// Print the version.
    Version,
    /// Fetch.
    Get(Box<Get>),
    /// Serve.
    Serve(Box<Serve>),
}

/// Reads the arguments after the program's name.
///
/// # Errors
/// All mistakes, one a line.
pub fn read(words: impl Iterator<Item = OsString>) -> Result<Command, Failure> {
    let mut words: Vec<OsString> = words.collect();
    if words.first().is_some_and(|word| word == "serve") {
        words.remove(0);
        return finish(&words, serve::read);
    }
    finish(&words, get::read)
}

/// Collects mistakes while options are read.
#[derive(Default)]
struct Mistakes(Vec<(Code, String)>);

impl Mistakes {
    fn add(&mut self, message: impl Into<String>) {
        self.0.push((Code::Usage, message.into()));
    }

    /// The value, or `None` and another mistake.
    fn keep<T>(&mut self, option: &str, value: Result<T, String>) -> Option<T> {
        value.map_err(|message| self.add(format!("{option}: {message}"))).ok()
    }

    fn conclude(self, command: Command) -> Result<Command, Failure> {
        let Some((code, _)) = self.0.first() else { return Ok(command) };
        let all: Vec<&str> = self.0.iter().map(|(_, message)| message.as_str()).collect();
        Err(Failure::new(*code, format!("{}\nTry httpbed-quiche --help", all.join("\n"))))
    }
}

fn finish(
    words: &[OsString],
    read: fn(&mut Parser, &mut Mistakes) -> Result<Command, lexopt::Error>,
) -> Result<Command, Failure> {
    let mut mistakes = Mistakes::default();
    let mut parser = Parser::from_args(words);
    match read(&mut parser, &mut mistakes) {
        Ok(command @ (Command::Help(_) | Command::Version)) => Ok(command),
        Ok(command) => mistakes.conclude(command),
        // The words after an unknown option cannot be read with certainty.
        Err(error) => {
            mistakes.add(error.to_string());
            mistakes.conclude(Command::Version)
        }
    }
}
