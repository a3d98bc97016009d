//! The key generation of an epoch: from the engine's ordered transactions to the epoch's keys.
//!
//! | stage      | what is awaited                                     | ends with                            |
//! |------------|-----------------------------------------------------|--------------------------------------|
//! | collecting | dealings, in finalized order                         | dealers of more than a third of stake |
//! | opening    | this party's own shares, decrypted                   | its keys, submitted if need be        |
//! | admitting  | published keys, in finalized order                   | weight of the slow threshold          |
//! | running    | keys of late parties                                 | the epoch                             |
//!
//! If a share is a key (threshold BLS), everybody counts at once: the keys suffice with the last
//! dealing, and nothing is published.
//!
//! In a later epoch the committee before deals to the next one ([`PreviousKey`]). With threshold BLS it
//! deals on shares of the previous key, `t` of which make the same key again. With the weighted VUF it
//! makes a fresh key. Shares of the previous key are wiped when this party has opened those of the next.
//!
//! [`prefinal_pvss_dkg::protocol`] collects the dealings and shows who dealt falsely. Its argument for one key
//! for everybody holds for published keys too: they are judged in their order, and keys that were
//! ordered before the secret was fixed count for nobody. Transactions are judged one batch at a time,
//! as jobs. A verdict that returns late changes when this party knows the result, not the result.
//!
//! A party that restarts cannot know whether its submitted transactions are still on their way. So it
//! submits again everything that it has not seen ordered, and the engine may order a transaction twice.
//! The second time has no effect and is nobody's fault.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ::prefinal_protocol::{Instant, Machine};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;
use prefinal_pvss_dkg::field::HandoverError;
use prefinal_pvss_dkg::protocol::{
    self, Collect, Input, Keys, Place, Position, Record, Refusal, Role,
};
use prefinal_weighted_rounding::Stake;

use crate::scheme::{
    Admissions, AdmittedKeys, CommitteeKey, Key, KeyedScheme, PartyKeys, PerPath, PreviousKey, Sum,
};
use crate::setup::{Identity, Setup};
use crate::transaction::{self, Kind, SignedKeys};

/// Number of positions in a block, far more than a block has room for.
const PER_BLOCK: u64 = 1 << 20;

/// Work that leaves the key generation.
pub enum Job<S: KeyedScheme> {
    /// Make dealings, check them, or add them up.
    Dealings(protocol::Job<S::Collect>),
    /// Make this party's dealings for the next committee.
    HandOver {
        /// The job of dealing, with the places that this party owes dealings for.
        job: protocol::Job<S::Collect>,
        /// The key before, and this party's shares of it.
        before: PreviousKey<S>,
    },
    /// Compute which parties evaluate under the key, and with which public keys.
    Fix {
        /// The key that was made.
        key: Arc<Key<S>>,
        /// The dealings that count, added up.
        sum: Arc<Sum<S>>,
    },
    /// Decrypt this party's shares and make its keys from them.
    Open {
        /// The key whose shares are opened.
        key: Arc<CommitteeKey<S>>,
    },
    /// Decode and check published keys.
    Admit {
        /// The transactions that publish keys, as they were ordered.
        transactions: Vec<Arc<[u8]>>,
        /// The fixed key that they belong to.
        key: Arc<CommitteeKey<S>>,
    },
}

/// The result of a [`Job`].
pub enum Verdict<S: KeyedScheme> {
    /// Result of [`Job::Dealings`] and [`Job::HandOver`].
    Dealings(protocol::Verdict<S::Collect>),
    /// Result of [`Job::Fix`]: which parties evaluate under the key.
    Fixed(Result<Arc<CommitteeKey<S>>, String>),
    /// Result of [`Job::Open`]: this party's keys.
    Opened(Result<PartyKeys<S>, String>),
    /// Result of [`Job::Admit`], in the order of the transactions.
    Admitted(Admissions<S>),
}

/// How far the collection of dealings is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More dealers are needed for a fresh key.
    Collecting {
        /// The stake of the dealers that count so far.
        got: Stake,
        /// The stake that the dealers must exceed.
        need: Stake,
    },
    /// More shares of the previous key must be dealt on.
    HandingOver {
        /// Number of shares that have been dealt on.
        got: usize,
        /// Number of shares that make the key.
        need: u128,
    },
    /// The dealings make a key.
    Qualified,
}

/// Where the epoch of these keys may begin, as far as this party has judged what was ordered. All
/// parties come to the same slot in the end, and no party ever reports a bound beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// The epoch begins with this slot or a later one.
    NotBefore(u64),
    /// The epoch begins with this slot.
    At(u64),
}

