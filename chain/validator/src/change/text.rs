//! The parts of a change as text, for files that operators send to each other.
//!
//! A text is a word that says what it is, a colon, and the Borsh encoding in hexadecimal. Space around it
//! and line breaks within are ignored.
use borsh::{BorshDeserialize, BorshSerialize};

use super::{Application, Change, Consent, Draft, MAX_BYTES};

/// Why a text is not read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// The text is something else, for example another part of a change.
    #[error("the text does not begin with {expected:?}")]
    Label {
        /// How it must begin.
        expected: &'static str,
    },
    /// The text is longer than any such part can be.
    #[error("the text has {got} bytes, at most {most} are read")]
    Length {
        /// Its length in bytes.
        got: usize,
        /// The greatest length.
        most: usize,
    },
    /// A character behind the colon is no hexadecimal digit, or one is missing.
    #[error("not hexadecimal: {0}")]
    Hex(#[from] hex::FromHexError),
    /// The bytes are no such part.
    #[error("undecodable: {0}")]
    Undecodable(String),
}

impl TextError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Label { .. } => "wrong-kind",
            Self::Length { .. } => "too-long",
            Self::Hex(_) => "not-hexadecimal",
            Self::Undecodable(_) => "invalid-value",
        }
    }
}

fn write(label: &str, part: &impl BorshSerialize) -> String {
    // Writing into memory cannot fail.
    format!("{label}{}\n", hex::encode(borsh::to_vec(part).unwrap_or_default()))
}

fn read<T: BorshDeserialize>(label: &'static str, text: &str) -> Result<T, TextError> {
    let (got, most) = (text.len(), MAX_BYTES.saturating_mul(3));
    if got > most {
        return Err(TextError::Length { got, most });
    }
    let digits = text.trim().strip_prefix(label).ok_or(TextError::Label { expected: label })?;
    let digits: Vec<u8> = digits.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let bytes = hex::decode(digits)?;
    let got = bytes.len();
    if got > MAX_BYTES {
        return Err(TextError::Length { got, most: MAX_BYTES });
    }
    borsh::from_slice(&bytes).map_err(|error| TextError::Undecodable(error.to_string()))
}

macro_rules! texts {
    ($($part:ty: $label:literal),* $(,)?) => {$(
        impl $part {
            /// The text form, for a file.
            #[must_use]
            pub fn to_text(&self) -> String {
                write($label, self)
            }

            /// Reads the text form. Nothing in it is verified yet.
            ///
            /// # Errors
            /// If the text is something else, too long, or not well formed.
            pub fn from_text(text: &str) -> Result<Self, TextError> {
                read($label, text)
            }
        }
    )*};
}

texts! {
    Application: "prefinal-committee-application:",
    Draft: "prefinal-committee-draft:",
    Consent: "prefinal-committee-consent:",
    Change: "prefinal-committee-change:",
}
