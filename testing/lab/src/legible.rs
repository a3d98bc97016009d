//! Engines whose votes can be read: what experiments and checkers need from an engine in addition to
//! its protocol.
//!
//! To add an engine to the experiments, say here what its messages and records count for and what they cost.
use std::collections::BTreeMap;
use std::time::Duration;

use ::prefinal_beacon::{Function, Slot, Value, View};
use prefinal_crypto_core::access::Party;
use prefinal_dispel::Dispel;
use prefinal_engine::Engine;
use prefinal_jolteon::Jolteon;
use prefinal_malachite::{Malachite, NilOrVal, VoteType};
use prefinal_sim::Dice;
use prefinal_trantor::Trantor;
use prefinal_validator::setup::Setup;
use prefinal_weighted_rounding::Stake;

use crate::costs::Costs;
use crate::finality::{Ballot, FinalityVote};
use crate::known::{CheckedVotes, IdealCertificates, IdealVotes, Sums};
use crate::local::{Heard, HeardPartial, LastVote};

/// The meaning of something that a party writes or sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// It counts towards finality.
    Ballot(Ballot),
    /// The party will not prefinalize in this view or an earlier one.
    GaveUp(View),
}

/// An engine whose records and messages can be read, so that a test knows what each party voted for.
pub trait ReadableEngine: Engine {
    /// Results that need not be computed twice in one execution.
    type Memo: Default + Send;

    /// What names of blocks depend on, besides what is in them; `None` if the members are no committee.
    fn naming(setup: &Setup) -> Option<[u8; 32]> {
        let committee = prefinal_jolteon::Replicas::new(&setup.context, setup.members.clone());
        committee.ok().map(|committee| *committee.context())
    }

    /// What a party does when this record is on its disk. Names of blocks depend on `context`.
    fn written(me: Party, record: &Self::Record, context: &[u8; 32]) -> Option<Act>;

    /// What a party does when this message leaves it. Names of blocks depend on `context`.
    fn sent(message: &Self::Message, context: &[u8; 32]) -> Option<Act>;

    /// The bytes that a vote carries; `None` if it carries none.
    fn carried(_: &Self::Message) -> Option<&[u8]> {
        None
    }

    /// Notes a message on its way.
    fn see(_: &mut Self::Memo, _: Party, _: &Self::Message) {}

    /// Makes signatures ideal from now on: one is valid if its signer was seen to send it. `false` if the engine
    /// checks signatures outside of jobs.
    fn idealize(_: &mut Self::Memo) -> bool {
        false
    }

    /// Believes from now on that what left a party's own machine is signed by it. Every message and every verdict is
    /// as before, but what faulty parties make themselves is all that is checked on the curve.
    fn trust_seen(_: &mut Self::Memo) {}

    /// Does the work, unless the result is known.
    fn run(memo: &mut Self::Memo, job: &Self::Job) -> Self::Verdict;

    /// The slot about which this message contradicts what its sender has said to this party before, if the engine
    /// must then accuse the sender. `None` if it need not.
    fn exposes(&self, _from: Party, _: &Self::Message) -> Option<Slot> {
        None
    }

    /// A message to a peer without any meaning; `None` if the engine accepts no such message.
    fn junk(_: &mut Dice) -> Option<Self::Message> {
        None
    }

    /// The kind and the slot of a message; `None` for a message that only helps a peer.
    fn kind(_: &Self::Message) -> Option<(&'static str, Slot)> {
        None
    }

    /// The vote that makes a value final once enough parties have cast it, if it is one.
    fn last_vote(_: &Self::Message) -> Option<LastVote> {
        None
    }

    /// The cost of signing a message.
    fn signing(_: &Costs, _: &Self::Message) -> Duration {
        Duration::ZERO
    }

    /// The cost of taking a message in: decoding, and checks that are not left to jobs.
    fn receiving(_: &Costs, _: &Self::Message) -> Duration {
        Duration::ZERO
    }

    /// The cost of a job.
    fn working(_: &Costs, _: &Self::Job) -> Duration {
        Duration::ZERO
    }
}

/// What an engine's message brings, as far as local times depend on it.
pub(crate) fn heard<S: Function, E: ReadableEngine>(
    from: Party,
    message: &E::Message,
) -> Option<Heard> {
    let partial = partial_in::<S, E>(message).and_then(|message| heard_partial(&message));
    Heard::new(from, E::last_vote(message), partial)
}

