//! The records that must survive a crash.
//!
//! | record    | written before             | because                                              |
//! |-----------|----------------------------|------------------------------------------------------|
//! | safety    | each vote, order vote, timeout, proposal | a promise that is forgotten will be broken |
//! | block     | voting for it              | if all restart, some party must still have what is certified |
//! | finalized | (after it was reported)    | a report may repeat after a crash, but is never lost   |
//!
//! [`Records`] is the log read back: apply every record in order and pass it to
//! [`Jolteon::new`](crate::Jolteon::new). It drops old records by itself, so it can also be what is stored.
//!
//! See also `safety` for the promises.
use std::collections::BTreeMap;

use borsh::{BorshDeserialize, BorshSerialize};

use crate::block::{Block, BlockId, Round};
use crate::certificate::{QuorumCertificate, TimeoutCertificate};
use crate::safety::Safety;

/// Number of rounds below the last final one whose blocks are kept for peers that lag.
const KEPT_ROUNDS: u64 = 256;

/// A record. It must be durable before the outputs that follow it are carried out.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Record {
    /// The promises, and the certificates they rest on. The newest one counts.
    Safety(Box<Promises>),
    /// A block that will be voted for.
    Block(Block),
    /// The last round that was reported final with a block.
    Finalized {
        /// The round.
        round: Round,
        /// Its block.
        block: BlockId,
    },
}

/// Promises and the certificates that they rest on.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Promises {
    /// The promises.
    pub safety: Safety,
    /// The highest certificate that this party has seen.
    pub qc: QuorumCertificate,
    /// The timeout certificate that led into the round, if the round was entered by timeouts.
    pub tc: Option<TimeoutCertificate>,
}

/// The state that follows from a log of records.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Records {
    pub(crate) promises: Option<Promises>,
    pub(crate) blocks: BTreeMap<Round, Vec<Block>>,
    pub(crate) finalized: Option<(Round, BlockId)>,
}

impl Records {
    /// Takes the next record of the log.
    pub fn apply(&mut self, record: Record) {
        match record {
            Record::Safety(promises) => self.promises = Some(*promises),
            Record::Block(block) => {
                let round = self.blocks.entry(block.round()).or_default();
                if !round.contains(&block) {
                    round.push(block);
                }
            }
            Record::Finalized { round, block } => {
                self.finalized = Some((round, block));
                self.blocks = self.blocks.split_off(&round.earlier(KEPT_ROUNDS));
            }
        }
    }

    /// The last round that was reported final with a block.
    #[must_use]
    pub fn finalized(&self) -> Round {
        self.finalized.map_or(Round::GENESIS, |(round, _)| round)
    }
}

#[cfg(test)]
mod tests {
    use prefinal_crypto_core::access::Party;

    use super::*;

    #[test]
    fn the_log_forgets_what_is_long_final() {
        let mut records = Records::default();
        let parent = (Round::GENESIS, BlockId::new([0; 32]));
        for round in 1..=KEPT_ROUNDS + 10 {
            let block = Block::new(Round::new(round), parent, Party::new(0), Vec::new());
            records.apply(Record::Block(block.clone()));
            records.apply(Record::Block(block));
        }
        let (round, block) = (Round::new(KEPT_ROUNDS + 5), BlockId::new([1; 32]));
        records.apply(Record::Finalized { round, block });
        assert_eq!(records.finalized(), round);
        assert_eq!(records.blocks.keys().next(), Some(&Round::new(5)));
        assert!(records.blocks.values().all(|blocks| blocks.len() == 1));
    }
}