/// Why a key generation cannot start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeygenError {
    /// The records are of another epoch, or differ from what was written.
    #[error(transparent)]
    Records(#[from] protocol::RecordError),
    /// The previous key cannot be handed over to this committee.
    #[error(transparent)]
    Handover(#[from] HandoverError),
    /// The committee of an epoch has another party with this party's number. Start again with the number
    /// that the committee gives to this party's key, if it has it.
    #[error("{party} of {epoch} is another party, with another key")]
    OtherIdentity {
        /// The number.
        party: Party,
        /// The epoch.
        epoch: EpochId,
    },
}

impl KeygenError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Records(error) => error.code(),
            Self::Handover(error) => error.code(),
            Self::OtherIdentity { .. } => "other-identity",
        }
    }
}

/// What the key generation wants done or reports, in this order.
pub type Output<S> = ::prefinal_protocol::Output<Record, Effect<S>>;

/// What the key generation wants done or reports, except for its records.
pub enum Effect<S: KeyedScheme> {
    /// Run this job and return its verdict to [`Keygen::checked`].
    Run(Job<S>),
    /// Have this transaction ordered in a block.
    Submit(Vec<u8>),
    /// A valid dealing was ordered in time, so it is part of the key.
    Dealing {
        /// Number of dealings that count so far.
        dealings: usize,
        /// Whether they suffice, and what is missing.
        progress: Progress,
    },
    /// A party dealt falsely.
    Accused(protocol::Fault),
    /// A transaction did not count; the reason in words.
    Refused(String),
    /// The keys suffice; the epoch has values from `first_slot` on.
    Ready {
        /// The first slot with a value.
        first_slot: u64,
    },
    /// A party's keys that were admitted after [`Effect::Ready`].
    Late(Arc<AdmittedKeys<S>>),
}

/// The key generation of one epoch, as one party runs it.
pub struct Keygen<S: KeyedScheme> {
    setup: Arc<Setup>,
    me: Party,
    before: Option<PreviousKey<S>>,
    dealings: protocol::Keygen<S::Collect>,
    /// Number of dealings that count, and the stake of their dealers.
    counted: (usize, Stake),
    /// The position of the last dealing that counts.
    fixed_at: Position,
    /// Published keys that are not judged yet.
    waiting: VecDeque<(Position, Arc<[u8]>)>,
    /// Published keys that are being judged.
    judging: Vec<(Position, Arc<[u8]>)>,
    complete: Option<Box<Complete<S>>>,
    outputs: VecDeque<Output<S>>,
}

/// The key is fixed, and parties' keys are being admitted.
struct Complete<S: KeyedScheme> {
    key: Arc<CommitteeKey<S>>,
    committees: PerPath<S::Committee>,
    /// For each party, the digest of the transaction by which it counts.
    entered: BTreeMap<Party, [u8; 32]>,
    own: Option<PerPath<S::Secret>>,
    /// This party's shares, for the handover to the next committee.
    shares: Option<Arc<S::Shares>>,
    opened: bool,
    /// The round whose block made the keys suffice.
    sufficed: Option<u64>,
    announced: bool,
}

/// What the beacon of an epoch needs.
pub struct Epoch<S: KeyedScheme> {
    /// The committee of each path, with the keys admitted so far.
    pub committees: PerPath<S::Committee>,
    /// This party's secret keys; `None` if it holds no share.
    pub own: Option<PerPath<S::Secret>>,
    /// The first slot with a value.
    pub first_slot: u64,
}

impl<S: KeyedScheme> Keygen<S> {
    /// Starts before the first transaction, with the records of an earlier life. Asks at once for a job
    /// that makes this party's dealings, or submits again the dealings that it made before. `before` is
    /// the key of the epoch before; `None` in the first epoch.
    ///
    /// # Errors
    /// If the records are of another epoch, or differ from what was written, or the previous key cannot
    /// be handed over to this committee.
    pub fn new(
        setup: Arc<Setup>,
        me: Party,
        records: Vec<Record>,
        before: Option<PreviousKey<S>>,
    ) -> Result<Self, KeygenError> {
        // The scheme opens shares where it makes keys of them, so this machine is no recipient.
        let role = Role { dealer: Some(me), recipient: None };
        let blank = S::collect(Arc::clone(&setup.keygen), before.as_ref())?;
        let mut dealings = protocol::Keygen::new(blank, role, records)?;
        dealings.handle(Instant::START, Input::Start);
        let mut keygen = Self {
            setup,
            me,
            before,
            dealings,
            counted: (0, Stake::ZERO),
            fixed_at: Position::new(0),
            waiting: VecDeque::new(),
            judging: Vec::new(),
            complete: None,
            outputs: VecDeque::new(),
        };
        keygen.settle();
        Ok(keygen)
    }

