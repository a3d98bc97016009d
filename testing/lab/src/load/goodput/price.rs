//! What ordering a transaction and counting a vote take in DISPEL, measured on the engine itself.
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_dispel::{Batch, BatchId, Config, Dispel, Effect, Input, Message, Step, Transaction};
use prefinal_protocol::{Instant, Machine, Output, Slot};
use prefinal_weighted_rounding::Stake;

use super::super::context;

/// Bytes of the transactions that are measured.
const BYTES: usize = 400;
/// How many there are in a batch.
const COUNT: u32 = 4096;
/// Members of the committee that orders them.
const FOUR: u32 = 4;
/// Members of the committee whose votes are counted.
const MEMBERS: u32 = 128;

/// Work of which the time is taken.
pub(crate) struct Staging {
    encoded: Vec<u8>,
    transactions: Vec<Transaction>,
    /// Their batch as the second party's in the first stage.
    name: BatchId,
    /// What everybody but the first says of all batches.
    votes: Vec<(Party, Message)>,
}

/// The work that prices are taken from; `None` if it cannot be encoded.
pub(crate) fn staging() -> Option<Staging> {
    let transaction = |number: u32| {
        let mut bytes = [0; BYTES];
        if let Some(first) = bytes.first_chunk_mut() {
            *first = number.to_be_bytes();
        }
        Transaction::new(bytes)
    };
    let transactions: Vec<Transaction> = (0..COUNT).map(transaction).collect();
    let batch = Batch { transactions: transactions.clone() };
    let encoded = borsh::to_vec(&batch).ok()?;
    let name = batch.id(engine(FOUR, 4)?.context(), Slot::new(1), Party::new(1));
    let named = (0..MEMBERS).map(|proposer| (Party::new(proposer), BatchId::new([7; 32])));
    let named: Vec<_> = named.collect();
    let vote = |from| {
        let steps = vec![Step::Echo(named.clone()), Step::Ready(named.clone())];
        (Party::new(from), Message::Votes { stage: Slot::new(1), steps })
    };
    Some(Staging { encoded, transactions, name, votes: (1..MEMBERS).map(vote).collect() })
}

impl Staging {
    /// KiB of the batch that [`decode`](Self::decode) reads.
    pub(crate) const fn kib(&self) -> usize {
        self.encoded.len() >> 10
    }

    /// Transactions that [`order`](Self::order) orders.
    pub(crate) const fn count(&self) -> usize {
        self.transactions.len()
    }

    /// Votes that [`vote`](Self::vote) counts.
    pub(crate) fn votes(&self) -> usize {
        let of = |(_, message): &(Party, Message)| match message {
            Message::Votes { steps, .. } => steps.iter().map(Step::count).sum(),
            _ => 0,
        };
        self.votes.iter().map(of).sum()
    }

    /// Reads a batch and names it.
    pub(crate) fn decode(&self) -> Option<BatchId> {
        let batch = borsh::from_slice::<Batch>(&self.encoded).ok()?;
        Some(batch.id(&[0; 32], Slot::new(1), Party::new(0)))
    }

    /// Submits transactions to a party. Returns it.
    pub(crate) fn submit(&self) -> Option<Dispel> {
        let mut engine = engine(FOUR, self.encoded.len())?;
        for transaction in &self.transactions {
            engine.handle(Instant::START, Input::Submit(transaction.clone()));
        }
        Some(engine)
    }

    /// Gives a party another one's batch. Returns the party.
    pub(crate) fn hear(&self) -> Option<Dispel> {
        let mut engine = engine(FOUR, self.encoded.len())?;
        engine.handle(Instant::START, Input::Start);
        let batch = Batch { transactions: self.transactions.clone() };
        let message = Message::Batch { stage: Slot::new(1), batch };
        engine.handle(Instant::START, Input::Received { from: Party::new(1), message });
        Some(engine)
    }

    /// Tells it besides that this batch is decided. Returns how many transactions it reports.
    pub(crate) fn order(&self) -> usize {
        let Some(mut engine) = self.hear() else { return 0 };
        let outcome = vec![(Party::new(1), self.name)];
        for from in [1, 2].map(Party::new) {
            let message = Message::Decided { stage: Slot::new(1), outcome: outcome.clone() };
            engine.handle(Instant::START, Input::Received { from, message });
        }
        let mut reported = 0;
        while let Some(output) = engine.poll() {
            if let Output::Do(Effect::Finalized { block, .. }) = output {
                reported += block.transactions.len();
            }
        }
        reported
    }

    /// Counts the votes of a stage in a committee whose batches are all late. Returns what the engine has to say.
    pub(crate) fn vote(&self) -> usize {
        let Some(mut engine) = engine(MEMBERS, 1 << 20) else { return 0 };
        engine.handle(Instant::START, Input::Start);
        for (from, message) in &self.votes {
            let input = Input::Received { from: *from, message: message.clone() };
            engine.handle(Instant::START, input);
        }
        std::iter::from_fn(|| engine.poll()).count()
    }
}

/// One stage, and no message before the votes are all there.
fn engine(members: u32, max_batch_bytes: usize) -> Option<Dispel> {
    let stakes = (0..members).map(|_| Stake::new(1)).collect();
    let config = Config {
        max_batch_bytes,
        max_stages: 1,
        gather: Duration::from_millis(2),
        ..Config::new(context(), Party::new(0), stakes)
    };
    Dispel::new(config, Vec::new()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_work_is_done() {
        let work = staging().unwrap();
        assert!(work.decode().is_some());
        assert_eq!(work.order(), work.count());
        assert_eq!(work.votes(), 2 * 127 * 128);
        assert!(work.vote() > 2);
    }
}
