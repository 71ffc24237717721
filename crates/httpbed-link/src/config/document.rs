//! JSON texts as values, with the place of a mistake.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::SCHEMA;

/// Reads one JSON value.
///
/// # Errors
/// The first mistake: its place, such as `links[0].hosts`, and the reason, in one line.
pub fn from_json<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let place = error.path().to_string();
        let place = if place == "." { "the whole" } else { &place };
        one_line(&format!("{place}: {}", error.inner()))
    })?;
    json.end().map_err(|error| one_line(&format!("the whole: {error}")))?;
    Ok(value)
}

/// Rejects other versions of the format first, whose fields this program does not know.
///
/// # Errors
/// When there is no version, or another one.
pub fn check_schema(text: &str) -> Result<(), String> {
    #[derive(Deserialize)]
    struct Versioned {
        schema: u32,
    }
    let Versioned { schema } = from_json(text.as_bytes())?;
    if schema == SCHEMA {
        return Ok(());
    }
    Err(format!("schema: {schema} is not {SCHEMA}, the version that this httpbed-link reads"))
}

/// A text in one line, even if it quotes a name with line breaks.
fn one_line(text: &str) -> String {
    text.split(['\n', '\r']).collect::<Vec<_>>().join(" ")
}
