//! What a node that follows serves: the doors of a devnet, for what it has.
use std::sync::{Arc, Mutex};

use axum::Router;
use prefinal_light::LightObject;
use prefinal_state::StateError;
use serde_json::{Value as Json, json};

use super::begin::Trusted;
use crate::execution::{
    AttestedStates, Endings, Library, NamedExecutor, Prover, SubmitError, lock,
};
use crate::http::sync::{self, Librarian};
use crate::http::transactions::{self, Ledger};

/// What is known of accounts. Transactions are a validator's.
struct Reader<X> {
    prover: Prover,
    states: Arc<Mutex<AttestedStates<X>>>,
}

impl<X: NamedExecutor> Ledger for Reader<X> {
    fn most_bytes(&self) -> usize {
        X::MOST_BYTES
    }

    fn submit(&self, _: &[u8]) -> Result<[u8; 32], SubmitError> {
        Err(SubmitError::ReadOnly)
    }

    fn transaction(&self, _: &[u8; 32]) -> Result<Option<Json>, StateError> {
        Ok(None)
    }

    fn account(&self, name: &[u8]) -> Result<Option<Json>, StateError> {
        self.prover.account(&lock(&self.states), name)
    }
}

/// What is served of the states that this node has, for followers and light clients.
pub(super) fn routes<X: NamedExecutor>(
    trusted: &Trusted,
    states: Arc<Mutex<AttestedStates<X>>>,
    library: Arc<Library<X, AttestedStates<X>>>,
    endings: Endings,
) -> Router {
    let begin = json!({
        "waypoint": hex::encode(trusted.waypoint.to_wire()),
        "members": hex::encode(trusted.members.to_wire()),
    });
    let reader: Arc<dyn Ledger> =
        Arc::new(Reader { prover: Prover { chain: trusted.waypoint.chain, endings }, states });
    let library: Arc<dyn Librarian> = library;
    transactions::routes(reader, begin).merge(sync::routes(library))
}
