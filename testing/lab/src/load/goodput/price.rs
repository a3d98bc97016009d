//! What ordering a transaction, counting a vote and a step take in DISPEL, measured on the engine itself.
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
/// Stages that are open while steps are measured.
const STAGES: u64 = 12;

/// Work of which the time is taken.
pub(crate) struct Staging {
    encoded: Vec<u8>,
    transactions: Vec<Transaction>,
    /// Their batch as the second party's in the first stage.
    name: BatchId,
    /// What everybody but the first says of all batches, encoded.
    votes: Vec<(Party, Vec<u8>)>,
    /// What everybody but the first says of one batch in each stage.
    steps: Vec<(Party, Message)>,
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
    let steps = vec![Step::Echo(named.clone()), Step::Ready(named.clone())];
    let votes = borsh::to_vec(&Message::Votes { stage: Slot::new(1), steps }).ok()?;
    let votes = (1..MEMBERS).map(|from| (Party::new(from), votes.clone())).collect();
    let step = |from, stage| {
        let steps = vec![Step::Echo(named.iter().take(1).copied().collect())];
        (Party::new(from), Message::Votes { stage: Slot::new(stage), steps })
    };
    let others = |stage| (1..MEMBERS).map(move |from| (from, stage));
    let steps = (1..=STAGES).flat_map(others).map(|(from, stage)| step(from, stage)).collect();
    Some(Staging { encoded, transactions, name, votes, steps })
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
        let of = |(_, message): &(Party, Vec<u8>)| match borsh::from_slice(message) {
            Ok(Message::Votes { steps, .. }) => steps.iter().map(Step::count).sum(),
            _ => 0,
        };
        self.votes.iter().map(of).sum()
    }

    /// Steps that [`step`](Self::step) takes.
    pub(crate) const fn steps(&self) -> usize {
        self.steps.len()
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

    /// Reads and counts the votes of a stage in a committee whose batches are all late. Returns what the engine has to
    /// say.
    pub(crate) fn vote(&self) -> usize {
        let read = |(from, encoded): &(Party, Vec<u8>)| {
            Some((*from, borsh::from_slice::<Message>(encoded).ok()?))
        };
        hear_all(self.votes.iter().filter_map(read))
    }

    /// Takes a vote from each of the others in each of twelve stages, one at a time. Returns what the engine has to say.
    pub(crate) fn step(&self) -> usize {
        hear_all(self.steps.iter().cloned())
    }
}

/// Gives messages to a party whose own batches are late. Returns how much it has to say.
fn hear_all(messages: impl Iterator<Item = (Party, Message)>) -> usize {
    let Some(mut engine) = engine(MEMBERS, 1 << 20) else { return 0 };
    engine.handle(Instant::START, Input::Start);
    for (from, message) in messages {
        engine.handle(Instant::START, Input::Received { from, message });
    }
    std::iter::from_fn(|| engine.poll()).count()
}

/// Nothing is said before all votes are there.
fn engine(members: u32, max_batch_bytes: usize) -> Option<Dispel> {
    let stakes = (0..members).map(|_| Stake::new(1)).collect();
    let config = Config {
        max_batch_bytes,
        max_stages: STAGES,
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
        assert_eq!(work.steps(), 12 * 127);
        assert!(work.step() > 2);
    }
}
