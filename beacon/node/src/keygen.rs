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
//! Everybody sees the same transactions in the same order and judges them alike, so everybody ends
//! with the same key and the same first slot, without a message of its own. Transactions are judged
//! one batch at a time, as jobs; a verdict that comes back later than another party's changes when
//! this party knows, not what.
//!
//! Elsewhere: what differs between the schemes ([`crate::scheme`]), the equations (`pvss_dkg`,
//! `crypto_core`), the order (`jolteon`).

use std::collections::VecDeque;
use std::sync::Arc;

use crypto_core::access::Party;
use pvss_dkg::{Dkg, Progress, Verified};

use crate::scheme::{Admissions, AdmittedKeys, Fixed, Keyed, Opened, PerPath};
use crate::setup::{Identity, Setup};
use crate::transaction::{self, Kind, SignedKeys};

/// Work that leaves the key generation.
pub enum Job<S: Keyed> {
    /// Make this party's dealing.
    Deal,
    /// Decode and check a dealing.
    Judge {
        /// The transaction.
        transaction: Arc<[u8]>,
    },
    /// Add the dealings up.
    Sum {
        /// Those that count.
        dkg: Box<Dkg<S::Dealing>>,
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
    /// See [`Job::Deal`]: the transaction.
    Dealt(Result<Vec<u8>, String>),
    /// See [`Job::Judge`].
    Judged(Judged<S>),
    /// See [`Job::Sum`].
    Summed(Summed<S>),
    /// See [`Job::Open`].
    Opened(Result<Opened<S>, String>),
    /// See [`Job::Admit`]; in the order of the transactions.
    Admitted(Admissions<S>),
}

/// A dealing that counts, or why it does not.
pub type Judged<S> = Result<Arc<Verified<<S as Keyed>::Dealing>>, String>;
/// The key, or why there is none.
pub type Summed<S> = Result<Arc<Fixed<S>>, String>;

/// What the key generation wants done or tells.
pub enum Output<S: Keyed> {
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
    waiting: VecDeque<(u64, Arc<[u8]>)>,
    /// Rounds of the transactions that are being judged.
    judging: Vec<u64>,
    stage: Stage<S>,
    outputs: VecDeque<Output<S>>,
}

enum Stage<S: Keyed> {
    Collecting(Dkg<S::Dealing>),
    Complete(Box<Complete<S>>),
}

/// The key is fixed; who may evaluate is being found out.
struct Complete<S: Keyed> {
    key: Arc<Fixed<S>>,
    committees: PerPath<S::Committee>,
    own: Option<PerPath<S::Secret>>,
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
    /// Before the first transaction. Asks for this party's dealing at once.
    #[must_use]
    pub fn new(setup: Arc<Setup>, me: Party) -> Self {
        let dkg = Dkg::new(Arc::clone(&setup.keygen));
        let outputs = VecDeque::from([Output::Run(Job::Deal)]);
        let stage = Stage::Collecting(dkg);
        Self { setup, me, waiting: VecDeque::new(), judging: Vec::new(), stage, outputs }
    }

    /// Takes what the engine ordered in `round`. How much waits already plays no role: that depends on
    /// how fast this party judges, and what one drops and another counts would be two keys.
    pub fn ordered(&mut self, round: u64, transactions: &[Arc<[u8]>]) {
        for transaction in transactions {
            match self.check_shape(transaction) {
                Ok(()) => self.waiting.push_back((round, Arc::clone(transaction))),
                Err(why) => self.refuse(why),
            }
        }
        self.judge_next();
    }

    /// Refuses what can never count, by its first bytes and its length; so nothing small can fill the
    /// queue, and what waits is no more than blocks that the engine keeps as well.
    fn check_shape(&self, transaction: &[u8]) -> Result<(), &'static str> {
        let expected = match Kind::of(transaction) {
            Some(Kind::Dealing) => S::dealing_bytes(&self.setup.keygen).checked_add(1),
            Some(Kind::Keys) => {
                let shape = self.setup.keygen.shape();
                let paths = 1 + usize::from(shape.threshold(pvss_dkg::Path::Fast).is_some());
                let party = SignedKeys::claimed_party(transaction);
                let shares = party.map_or(0, |party| shape.access().range(party).len());
                S::keys_bytes(shares, paths)
            }
            None => return Err("not a transaction of the key generation"),
        };
        if expected == Some(transaction.len()) {
            Ok(())
        } else {
            Err("transaction of a wrong length")
        }
    }

