//! The committees of the heights that signatures are made and checked for.
//!
//! Malachite hands a signer votes and a verifier keys, but what is signed names the committee. So the
//! committee of a height is noted here before Malachite begins the height.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use prefinal_malachite::{Height, Validators};

/// Heights whose committees are kept.
const KEPT: usize = 4;

/// The committees of the latest heights.
#[derive(Clone, Debug, Default)]
pub(crate) struct Committees(Arc<Mutex<BTreeMap<Height, Arc<Validators>>>>);

impl Committees {
    pub(crate) fn note(&self, height: Height, validators: Validators) {
        let mut committees = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        committees.insert(height, Arc::new(validators));
        while committees.len() > KEPT {
            committees.pop_first();
        }
    }

    pub(crate) fn of(&self, height: Height) -> Option<Arc<Validators>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&height).cloned()
    }
}
