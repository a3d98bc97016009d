//! Passphrases from the terminal, which does not show them.
use std::path::Path;

use zeroize::Zeroizing;

use crate::error::HomeError;
use crate::identity::Passphrase;

/// Asks for the passphrase of a file that is there.
pub(crate) fn passphrase(path: &Path) -> Result<Passphrase, HomeError> {
    ask(path, &format!("Passphrase of {}: ", path.display()))
}

/// Asks twice for the passphrase of a file that is made.
pub(crate) fn new_passphrase(path: &Path) -> Result<Passphrase, HomeError> {
    let first = ask(path, &format!("New passphrase of {}: ", path.display()))?;
    if first.is(&ask(path, "The same again: ")?) {
        Ok(first)
    } else {
        Err(HomeError::Options("the two passphrases differ: run it again".to_owned()))
    }
}

fn ask(path: &Path, question: &str) -> Result<Passphrase, HomeError> {
    let text = rpassword::prompt_password(question);
    let text = Zeroizing::new(text.map_err(|_| HomeError::NoTerminal { path: path.to_owned() })?);
    let named = |error| HomeError::Identity { path: path.to_owned(), error };
    Passphrase::new(text.as_bytes()).map_err(named)
}
