//! Identity files as an attacker or an absent-minded operator leaves them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
use super::*;

/// Cheap, for tests open many.
const CHEAP: u8 = 4;

fn seed() -> Seed {
    Seed::new(Secret::new([0x5e; 32]))
}

fn pass(text: &str) -> Passphrase {
    Passphrase::new(text.as_bytes()).unwrap()
}

fn opened(bytes: &[u8]) -> Result<Seed, IdentityError> {
    match IdentityFile::parse(bytes)? {
        IdentityFile::Plain(seed) => Ok(seed),
        IdentityFile::Encrypted(sealed) => sealed.open(&pass("right")),
    }
}

#[test]
fn both_kinds_of_file_are_read_again() {
    let plain = opened(seed().to_plain().as_bytes()).unwrap();
    assert_eq!(plain.0.expose(), &[0x5e; 32]);
    let sealed = seed().to_encrypted_at(&pass("right"), CHEAP).unwrap();
    assert_eq!(opened(sealed.as_bytes()).unwrap().0.expose(), &[0x5e; 32]);
    assert!(!sealed.contains("5e5e"));
}

#[test]
fn only_the_passphrase_opens_it() {
    let sealed = seed().to_encrypted_at(&pass("another"), CHEAP).unwrap();
    assert_eq!(opened(sealed.as_bytes()).err(), Some(IdentityError::WrongPassphrase));
}

#[test]
fn a_damaged_age_file_is_refused() {
    let sealed = seed().to_encrypted_at(&pass("right"), CHEAP).unwrap();
    let lines: Vec<_> = sealed.lines().collect();
    for cut in 1..lines.len() {
        let text = lines.get(..cut).unwrap().join("\n");
        assert!(opened(text.as_bytes()).is_err(), "{cut} lines");
    }
    for place in 36..sealed.len() - 36 {
        let mut bytes = sealed.clone().into_bytes();
        let byte = bytes.get_mut(place).unwrap();
        *byte = if *byte == b'A' { b'B' } else { b'A' };
        match opened(&bytes) {
            Err(_) => {}
            // Bits of the last digit that are padding.
            Ok(seed) => assert_eq!(seed.0.expose(), &[0x5e; 32]),
        }
    }
}

#[test]
fn a_file_cannot_make_its_reader_take_all_memory() {
    let sealed = seed().to_encrypted_at(&pass("right"), CHEAP).unwrap();
    let mut raw = Vec::new();
    ArmoredReader::new(sealed.as_bytes()).read_to_end(&mut raw).unwrap();
    // The work factor stands at the end of the stanza's line.
    let place = raw.windows(3).position(|three| three == b" 4\n").unwrap();
    raw.splice(place..place + 3, *b" 30\n");
    let mut text = Vec::new();
    let format = age::armor::Format::AsciiArmor;
    let mut writer = age::armor::ArmoredWriter::wrap_output(&mut text, format).unwrap();
    std::io::Write::write_all(&mut writer, &raw).unwrap();
    writer.finish().unwrap();
    assert_eq!(opened(&text).err(), Some(IdentityError::Work { got: 30 }));
}

#[test]
fn an_age_file_for_a_key_is_no_identity() {
    let key = age::x25519::Identity::generate().to_public();
    let text = age::encrypt_and_armor(&key, seed().to_plain().as_bytes()).unwrap();
    assert_eq!(opened(text.as_bytes()).err(), Some(IdentityError::Armor));
}

#[test]
fn other_texts_are_refused_without_repeating_them() {
    let digits = "5e".repeat(32);
    let line = |line, expected| IdentityError::Line { line, expected };
    let wanted = "`seed` with 64 hexadecimal digits";
    let cases = [
        (String::new(), IdentityError::Version),
        (digits.clone(), IdentityError::Version),
        (format!("prefinal identity 2\nseed {digits}\n"), IdentityError::Version),
        ("prefinal identity 1\n".to_owned(), IdentityError::NoSeed),
        ("prefinal identity 1\n# seed\n".to_owned(), IdentityError::NoSeed),
        (format!("prefinal identity 1\n{digits}\n"), line(2, wanted)),
        (format!("prefinal identity 1\nseed {digits}0\n"), line(2, wanted)),
        (format!("prefinal identity 1\nseed {digits}00\n"), line(2, wanted)),
        (format!("prefinal identity 1\nseed {}\n", digits.replace('5', "x")), line(2, wanted)),
        (format!("prefinal identity 1\nseed {digits}\nseed {digits}\n"), line(3, "nothing more")),
    ];
    for (text, expected) in cases {
        let error = opened(text.as_bytes()).unwrap_err();
        assert_eq!(error, expected, "{text}");
        assert!(!format!("{error} {error:?}").contains("5e5e"));
    }
    assert_eq!(opened(&[0xff; 40]).err(), Some(IdentityError::Version));
}

#[test]
fn a_passphrase_is_one_line() {
    for (text, good) in
        [("a", true), ("a b\n", true), ("a\r\n", true), ("", false), ("\n", false), ("a\nb", false)]
    {
        assert_eq!(Passphrase::new(text.as_bytes()).is_ok(), good, "{text:?}");
    }
    assert!(pass("a\r\n").is(&pass("a")));
    assert!(!pass("a").is(&pass("b")));
    assert!(Passphrase::new(&[b'a'; 2000]).is_err());
}
