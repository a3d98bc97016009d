//! From the engine's ordered transactions to the epoch's keys.
//!
//! | stage      | what is awaited                                     | ends with                            |
//! |------------|-----------------------------------------------------|--------------------------------------|
//! | collecting | dealings, in finalized order                         | dealers of more than a third of stake |
//! | opening    | this party's own shares, decrypted                   | its keys, submitted if need be        |
//! | admitting  | published keys, in finalized order                   | weight of the slow threshold          |
//! | running    | keys of those who are late                           | the epoch                             |
//!
//! Where a share is a key (threshold BLS) everybody counts at once: the keys suffice with the last
//! dealing, and nothing is published.
//!
//! In a later epoch the committee before deals to the next one ([`Before`]): threshold BLS deals shares of
//! the key before on, `t` of which make the same key again; the weighted VUF makes a fresh key. Shares of
//! the key before are wiped when this party has opened those of the next.
//!
//! Dealings are collected by [`pvss_dkg::protocol`], which also shows who dealt falsely; what is said
//! there of one key for everybody holds here for published keys: they are judged in their order, and
//! those that were ordered before the secret was fixed count for nobody. Transactions are judged one
//! batch at a time, as jobs; a verdict that comes back later than another party's changes when this
//! party knows, not what.
//!
//! A party that restarts cannot know whether what it submitted is still on its way, so it submits again
//! whatever it has not seen ordered, and the engine may order it twice. The second time it changes
//! nothing and is nobody's fault.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ::protocol::{Instant, Machine};
use crypto_core::access::Party;
use pvss_dkg::field::HandoverError;
use pvss_dkg::protocol::{self, Collect, Ignored, Input, Keys, Place, Position, Record, Role};
use sha2::{Digest, Sha256};
use weighted_rounding::Stake;

use crate::scheme::{Admissions, AdmittedKeys, Before, Fixed, Key, Keyed, Opened, PerPath, Sum};
use crate::setup::{Identity, Setup};
use crate::transaction::{self, Kind, SignedKeys};

/// Positions in a block; far more than there is room for.
const PER_BLOCK: u64 = 1 << 20;

/// Work that leaves the key generation.
pub enum Job<S: Keyed> {
    /// Make dealings, check them, add them up.
    Dealings(protocol::Job<S::Collect>),
    /// Make this party's dealings for the next committee.
    HandOver {
        /// The places that this party owes dealings for.
        job: protocol::Job<S::Collect>,
        /// What is dealt on.
        before: Before<S>,
    },
    /// Find out who evaluates under the key.
    Fix {
        /// What was made.
        key: Arc<Key<S>>,
        /// The dealings that count, added up.
        sum: Arc<Sum<S>>,
    },
    /// Decrypt this party's shares and make its keys.
    Open {
        /// The dealings that count, added up.
        key: Arc<Fixed<S>>,
    },
    /// Decode and check published keys.
    Admit {
        /// The transactions.
        transactions: Vec<Arc<[u8]>>,
        /// What they are keys for.
        key: Arc<Fixed<S>>,
    },
}

/// What comes back.
pub enum Verdict<S: Keyed> {
    /// See [`Job::Dealings`] and [`Job::HandOver`].
    Dealings(protocol::Verdict<S::Collect>),
    /// See [`Job::Fix`].
    Fixed(Result<Arc<Fixed<S>>, String>),
    /// See [`Job::Open`].
    Opened(Result<Opened<S>, String>),
    /// See [`Job::Admit`]; in the order of the transactions.
    Admitted(Admissions<S>),
}

/// How far the dealings are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More dealers are needed.
    Collecting {
        /// The stake of the dealers so far.
        got: Stake,
        /// What it must exceed.
        need: Stake,
    },
    /// More shares of the key before are needed.
    HandingOver {
        /// How many have been dealt on.
        got: usize,
        /// How many make the key.
        need: u128,
    },
    /// The dealings make a key.
    Qualified,
}

/// Where the epoch of these keys may begin, as far as this party has judged what was ordered. All parties
/// come to the same slot; what one says before it is there for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// This slot or a later one.
    NotBefore(u64),
    /// The epoch begins with this slot.
    At(u64),
}

