//! Files of drand's own code open here; what must not open does not, and the reason is said.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do"
)]

use std::cell::Cell;
use std::io::{self, Read, Write};

use age::secrecy::SecretString;
use prefinal_crypto_core::bls::{Domain, MinPk, MinSig, SecretKey, Variant};
use prefinal_crypto_core::secret::Secret;
use prefinal_timelock::{
    Chain, Format, OpenError, Recipient, Refusal, RoundNumber, decrypt, encrypt,
};

const SAID: &[u8] = b"The committee of round 1000 has spoken.\n";
const BYTES: &[u8] = include_bytes!("files/quicknet-1000.age");
const TEXT: &[u8] = include_bytes!("files/quicknet-1000.age.txt");
const SIGNATURE_1000: &str = "b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39";
const SIGNATURE_1001: &str = "b33bf3667cbd5a82de3a24b4e0e9fe5513cc1a0e840368c6e31f5fcfa79bea03f73896b25883abf2853d10337fb8fa41";

fn round(number: u64) -> RoundNumber {
    RoundNumber::new(number).unwrap()
}

fn open(chain: &Chain, signature: Option<&str>, file: &[u8]) -> Result<Vec<u8>, OpenError> {
    let signature = signature.map(|text| hex::decode(text).unwrap());
    let mut plaintext = Vec::new();
    decrypt(chain, signature.as_deref(), file, &mut plaintext).map(|()| plaintext)
}

/// As [`open`] with the right signature, of a file to round 1000 of quicknet.
fn open_1000(file: &[u8]) -> Result<Vec<u8>, OpenError> {
    open(&Chain::quicknet().unwrap(), Some(SIGNATURE_1000), file)
}

fn refusal(result: Result<Vec<u8>, OpenError>) -> Refusal {
    match result.unwrap_err() {
        OpenError::Refused(refusal) => refusal,
        other => panic!("{other}"),
    }
}

fn lock(chain: &Chain, number: u64, format: Format, plaintext: &[u8]) -> Vec<u8> {
    let recipient = Recipient { chain: chain.clone(), round: round(number) };
    let mut file = Vec::new();
    encrypt(&recipient, format, plaintext, &mut file).unwrap();
    file
}

/// The file with another first stanza; its header's code fits no longer.
fn with_stanza(from: &str, to: &str) -> Vec<u8> {
    let start = BYTES.windows(from.len()).position(|part| part == from.as_bytes()).unwrap();
    [&BYTES[..start], to.as_bytes(), &BYTES[start + from.len()..]].concat()
}

#[test] // files come from drand's own modules, see files/README.md
fn files_of_drand_open_here() {
    assert_eq!(open_1000(BYTES).unwrap(), SAID);
    assert_eq!(open_1000(TEXT).unwrap(), SAID);
    let on_g1 = Chain::from_key(
        "8e5ea242a899039e09eeebbec98ab2c9c39883b999685d53ae5f11353f268a764328a4c130c12c3ebd52cbe945e509e212fb3030df2d62289d68ad2cc84215365568f26fbc51bbe2ffbbea7b2a6bb80d79d7f53599ead78c3d85e1394cad7153",
        "bls-unchained-on-g1",
        "97bd729543019bc5ebd01b8c245f4bf3cef038bb255f6646554e6b3e4b583ead",
    );
    let signature = "a7cfec00c8a5e4ce1ab0eb74aef9d57458f5597f0af163042e5f5b654ff9456113168e693e41ca93f6b8de1b5da01358";
    let file = include_bytes!("files/bls-unchained-on-g1-77.age");
    assert_eq!(open(&on_g1.unwrap(), Some(signature), file).unwrap(), SAID);
    let on_g2 = Chain::from_key(
        "8961dd3fe3961e325ed48f514048c34446fe8af0c365871ea1430f5aea067c3eb5953e02def109ba57a310dc0f976cc8",
        "pedersen-bls-unchained",
        "cf9a77540ef52f63b7b610cc21c2e3154da3774a6ab480740089ea838c3843e5",
    );
    let signature = "a3703286de3e23f3ca4c3d41f3329c9c74799448e62cae9fd1c5d52b4d8b578d1def6f3db841346c9df314df31e3b2f703bfbe5bbb158f7077bf9c5bc87d0312f26684e20058868bdb044ab54a713a0cfff17b8271ff8916fb7e553710c4ba7f";
    let file = include_bytes!("files/pedersen-bls-unchained-77.age");
    assert_eq!(open(&on_g2.unwrap(), Some(signature), file).unwrap(), SAID);
}

fn own_chain<V: Variant>(scheme: &str) -> (Chain, String) {
    let secret = SecretKey::from_secret_bytes(&Secret::new([7; 32])).unwrap();
    let key = hex::encode(secret.public_key::<V>().to_bytes());
    let chain = Chain::from_key(&key, scheme, &"ab".repeat(32)).unwrap();
    let domain = match scheme {
        "bls-unchained-on-g1" => Domain::BASIC_NAMING_G2,
        _ => Domain::BASIC,
    };
    let signature = secret.sign::<V>(domain, &round(9).message());
    (chain, hex::encode(signature.to_bytes()))
}

