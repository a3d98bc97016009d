//! What can be done to bytes without knowing what they mean.
use std::collections::BTreeMap;

use prefinal_crypto_core::bls::{MinPk, MinSig};
use prefinal_crypto_core::elgamal::Ciphertext;
use prefinal_crypto_core::timelock;
use prefinal_crypto_core::wire::{Kind, Object, VERSION, WireError};
use proptest::prelude::*;

use super::codecs::{CODECS, codec_of, vector};

/// The first example of each kind.
fn firsts() -> BTreeMap<u8, Vec<u8>> {
    let mut firsts = BTreeMap::new();
    for case in vector().cases {
        firsts.entry(case.kind).or_insert(case.bytes);
    }
    firsts
}

#[test]
fn no_prefix_is_an_object() {
    for case in vector().cases {
        for length in 0..case.bytes.len() {
            let error = (codec_of(case.kind).again)(&case.bytes[..length]).unwrap_err();
            assert!(
                matches!(error, WireError::Truncated { .. } | WireError::Count { .. }),
                "{length} bytes of {:#04x}, {}: {error}",
                case.kind,
                case.what
            );
        }
    }
}

#[test]
fn nothing_may_follow() {
    for case in vector().cases {
        let (codec, at) = (codec_of(case.kind), case.bytes.len());
        for byte in 0..=u8::MAX {
            let mut longer = case.bytes.clone();
            longer.push(byte);
            assert_eq!((codec.again)(&longer), Err(WireError::Trailing { at, got: 1 }));
        }
    }
}

#[test]
fn no_other_version_is_read() {
    for (kind, bytes) in firsts() {
        for version in (0..=u8::MAX).filter(|version| *version != VERSION) {
            let mut other = bytes.clone();
            other[0] = version;
            let verdict = (codec_of(kind).again)(&other);
            assert_eq!(verdict, Err(WireError::Version { got: version }));
        }
    }
}

#[test]
fn no_object_is_read_as_another() {
    for (kind, bytes) in firsts() {
        for codec in CODECS.iter().filter(|codec| codec.kind.byte() != kind) {
            let expected = codec.kind;
            assert_eq!((codec.again)(&bytes), Err(WireError::Kind { expected, got: kind }));
        }
        for got in (0..=u8::MAX).filter(|other| *other != kind) {
            let mut other = bytes.clone();
            other[1] = got;
            let expected = codec_of(kind).kind;
            assert_eq!((codec_of(kind).again)(&other), Err(WireError::Kind { expected, got }));
        }
    }
}

#[test]
fn a_flipped_bit_is_refused_or_makes_another_object() {
    for (kind, bytes) in firsts() {
        let codec = codec_of(kind);
        let (mut refused, mut others) = (0, 0);
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            match (codec.again)(&flipped) {
                Ok(again) => {
                    assert_eq!(again, flipped, "bit {bit} of {kind:#04x}");
                    others += 1;
                }
                Err(_) => refused += 1,
            }
        }
        // A point's sign bit is free, all else of a point is not.
        assert!(refused > 8 * 40, "{kind:#04x}: {others} and {refused}");
        assert!(others > 0 || kind == 0x43, "{kind:#04x}: {others} and {refused}");
    }
}

/// The decoder for Borsh, in which these objects stand inside other messages, takes the same bytes.
#[test]
fn borsh_takes_the_same_bodies() {
    let content = vector();
    let refused = content.refused.into_iter().map(|case| (case.kind, case.bytes));
    let cases = content.cases.into_iter().map(|case| (case.kind, case.bytes));
    let (mut taken, mut not) = (0, 0);
    for (kind, bytes) in cases.chain(refused) {
        let codec = codec_of(kind);
        if bytes.len() < 2 || bytes[..2] != [VERSION, kind] {
            continue;
        }
        match (codec.borsh)(&bytes[2..]) {
            Some(again) => {
                assert_eq!(again, bytes[2..]);
                assert_eq!((codec.again)(&bytes), Ok(bytes));
                taken += 1;
            }
            None => {
                assert!((codec.again)(&bytes).is_err(), "{kind:#04x} {}", hex::encode(bytes));
                not += 1;
            }
        }
    }
    assert!(taken > 20 && not > 100, "{taken} and {not}");
}

