//! What the orchestrator says on stdin: one JSON object a line.

use serde::Deserialize;

/// An order.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Command {
    /// End the probe phase: from now on all counts.
    Start {},
    /// Tell the result and end.
    Stop {},
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
    serde_json::from_slice(line)
        .map_err(|error| format!("not a command: {:?}: {error}", String::from_utf8_lossy(line)))
}

#[cfg(test)]
mod tests {
    use super::{Command, CommandReader};

    #[test]
    fn lines_are_put_together_from_pieces() {
        let mut reader = CommandReader::default();
        assert_eq!(reader.push(b"{\"do\":"), Ok(vec![]));
        assert_eq!(
            reader.push(b"\"start\"}\n\n{\"do\":\"stop\"}\n{"),
            Ok(vec![Command::Start {}, Command::Stop {}])
        );
    }

    #[test]
    fn anything_else_is_refused_with_its_text() {
        for line in ["{\"do\":\"dance\"}\n", "start\n", "{\"do\":\"start\",\"when\":1}\n"] {
            let error = CommandReader::default().push(line.as_bytes()).unwrap_err();
            assert!(error.starts_with("not a command: "), "{error}");
        }
    }
}