#[test]
fn what_is_encrypted_here_opens_here() {
    // More than one of age's chunks of 64 KiB, and none.
    let long: Vec<u8> = (0..200_000_u32).map(|i| i.to_le_bytes()[0]).collect();
    let chains = [
        own_chain::<MinSig>("bls-unchained-g1-rfc9380"),
        own_chain::<MinSig>("bls-unchained-on-g1"),
        own_chain::<MinPk>("pedersen-bls-unchained"),
    ];
    for (chain, signature) in chains {
        for plaintext in [&long[..], b""] {
            for format in [Format::Binary, Format::Text] {
                let file = lock(&chain, 9, format, plaintext);
                assert_eq!(file.is_ascii(), format == Format::Text);
                assert_eq!(open(&chain, Some(&signature), &file).unwrap(), plaintext);
            }
        }
    }
}

#[test]
fn only_the_rounds_signature_opens() {
    let chain = Chain::quicknet().unwrap();
    let wrong = refusal(open(&chain, Some(SIGNATURE_1001), BYTES));
    assert_eq!(wrong, Refusal::Round { round: round(1000) });
    assert_eq!(wrong.to_string(), "signature is not of round 1000, which the file is encrypted to");
    let none = refusal(open(&chain, None, BYTES));
    assert_eq!(none, Refusal::NoSignature { round: round(1000), chain: chain.hash() });
    for bad in ["", "00", &SIGNATURE_1000[2..], &"00".repeat(48)] {
        let refusal = refusal(open(&chain, Some(bad), BYTES));
        assert!(matches!(refusal, Refusal::Signature(_)), "{bad}: {refusal}");
    }
    let infinity = format!("c0{}", "00".repeat(47));
    let refusal = refusal(open(&chain, Some(&infinity), BYTES));
    assert!(matches!(refusal, Refusal::Signature(_)), "{refusal}");
}

#[test]
fn another_chain_is_named() {
    let key = hex::encode(Chain::quicknet().unwrap().key().to_bytes());
    let other = Chain::from_key(&key, "bls-unchained-g1-rfc9380", &"ab".repeat(32)).unwrap();
    let refusal = refusal(open(&other, Some(SIGNATURE_1000), BYTES));
    let got = Chain::quicknet().unwrap().hash();
    let expected = other.hash();
    assert_eq!(refusal, Refusal::Chain { round: round(1000), got, expected });
}

#[test]
fn stanzas_that_say_no_round_are_refused() {
    for round in [
        "+1000",
        "01000",
        "0001000",
        "-1",
        "0",
        "00",
        "1e3",
        "0x3e8",
        "18446744073709551616",
        "1000 1000",
    ] {
        let file = with_stanza("tlock 1000 ", &format!("tlock {round} "));
        let refusal = refusal(open_1000(&file));
        assert!(matches!(refusal, Refusal::Arguments { .. }), "{round}: {refusal}");
    }
    let file = with_stanza("tlock 1000 ", "tlock 1001 ");
    assert_eq!(refusal(open_1000(&file)), Refusal::Round { round: round(1001) });
    let file = with_stanza("tlock", "clock");
    assert!(matches!(open_1000(&file).unwrap_err(), OpenError::NoRound));
}

/// Counts what is asked of it.
struct Counted<'a> {
    file: &'a [u8],
    read: &'a Cell<usize>,
}

impl Read for Counted<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(to)?;
        self.read.set(self.read.get() + count);
        Ok(count)
    }
}

/// What a file with a header of these stanzas is refused with, and how many of its bytes were read.
fn refused(stanzas: &str, format: Format) -> (OpenError, usize) {
    let header = format!("age-encryption.org/v1\n{stanzas}--- {}\n", "A".repeat(43));
    let mut file = [header.as_bytes(), &[0; 100]].concat();
    if format == Format::Text {
        let mut armored = Vec::new();
        let to = age::armor::Format::AsciiArmor;
        let mut writer = age::armor::ArmoredWriter::wrap_output(&mut armored, to).unwrap();
        writer.write_all(&file).unwrap();
        writer.finish().unwrap();
        file = armored;
    }
    let read = Cell::new(0);
    let counted = Counted { file: &file, read: &read };
    let signature = hex::decode(SIGNATURE_1000).unwrap();
    let chain = Chain::quicknet().unwrap();
    let error = decrypt(&chain, Some(&signature), counted, io::sink()).unwrap_err();
    (error, read.get())
}

