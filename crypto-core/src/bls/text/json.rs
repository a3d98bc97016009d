//! The text in formats of serde, for the JSON that drand and Ethereum write.
use core::fmt;
use core::marker::PhantomData;

use serde_core::de::{Error, Visitor};

use super::{Digits, HexError, HexText, read};

/// Digits, after a prefix or without one.
struct Text<T> {
    prefix: bool,
    of: PhantomData<T>,
}

impl<T: HexText> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = if self.prefix { "0x and " } else { "" };
        write!(f, "{prefix}{} hexadecimal digits", 2 * T::EMPTY.as_ref().len())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        let read = match (self.prefix, text.strip_prefix("0x")) {
            (true, Some(digits)) => read(digits),
            (false, None) => read(text),
            (true, None) => Err(HexError::NoPrefix),
            (false, Some(_)) => Err(HexError::Prefix),
        };
        read.map_err(E::custom)
    }
}

macro_rules! modules {
    ($($(#[$doc:meta])* $module:ident, $prefix:literal, $before:literal;)*) => {$(
        $(#[$doc])*
        pub mod $module {
            use core::marker::PhantomData;

            use serde_core::{Deserializer, Serializer};

            use super::{Digits, HexText, Text};

            /// Writes the text.
            ///
            /// # Errors
            /// If the serializer fails.
            pub fn serialize<T: HexText, S: Serializer>(
                object: &T,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                serializer.collect_str(&format_args!(concat!($before, "{}"), Digits(object)))
            }

            /// Reads the text and checks it as `from_bytes` does.
            ///
            /// # Errors
            /// With the message of [`HexError`](super::super::HexError).
            pub fn deserialize<'de, T: HexText, D: Deserializer<'de>>(
                deserializer: D,
            ) -> Result<T, D::Error> {
                deserializer.deserialize_str(Text { prefix: $prefix, of: PhantomData })
            }
        }
    )*};
}

modules! {
    /// Digits without `0x`, as in drand's JSON: `#[serde(with = "prefinal_crypto_core::bls::hex")]`.
    ///
    /// ```
    /// use prefinal_crypto_core::bls::{hex, min_sig};
    /// #[derive(serde::Deserialize, serde::Serialize)]
    /// struct Round {
    ///     round: u64,
    ///     #[serde(with = "hex")]
    ///     signature: min_sig::Signature,
    /// }
    /// let json = r#"{"round":2,"signature":"b6b6a585449b66eb12e875b64fcbab3799861a00e4dbf092d99e969a5eac57dd3f798acf61e705fe4f093db926626807"}"#;
    /// let round: Round = serde_json::from_str(json)?;
    /// assert_eq!(serde_json::to_string(&round)?, json);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    hex, false, "";
    /// `0x` and digits, as in the JSON of Ethereum's beacon API:
    /// `#[serde(with = "prefinal_crypto_core::bls::hex_prefixed")]`.
    ///
    /// ```
    /// use prefinal_crypto_core::bls::{hex_prefixed, min_pk};
    /// #[derive(serde::Deserialize, serde::Serialize)]
    /// struct Validator {
    ///     #[serde(with = "hex_prefixed")]
    ///     pubkey: min_pk::PublicKey,
    ///     effective_balance: String,
    /// }
    /// let json = r#"{"pubkey":"0x93247f2209abcacf57b75a51dafae777f9dd38bc7053d1af526f220a7489a6d3a2753e5f3e8b1cfe39b56f43611df74a","effective_balance":"32000000000"}"#;
    /// let validator: Validator = serde_json::from_str(json)?;
    /// assert_eq!(serde_json::to_string(&validator)?, json);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    hex_prefixed, true, "0x";
}