/// What a beacon's message brings.
pub(crate) fn heard_of_beacon<S: Function>(
    from: Party,
    message: &::prefinal_beacon::Message<S>,
) -> Option<Heard> {
    Heard::new(from, None, heard_partial(message))
}

/// The partial that a beacon's message is, if it is one.
const fn heard_partial<S: Function>(
    message: &::prefinal_beacon::Message<S>,
) -> Option<HeardPartial> {
    match message {
        ::prefinal_beacon::Message::Partial { path, slot, value, .. } => {
            Some(HeardPartial { path: *path, slot: *slot, value: *value })
        }
        _ => None,
    }
}

/// The partial in a vote, if there is one.
pub(crate) fn partial_in<S: Function, E: ReadableEngine>(
    message: &E::Message,
) -> Option<::prefinal_beacon::Message<S>> {
    borsh::from_slice(E::carried(message)?).ok()
}

/// Votes, and verdicts on everything else. They are the same for all parties.
#[derive(Default)]
pub struct SharedVerdicts {
    votes: CheckedVotes,
    ideal: Option<IdealVotes>,
    claims: BTreeMap<prefinal_jolteon::Fingerprint, prefinal_jolteon::Verdict>,
}

impl ReadableEngine for Jolteon {
    type Memo = SharedVerdicts;

    /// A party prefinalizes when the promise behind its order vote is durable.
    fn written(_: Party, record: &prefinal_jolteon::Record, _: &[u8; 32]) -> Option<Act> {
        match record {
            prefinal_jolteon::Record::Safety(promises) => {
                let round = promises.safety.last_ordered().get();
                Some(Act::Ballot(Ballot::Promised(round)))
            }
            _ => None,
        }
    }

    fn sent(message: &prefinal_jolteon::Message, context: &[u8; 32]) -> Option<Act> {
        Some(match message {
            prefinal_jolteon::Message::Vote(vote) => {
                let block = Value::new(vote.block.to_bytes());
                Act::Ballot(Ballot::Voted { round: vote.round.get(), block })
            }
            prefinal_jolteon::Message::Proposal(proposal) => {
                let block = Value::new(proposal.block.id(context).to_bytes());
                let (round, parent) = (proposal.block.round(), proposal.block.parent_round());
                let (round, parent) = (round.get(), parent.get());
                Act::Ballot(Ballot::Proposed { round, parent, block })
            }
            prefinal_jolteon::Message::Timeout(timeout) => {
                Act::GaveUp(View::new(Slot::new(timeout.round.get()), 0))
            }
            _ => return None,
        })
    }

    fn see(memo: &mut SharedVerdicts, from: Party, message: &prefinal_jolteon::Message) {
        match &mut memo.ideal {
            Some(ideal) => ideal.see(from, message),
            None => memo.votes.see(from, message),
        }
    }

    fn idealize(memo: &mut SharedVerdicts) -> bool {
        memo.ideal.get_or_insert_default();
        true
    }

    fn trust_seen(memo: &mut SharedVerdicts) {
        memo.ideal.get_or_insert_with(|| IdealVotes::with_sums(Sums::Added));
    }

    fn run(
        SharedVerdicts { votes, ideal, claims }: &mut SharedVerdicts,
        job: &prefinal_jolteon::Job,
    ) -> prefinal_jolteon::Verdict {
        if let Some(ideal) = ideal {
            return ideal.run(job);
        }
        if matches!(job.work(), prefinal_jolteon::Work::Votes { .. }) {
            return votes.run(job);
        }
        claims.entry(job.fingerprint()).or_insert_with(|| votes.run(job)).clone()
    }

    /// Transactions of random bytes, which no part of a validator reads.
    fn junk(dice: &mut Dice) -> Option<prefinal_jolteon::Message> {
        let junk = (0..8).map(|_| {
            let bytes: Vec<u8> = dice.below(u64::MAX).to_be_bytes().repeat(40);
            prefinal_jolteon::Transaction::new(bytes)
        });
        Some(prefinal_jolteon::Message::Transactions(junk.collect()))
    }