#[test]
fn a_body_is_as_long_as_some_plaintexts() {
    let short = &firsts()[&0x41][..162];
    let with_body = |bytes: usize| {
        let length = u32::try_from(bytes).unwrap().to_le_bytes();
        [short, &length, &vec![7; bytes]].concat()
    };
    let most = Ciphertext::MAX_PLAINTEXT + 16;
    for bytes in [16, 17, most] {
        assert_eq!(Ciphertext::from_wire(&with_body(bytes)).unwrap().to_wire(), with_body(bytes));
    }
    let error = |bytes| Ciphertext::from_wire(&with_body(bytes)).unwrap_err();
    let got = u32::try_from(most + 1).unwrap();
    assert_eq!(error(most + 1), WireError::Count { at: 162, got, most });
    let expected = "16 bytes or more";
    assert_eq!(error(15), WireError::Value { at: 162, got: 15, expected });
    assert_eq!(error(0), WireError::Value { at: 162, got: 0, expected });
}

#[test]
fn a_message_of_another_length_is_another_type() {
    let bytes = &firsts()[&0x40];
    assert!(timelock::Ciphertext::<MinSig, 16>::from_wire(bytes).is_ok());
    let longer = timelock::Ciphertext::<MinSig, 24>::from_wire(bytes).unwrap_err();
    assert_eq!(longer, WireError::Truncated { at: 2, need: 144, got: 128 });
    let kind = timelock::Ciphertext::<MinPk, 16>::from_wire(bytes).unwrap_err();
    assert_eq!(kind, WireError::Kind { expected: Kind::TimelockMinPk, got: 0x40 });
}

#[test]
fn errors_say_what_and_where() {
    let firsts = firsts();
    let error = |kind: u8, bytes: &[u8]| (codec_of(kind).again)(bytes).unwrap_err().to_string();
    assert_eq!(error(1, &[2]), "version 2, expected 1");
    assert_eq!(error(1, &[1, 0x20]), "kind 0x20, expected 0x01, a min-sig public key");
    assert_eq!(error(2, &[1, 2, 0]), "1 bytes left at byte 2, expected 48");
    assert_eq!(error(2, &[&firsts[&2][..], &[0, 0]].concat()), "2 bytes after the end at byte 50");
    let mut many = firsts[&0x20].clone();
    many[130..134].fill(0xff);
    let expected = "4294967295 items announced at byte 130, at most 3 are possible";
    assert_eq!(error(0x20, &many), expected);
    let mut option = firsts[&0x22].clone();
    option[50] = 9;
    assert_eq!(error(0x22, &option), "9 at byte 50, expected 0 or 1");
    let mut identity = firsts[&0x20].clone();
    identity[2..50].fill(0);
    identity[2] = 0xc0;
    assert_eq!(error(0x20, &identity), "at byte 2: point is the identity");
    let mut second = firsts[&0x10].clone();
    second[54..102].fill(0);
    second[54] = 0xc0;
    assert_eq!(error(0x10, &second), "at byte 54: point is the identity");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn noise_is_refused(kind in 0..CODECS.len(), body in prop::collection::vec(any::<u8>(), 0..400)) {
        let codec = &CODECS[kind];
        let bytes = [&[VERSION, codec.kind.byte()], body.as_slice()].concat();
        prop_assert!((codec.again)(&bytes).is_err());
        prop_assert!((codec.again)(&body).is_err());
    }

    /// Parts of valid objects in another order, with other lengths: what is read is written alike.
    #[test]
    fn splices_are_refused_or_canonical(
        case in 0..vector().cases.len(),
        other in 0..vector().cases.len(),
        cut: prop::sample::Index,
        paste: prop::sample::Index,
    ) {
        let cases = vector().cases;
        let (head, tail) = (&cases[case].bytes, &cases[other].bytes);
        let spliced = [&head[..cut.index(head.len())], &tail[paste.index(tail.len())..]].concat();
        if let Ok(again) = (codec_of(cases[case].kind).again)(&spliced) {
            prop_assert_eq!(again, spliced);
        }
    }
}