/// Parsing a header takes time that grows with its square: 253 KB took two minutes.
#[test]
fn a_header_is_read_up_to_a_bound_and_no_further() {
    let most = prefinal_timelock::MAX_HEADER;
    // One stanza of many lines; one endless line.
    let line = format!("{}\n", "A".repeat(64));
    let long = format!("-> other\n{}\n", line.repeat(4_000));
    let endless = format!("-> {}\n\n", "a".repeat(260_000));
    for stanzas in [&long, &endless] {
        for format in [Format::Binary, Format::Text] {
            let (error, read) = refused(stanzas, format);
            assert!(
                matches!(error, OpenError::HeaderBytes { most: said } if said == most),
                "{error}"
            );
            // Base64 makes four bytes of three; what is beyond are two buffers.
            assert!(read < most * 3 / 2 + 32 * 1024, "{read} bytes of {}", stanzas.len());
        }
    }
    // Few bytes can be many stanzas.
    let (error, _) =
        refused(&"-> a\n\n".repeat(prefinal_timelock::MAX_STANZAS + 1), Format::Binary);
    assert!(
        matches!(error, OpenError::Stanzas { most: prefinal_timelock::MAX_STANZAS }),
        "{error}"
    );
    // And many lines.
    let short = format!("-> a\n{}", "A\n".repeat(prefinal_timelock::MAX_LINES));
    let (error, _) = refused(&short, Format::Binary);
    assert!(
        matches!(error, OpenError::HeaderLines { most: prefinal_timelock::MAX_LINES }),
        "{error}"
    );
}

/// Else what follows would be searched for its rest, up to the next end of a line.
#[test]
fn a_short_last_line_ends_the_header_all_the_same() {
    let file = [b"age-encryption.org/v1\n-> a\n\n--- AAAA\n", &[7; 100_000][..]].concat();
    let error = open_1000(&file).unwrap_err();
    assert!(matches!(&error, OpenError::Header(why) if why.contains("9 bytes")), "{error}");
}

#[test]
fn a_header_within_its_bounds_is_read_to_its_end() {
    // The first stanza is right, the others are for nobody; their code fits no longer.
    let others = "-> a\n\n".repeat(prefinal_timelock::MAX_STANZAS - 1);
    let at = BYTES.windows(4).position(|part| part == b"--- ").unwrap();
    let file = [&BYTES[..at], others.as_bytes(), &BYTES[at..]].concat();
    assert!(matches!(open_1000(&file).unwrap_err(), OpenError::Altered(_)));
    // Exactly as long as is read, and one byte longer.
    let padded = |length: usize| {
        let head = BYTES[..at].len() + BYTES[at..].windows(1).position(|b| b == b"\n").unwrap() + 1;
        let name = "a".repeat(length - head - "-> \n\n".len());
        [&BYTES[..at], format!("-> {name}\n\n").as_bytes(), &BYTES[at..]].concat()
    };
    let fits = open_1000(&padded(prefinal_timelock::MAX_HEADER)).unwrap_err();
    assert!(matches!(fits, OpenError::Altered(_)), "{fits}");
    let long = open_1000(&padded(prefinal_timelock::MAX_HEADER + 1)).unwrap_err();
    assert!(matches!(long, OpenError::HeaderBytes { .. }), "{long}");
}

#[test]
fn no_byte_of_a_file_may_change() {
    for at in 0..BYTES.len() {
        let mut file = BYTES.to_vec();
        file[at] ^= 1;
        assert!(open_1000(&file).is_err(), "byte {at}");
    }
    for length in 0..BYTES.len() {
        assert!(open_1000(&BYTES[..length]).is_err(), "{length} bytes");
    }
    assert!(open_1000(&[BYTES, b"x"].concat()).is_err());
    assert!(open_1000(&TEXT[..TEXT.len() - 40]).is_err());
}

#[test]
fn what_is_altered_is_told_from_what_is_no_age_file() {
    let mut payload = BYTES.to_vec();
    *payload.last_mut().unwrap() ^= 1;
    assert!(matches!(open_1000(&payload).unwrap_err(), OpenError::Altered(_)));
    let mut code = BYTES.to_vec();
    let end = code.windows(4).position(|part| part == b"--- ").unwrap();
    code[end + 4] = if code[end + 4] == b'A' { b'B' } else { b'A' };
    assert!(matches!(open_1000(&code).unwrap_err(), OpenError::Altered(_)));
    for file in [&b""[..], b"hello", b"age-encryption.org/v2\n", &[0xff; 300]] {
        let error = open_1000(file).unwrap_err();
        assert!(matches!(error, OpenError::Header(_)), "{error:?}");
    }
}

#[test]
fn a_file_for_a_passphrase_is_no_file_for_a_round() {
    let mut recipient = age::scrypt::Recipient::new(SecretString::from("secret".to_owned()));
    recipient.set_work_factor(2);
    let file = age::encrypt(&recipient, SAID).unwrap();
    assert!(matches!(open_1000(&file).unwrap_err(), OpenError::NoRound));
}

/// A disk that fails is no fault of the file's.
#[test]
fn failures_of_the_system_are_told_apart() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::from(io::ErrorKind::PermissionDenied))
        }
    }
    let chain = Chain::quicknet().unwrap();
    let signature = hex::decode(SIGNATURE_1000).unwrap();
    let begun = BYTES[..300].chain(Broken);
    let error = decrypt(&chain, Some(&signature), begun, io::sink()).unwrap_err();
    assert!(matches!(error, OpenError::Io(_)), "{error:?}");
    let recipient = Recipient { chain, round: round(1000) };
    let error = encrypt(&recipient, Format::Binary, Broken, io::sink()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
}