    /// Takes what the engine ordered in `round`. The number of waiting transactions is not limited. A
    /// limit would depend on how fast this party judges: one party would drop a transaction that
    /// another counts, and there would be two keys.
    pub fn ordered(&mut self, round: u64, transactions: &[Arc<[u8]>]) {
        let first = round.saturating_mul(PER_BLOCK);
        // After a restart: transactions submitted in an earlier life may have been ordered since.
        let is_ordered = |own: &Vec<u8>| transactions.iter().any(|one| **one == **own);
        self.outputs
            .retain(|one| !matches!(one, Output::Do(Effect::Submit(own)) if is_ordered(own)));
        // Parties that restart, or were away, have no others of a block: they must not count.
        let own = transactions.iter().filter(|one| Kind::of(one).is_some());
        for (number, transaction) in (first..).zip(own) {
            let position = Position::new(number);
            let own = self.setup.context.epoch;
            match Kind::split(transaction) {
                Some((_, epoch, _)) if epoch != own => {}
                Some((Kind::Dealing, _, message)) => {
                    let input = Input::Ordered { position, message: message.into() };
                    self.dealings.handle(Instant::START, input);
                }
                Some((Kind::Keys, ..)) if self.has_keys_length(transaction) => {
                    self.waiting.push_back((position, Arc::clone(transaction)));
                }
                Some((Kind::Keys, ..)) => self.refuse("transaction of a wrong length"),
                // A transaction of the chain itself, or one that changes the committee.
                None | Some((Kind::Change, ..)) => {}
            }
        }
        self.settle();
    }

    /// Refuses transactions that can never count. So the queue cannot fill with small ones, and waiting
    /// transactions take no more room than the blocks, which the engine keeps as well.
    fn has_keys_length(&self, transaction: &[u8]) -> bool {
        let shape = self.setup.keygen.shape();
        let paths = 1 + usize::from(shape.threshold(prefinal_pvss_dkg::SharePath::Fast).is_some());
        let party = SignedKeys::claimed_party(transaction);
        let shares = party.map_or(0, |party| shape.access().range(party).len());
        S::keys_bytes(shares, paths) == Some(transaction.len())
    }

    /// Takes the verdict of a job.
    pub fn checked(&mut self, verdict: Verdict<S>) {
        match verdict {
            Verdict::Dealings(verdict) => {
                self.dealings.handle(Instant::START, Input::Checked(verdict));
            }
            Verdict::Fixed(Ok(key)) => self.complete(key),
            Verdict::Opened(Ok(opened)) => self.opened(opened),
            Verdict::Fixed(Err(error)) | Verdict::Opened(Err(error)) => self.refuse(error),
            Verdict::Admitted(admitted) => self.admitted(admitted),
        }
        self.settle();
    }

    /// The next thing to keep or to do, in this order; `None` until the next input.
    pub fn poll(&mut self) -> Option<Output<S>> {
        self.outputs.pop_front()
    }

    /// What the beacon needs. Available once [`Effect::Ready`] was given, and only for the first call.
    pub fn take_epoch(&mut self) -> Option<Epoch<S>> {
        let complete = self.complete.as_mut()?;
        let first_slot = complete.first_slot(self.setup.lead)?;
        complete.announced.then_some(())?;
        Some(Epoch {
            committees: complete.committees.clone(),
            own: complete.own.take(),
            first_slot,
        })
    }

    /// The key, once it is fixed.
    #[must_use]
    pub fn key(&self) -> Option<&Arc<CommitteeKey<S>>> {
        self.complete.as_ref().map(|complete| &complete.key)
    }

    /// Where the epoch of these keys may begin. `next` is the first slot that was not ordered yet.
    #[must_use]
    pub fn boundary(&self, next: u64) -> Boundary {
        let lead = self.setup.lead;
        let known = self.complete.as_ref().and_then(|complete| complete.first_slot(lead));
        known.map_or_else(
            || Boundary::NotBefore(self.undecided(next).saturating_add(lead)),
            Boundary::At,
        )
    }

