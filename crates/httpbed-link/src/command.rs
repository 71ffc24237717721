//! The orchestrator's commands on stdin: one JSON object a line.

use link_model::Change;
use serde::Deserialize;
use serde_json::Value;

use crate::config::{Target, from_json, side};

/// A command.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// End the idle phase: count from now on.
    Start,
    /// Report the result and end.
    Stop,
    /// Report the counters up to now.
    Counters,
    /// Change a condition now.
    Change {
        /// The link; `None` is all.
        link: Option<String>,
        /// The change.
        target: Target,
    },
    /// A change that cannot be made, with the reason.
    Refuse(String),
}

/// A longer line is no command: commands are short, so this is a fault of the orchestrator.
const LONGEST_LINE: usize = 1 << 20;

/// How many bytes of a wrong line the message shows.
const SHOWN_BYTES: usize = 200;

/// Joins the pieces that a pipe returns to lines.
#[derive(Debug, Default)]
pub struct CommandReader {
    pending: Vec<u8>,
}

impl CommandReader {
    /// Takes the bytes of one read and returns the commands that they complete.
    ///
    /// # Errors
    /// At the first line that is no command, and when a line does not end within 1 MiB.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Command>, String> {
        let ends = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let (complete, rest) = bytes.split_at(ends);
        self.pending.extend_from_slice(complete);
        let commands = if ends > 0 { parse_lines(&std::mem::take(&mut self.pending))? } else { Vec::new() };
        self.pending.extend_from_slice(rest);
        if self.pending.len() > LONGEST_LINE {
            return Err(format!(
                "not a command: {:?}: longer than {LONGEST_LINE} bytes",
                shown(&self.pending)
            ));
        }
        Ok(commands)
    }
}

fn parse_lines(bytes: &[u8]) -> Result<Vec<Command>, String> {
    let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    lines.map(parse).collect()
}

/// Reads a line. A wrong change is refused, because a user may have typed it and can try again; anything else that is
/// wrong is a fault of the orchestrator.
fn parse(line: &[u8]) -> Result<Command, String> {
    from_json(line).map(Document::command).or_else(|reason| {
        let message = format!("not a command: {:?}: {reason}", shown(line));
        let is_change = from_json::<Value>(line).is_ok_and(|value| value["do"] == "change");
        if is_change { Ok(Command::Refuse(message)) } else { Err(message) }
    })
}

fn shown(line: &[u8]) -> String {
    let cut = if line.len() > SHOWN_BYTES { "..." } else { "" };
    format!("{}{cut}", String::from_utf8_lossy(&line[..line.len().min(SHOWN_BYTES)]))
}

/// A line. Variants without fields have braces, because serde then rejects unknown fields.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
enum Document {
    Start {},
    Stop {},
    Counters {},
    Change {
        link: Option<String>,
        #[serde(default, deserialize_with = "side")]
        direction: Option<usize>,
        change: Change,
    },
}

impl Document {
    fn command(self) -> Command {
        match self {
            Self::Start {} => Command::Start,
            Self::Stop {} => Command::Stop,
            Self::Counters {} => Command::Counters,
            Self::Change { link, direction, change } => {
                Command::Change { link, target: Target { direction, change } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use link_model::Change;

    use super::{Command, CommandReader, LONGEST_LINE};
    use crate::config::Target;

    #[test]
    fn commands_are_joined_from_pieces() {
        let mut reader = CommandReader::default();
        assert_eq!(reader.push(b"{\"do\":"), Ok(vec![]));
        assert_eq!(
            reader.push(b"\"start\"}\n\n{\"do\":\"stop\"}\n{"),
            Ok(vec![Command::Start, Command::Stop])
        );
    }

    #[test]
    fn change_commands_name_link_and_direction() {
        let lines = concat!(
            "{\"do\":\"change\",\"link\":\"a\",\"direction\":1,\"change\":{\"delay_ns\":7}}\n",
            "{\"do\":\"change\",\"link\":null,\"direction\":null,\"change\":{\"down\":false}}\n",
            "{\"do\":\"counters\"}\n",
        );
        let change = |link: Option<&str>, direction, change| Command::Change {
            link: link.map(str::to_owned),
            target: Target { direction, change },
        };
        let expected = vec![
            change(Some("a"), Some(1), Change::Delay(7)),
            change(None, None, Change::Up),
            Command::Counters,
        ];
        assert_eq!(CommandReader::default().push(lines.as_bytes()), Ok(expected));
    }

    #[test]
    fn a_wrong_change_is_refused_and_the_next_command_is_read() {
        for wrong in [
            "{\"do\":\"change\"}",
            "{\"do\":\"change\",\"change\":{\"down\":true,\"loss\":1}}",
            "{\"do\":\"change\",\"direction\":2,\"change\":{\"down\":true}}",
            "{\"do\":\"change\",\"change\":{\"rate_bit_s\":199}}",
        ] {
            let lines = format!("{wrong}\n{{\"do\":\"stop\"}}\n");
            let commands = CommandReader::default().push(lines.as_bytes()).expect("refused, no failure");
            let [Command::Refuse(reason), Command::Stop] = &commands[..] else { panic!("{commands:?}") };
            assert!(reason.starts_with("not a command: "), "{reason}");
        }
    }

    #[test]
    fn anything_else_is_an_error_with_its_text() {
        for line in ["{\"do\":\"dance\"}\n", "start\n", "7\n", "{\"do\":\"start\",\"when\":1}\n"] {
            let error = CommandReader::default().push(line.as_bytes()).unwrap_err();
            assert!(error.starts_with("not a command: "), "{error}");
        }
    }

    #[test]
    fn a_line_without_an_end_is_an_error() {
        let mut reader = CommandReader::default();
        let piece = [b'x'; 4096];
        let most = LONGEST_LINE / piece.len();
        assert!((0..most).all(|_| reader.push(&piece) == Ok(vec![])));
        assert!(reader.push(&piece).is_err());
        let error = CommandReader::default().push(&vec![b'x'; LONGEST_LINE + 1]).unwrap_err();
        assert!(error.ends_with("longer than 1048576 bytes") && error.len() < 300, "{error}");
    }
}