    fn kind(message: &prefinal_jolteon::Message) -> Option<(&'static str, Slot)> {
        let (kind, round) = match message {
            prefinal_jolteon::Message::Proposal(proposal) => ("proposal", proposal.block.round()),
            prefinal_jolteon::Message::Vote(vote) => ("vote", vote.round),
            prefinal_jolteon::Message::OrderVote(vote) => ("order-vote", vote.qc.round),
            prefinal_jolteon::Message::Timeout(timeout) => ("timeout", timeout.round),
            _ => return None,
        };
        Some((kind, Slot::new(round.get())))
    }

    fn last_vote(message: &prefinal_jolteon::Message) -> Option<LastVote> {
        let prefinal_jolteon::Message::OrderVote(vote) = message else { return None };
        Some(LastVote::In(View::new(Slot::new(vote.qc.round.get()), 0)))
    }

    fn signing(costs: &Costs, message: &prefinal_jolteon::Message) -> Duration {
        if message.is_signed() { costs.sign() } else { Duration::ZERO }
    }

    /// A signature of 𝔾₁ is in most messages.
    fn receiving(costs: &Costs, _: &prefinal_jolteon::Message) -> Duration {
        Duration::from_nanos(costs.g1_decode)
    }

    fn working(costs: &Costs, job: &prefinal_jolteon::Job) -> Duration {
        let checks = match job.work() {
            prefinal_jolteon::Work::Claims(claims) => {
                u32::try_from(claims.len()).unwrap_or(u32::MAX)
            }
            _ => 1,
        };
        costs.check_signature() * checks
    }
}

/// Its messages are checked when they come.
impl ReadableEngine for Malachite {
    type Memo = ();

    /// Its own precommit, which it counts from then on, whether it leaves or not.
    fn written(me: Party, record: &prefinal_malachite::Record, _: &[u8; 32]) -> Option<Act> {
        match record {
            prefinal_malachite::Record::Entry {
                entry: prefinal_malachite::Entry::Vote(vote),
                ..
            } if vote.message.voter == prefinal_malachite::Address::new(me) => {
                precommit(&vote.message)
            }
            _ => None,
        }
    }

    fn sent(message: &prefinal_malachite::Message, _: &[u8; 32]) -> Option<Act> {
        let prefinal_malachite::Message::Vote(vote) = message else { return None };
        precommit(&vote.message)
    }

    fn carried(message: &prefinal_malachite::Message) -> Option<&[u8]> {
        let prefinal_malachite::Message::Vote(vote) = message else { return None };
        let extension = vote.message.extension.as_ref()?;
        Some(extension.message.as_slice()).filter(|partial| !partial.is_empty())
    }

    fn run((): &mut (), job: &Self::Job) -> Self::Verdict {
        match *job {}
    }

    fn kind(message: &prefinal_malachite::Message) -> Option<(&'static str, Slot)> {
        let (kind, height) = match message {
            prefinal_malachite::Message::Proposal(proposal) => {
                ("proposal", proposal.message.height)
            }
            prefinal_malachite::Message::Vote(vote) => match vote.message.kind {
                VoteType::Prevote => ("prevote", vote.message.height),
                VoteType::Precommit => ("precommit", vote.message.height),
            },
            _ => return None,
        };
        Some((kind, Slot::new(height.get())))
    }

    fn last_vote(message: &prefinal_malachite::Message) -> Option<LastVote> {
        let prefinal_malachite::Message::Vote(vote) = message else { return None };
        cast_in(precommit(&vote.message)?)
    }

    fn signing(costs: &Costs, message: &prefinal_malachite::Message) -> Duration {
        costs.ed25519_sign() * signatures(message)
    }

    fn receiving(costs: &Costs, message: &prefinal_malachite::Message) -> Duration {
        costs.ed25519_verify() * signatures(message)
    }
}

/// Verdicts on what Trantor asks.
#[derive(Default)]
pub struct TrantorVerdicts {
    ideal: Option<IdealCertificates>,
    known: BTreeMap<prefinal_trantor::Fingerprint, prefinal_trantor::Verdict>,
}

impl ReadableEngine for Trantor {
    type Memo = TrantorVerdicts;

    /// A party prefinalizes when the record of its commit is durable.
    fn written(_: Party, record: &prefinal_trantor::Record, _: &[u8; 32]) -> Option<Act> {
        match record {
            prefinal_trantor::Record::Commit { prepared, .. } => {
                Some(commit(prepared.view, prepared.value))
            }
            prefinal_trantor::Record::Change { view, .. } => Some(change(*view)),
            _ => None,
        }
    }