    /// The first slot whose block makes the keys suffice, or may still turn out to. `next` is the first slot that was not
    /// ordered yet.
    #[must_use]
    pub fn undecided(&self, next: u64) -> u64 {
        let keys = self.judging.first().or(self.waiting.front());
        let dealings = self.dealings.unjudged();
        let open = dealings.into_iter().chain(keys.map(|(position, _)| *position));
        let open = open.chain(self.is_fixing().then_some(self.fixed_at)).map(round);
        let sufficed = self.complete.as_ref().and_then(|complete| complete.sufficed);
        open.chain(sufficed).min().unwrap_or(next)
    }

    /// Whether the dealings suffice and the key is being computed.
    fn is_fixing(&self) -> bool {
        let collecting = self.dealings.is_waiting() || self.dealings.unjudged().is_some();
        self.complete.is_none() && !collecting && self.dealings.aborted().is_none()
    }

    /// What is handed over to the next committee, once this party has opened its shares. The shares in
    /// it are secret; see [`Self::wipe_shares`].
    #[must_use]
    pub fn handed_over(&self) -> Option<PreviousKey<S>> {
        let complete = self.complete.as_ref().filter(|complete| complete.opened)?;
        Some(PreviousKey { key: Arc::clone(&complete.key), shares: complete.shares.clone() })
    }

    /// Drops the shares that would be dealt on, because the next committee has its key. The beacon
    /// holds the secrets that evaluate.
    pub fn wipe_shares(&mut self) {
        if let Some(complete) = &mut self.complete {
            complete.shares = None;
        }
    }

    fn effect(&mut self, effect: Effect<S>) {
        self.outputs.push_back(Output::Do(effect));
    }

    fn refuse(&mut self, why: impl Into<String>) {
        self.effect(Effect::Refused(why.into()));
    }

    /// Does what the collection of dealings asks for, then sends the next keys to be judged.
    fn settle(&mut self) {
        let (before, epoch) = (self.before.clone(), self.setup.context.epoch);
        while let Some(output) = self.dealings.poll() {
            let output = output.map(
                |record| record,
                |effect| match effect {
                    protocol::Effect::Submit(envelope) => {
                        Some(Effect::Submit(transaction::dealing(epoch, &envelope)))
                    }
                    protocol::Effect::Run(job) => {
                        Some(Effect::Run(of_dealer(job, before.as_ref())))
                    }
                    protocol::Effect::Counted { place, position } => {
                        Some(self.count(place, position))
                    }
                    protocol::Effect::Accuse { fault, .. } => Some(Effect::Accused(fault)),
                    protocol::Effect::Ignored(Refusal::Repeated) => None,
                    protocol::Effect::Ignored(why) => Some(Effect::Refused(why.to_string())),
                    protocol::Effect::Aborted(why) => Some(Effect::Refused(why.to_string())),
                    protocol::Effect::Ready(ready) => {
                        Some(Effect::Run(Job::Fix { key: ready.key, sum: ready.sum }))
                    }
                },
            );
            self.outputs.extend(output.transpose());
        }
        self.judge_next();
    }

    fn count(&mut self, place: Place, position: Position) -> Effect<S> {
        let dealer = self.setup.keygen.dealer(place.dealer);
        let stake = dealer.and_then(|dealer| self.counted.1.checked_add(dealer.stake));
        // The total of all dealers does not overflow, so neither does this.
        self.counted = (self.counted.0.saturating_add(1), stake.unwrap_or(self.counted.1));
        self.fixed_at = position;
        let (dealings, got) = self.counted;
        let before = self.before.as_ref().filter(|_| place.share.is_some());
        let progress = if let Some(before) = before {
            let need = S::threshold(&before.key.committees.slow);
            Progress::HandingOver { got: dealings, need }
        } else {
            Progress::Collecting { got, need: self.setup.keygen.qualify() }
        };
        Effect::Dealing { dealings, progress: progress.or_qualified() }
    }

    /// Sends the next published keys to be judged, unless some are being judged.
    fn judge_next(&mut self) {
        if self.complete.is_none() && !self.dealings.is_waiting() {
            // A dealing ordered before these keys may fix the key.
            return;
        }
        while let Some((position, transaction)) =
            self.waiting.pop_front_if(|_| self.judging.is_empty())
        {
            let Some(key) = self.key().filter(|_| position > self.fixed_at).map(Arc::clone) else {
                self.refuse("keys before there is a secret");
                continue;
            };
            if self.counts(&transaction) {
                continue;
            }
            let mut transactions = vec![Arc::clone(&transaction)];
            self.judging.push((position, transaction));
            while let Some((position, next)) =
                self.waiting.pop_front_if(|(_, next)| may_join(&transactions, next))
            {
                transactions.push(Arc::clone(&next));
                self.judging.push((position, next));
            }
            self.effect(Effect::Run(Job::Admit { transactions, key }));
        }
    }

