//! What the model writes is read and written again, what it refuses is refused for the same reason.
use std::collections::BTreeSet;

use prefinal_crypto_core::curve::DecodeError;
use prefinal_crypto_core::wire::{self, Kind, WireError};

use super::codecs::{CODECS, codec_of, vector};

/// The model's word for it.
fn reason(error: WireError) -> &'static str {
    match error {
        WireError::Version { .. } => "version",
        WireError::Kind { .. } | WireError::UnknownKind { .. } => "kind",
        WireError::Truncated { .. } => "truncated",
        WireError::Trailing { .. } => "trailing",
        WireError::Count { .. } => "count",
        WireError::Value { .. } => "value",
        WireError::Halves { .. } => "halves",
        WireError::Decode { error, .. } => match error {
            DecodeError::Length { .. } => "length",
            DecodeError::NotCanonical => "not canonical",
            DecodeError::NotOnCurve => "not on curve",
            DecodeError::NotInSubgroup => "not in subgroup",
            DecodeError::Identity => "identity",
            DecodeError::Zero => "zero",
            _ => "unknown",
        },
        _ => "unknown",
    }
}

#[test]
fn what_the_model_writes_is_read_and_written_again() {
    let mut kinds = BTreeSet::new();
    for case in vector().cases {
        let again = (codec_of(case.kind).again)(&case.bytes);
        assert_eq!(again.as_ref(), Ok(&case.bytes), "{:#04x}, {}", case.kind, case.what);
        assert_eq!(wire::kind(&case.bytes).map(Kind::byte), Ok(case.kind));
        kinds.insert(case.kind);
    }
    let all: BTreeSet<u8> = Kind::ALL.iter().map(|kind| kind.byte()).collect();
    assert_eq!(kinds, all, "every kind has an example");
}

#[test]
fn what_the_model_refuses_is_refused_for_the_same_reason() {
    let mut kinds = BTreeSet::new();
    for case in vector().refused {
        let error = (codec_of(case.kind).again)(&case.bytes).unwrap_err();
        assert_eq!(reason(error), case.reason, "{:#04x}, {}: {error}", case.kind, case.why);
        kinds.insert(case.kind);
    }
    assert_eq!(kinds.len(), Kind::ALL.len());
}

#[test]
fn kinds_are_distinct_and_each_has_a_codec() {
    let bytes: Vec<u8> = CODECS.iter().map(|codec| codec.kind.byte()).collect();
    assert_eq!(bytes, Kind::ALL.iter().map(|kind| kind.byte()).collect::<Vec<_>>());
    assert_eq!(BTreeSet::from_iter(&bytes).len(), bytes.len());
    for byte in 0..=u8::MAX {
        let known = Kind::from_byte(byte);
        assert_eq!(known.map(Kind::byte), bytes.contains(&byte).then_some(byte));
        let unknown = WireError::UnknownKind { got: byte };
        assert_eq!(wire::kind(&[1, byte]), known.ok_or(unknown));
    }
    assert_eq!(wire::kind(&[2, 1]), Err(WireError::Version { got: 2 }));
    assert_eq!(wire::kind(&[1]), Err(WireError::Truncated { at: 1, need: 1, got: 0 }));
}