    fn sent(message: &prefinal_trantor::Message, _: &[u8; 32]) -> Option<Act> {
        match message {
            prefinal_trantor::Message::Commit(cast) => {
                Some(commit(cast.vote.view, cast.vote.value))
            }
            prefinal_trantor::Message::ViewChange(asked) => Some(change(asked.view)),
            _ => None,
        }
    }

    fn carried(message: &prefinal_trantor::Message) -> Option<&[u8]> {
        let prefinal_trantor::Message::Commit(commit) = message else { return None };
        commit.partial.as_deref()
    }

    fn see(memo: &mut TrantorVerdicts, from: Party, message: &prefinal_trantor::Message) {
        if let Some(ideal) = &mut memo.ideal {
            ideal.see(from, message);
        }
    }

    fn idealize(memo: &mut TrantorVerdicts) -> bool {
        memo.ideal.get_or_insert_default();
        true
    }

    fn trust_seen(memo: &mut TrantorVerdicts) {
        memo.ideal.get_or_insert_with(|| IdealCertificates::with_sums(Sums::Added));
    }

    fn run(memo: &mut TrantorVerdicts, job: &Self::Job) -> Self::Verdict {
        match &mut memo.ideal {
            Some(ideal) => ideal.run(job),
            None => memo.known.entry(job.fingerprint()).or_insert_with(|| job.run()).clone(),
        }
    }

    /// A leader's second block for a height.
    fn exposes(&self, from: Party, message: &prefinal_trantor::Message) -> Option<Slot> {
        let prefinal_trantor::Message::Proposal(proposal) = message else { return None };
        let slot = proposal.slot;
        let first = self.proposed(slot).filter(|_| self.schedule().leader(slot) == Some(from))?;
        let second = proposal.body.value(self.committee().context(), slot);
        (first != second).then_some(slot)
    }

    /// A question about a batch that there is not.
    fn junk(dice: &mut Dice) -> Option<prefinal_trantor::Message> {
        let batch = prefinal_trantor::BatchId::new(dice.bytes());
        Some(prefinal_trantor::Message::BatchRequest(batch))
    }

    fn kind(message: &prefinal_trantor::Message) -> Option<(&'static str, Slot)> {
        Some(match message {
            prefinal_trantor::Message::Proposal(proposal) => ("proposal", proposal.slot),
            prefinal_trantor::Message::Prepare(vote) => ("prepare", vote.view.slot),
            prefinal_trantor::Message::Commit(commit) => ("commit", commit.vote.view.slot),
            prefinal_trantor::Message::ViewChange(change) => ("view-change", change.view.slot),
            prefinal_trantor::Message::NewView(new) => ("new-view", new.change.view.slot),
            _ => return None,
        })
    }

    fn last_vote(message: &prefinal_trantor::Message) -> Option<LastVote> {
        let prefinal_trantor::Message::Commit(cast) = message else { return None };
        cast_in(commit(cast.vote.view, cast.vote.value))
    }

    fn signing(costs: &Costs, message: &prefinal_trantor::Message) -> Duration {
        let signing = if message.is_signed() { costs.sign() } else { Duration::ZERO };
        signing + transactions(costs, message)
    }

    /// A signature of 𝔾₁ is in most messages.
    fn receiving(costs: &Costs, message: &prefinal_trantor::Message) -> Duration {
        Duration::from_nanos(costs.g1_decode) + transactions(costs, message)
    }

    fn working(costs: &Costs, job: &prefinal_trantor::Job) -> Duration {
        let checks = match job.work() {
            prefinal_trantor::Work::Claims(claims) => {
                u32::try_from(claims.len()).unwrap_or(u32::MAX)
            }
            _ => 1,
        };
        costs.check_signature() * checks
    }
}

/// Nothing is signed, and nothing is given away as work.
impl ReadableEngine for Dispel {
    type Memo = ();

    fn naming(setup: &Setup) -> Option<[u8; 32]> {
        let stakes: Vec<Stake> = setup.members.iter().map(|member| member.stake).collect();
        Some(prefinal_dispel::committee_hash(&setup.context, &stakes))
    }

