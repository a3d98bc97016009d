//! A seed or a passphrase is in no error and in no debug output.
use std::fs;

use age::armor::Format;
use proptest::prelude::*;

use super::*;
use crate::{Candidate, Config, Genesis, Home, IdentityFile};

/// The forms in which a seed could be printed.
fn forms(seed: &[u8; 32]) -> Vec<String> {
    let digits = hex::encode(seed);
    let list = format!("{:?}", &seed[..4]);
    // Somewhat more than a quarter would be a leak as well.
    let parts = [&digits[..17], &digits[17..34], &digits[47..]].map(str::to_owned);
    let upper = digits[..17].to_uppercase();
    [parts.to_vec(), vec![upper, list[1..list.len() - 1].to_owned(), base64(seed)[..17].to_owned()]]
        .concat()
}

/// What the armour of age makes of the bytes: base64.
fn base64(bytes: &[u8]) -> String {
    let mut text = Vec::new();
    let mut writer = age::armor::ArmoredWriter::wrap_output(&mut text, Format::AsciiArmor).unwrap();
    std::io::Write::write_all(&mut writer, bytes).unwrap();
    writer.finish().unwrap();
    String::from_utf8(text).unwrap().lines().nth(1).unwrap().to_owned()
}

fn clean(seed: &[u8; 32], text: &str) {
    for form in forms(seed) {
        assert!(!text.contains(&form), "{form} is in {text}");
    }
}

fn said<T: std::fmt::Debug, E: std::fmt::Display + std::fmt::Debug>(read: Result<T, E>) -> String {
    match read {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("{error} {error:?}"),
    }
}

#[test]
fn the_search_finds_what_it_looks_for() {
    let seed = [0x5e; 32];
    for text in [hex::encode(seed), base64(&seed), format!("{seed:?}")] {
        assert!(std::panic::catch_unwind(|| clean(&seed, &text)).is_err(), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    /// A seed in any of the files, whole or damaged, in the place where it belongs or in any other.
    #[test]
    fn no_reader_repeats_a_seed(
        seed: [u8; 32],
        cut in 0_usize..120,
        place in 0_usize..120,
        with: u8,
        form in 0_usize..3,
    ) {
        let digits = match form { 0 => hex::encode(seed), 1 => hex::encode_upper(seed), _ => base64(&seed) };
        let mut bytes = format!("prefinal identity 1\nseed {digits}\n").into_bytes();
        if let Some(byte) = bytes.get_mut(place) {
            *byte = with;
        }
        let mut texts = vec![bytes.clone()];
        bytes.truncate(cut);
        texts.push(bytes);
        texts.push(digits.clone().into_bytes());
        for key in ["moniker", "identity", "seed", "listen"] {
            texts.push(format!("{key} = \"{digits}\"\n").into_bytes());
            texts.push(format!("[links]\n{key} = \"{digits}\"\n").into_bytes());
        }
        texts.push(format!("[identity]\npassphrase_file = \"a\"\n{digits} = 1\n").into_bytes());
        for key in ["name", "seed", "nonce", "algorithm", "registration", "links"] {
            texts.push(format!("{{\"{key}\": \"{digits}\"}}").into_bytes());
        }
        texts.push(format!("{{\"{digits}\": 1}}").into_bytes());
        for text in texts {
            clean(&seed, &said(IdentityFile::parse(&text)));
            // A nonce is public, so a seed there would be shown: but only by a genesis that is complete.
            clean(&seed, &said(Genesis::parse(&text)));
            clean(&seed, &said(Candidate::parse(&text)));
            let text = String::from_utf8_lossy(&text).into_owned();
            clean(&seed, &said(Config::parse(&text)));
            clean(&seed, &said(text.parse::<crate::Name>()));
            clean(&seed, &said(text.parse::<crate::Address>()));
        }
    }
}

/// Files of a real home under wrong names, and everything of it that can be printed.
#[test]
fn a_home_shows_no_seed() {
    let room = room();
    let net = net(&room);
    let folder = home(&net, 0);
    let text = fs::read_to_string(folder.identity()).unwrap();
    let digits = text.lines().find_map(|line| line.strip_prefix("seed ")).unwrap();
    let seed: [u8; 32] = hex::decode(digits).unwrap().try_into().unwrap();
    let opened = Home::open(folder.path()).unwrap();
    let identity = folder.open_identity(None).unwrap();
    clean(&seed, &format!("{opened:?} {:?} {:?} {identity:?}", opened.config(), opened.genesis()));
    clean(&seed, &format!("{:?} {:?}", opened.keys(), opened.folder()));
    drop(opened);
    clean(&seed, &shown(folder.path(), &[]).unwrap());
    clean(&seed, &shown(folder.path(), &["--json"]).unwrap());
    for file in [folder.registration(), folder.genesis(), folder.config()] {
        clean(&seed, &fs::read_to_string(file).unwrap());
    }
    let mistaken = folder.identity();
    let mistaken = mistaken.to_str().unwrap();
    clean(&seed, &said(initialised(home(&net, 1).path(), folder.identity().as_path())));
    clean(&seed, &said(joined(&["--name", "a", mistaken])));
    let out = room.path().join("other");
    let out = out.to_str().unwrap();
    clean(&seed, &said(testnet_of(&["--out", out, "--stakes", mistaken])));
    clean(&seed, &said(shown(folder.path(), &["--passphrase-file", mistaken])));
    for path in [folder.config(), folder.genesis()] {
        fs::write(&path, &text).unwrap();
        let error = Home::open(folder.path()).unwrap_err();
        clean(&seed, &format!("{error} {error:?}"));
    }
}