    /// Takes a verdict.
    pub fn checked(&mut self, verdict: Verdict<S>) {
        match verdict {
            Verdict::Dealt(Ok(transaction)) => self.outputs.push_back(Output::Submit(transaction)),
            Verdict::Dealt(Err(error)) | Verdict::Opened(Err(error)) => self.refuse(error),
            Verdict::Judged(judged) => self.judged(judged),
            Verdict::Summed(Ok(key)) => self.complete(key),
            Verdict::Summed(Err(error)) => self.refuse(error),
            Verdict::Opened(Ok(opened)) => self.opened(opened),
            Verdict::Admitted(admitted) => self.admitted(admitted),
        }
        self.judge_next();
    }

    /// The next thing to do.
    pub fn poll(&mut self) -> Option<Output<S>> {
        self.outputs.pop_front()
    }

    /// What the beacon needs, once [`Output::Ready`] was given; then never again.
    pub fn take_epoch(&mut self) -> Option<Epoch<S>> {
        let Stage::Complete(complete) = &mut self.stage else { return None };
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
        match &self.stage {
            Stage::Collecting(_) => None,
            Stage::Complete(complete) => Some(&complete.key),
        }
    }

    fn refuse(&mut self, why: impl Into<String>) {
        self.outputs.push_back(Output::Refused(why.into()));
    }

    /// Sends the next transactions to be judged, unless some are being judged.
    fn judge_next(&mut self) {
        while self.judging.is_empty() {
            let Some((round, transaction)) = self.waiting.pop_front() else { return };
            let job = match (&self.stage, Kind::of(&transaction)) {
                (Stage::Collecting(_), Some(Kind::Dealing)) => Job::Judge { transaction },
                (Stage::Complete(complete), Some(Kind::Keys)) => {
                    let key = Arc::clone(&complete.key);
                    self.judging.push(round);
                    let mut transactions = vec![transaction];
                    while let Some((round, next)) =
                        self.waiting.pop_front_if(|(_, next)| may_join(&transactions, next))
                    {
                        transactions.push(next);
                        self.judging.push(round);
                    }
                    self.outputs.push_back(Output::Run(Job::Admit { transactions, key }));
                    return;
                }
                // Dealings that are ordered after the key is fixed were honest and late.
                (Stage::Complete(_), Some(Kind::Dealing)) => continue,
                (Stage::Collecting(_), Some(Kind::Keys)) => {
                    self.refuse("blinded keys before there is a secret");
                    continue;
                }
                (_, None) => continue,
            };
            self.judging.push(round);
            self.outputs.push_back(Output::Run(job));
        }
    }

    fn judged(&mut self, judged: Judged<S>) {
        let Stage::Collecting(dkg) = &mut self.stage else { return };
        match judged.and_then(|dealing| dkg.add(dealing).map_err(|error| error.to_string())) {
            Err(why) => {
                self.judging.clear();
                self.refuse(why);
            }
            Ok(progress) => {
                let dealings = dkg.dealings().len();
                if progress == Progress::Qualified {
                    // What is ordered from here on is judged under the key, so it has to wait.
                    let dkg = Box::new(dkg.clone());
                    self.outputs.push_back(Output::Run(Job::Sum { dkg }));
                } else {
                    self.judging.clear();
                }
                self.outputs.push_back(Output::Dealing { dealings, progress });
            }
        }
    }

    /// The key is fixed.
    fn complete(&mut self, key: Arc<Fixed<S>>) {
        let rounds = std::mem::take(&mut self.judging);
        let opened = self.setup.keygen.shape().access().weight(self.me) == 0;
        if !opened {
            self.outputs.push_back(Output::Run(Job::Open { key: Arc::clone(&key) }));
        }
        let committees = key.committees.clone();
        let mut complete =
            Complete { key, committees, own: None, opened, sufficed: None, announced: false };
        // Where nobody has keys to publish, they suffice with the dealing that made the key.
        rounds.into_iter().for_each(|round| complete.count(round));
        self.stage = Stage::Complete(Box::new(complete));
        self.announce();
    }

    fn opened(&mut self, opened: Opened<S>) {
        let Stage::Complete(complete) = &mut self.stage else { return };
        complete.own = Some(opened.keys);
        complete.opened = true;
        self.outputs.extend(opened.transaction.map(Output::Submit));
        self.announce();
    }

    fn admitted(&mut self, admitted: Admissions<S>) {
        let rounds = std::mem::take(&mut self.judging);
        for (round, result) in rounds.into_iter().zip(admitted) {
            let Stage::Complete(complete) = &mut self.stage else { return };
            match result.and_then(|keys| complete.enter(round, &keys).map(|()| keys)) {
                Err(why) => self.refuse(why),
                Ok(keys) if complete.announced => self.outputs.push_back(Output::Late(keys)),
                Ok(_) => {}
            }
        }
        self.announce();
    }

