//! Text files become typed values, or an error that names line and key.
//!
//! A message of a parser quotes what it found. If an operator mixes up two files, that may be a seed. So a
//! long word never gets into a message.
use std::fmt;

use serde::de::DeserializeOwned;

/// The longest word of a file that a message repeats: as long as the longest key. So of a seed, and even of
/// a damaged one, at most 64 bits can be in a message.
const LONGEST_WORD: usize = 16;

/// Where a text is wrong, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    line: usize,
    key: Option<String>,
    what: String,
}

impl ParseError {
    fn new(line: usize, key: &str, what: &str) -> Self {
        let key = (!key.is_empty() && key != ".").then(|| shortened(key));
        // Parsers begin with the place, which is said already.
        Self { line, key, what: shortened(what.lines().next().unwrap_or_default()) }
    }

    /// The line, counted from one.
    #[must_use]
    pub const fn line(&self) -> usize {
        self.line
    }

    /// The key, such as `links.listen`, if the text could be read that far.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "malformed"
    }
}

impl std::error::Error for ParseError {}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        if let Some(key) = &self.key {
            write!(f, ", `{key}`")?;
        }
        write!(f, ": {}", self.what)
    }
}

/// Reads TOML.
pub(crate) fn toml<T: DeserializeOwned>(text: &str) -> Result<T, ParseError> {
    let line = |error: &toml::de::Error| {
        let start = error.span().map_or(0, |span| span.start);
        text.get(..start).map_or(1, |before| before.matches('\n').count() + 1)
    };
    let syntax = toml::Deserializer::parse(text)
        .map_err(|error| ParseError::new(line(&error), "", error.message()))?;
    serde_path_to_error::deserialize(syntax).map_err(|error| {
        let key = error.path().to_string();
        ParseError::new(line(error.inner()), &key, error.inner().message())
    })
}

/// Reads JSON.
pub(crate) fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ParseError> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let (key, line) = (error.path().to_string(), error.inner().line());
        ParseError::new(line, &key, &placeless(error.inner()))
    })?;
    reader.end().map_err(|error| ParseError::new(error.line(), "", &placeless(&error)))?;
    Ok(value)
}

/// The message without the place at its end.
fn placeless(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what).to_owned()
}

/// The text without long words and control characters.
pub(crate) fn shortened(text: &str) -> String {
    let mut short = String::new();
    let is_word = |letter: char| letter.is_alphanumeric() || "+/_-".contains(letter);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|letter| is_word(letter) != is_word(first)).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        if is_word(first) && run.len() > LONGEST_WORD {
            short.push_str(&format!("…({} letters)", run.chars().count()));
        } else {
            short.extend(run.chars().map(|one| if one.is_control() { '?' } else { one }));
        }
        rest = after;
    }
    short
}
