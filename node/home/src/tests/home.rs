//! A home is opened whole, or not at all.
use std::fs;

use super::*;
use crate::identity::{IdentityError, Passphrase};
use crate::{Config, FileError, Genesis, Home, IdentityFile, Reload};

#[test]
fn each_validator_finds_itself_in_the_genesis() {
    let room = room();
    let net = net(&room);
    let mut chains = Vec::new();
    for number in 0..4 {
        let home = Home::open(home(&net, number).path()).unwrap();
        let party = home.party().unwrap();
        assert_eq!(usize::try_from(party.get()).unwrap(), number);
        let identity = home.identity(party);
        let place = &home.setup().members[number];
        assert_eq!(*place.key.get(), identity.signer.public_key());
        assert_eq!(home.setup().timeout, home.genesis().round_timeout);
        assert_eq!(home.setup().pace.period, home.genesis().block_time);
        assert_eq!(
            home.links_address(party).unwrap().to_string(),
            home.config().links.listen.to_string()
        );
        chains.push(home.chain());
    }
    assert!(chains.windows(2).all(|two| two[0] == two[1]));
    let spare = Home::open(home(&net, 4).path()).unwrap();
    assert_eq!((spare.party(), spare.chain()), (None, chains[0]));
}

#[test]
fn a_home_in_use_is_refused() {
    let room = room();
    let net = net(&room);
    let folder = home(&net, 0);
    let first = Home::open(folder.path()).unwrap();
    assert_eq!(Home::open(folder.path()).unwrap_err().code(), "locked");
    drop(first);
    Home::open(folder.path()).unwrap();
}

#[test]
fn what_is_missing_is_named_with_what_to_do() {
    let room = room();
    let net = net(&room);
    let folder = home(&net, 0);
    for (path, next) in [
        (folder.identity(), "keys new"),
        (folder.genesis(), "prefinal init"),
        (folder.config(), "prefinal init"),
    ] {
        fs::remove_file(&path).unwrap();
        let error = Home::open(folder.path()).unwrap_err();
        let text = error.to_string();
        assert_eq!(error.code(), "missing", "{text}");
        assert!(text.contains(path.to_str().unwrap()) && text.contains(next), "{text}");
    }
    let error = Home::open(room.path().join("nothing")).unwrap_err();
    assert!(error.to_string().contains("keys new"), "{error}");
    assert!(!room.path().join("nothing").exists());
}

