//! Whatever a relay or a sender gives: a chain's info, a signature, a file. A chain is what its hash
//! says, a file opens to the one plaintext that was encrypted or not at all, and nothing panics.
use std::sync::OnceLock;

use prefinal_timelock::{Chain, OpenError, decrypt};

/// Made by drand's `tle` for round 1000 of quicknet, binary and armored: `crypto-core/timelock/tests`.
const BINARY: &[u8] = include_bytes!("../../../crypto-core/timelock/tests/files/quicknet-1000.age");
const TEXT: &[u8] =
    include_bytes!("../../../crypto-core/timelock/tests/files/quicknet-1000.age.txt");
const SAID: &[u8] = b"The committee of round 1000 has spoken.\n";
/// Of that round.
const SIGNATURE: &str = "b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39";

pub(crate) fn run(data: &[u8]) {
    let Some((what, bytes)) = data.split_first() else { return };
    match what % 6 {
        0 => info(&String::from_utf8_lossy(bytes)),
        1 => drop(Chain::from_key(&String::from_utf8_lossy(bytes), "bls-unchained-on-g1", "00")),
        2 => drop(open(None, bytes)),
        3 => drop(open(Some(bytes), BINARY)),
        4 => altered(BINARY, bytes),
        _ => altered(TEXT, bytes),
    }
}

fn quicknet() -> &'static Chain {
    static CHAIN: OnceLock<Chain> = OnceLock::new();
    CHAIN.get_or_init(|| Chain::quicknet().expect("it is pinned"))
}

fn open(signature: Option<&[u8]>, file: &[u8]) -> Result<Vec<u8>, OpenError> {
    let mut plaintext = Vec::new();
    decrypt(quicknet(), signature, file, &mut plaintext).map(|()| plaintext)
}

/// The same chain again from its own fields.
fn info(json: &str) {
    if let Ok(chain) = Chain::from_info(json) {
        let key = hex::encode(chain.key().to_bytes());
        let again = Chain::from_key(&key, chain.scheme().id(), &chain.hash());
        assert_eq!(again.expect("fields of a chain").hash(), chain.hash());
    }
}

/// Changes are places, two bytes each, and what to change there.
fn altered(file: &[u8], changes: &[u8]) {
    let mut file = file.to_vec();
    for change in changes.chunks_exact(3) {
        let at = usize::from(change[0]) << 8 | usize::from(change[1]);
        let at = at % file.len();
        file[at] ^= change[2];
    }
    let signature = hex::decode(SIGNATURE).expect("hex");
    if let Ok(plaintext) = open(Some(&signature), &file) {
        assert_eq!(plaintext, SAID);
    }
}
