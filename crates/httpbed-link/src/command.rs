//! What the orchestrator says on stdin: one JSON object a line.

use serde_json::Value;

use crate::config::{Field, Mistakes, Target};

/// An order.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// End the probe phase: from now on all counts.
    Start,
    /// Tell the result and end.
    Stop,
    /// Tell what was counted up to now.
    Counters,
    /// Change a condition now.
    Change {
        /// Of which link; `None` is all.
        link: Option<String>,
        /// What.
        target: Target,
    },
}

/// Puts lines together from whatever pieces a pipe gives.
#[derive(Debug, Default)]
pub struct CommandReader {
    pending: Vec<u8>,
}

impl CommandReader {
    /// Takes the bytes of one read and gives the commands that they complete.
    ///
    /// # Errors
    /// At the first line that is no command.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Command>, String> {
        self.pending.extend_from_slice(bytes);
        let Some(end) = self.pending.iter().rposition(|&byte| byte == b'\n') else { return Ok(Vec::new()) };
        let rest = self.pending.split_off(end + 1);
        let complete = std::mem::replace(&mut self.pending, rest);
        let lines = complete.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        lines.map(parse).collect()
    }
}

fn parse(line: &[u8]) -> Result<Command, String> {
    let refused = |reason: String| format!("not a command: {:?}: {reason}", String::from_utf8_lossy(line));
    let value: Value = serde_json::from_slice(line).map_err(|error| refused(error.to_string()))?;
    let mistakes = Mistakes::default();
    let command = read(&Field::root(&value, &mistakes));
    let command = mistakes.none_in(command).map_err(refused)?;
    command.ok_or_else(|| refused("it is incomplete".to_owned()))
}

fn read(field: &Field<'_>) -> Option<Command> {
    let plain = |command| {
        field.fields(&["do"]);
        Some(command)
    };
    match field.choice("do", &["start", "stop", "counters", "change"])? {
        "start" => plain(Command::Start),
        "stop" => plain(Command::Stop),
        "counters" => plain(Command::Counters),
        _ => {
            let fields = field.fields(&["do", "link", "direction", "change"]);
            let link = fields.get("link").given().map(|link| link.text().to_owned());
            let target = Target::read(fields.get("direction"), &fields.get("change"))?;
            Some(Command::Change { link, target })
        }
    }
}

#[cfg(test)]
mod tests {
    use link_model::Change;

    use super::{Command, CommandReader};
    use crate::config::Target;

    #[test]
    fn lines_are_put_together_from_pieces() {
        let mut reader = CommandReader::default();
        assert_eq!(reader.push(b"{\"do\":"), Ok(vec![]));
        assert_eq!(
            reader.push(b"\"start\"}\n\n{\"do\":\"stop\"}\n{"),
            Ok(vec![Command::Start, Command::Stop])
        );
    }

    #[test]
    fn changes_name_what_they_change() {
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
    fn anything_else_is_refused_with_its_text() {
        for line in [
            "{\"do\":\"dance\"}\n",
            "start\n",
            "7\n",
            "{\"do\":\"start\",\"when\":1}\n",
            "{\"do\":\"change\"}\n",
            "{\"do\":\"change\",\"change\":{\"down\":true,\"loss\":1}}\n",
            "{\"do\":\"change\",\"direction\":2,\"change\":{\"down\":true}}\n",
            "{\"do\":\"change\",\"change\":{\"rate_bit_s\":199}}\n",
        ] {
            let error = CommandReader::default().push(line.as_bytes()).unwrap_err();
            assert!(error.starts_with("not a command: "), "{error}");
        }
    }
}