    fn announce(&mut self) {
        let Stage::Complete(complete) = &mut self.stage else { return };
        let Some(first_slot) = complete.first_slot(self.setup.lead) else { return };
        if complete.opened && !complete.announced {
            complete.announced = true;
            self.outputs.push_back(Output::Ready { first_slot });
        }
    }
}

impl<S: Keyed> Complete<S> {
    fn first_slot(&self, lead: u64) -> Option<u64> {
        Some(self.sufficed?.saturating_add(lead))
    }

    /// Whether the keys suffice by now.
    fn count(&mut self, round: u64) {
        let slow = &self.committees.slow;
        let got: u32 = S::access(slow).parties().map(|party| S::weight(slow, party)).sum();
        if self.sufficed.is_none() && got >= S::threshold(slow).t().get() {
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
    /// Does the work. Pure but for the secrets of `identity`, which dealing and opening use.
    #[must_use]
    pub fn run(&self, setup: &Setup, identity: &Identity) -> Verdict<S> {
        match self {
            Self::Deal => Verdict::Dealt(
                S::deal(setup, identity).map(|dealing| transaction::dealing(&dealing)),
            ),
            Self::Judge { transaction } => {
                let body = transaction::body(transaction, Kind::Dealing);
                Verdict::Judged(body.and_then(|body| S::judge(&setup.keygen, body)).map(Arc::new))
            }
            Self::Sum { dkg } => Verdict::Summed(S::fix(dkg).map(Arc::new)),
            Self::Open { key } => Verdict::Opened(S::open(setup, identity, key)),
            Self::Admit { transactions, key } => {
                Verdict::Admitted(S::admit_all(setup, transactions, key))
            }
        }
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
    use ::beacon::{Bls, Wvuf};
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

    fn dealing<S: Keyed>(setup: &Setup, identity: &Identity) -> Arc<[u8]> {
        transaction::dealing(&S::deal(setup, identity).unwrap()).into()
    }

    /// Runs every job at once; what the party submits.
    fn drive<S: Keyed>(keygen: &mut Keygen<S>, setup: &Setup, identity: &Identity) -> Vec<Vec<u8>> {
        let mut submitted = Vec::new();
        while let Some(output) = keygen.poll() {
            match output {
                Output::Run(Job::Deal) => {}
                Output::Run(job) => keygen.checked(job.run(setup, identity)),
                Output::Submit(transaction) => submitted.push(transaction),
                _ => {}
            }
        }
        submitted
    }

    #[test]
    fn a_flood_makes_no_two_keys() {
        flood::<Bls>();
        flood::<Wvuf>();
    }

    fn flood<S: Keyed>() {
        let (setup, identities) = committee();
        let mut junk = vec![0; 1 + S::dealing_bytes(&setup.keygen)];
        junk[1] = 0xff;
        let junk: Arc<[u8]> = junk.into();
        let mut ordered = vec![dealing::<S>(&setup, &identities[3])];
        ordered.extend(std::iter::repeat_n(junk, 5000));
        ordered.extend(std::iter::repeat_n(Arc::from([0_u8].as_slice()), 5000));
        ordered.extend([2, 0].map(|dealer: usize| dealing::<S>(&setup, &identities[dealer])));
        // One party is fast and gets every verdict before the next transaction, one has not judged
        // the first when the last arrives.
        let mut fast = Keygen::<S>::new(Arc::clone(&setup), Party::new(0));
        for transaction in &ordered {
            fast.ordered(1, std::slice::from_ref(transaction));
            drive(&mut fast, &setup, &identities[0]);
        }
        let mut late = Keygen::<S>::new(Arc::clone(&setup), Party::new(1));
        late.ordered(1, &ordered);
        drive(&mut late, &setup, &identities[1]);
        let key = |keygen: &Keygen<S>| keygen.key().map(|key| S::digest(&key.sum));
        assert!(key(&fast).is_some());
        assert!(key(&fast) == key(&late), "two keys");
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
            let mut keygen = Keygen::<S>::new(Arc::clone(&setup), identity.me);
            keygen.ordered(1, &dealings);
            let submitted = drive(&mut keygen, &setup, identity);
            let holds = publishes && setup.keygen.shape().access().weight(identity.me) > 0;
            assert_eq!(submitted.len(), usize::from(holds));
            for transaction in submitted {
                assert_eq!(keygen.check_shape(&transaction), Ok(()));
                assert!(keygen.check_shape(&transaction[1..]).is_err());
                assert!(keygen.check_shape(&[transaction, vec![0]].concat()).is_err());
            }
        }
    }
}