    /// Whether a party counts because of exactly this transaction.
    fn counts(&self, transaction: &[u8]) -> bool {
        let party = SignedKeys::claimed_party(transaction);
        let entered = self.complete.as_ref().map(|complete| &complete.entered);
        let known = entered.and_then(|entered| entered.get(&party?));
        known.is_some_and(|known| *known == transaction::digest(transaction))
    }

    /// Whether these keys were ordered already, and count or may still count.
    fn is_ordered(&self, transaction: &[u8]) -> bool {
        let mut open = self.judging.iter().chain(&self.waiting);
        self.counts(transaction) || open.any(|(_, one)| **one == *transaction)
    }

    /// The key is fixed: starts opening and admitting.
    fn complete(&mut self, key: Arc<CommitteeKey<S>>) {
        let opened = self.setup.keygen.shape().access().weight(self.me) == 0;
        if !opened {
            self.effect(Effect::Run(Job::Open { key: Arc::clone(&key) }));
        }
        let committees = key.committees.clone();
        let mut complete = Complete {
            key,
            committees,
            entered: BTreeMap::new(),
            own: None,
            shares: None,
            opened,
            sufficed: None,
            announced: false,
        };
        // If nobody has keys to publish, the keys suffice with the dealing that made the key.
        complete.count(round(self.fixed_at));
        self.complete = Some(Box::new(complete));
        if opened {
            self.forget_before();
        }
        self.announce();
    }

    /// This party has its keys, so shares of the previous key are useful only to a thief: drops them.
    fn forget_before(&mut self) {
        if let Some(before) = &mut self.before {
            before.shares = None;
        }
    }

    fn opened(&mut self, opened: PartyKeys<S>) {
        let Some(complete) = &mut self.complete else { return };
        complete.own = Some(opened.keys);
        complete.shares = opened.shares;
        complete.opened = true;
        // After a restart, they may have been ordered in an earlier life.
        let keys = opened.transaction.filter(|keys| !self.is_ordered(keys));
        self.outputs.extend(keys.map(|keys| Output::Do(Effect::Submit(keys))));
        self.forget_before();
        self.announce();
    }

    fn admitted(&mut self, admitted: Admissions<S>) {
        let judged = std::mem::take(&mut self.judging);
        for ((position, transaction), result) in judged.into_iter().zip(admitted) {
            let Some(complete) = &mut self.complete else { return };
            let entered = result.and_then(|keys| {
                complete.enter(round(position), &keys)?;
                complete.entered.insert(keys.party, transaction::digest(&transaction));
                Ok(keys)
            });
            match entered {
                Err(why) => self.refuse(why),
                Ok(keys) if complete.announced => self.effect(Effect::Late(keys)),
                Ok(_) => {}
            }
        }
        self.announce();
    }

    fn announce(&mut self) {
        let Some(complete) = &mut self.complete else { return };
        let Some(first_slot) = complete.first_slot(self.setup.lead) else { return };
        if complete.opened && !complete.announced {
            complete.announced = true;
            self.effect(Effect::Ready { first_slot });
        }
    }
}

impl Progress {
    /// The same, or `Qualified` if it is enough already.
    fn or_qualified(self) -> Self {
        let enough = match self {
            Self::Collecting { got, need } => got > need,
            Self::HandingOver { got, need } => u128::try_from(got).is_ok_and(|got| got >= need),
            Self::Qualified => true,
        };
        if enough { Self::Qualified } else { self }
    }
}

/// A job that deals on shares needs the previous key and its shares.
fn of_dealer<S: KeyedScheme>(
    job: protocol::Job<S::Collect>,
    before: Option<&PreviousKey<S>>,
) -> Job<S> {
    match (job, before) {
        (job @ protocol::Job::Deal { .. }, Some(before)) => {
            Job::HandOver { job, before: before.clone() }
        }
        (job, _) => Job::Dealings(job),
    }
}

/// The round in which a position was ordered.
const fn round(position: Position) -> u64 {
    position.get() / PER_BLOCK
}

impl<S: KeyedScheme> Complete<S> {
    fn first_slot(&self, lead: u64) -> Option<u64> {
        Some(self.sufficed?.saturating_add(lead))
    }

    /// Notes the round if the keys suffice by now.
    fn count(&mut self, round: u64) {
        let slow = &self.committees.slow;
        if self.sufficed.is_none() && S::counted(slow) >= S::threshold(slow) {
            self.sufficed = Some(round);
        }
    }

