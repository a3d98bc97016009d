//! The keys of a committee that were dealt before an execution begins.

use std::collections::BTreeMap;

use ::beacon::{Path, Paths, Scheme, Sharing, Slot};
use crypto_core::access::Party;

use super::board::Board;
use crate::failure::Failure;
use crate::scheme::Keyed;
use crate::setup::Algorithm;

/// What parties evaluate with.
pub(super) struct Hand<S: Scheme> {
    /// Who may evaluate under which path.
    pub(super) committees: BTreeMap<Path, S::Committee>,
    /// A party's keys, as often as it boots; `None` if it has none.
    pub(super) paths: Box<dyn Fn(Party) -> Option<Paths<S>> + Send + Sync>,
}

impl<S: Keyed> Hand<S> {
    /// The keys that a board's key generation gave, with everybody admitted.
    pub(super) fn of_board(board: &Board<S>) -> Result<Self, Failure> {
        let (ground, key) = (&board.ground, &board.key);
        let mut known = key.committees.clone();
        let access = ground.setup().keygen.shape().access();
        let holders = ground.identities().iter().filter(|one| access.weight(one.me) > 0);
        for identity in holders {
            let opened = ground.open(identity, key).map_err(Failure::bad_input)?;
            let Some(transaction) = opened.transaction else { continue };
            for admitted in S::admit_all(ground.setup(), &[transaction.into()], key) {
                let admitted = admitted.map_err(Failure::bad_input)?;
                let keys = admitted.keys.clone();
                S::admit(&mut known.slow, keys.slow).map_err(Failure::bad_input)?;
                if let (Some(fast), Some(key)) = (&mut known.fast, keys.fast) {
                    S::admit(fast, key).map_err(Failure::bad_input)?;
                }
            }
        }
        let late = if board.algorithm == Algorithm::Tight { Path::Tight } else { Path::Slow };
        let mut committees = BTreeMap::from([(late, known.slow.clone())]);
        committees.extend(known.fast.clone().map(|fast| (Path::Fast, fast)));
        let (ground, key, algorithm) = (ground.clone(), key.clone(), board.algorithm);
        let paths = move |me: Party| {
            let identity = ground.identities().get(me.index())?;
            // A party without shares has nothing to open.
            let own = ground.open(identity, &key).ok().map(|opened| opened.keys);
            let (own_slow, own_fast) = own.map(|own| (own.slow, own.fast)).unzip();
            let slow = Sharing { committee: known.slow.clone(), secret: own_slow };
            Some(match known.fast.clone() {
                Some(committee) => {
                    let fast = Sharing { committee, secret: own_fast.flatten() };
                    let off = algorithm == Algorithm::Slow;
                    let fast_from = Slot::new(if off { u64::MAX } else { 0 });
                    Paths::FastAndSlow { slow, fast, fast_from }
                }
                None if algorithm == Algorithm::Tight => Paths::Tight(slow),
                None => Paths::Slow(slow),
            })
        };
        Ok(Self { committees, paths: Box::new(paths) })
    }
}