    /// What a party says counts when it is on its disk: partials may leave before the votes do.
    fn written(_: Party, record: &prefinal_dispel::Record, context: &[u8; 32]) -> Option<Act> {
        let prefinal_dispel::Record::Said { stage, steps } = record else { return None };
        let (context, stage, steps) = (*context, *stage, steps.clone());
        Some(Act::Ballot(Ballot::Stage { context, stage, steps }))
    }

    fn sent(_: &prefinal_dispel::Message, _: &[u8; 32]) -> Option<Act> {
        None
    }

    /// There are no signatures.
    fn idealize((): &mut ()) -> bool {
        true
    }

    fn run((): &mut (), job: &Self::Job) -> Self::Verdict {
        match *job {}
    }

    /// A question about a batch that there is not.
    fn junk(dice: &mut Dice) -> Option<prefinal_dispel::Message> {
        let proposer = Party::new(u32::try_from(dice.below(u64::from(u32::MAX))).unwrap_or(0));
        Some(prefinal_dispel::Message::Request { stage: Slot::new(dice.below(64)), proposer })
    }

    fn kind(message: &prefinal_dispel::Message) -> Option<(&'static str, Slot)> {
        match message {
            prefinal_dispel::Message::Batch { stage, .. } => Some(("batch", *stage)),
            prefinal_dispel::Message::Votes { stage, .. } => Some(("votes", *stage)),
            _ => None,
        }
    }

    fn last_vote(message: &prefinal_dispel::Message) -> Option<LastVote> {
        let prefinal_dispel::Message::Votes { stage, steps } = message else { return None };
        let is_last = |step: &_| matches!(step, prefinal_dispel::Step::Auxiliary { .. });
        steps.iter().any(is_last).then(|| LastVote::On(*stage, steps.clone()))
    }

    fn signing(costs: &Costs, message: &prefinal_dispel::Message) -> Duration {
        Self::receiving(costs, message)
    }

    /// Only a batch costs anything: it is hashed.
    fn receiving(costs: &Costs, message: &prefinal_dispel::Message) -> Duration {
        use prefinal_dispel::Message::{Answer, Batch};
        let (Batch { batch, .. } | Answer { batch, .. }) = message else { return Duration::ZERO };
        costs.batch(batch.encoded_len())
    }
}

/// The view of a vote for a value of its own slot.
fn cast_in(act: Act) -> Option<LastVote> {
    let Act::Ballot(Ballot::Cast(cast)) = act else { return None };
    cast.is_for_its_slot().then_some(LastVote::In(cast.view))
}

/// A commit; a height that is skipped gets no value.
fn commit(view: View, value: Value) -> Act {
    let skips = value == prefinal_trantor::skipped(view.slot);
    let implied = if skips { vec![(view.slot, None)] } else { Vec::new() };
    Act::Ballot(Ballot::Cast(FinalityVote { view, value, implied }))
}

/// A party that asks for a view has given up the one before.
fn change(asked: View) -> Act {
    Act::GaveUp(View::new(asked.slot, asked.attempt.saturating_sub(1)))
}

/// How many signatures are on a message: on a vote, and on what it carries.
fn signatures(message: &prefinal_malachite::Message) -> u32 {
    match message {
        prefinal_malachite::Message::Proposal(_) => 1,
        prefinal_malachite::Message::Vote(vote) => 1 + u32::from(vote.message.extension.is_some()),
        _ => 0,
    }
}

fn precommit(vote: &prefinal_malachite::Vote) -> Option<Act> {
    let view = View::new(Slot::new(vote.height.get()), vote.round.as_u32()?);
    match (vote.kind, vote.value) {
        (VoteType::Precommit, NilOrVal::Val(block)) => {
            let value = Value::new(block.to_bytes());
            Some(Act::Ballot(Ballot::Cast(FinalityVote { view, value, implied: Vec::new() })))
        }
        (VoteType::Precommit, NilOrVal::Nil) => Some(Act::GaveUp(view)),
        (VoteType::Prevote, _) => None,
    }
}

/// Encoding or decoding the transactions in a message, and hashing them.
fn transactions(costs: &Costs, message: &prefinal_trantor::Message) -> Duration {
    use prefinal_trantor::Message::{Batch, BatchResponse};
    let (Batch(batch) | BatchResponse(batch)) = message else { return Duration::ZERO };
    costs.batch(batch.bytes())
}
