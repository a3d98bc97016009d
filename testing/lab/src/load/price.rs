//! What ordering a transaction takes, without signatures: measured on a committee of one.
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Instant, Machine, Output};
use prefinal_trantor::{
    Batch, Client, ClientHeader, Config, Effect, Input, MAX_TRANSACTIONS, Transaction, Trantor,
};

use super::{context, members, secret};
use crate::legible::ReadableEngine;

/// Bytes of the transactions that are measured.
const BYTES: usize = 512;

/// Work of which the time is taken.
pub(crate) struct Ordering {
    encoded: Vec<u8>,
    transactions: Vec<Transaction>,
    member: prefinal_trantor::Member,
}

/// The work that prices are taken from; `None` if there can be no committee of one.
pub(crate) fn ordering() -> Option<Ordering> {
    let transaction = |number: u64| {
        let mut name = [0; 32];
        if let Some(first) = name.first_chunk_mut() {
            *first = number.to_be_bytes();
        }
        ClientHeader { client: Client::new(name), number: 0 }.transaction(&[7; BYTES])
    };
    let count = u64::try_from(MAX_TRANSACTIONS).unwrap_or(u64::MAX);
    let transactions: Vec<Transaction> = (0..count).map(transaction).collect();
    let batch = Batch::new(Party::new(0), prefinal_protocol::Slot::new(9), transactions.clone());
    let encoded = borsh::to_vec(&batch).ok()?;
    let member = members(1, 0).ok()?.pop()?;
    Some(Ordering { encoded, transactions, member })
}

impl Ordering {
    /// KiB of the batch that [`decode`](Self::decode) reads.
    pub(crate) const fn kib(&self) -> usize {
        self.encoded.len() >> 10
    }

    /// Transactions that [`order`](Self::order) orders.
    pub(crate) const fn count(&self) -> usize {
        self.transactions.len()
    }

    /// Reads a batch and names it.
    pub(crate) fn decode(&self) -> Option<prefinal_trantor::BatchId> {
        borsh::from_slice::<Batch>(&self.encoded).ok().map(|batch| batch.id())
    }

    /// Submits transactions to a committee of one. Returns how many it reports.
    pub(crate) fn order(&self) -> usize {
        let member = self.member.clone();
        let config = Config {
            max_block_bytes: 16 << 20,
            batch_timeout: Duration::from_millis(1),
            ..Config::new(context(), Party::new(0), vec![member])
        };
        let Ok(mut engine) = Trantor::new(config, secret(0, 0), Vec::new()) else { return 0 };
        let mut verdicts = <Trantor as ReadableEngine>::Memo::default();
        Trantor::idealize(&mut verdicts);
        for transaction in &self.transactions {
            engine.handle(Instant::START, Input::Submit(transaction.clone()));
        }
        engine.handle(Instant::at(Duration::from_millis(1)), Input::Start);
        let mut reported = 0;
        while let Some(output) = Machine::poll(&mut engine) {
            match output {
                Output::Do(Effect::Check(job)) => {
                    let verdict = Trantor::run(&mut verdicts, &job);
                    let now = Instant::at(Duration::from_millis(1));
                    engine.handle(now, Input::Checked(verdict));
                }
                Output::Do(Effect::Send { message, .. }) => {
                    Trantor::see(&mut verdicts, Party::new(0), &message);
                }
                Output::Do(Effect::Finalized { block: Some(block), .. }) => {
                    reported += block.transactions.len();
                    if reported >= self.transactions.len() {
                        break;
                    }
                }
                _ => {}
            }
        }
        reported
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_work_is_done() {
        let work = ordering().unwrap();
        assert!(work.decode().is_some());
        assert_eq!(work.order(), work.count());
    }
}