    /// Enters a party's keys, which were admitted against the committees without late keys.
    fn enter(&mut self, round: u64, keys: &AdmittedKeys<S>) -> Result<(), String> {
        let committees = &mut self.committees;
        S::admit(&mut committees.slow, keys.keys.slow.clone())
            .map_err(|error| error.to_string())?;
        if let (Some(committee), Some(key)) = (&mut committees.fast, &keys.keys.fast) {
            S::admit(committee, key.clone()).map_err(|error| error.to_string())?;
        }
        self.count(round);
        Ok(())
    }
}

impl<S: KeyedScheme> Job<S> {
    /// Whether this job makes the party's own dealings. That is the costliest job, and useless once
    /// others suffice.
    #[must_use]
    pub const fn is_deal(&self) -> bool {
        let (Self::Dealings(job) | Self::HandOver { job, .. }) = self else { return false };
        matches!(job, protocol::Job::Deal { .. })
    }

    /// Does the work. It is pure, except for the secrets of `identity`, which dealing and opening use.
    #[must_use]
    pub fn run(&self, setup: &Setup, identity: &Identity) -> Verdict<S> {
        match self {
            Self::Dealings(job) => Verdict::Dealings(run_dealings::<S>(job, setup, identity, None)),
            Self::HandOver { job, before } => {
                Verdict::Dealings(run_dealings(job, setup, identity, Some(before)))
            }
            Self::Fix { key, sum } => Verdict::Fixed(S::fix(key, sum).map(Arc::new)),
            Self::Open { key } => {
                let shares = S::decrypt(setup, identity, key);
                let opened =
                    shares.and_then(|shares| S::open(setup, identity, key, &Arc::new(shares)));
                Verdict::Opened(opened)
            }
            Self::Admit { transactions, key } => {
                Verdict::Admitted(S::admit_all(setup, transactions, key))
            }
        }
    }
}

/// Runs a job about dealings. The randomness is the same at each call, so a party that lost its records
/// makes the same dealings again.
pub fn run_dealings<S: KeyedScheme>(
    job: &protocol::Job<S::Collect>,
    setup: &Setup,
    identity: &Identity,
    before: Option<&PreviousKey<S>>,
) -> protocol::Verdict<S::Collect> {
    // No other job draws randomness.
    let session = match job {
        protocol::Job::Deal { blank, .. } => blank.session(),
        _ => [0; 32],
    };
    let decryption = &mut Some(identity.decryption(setup.context.epoch));
    let held = S::held(before);
    let mut keys = Keys { signer: &identity.signer, decryption, held: &held };
    job.run(&mut keys, &mut identity.rng(b"deal", &session))
}

/// This party's dealings in a chain's first epoch, as signed envelopes.
///
/// # Errors
/// If the party cannot deal.
pub fn deal<S: KeyedScheme>(
    setup: &Setup,
    identity: &Identity,
) -> Result<Vec<Vec<u8>>, HandoverError> {
    let blank = Arc::new(S::collect(Arc::clone(&setup.keygen), None)?);
    let places = blank.owed(identity.me);
    match run_dealings::<S>(&protocol::Job::Deal { blank, places }, setup, identity, None) {
        protocol::Verdict::Dealt(dealt) => dealt,
        _ => Ok(Vec::new()),
    }
}

