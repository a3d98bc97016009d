//! Whatever is in a validator's files: a typed error, or something that is written as it was read. The first
//! byte says which file the rest is.
use prefinal_home::{Candidate, Config, Genesis, IdentityFile};

pub(crate) fn run(data: &[u8]) {
    let Some((file, bytes)) = data.split_first() else { return };
    match file % 4 {
        0 => genesis(bytes),
        1 => {
            if let Ok(candidate) = Candidate::parse(bytes) {
                let text = candidate.to_text();
                assert_eq!(Candidate::parse(text.as_bytes()).expect("written").to_text(), text);
            }
        }
        2 => drop(IdentityFile::parse(bytes)),
        _ => {
            let Ok(text) = std::str::from_utf8(bytes) else { return };
            if let Ok(config) = Config::parse(text) {
                assert_eq!(Config::parse(&config.to_text()).expect("written"), config);
            }
        }
    }
}

/// A genesis that is written and read again is of the same chain.
fn genesis(bytes: &[u8]) {
    if let Ok(genesis) = Genesis::parse(bytes) {
        let text = genesis.to_text().expect("it was read");
        let again = Genesis::parse(text.as_bytes()).expect("it was written");
        assert_eq!(again.chain(), genesis.chain());
    }
}