#[test]
fn large_files_are_refused_before_they_are_read() {
    let room = room();
    let net = net(&room);
    let folder = home(&net, 0);
    let sizes = [
        (folder.identity(), IdentityFile::MAX_BYTES),
        (folder.genesis(), Genesis::MAX_BYTES),
        (folder.config(), Config::MAX_BYTES),
    ];
    for (path, limit) in sizes {
        // Sparse: no disk is used, but one byte more than the limit would be read.
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(u64::try_from(limit).unwrap() + 1).unwrap();
        let error = Home::open(folder.path()).unwrap_err();
        assert_eq!(error.code(), "too-long", "{error}");
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn secrets_that_others_can_read_are_refused() {
    let room = room();
    let net = net(&room);
    let folder = home(&net, 0);
    assert_eq!((mode(folder.path()), mode(&folder.identity())), (0o700, 0o600));
    for wrong in [0o640, 0o604, 0o644, 0o610, 0o602, 0o660] {
        set_mode(&folder.identity(), wrong);
        let error = Home::open(folder.path()).unwrap_err();
        assert_eq!(error.code(), "permissions", "{wrong:o}");
        assert!(error.to_string().contains("chmod 600"), "{error}");
    }
    for good in [0o600, 0o400] {
        set_mode(&folder.identity(), good);
        Home::open(folder.path()).unwrap();
    }
    for wrong in [0o770, 0o707, 0o777] {
        set_mode(folder.path(), wrong);
        let error = Home::open(folder.path()).unwrap_err();
        assert!(matches!(error, HomeError::File(FileError::Writable { .. })), "{wrong:o}: {error}");
    }
    set_mode(folder.path(), 0o700);
}

#[cfg(unix)]
#[test]
fn an_identity_is_a_file_and_nothing_that_leads_to_one() {
    let room = room();
    let net = net(&room);
    let folder = home(&net, 0);
    let (path, moved) = (folder.identity(), room.path().join("moved"));
    fs::rename(&path, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &path).unwrap();
    let error = Home::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("symbolic link"), "{error}");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    set_mode(&path, 0o700);
    assert_eq!(Home::open(folder.path()).unwrap_err().code(), "not-a-file");
    fs::remove_dir(&path).unwrap();
    // A pipe that nobody writes to: opening it must not wait.
    let made = std::process::Command::new("mkfifo").args(["-m", "600"]).arg(&path).status();
    assert!(made.unwrap().success());
    assert_eq!(Home::open(folder.path()).unwrap_err().code(), "not-a-file");
}

#[test]
fn an_encrypted_identity_opens_with_its_passphrase_alone() {
    let room = room();
    let (file, path) = (room.path().join("pass"), room.path().join("alice"));
    fs::write(&file, "correct horse\n").unwrap();
    #[cfg(unix)]
    {
        set_mode(&file, 0o644);
        let error = new_keys(&path, &["--passphrase-file", file.to_str().unwrap()]).unwrap_err();
        assert_eq!(error.code(), "permissions");
        assert!(!path.exists());
        set_mode(&file, 0o600);
    }
    let made = new_keys(&path, &["--passphrase-file", file.to_str().unwrap()]).unwrap();
    let text = fs::read_to_string(Folder::new(&path).identity()).unwrap();
    assert!(text.starts_with("-----BEGIN AGE ENCRYPTED FILE-----"));
    let seen = shown(&path, &["--passphrase-file", file.to_str().unwrap()]).unwrap();
    assert!(made.starts_with(&seen), "{made}\n{seen}");
    fs::write(&file, "wrong horse\n").unwrap();
    let error = shown(&path, &["--passphrase-file", file.to_str().unwrap()]).unwrap_err();
    assert!(matches!(error, HomeError::Identity { error: IdentityError::WrongPassphrase, .. }));
    assert!(!format!("{error} {error:?}").contains("horse"));
    assert!(Passphrase::new(b"").is_err());
}

/// A genesis may not join this validator's signing key with someone else's Ed25519 key.
#[test]
fn a_member_with_some_of_my_keys_is_refused() {
    let room = room();
    let net = net(&room);
    let mine = home(&net, 0).path().to_owned();
    let (one, other) =
        (home(&net, 0).read_registration().unwrap(), home(&net, 4).read_registration().unwrap());
    let mut bytes = one.registration.to_bytes();
    let stranger = other.registration.to_bytes();
    // The Ed25519 key stands last, and no proof covers it.
    let cut = bytes.len() - 32;
    bytes.splice(cut.., stranger[cut..].iter().copied());
    let path = Folder::new(&mine).genesis();
    let mut value: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    value["members"][0]["registration"] = serde_json::json!(hex::encode(bytes));
    fs::write(&path, value.to_string()).unwrap();
    let error = Home::open(&mine).unwrap_err();
    assert_eq!(error.code(), "mixed-keys", "{error}");
}

#[test]
fn peers_are_reloaded_and_the_rest_waits() {
    let room = room();
    let net = net(&room);
    let folder = home(&net, 0);
    let mut home = Home::open(folder.path()).unwrap();
    let mut config = home.config().clone();
    config.links.peers.insert("validator-1".parse().unwrap(), "example.org:7".parse().unwrap());
    config.engine.peers.insert("validator-1".parse().unwrap(), "example.org:9".parse().unwrap());
    config.links.peers.insert("newcomer".parse().unwrap(), "example.org:8".parse().unwrap());
    fs::write(folder.config(), config.to_text()).unwrap();
    assert_eq!(home.reload().unwrap(), Reload::Complete);
    let one = prefinal_protocol::Party::new(1);
    assert_eq!(home.links_address(one).unwrap().to_string(), "example.org:7");
    assert_eq!(home.engine_address(one).unwrap().to_string(), "example.org:9");
    let unknown: Vec<_> = home.unknown_peers().into_iter().map(crate::Name::as_str).collect();
    assert_eq!(unknown, ["newcomer"]);
    config.http.rate = 7;
    fs::write(folder.config(), config.to_text()).unwrap();
    assert_eq!(home.reload().unwrap(), Reload::RestartNeeded);
    assert_ne!(home.config().http.rate, 7);
    fs::write(folder.config(), "moniker = 1\n").unwrap();
    assert!(home.reload().is_err());
    assert_eq!(home.links_address(one).unwrap().to_string(), "example.org:7");
}
