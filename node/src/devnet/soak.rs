//! A committee that runs without an end as fast as it can, and does all that `devnet --http` does but listen:
//! what such a run keeps is measured on it.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant as Clock;

use super::ledger::Ledger;
use super::start::{Committee, Durable, start};
use crate::http::{Board, genesis};
use crate::journal::JournalFolder;
use crate::memory;
use crate::party::Time;
use prefinal_lab::Failure;
use prefinal_registry::NamedEngine;
use prefinal_registry::NamedScheme;
use prefinal_validator::Event;
use prefinal_validator::setup::{self, Plan};

/// Runs until `watch`, which is told how many slots all parties have by now, breaks.
///
/// # Errors
/// If the plan makes no committee, the parties disagree, or they are stuck.
pub async fn run<S: NamedScheme, E: NamedEngine>(
    plan: &Plan,
    mut watch: impl FnMut(u64) -> ControlFlow<()>,
) -> Result<(), Failure> {
    let (setup, identities) = setup::found(plan, 1).map_err(Failure::bad_input)?;
    let shelf = JournalFolder::new(None, String::new());
    let parties: Vec<_> = identities.iter().map(|identity| identity.me).collect();
    let journals = shelf.journals(&parties).map_err(Failure::bad_input)?.of_parties;
    let durable = Durable { shelf, journals, used: false, archive: None, vuf: None };
    let time = Time { started: Clock::now(), before: Duration::ZERO };
    let board = Board::new(genesis().0, NonZeroU32::MIN, *setup.context.chain.as_bytes());
    let mut ledger = Ledger::new(&setup, None, &[]);
    let setup = Arc::new(setup);
    let (placement, away) = (None, BTreeSet::new());
    let committee = Committee { setup, identities, placement, durable, away, time };
    let memory = memory::shares::<E>(parties.len());
    let mut committee = start::<S, E, ()>(committee, memory, &mut ()).await?;
    let mut slots = 0_u64;
    while let Some(noticed) = committee.noticed.recv().await {
        match &noticed.event {
            Event::Ready { first_slot, committees, .. } => {
                let key = S::public_key(&committees.slow).into_iter();
                key.for_each(|key| board.open(&key, *first_slot));
            }
            Event::Revealed(reveal) => {
                let signature = S::signature(&reveal.output).into_iter();
                signature.for_each(|signature| board.reveal(reveal.slot, signature));
            }
            _ => {}
        }
        if let Some(shown) = ledger.take(noticed) {
            board.show(&shown);
            slots += 1;
            if watch(slots).is_break() {
                return ledger.settle().map(drop);
            }
        }
        if ledger.has_faults() {
            return ledger.settle().map(drop);
        }
    }
    Err(Failure::Disagreement("the parties have stopped".to_owned()))
}