/// Whether a transaction may be judged in one batch with these: it publishes keys, and its party has
/// none in the batch. So a batch gives the same result as judging one by one, wherever its boundaries are.
fn may_join(batch: &[Arc<[u8]>], next: &[u8]) -> bool {
    let claimed = |transaction: &[u8]| SignedKeys::claimed_party(transaction);
    Kind::of(next) == Some(Kind::Keys) && batch.iter().all(|one| claimed(one) != claimed(next))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use ::prefinal_beacon::{Bls, Function, Wvuf};
    use prefinal_weighted_rounding::{Ratio, Stake};

    use super::*;
    use crate::setup::{Algorithm, Plan, found};

    fn committee() -> (Arc<Setup>, Vec<Identity>) {
        let stakes = [40, 30, 20, 10].map(Stake::new).to_vec();
        let fast = Ratio::new(9, 10).unwrap();
        let (setup, identities) =
            found(&Plan::new(stakes, Algorithm::Fast, fast).unwrap(), 1).unwrap();
        (Arc::new(setup), identities)
    }

    fn start<S: KeyedScheme>(setup: &Arc<Setup>, me: u32) -> Keygen<S> {
        Keygen::new(Arc::clone(setup), Party::new(me), Vec::new(), None).unwrap()
    }

    /// The transaction with a party's dealing.
    fn dealing<S: KeyedScheme>(setup: &Arc<Setup>, identity: &Identity) -> Arc<[u8]> {
        let submitted = drive(&mut start::<S>(setup, identity.me.get()), setup, identity);
        submitted[0].as_slice().into()
    }

    /// Runs every job at once; what the party submits.
    fn drive<S: KeyedScheme>(
        keygen: &mut Keygen<S>,
        setup: &Setup,
        identity: &Identity,
    ) -> Vec<Vec<u8>> {
        let mut submitted = Vec::new();
        while let Some(output) = keygen.poll() {
            match output {
                Output::Do(Effect::Run(job)) => keygen.checked(job.run(setup, identity)),
                Output::Do(Effect::Submit(transaction)) => submitted.push(transaction),
                _ => {}
            }
        }
        submitted
    }

    #[test]
    fn keys_before_the_secret_count_for_nobody() {
        let (setup, identities) = committee();
        let dealings = [3, 2, 0].map(|dealer: usize| dealing::<Wvuf>(&setup, &identities[dealer]));
        let mut known = start::<Wvuf>(&setup, 0);
        known.ordered(1, &dealings);
        let submitted = drive(&mut known, &setup, &identities[0]);
        let keys: Arc<[u8]> = submitted.last().unwrap().as_slice().into();
        assert_eq!(Kind::of(&keys), Some(Kind::Keys));
        // Before, between and behind the dealings that make the key; the last one counts.
        let weight = |ordered: &[Arc<[u8]>], slow: bool| {
            let mut keygen = start::<Wvuf>(&setup, 1);
            let blocks = if slow { vec![ordered] } else { ordered.chunks(1).collect() };
            for (round, block) in (1..).zip(blocks) {
                keygen.ordered(round, block);
                drive(&mut keygen, &setup, &identities[1]);
            }
            let complete = keygen.complete.unwrap();
            Wvuf::weight(&complete.committees.slow, Party::new(0))
        };
        let early = [&[Arc::clone(&keys)], &dealings[..]].concat();
        let between = [&dealings[..1], &[Arc::clone(&keys)], &dealings[1..]].concat();
        let late = [&dealings[..], &[keys]].concat();
        for slow in [true, false] {
            assert_eq!(weight(&early, slow), 0);
            assert_eq!(weight(&between, slow), 0);
            assert!(weight(&late, slow) > 0);
        }
    }

    /// Runs every job; what is submitted and what is refused, and the first slot.
    fn settled<S: KeyedScheme>(
        keygen: &mut Keygen<S>,
        (setup, identity): (&Setup, &Identity),
        records: &mut Vec<Record>,
    ) -> (Vec<Vec<u8>>, Vec<String>, Option<u64>) {
        let (mut submitted, mut refused, mut ready) = (Vec::new(), Vec::new(), None);
        while let Some(output) = keygen.poll() {
            match output {
                Output::Do(Effect::Run(job)) => keygen.checked(job.run(setup, identity)),
                Output::Do(Effect::Submit(transaction)) => submitted.push(transaction),
                Output::Do(Effect::Refused(why)) => refused.push(why),
                Output::Do(Effect::Ready { first_slot }) => ready = Some(first_slot),
                Output::Keep(record) | Output::Note(record) => records.push(record),
                Output::Do(Effect::Accused(fault)) => refused.push(fault.to_string()),
                Output::Do(Effect::Dealing { .. } | Effect::Late(_)) => {}
            }
        }
        (submitted, refused, ready)
    }

    /// One that restarts, or was away, has of a block only what is of key generations.
    #[test]
    fn a_dealing_has_its_place_in_a_block_whatever_else_stands_there() {
        let (setup, identities) = committee();
        let me = &identities[0];
        let dealings = [3, 2, 1].map(|dealer: usize| dealing::<Bls>(&setup, &identities[dealer]));
        let block = [&[[0xe0; 9].as_slice().into()], &dealings[..]].concat();
        let mut whole = start::<Bls>(&setup, 0);
        whole.ordered(1, &block);
        drive(&mut whole, &setup, me);
        // It ends when the first dealing is on record, and the others are not judged.
        let (mut first, mut records) = (start::<Bls>(&setup, 0), Vec::new());
        first.ordered(1, &block);
        while !matches!(records.last(), Some(Record::Counted { .. })) {
            match first.poll().unwrap() {
                Output::Do(Effect::Run(job)) => first.checked(job.run(&setup, me)),
                Output::Keep(record) | Output::Note(record) => records.push(record),
                Output::Do(_) => {}
            }
        }
        let mut second =
            Keygen::<Bls>::new(Arc::clone(&setup), Party::new(0), records, None).unwrap();
        second.ordered(1, &dealings);
        drive(&mut second, &setup, me);
        let id = |keygen: &Keygen<Bls>| {
            Bls::id(&keygen.complete.as_ref().expect("a key").committees.slow)
        };
        assert_eq!(id(&second), id(&whole));
    }

    #[test]
    fn what_is_ordered_twice_counts_once_and_is_nobodys_fault() {
        ordered_twice::<Bls>();
        ordered_twice::<Wvuf>();
    }

    /// Every block is ordered twice, and a party that restarts behind any of them goes on.
    fn ordered_twice<S: KeyedScheme>() {
        let (setup, identities) = committee();
        // The first three are enough, and no two of them.
        let dealers = [3, 2, 1, 0].map(|dealer: usize| &identities[dealer]);
        let dealings = dealers.map(|one| dealing::<S>(&setup, one));
        let keys = identities.iter().filter_map(|one| {
            let mut keygen = start::<S>(&setup, one.me.get());
            keygen.ordered(1, &dealings);
            let submitted = drive(&mut keygen, &setup, one);
            let keys = submitted.into_iter().find(|one| Kind::of(one) == Some(Kind::Keys));
            keys.map(|keys| Arc::from(keys.as_slice()))
        });
        let keys: Vec<Arc<[u8]>> = keys.collect();
        let me = &identities[1];
        let follow = |blocks: &[Vec<Arc<[u8]>>], crash: usize| {
            let mut keygen = start::<S>(&setup, me.me.get());
            let (mut records, mut first, mut submitted) = (Vec::new(), None, Vec::new());
            for (round, block) in (1..).zip(blocks) {
                if usize::try_from(round).unwrap() == crash {
                    keygen = Keygen::new(Arc::clone(&setup), me.me, records.clone(), None).unwrap();
                    (1..round).zip(blocks).for_each(|(past, block)| keygen.ordered(past, block));
                    (submitted, first) = (Vec::new(), None);
                }
                keygen.ordered(round, block);
                let settled = settled(&mut keygen, (&setup, me), &mut records);
                assert_eq!(settled.1, [""; 0], "round {round}, crash {crash}");
                submitted.extend(settled.0);
                first = first.or(settled.2);
            }
            (first, submitted)
        };
        let halves = [dealings[..1].to_vec(), dealings[1..].to_vec(), keys];
        let (first, _) = follow(&halves, 0);
        assert!(first.is_some());
        let [start, rest, keys] = halves;
        let twice = vec![start.clone(), [start, rest].concat(), keys.clone(), keys.clone(), keys];
        for crash in 0..=5 {
            let (again, submitted) = follow(&twice, crash);
            assert_eq!(again, first, "crash {crash}");
            // What was ordered before the crash is not submitted again.
            let of = |kind| submitted.iter().filter(|one| Kind::of(one) == Some(kind)).count();
            assert_eq!(of(Kind::Dealing), usize::from(crash < 2), "crash {crash}");
            assert!(crash < 4 || of(Kind::Keys) == 0, "crash {crash}");
        }
    }

    #[test]
    fn honest_transactions_have_the_right_length() {
        // With threshold BLS there is nothing to publish.
        lengths::<Bls>(false);
        lengths::<Wvuf>(true);
    }

    fn lengths<S: KeyedScheme>(publishes: bool) {
        let (setup, identities) = committee();
        let dealings: Vec<_> = identities.iter().map(|one| dealing::<S>(&setup, one)).collect();
        for identity in &identities {
            let mut keygen = start::<S>(&setup, identity.me.get());
            keygen.ordered(1, &dealings);
            let submitted = drive(&mut keygen, &setup, identity);
            let keys = submitted.iter().filter(|one| Kind::of(one) == Some(Kind::Keys));
            let holds = publishes && setup.keygen.shape().access().weight(identity.me) > 0;
            assert_eq!(keys.clone().count(), usize::from(holds));
            for transaction in keys {
                assert!(keygen.has_keys_length(transaction));
                assert!(!keygen.has_keys_length(&transaction[1..]));
                assert!(!keygen.has_keys_length(&[transaction.as_slice(), &[0]].concat()));
            }
        }
    }
}