/// Why a key generation does not start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeygenError {
    /// The records are of another epoch, or not what was written.
    #[error(transparent)]
    Records(#[from] protocol::RecordError),
    /// The key before cannot be handed over to this committee.
    #[error(transparent)]
    Handover(#[from] HandoverError),
}

/// What the key generation wants done or tells, in this order.
pub type Output<S> = ::protocol::Output<Record, Effect<S>>;

/// What the key generation wants done or tells, its records aside.
pub enum Effect<S: Keyed> {
    /// Run this and bring the verdict back.
    Run(Job<S>),
    /// Put this into a block.
    Submit(Vec<u8>),
    /// A dealing counts.
    Dealing {
        /// How many do by now.
        dealings: usize,
        /// Whether they suffice.
        progress: Progress,
    },
    /// A party dealt falsely.
    Accused(protocol::Fault),
    /// A transaction did not count, and why.
    Refused(String),
    /// The keys suffice; the epoch has values from `first_slot` on.
    Ready {
        /// The first slot with a value.
        first_slot: u64,
    },
    /// A key that came after that.
    Late(Arc<AdmittedKeys<S>>),
}

/// The key generation of one epoch, as one party follows it.
pub struct Keygen<S: Keyed> {
    setup: Arc<Setup>,
    me: Party,
    before: Option<Before<S>>,
    dealings: protocol::Keygen<S::Collect>,
    /// How many count, and the stake of their dealers.
    counted: (usize, Stake),
    /// Where the last of them was ordered.
    fixed_at: Position,
    /// Published keys.
    waiting: VecDeque<(Position, Arc<[u8]>)>,
    /// Those of them that are being judged.
    judging: Vec<(Position, Arc<[u8]>)>,
    complete: Option<Box<Complete<S>>>,
    outputs: VecDeque<Output<S>>,
}

/// The key is fixed; who may evaluate is being found out.
struct Complete<S: Keyed> {
    key: Arc<Fixed<S>>,
    committees: PerPath<S::Committee>,
    /// The digests of the transactions by which parties count.
    entered: BTreeMap<Party, [u8; 32]>,
    own: Option<PerPath<S::Secret>>,
    /// For the next committee.
    shares: Option<Arc<S::Shares>>,
    opened: bool,
    /// The round that made the keys suffice.
    sufficed: Option<u64>,
    announced: bool,
}

/// What the beacon needs.
pub struct Epoch<S: Keyed> {
    /// Who may evaluate, per path.
    pub committees: PerPath<S::Committee>,
    /// This party's secret halves; `None` if it holds no share.
    pub own: Option<PerPath<S::Secret>>,
    /// The first slot with a value.
    pub first_slot: u64,
}

impl<S: Keyed> Keygen<S> {
    /// Before the first transaction, with the records of an earlier life. Asks for this party's dealings
    /// at once, or submits again what was dealt. `before` is the key of the epoch before, none in the
    /// first one.
    ///
    /// # Errors
    /// If the records are of another epoch, or not what was written, or the key before cannot be handed
    /// over to this committee.
    pub fn new(
        setup: Arc<Setup>,
        me: Party,
        records: Vec<Record>,
        before: Option<Before<S>>,
    ) -> Result<Self, KeygenError> {
        // Shares are opened where the scheme makes keys of them, and wait nowhere before.
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

    /// Takes what the engine ordered in `round`. How much waits already plays no role: that depends on
    /// how fast this party judges, and what one drops and another counts would be two keys.
    pub fn ordered(&mut self, round: u64, transactions: &[Arc<[u8]>]) {
        let first = round.saturating_mul(PER_BLOCK);
        // After a restart: what an earlier life submitted has been ordered since.
        let is_ordered = |own: &Vec<u8>| transactions.iter().any(|one| **one == **own);
        self.outputs
            .retain(|one| !matches!(one, Output::Do(Effect::Submit(own)) if is_ordered(own)));
        for (number, transaction) in (first..).zip(transactions) {
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
                // The chain's own.
                None => {}
            }
        }
        self.settle();
    }

    /// Refuses what can never count, so that nothing small can fill the queue, and what waits is no more
    /// than blocks that the engine keeps as well.
    fn has_keys_length(&self, transaction: &[u8]) -> bool {
        let shape = self.setup.keygen.shape();
        let paths = 1 + usize::from(shape.threshold(pvss_dkg::SharePath::Fast).is_some());
        let party = SignedKeys::claimed_party(transaction);
        let shares = party.map_or(0, |party| shape.access().range(party).len());
        S::keys_bytes(shares, paths) == Some(transaction.len())
    }

    /// Takes a verdict.
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

    /// The next thing to do.
    pub fn poll(&mut self) -> Option<Output<S>> {
        self.outputs.pop_front()
    }

    /// What the beacon needs, once [`Effect::Ready`] was given; then never again.
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
    pub fn key(&self) -> Option<&Arc<Fixed<S>>> {
        self.complete.as_ref().map(|complete| &complete.key)
    }

    /// Where these keys' epoch may begin, if `next` is the first slot that was not ordered yet.
    #[must_use]
    pub fn boundary(&self, next: u64) -> Boundary {
        let lead = self.setup.lead;
        let known = self.complete.as_ref().and_then(|complete| complete.first_slot(lead));
        if let Some(first) = known {
            return Boundary::At(first);
        }
        let keys = self.judging.first().or(self.waiting.front());
        let dealings = self.dealings.unjudged();
        let open = dealings.into_iter().chain(keys.map(|(position, _)| *position));
        let open = open.chain(self.is_fixing().then_some(self.fixed_at)).min();
        Boundary::NotBefore(open.map_or(next, round).saturating_add(lead))
    }

    /// The dealings suffice, and the key is being made.
    fn is_fixing(&self) -> bool {
        let collecting = self.dealings.is_waiting() || self.dealings.unjudged().is_some();
        self.complete.is_none() && !collecting && self.dealings.aborted().is_none()
    }

    /// What the next committee is handed, once this party has opened its shares. The shares in it are
    /// secret; see [`Self::wipe_shares`].
    #[must_use]
    pub fn handed_over(&self) -> Option<Before<S>> {
        let complete = self.complete.as_ref().filter(|complete| complete.opened)?;
        Some(Before { key: Arc::clone(&complete.key), shares: complete.shares.clone() })
    }

    /// Forgets what would be dealt on: the next committee has its key. The secrets that evaluate are with
    /// the beacon.
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

    /// Carries out what the dealings ask for, then sends the next keys to be judged.
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
                    protocol::Effect::Ignored(Ignored::Repeated) => None,
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

    /// Sends the next keys to be judged, unless some are being judged.
    fn judge_next(&mut self) {
        if self.complete.is_none() && !self.dealings.is_waiting() {
            // The key may be fixed by a dealing before them.
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

    /// Whether a party counts by exactly this transaction.
    fn counts(&self, transaction: &[u8]) -> bool {
        let party = SignedKeys::claimed_party(transaction);
        let entered = self.complete.as_ref().map(|complete| &complete.entered);
        let known = entered.and_then(|entered| entered.get(&party?));
        known.is_some_and(|known| *known == digest(transaction))
    }

    /// Whether these keys have been ordered, and count or may count.
    fn is_ordered(&self, transaction: &[u8]) -> bool {
        let mut open = self.judging.iter().chain(&self.waiting);
        self.counts(transaction) || open.any(|(_, one)| **one == *transaction)
    }

    /// The key is fixed.
    fn complete(&mut self, key: Arc<Fixed<S>>) {
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
        // Where nobody has keys to publish, they suffice with the dealing that made the key.
        complete.count(round(self.fixed_at));
        self.complete = Some(Box::new(complete));
        if opened {
            self.forget_before();
        }
        self.announce();
    }

    /// This party has its keys: shares of the key before are of no more use, but to whom they are stolen.
    fn forget_before(&mut self) {
        if let Some(before) = &mut self.before {
            before.shares = None;
        }
    }

    fn opened(&mut self, opened: Opened<S>) {
        let Some(complete) = &mut self.complete else { return };
        complete.own = Some(opened.keys);
        complete.shares = opened.shares;
        complete.opened = true;
        // After a restart they may have been ordered in an earlier life.
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
                complete.entered.insert(keys.party, digest(&transaction));
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
    /// Whether that is enough already.
    fn or_qualified(self) -> Self {
        let enough = match self {
            Self::Collecting { got, need } => got > need,
            Self::HandingOver { got, need } => u128::try_from(got).is_ok_and(|got| got >= need),
            Self::Qualified => true,
        };
        if enough { Self::Qualified } else { self }
    }
}

/// Dealing on takes what was dealt before.
fn of_dealer<S: Keyed>(job: protocol::Job<S::Collect>, before: Option<&Before<S>>) -> Job<S> {
    match (job, before) {
        (job @ protocol::Job::Deal { .. }, Some(before)) => {
            Job::HandOver { job, before: before.clone() }
        }
        (job, _) => Job::Dealings(job),
    }
}

fn digest(transaction: &[u8]) -> [u8; 32] {
    Sha256::digest(transaction).into()
}

/// In which round something was ordered.
const fn round(position: Position) -> u64 {
    position.get() / PER_BLOCK
}

impl<S: Keyed> Complete<S> {
    fn first_slot(&self, lead: u64) -> Option<u64> {
        Some(self.sufficed?.saturating_add(lead))
    }

    /// Whether the keys suffice by now.
    fn count(&mut self, round: u64) {
        let slow = &self.committees.slow;
        if self.sufficed.is_none() && S::counted(slow) >= S::threshold(slow) {
            self.sufficed = Some(round);
        }
    }

    /// Enters a party's keys, which were admitted against the bare committees.
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

impl<S: Keyed> Job<S> {
    /// Whether the party's own dealings are made: the costliest job, and of no use once others suffice.
    #[must_use]
    pub const fn is_deal(&self) -> bool {
        let (Self::Dealings(job) | Self::HandOver { job, .. }) = self else { return false };
        matches!(job, protocol::Job::Deal { .. })
    }

    /// Does the work. Pure but for the secrets of `identity`, which dealing and opening use.
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

/// What a job about dealings gives. The same randomness each time, so that a party which lost its records
/// deals as before.
pub fn run_dealings<S: Keyed>(
    job: &protocol::Job<S::Collect>,
    setup: &Setup,
    identity: &Identity,
    before: Option<&Before<S>>,
) -> protocol::Verdict<S::Collect> {
    // Nothing else draws.
    let session = match job {
        protocol::Job::Deal { blank, .. } => blank.session(),
        _ => [0; 32],
    };
    let decryption = &mut Some(identity.decryption(setup.context.epoch));
    let held = S::held(before);
    let mut keys = Keys { signer: &identity.signer, decryption, held: &held };
    job.run(&mut keys, &mut identity.rng(b"deal", &session))
}

/// The envelopes with the party's dealings in a chain's first epoch.
///
/// # Errors
/// If it cannot deal.
pub fn deal<S: Keyed>(setup: &Setup, identity: &Identity) -> Result<Vec<Vec<u8>>, HandoverError> {
    let blank = Arc::new(S::collect(Arc::clone(&setup.keygen), None)?);
    let places = blank.owed(identity.me);
    match run_dealings::<S>(&protocol::Job::Deal { blank, places }, setup, identity, None) {
        protocol::Verdict::Dealt(dealt) => dealt,
        _ => Ok(Vec::new()),
    }
}

/// Whether a transaction may be judged in one batch with these: keys, and of a party that has none in
/// the batch. So a batch gives what judging one by one would, wherever its boundaries are.
fn may_join(batch: &[Arc<[u8]>], next: &[u8]) -> bool {
    let claimed = |transaction: &[u8]| SignedKeys::claimed_party(transaction);
    Kind::of(next) == Some(Kind::Keys) && batch.iter().all(|one| claimed(one) != claimed(next))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use ::beacon::{Bls, Function, Wvuf};
    use weighted_rounding::{Ratio, Stake};

    use super::*;
    use crate::setup::{Algorithm, Plan, found};

    fn committee() -> (Arc<Setup>, Vec<Identity>) {
        let stakes = [40, 30, 20, 10].map(Stake::new).to_vec();
        let fast = Ratio::new(9, 10).unwrap();
        let (setup, identities) =
            found(&Plan::new(stakes, Algorithm::Fast, fast).unwrap(), 1).unwrap();
        (Arc::new(setup), identities)
    }

    fn start<S: Keyed>(setup: &Arc<Setup>, me: u32) -> Keygen<S> {
        Keygen::new(Arc::clone(setup), Party::new(me), Vec::new(), None).unwrap()
    }

    /// The transaction with a party's dealing.
    fn dealing<S: Keyed>(setup: &Arc<Setup>, identity: &Identity) -> Arc<[u8]> {
        let submitted = drive(&mut start::<S>(setup, identity.me.get()), setup, identity);
        submitted[0].as_slice().into()
    }

    /// Runs every job at once; what the party submits.
    fn drive<S: Keyed>(keygen: &mut Keygen<S>, setup: &Setup, identity: &Identity) -> Vec<Vec<u8>> {
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
    fn settled<S: Keyed>(
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
                Output::Do(Effect::Dealing { .. }) | Output::Do(Effect::Late(_)) => {}
            }
        }
        (submitted, refused, ready)
    }

    #[test]
    fn what_is_ordered_twice_counts_once_and_is_nobodys_fault() {
        ordered_twice::<Bls>();
        ordered_twice::<Wvuf>();
    }

    /// Every block is ordered twice, and a party that restarts behind any of them goes on.
    fn ordered_twice<S: Keyed>() {
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

    fn lengths<S: Keyed>(publishes: bool) {
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
