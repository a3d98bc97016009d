//! From the engine's ordered transactions to the epoch's keys.
//!
//! | stage      | what is awaited                                     | ends with                            |
//! |------------|-----------------------------------------------------|--------------------------------------|
//! | collecting | dealings, in finalized order                         | dealers of more than a third of stake |
//! | opening    | this party's own shares, decrypted and blinded       | its signed blinded keys, submitted    |
//! | admitting  | blinded keys, in finalized order                     | weight of the slow threshold          |
//! | running    | blinded keys of those who are late                   | the epoch                             |
//!
//! Everybody sees the same transactions in the same order and judges them alike, so everybody ends
//! with the same key and the same first slot, without a message of its own. Transactions are judged
//! one batch at a time, as jobs; a verdict that comes back later than another party's changes when
//! this party knows, not what.
//!
//! Elsewhere: the equations (`pvss_dkg`, `crypto_core::wvuf`), the order (`jolteon`).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crypto_core::access::Party;
use crypto_core::wvuf::{self, AdmittedKey, BlindedKey, Committee, EvaluationKey};
use pvss_dkg::{Aggregate, Dealing, Dkg, Path, Progress, Verified};

use crate::setup::{Identity, Setup};
use crate::transaction::{self, Kind, SignedKeys};

/// Work that leaves the key generation.
#[derive(Clone)]
pub enum Job {
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
        dkg: Box<Dkg>,
    },
    /// Decrypt this party's shares and blind them.
    Open {
        /// The sum of the dealings that count.
        aggregate: Arc<Verified<Aggregate>>,
    },
    /// Decode and check blinded keys.
    Admit {
        /// The transactions.
        transactions: Vec<Arc<[u8]>>,
        /// One committee per path, for its public shares.
        committees: Arc<PerPath<Committee>>,
    },
}

/// What comes back.
pub enum Verdict {
    /// See [`Job::Deal`].
    Dealt(Result<Vec<u8>, String>),
    /// See [`Job::Judge`].
    Judged(Result<Arc<Verified<Dealing>>, String>),
    /// See [`Job::Sum`].
    Summed(Result<Arc<Verified<Aggregate>>, String>),
    /// See [`Job::Open`].
    Opened(Result<Opened, String>),
    /// See [`Job::Admit`]; in the order of the transactions.
    Admitted(Vec<Result<Arc<AdmittedKeys>, String>>),
}

/// One thing for the slow path, and one for the fast path if there is one.
#[derive(Clone, Debug)]
pub struct PerPath<T> {
    /// The slow path's, or the only one.
    pub slow: T,
    /// The fast path's.
    pub fast: Option<T>,
}

/// This party's keys: the secret halves, and the transaction that publishes the others.
pub struct Opened {
    /// They evaluate.
    pub keys: PerPath<EvaluationKey>,
    /// [`transaction::keys`]
    pub transaction: Vec<u8>,
}

/// A party's admitted keys.
#[derive(Clone, Debug)]
pub struct AdmittedKeys {
    /// Whose.
    pub party: Party,
    /// One per path.
    pub keys: PerPath<AdmittedKey>,
}

/// What the key generation wants done or tells.
pub enum Output {
    /// Run this and bring the verdict back.
    Run(Job),
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
    Late(Arc<AdmittedKeys>),
}

/// The key generation of one epoch, as one party follows it.
pub struct Keygen {
    setup: Arc<Setup>,
    me: Party,
    waiting: VecDeque<(u64, Arc<[u8]>)>,
    /// Rounds of the transactions that are being judged.
    judging: Vec<u64>,
    stage: Stage,
    outputs: VecDeque<Output>,
}

enum Stage {
    Collecting(Dkg),
    Complete(Box<Complete>),
}

/// The key is fixed; who may evaluate is being found out.
struct Complete {
    aggregate: Arc<Verified<Aggregate>>,
    committees: PerPath<Committee>,
    /// As they were when the key was fixed: what keys are admitted against.
    bare: Arc<PerPath<Committee>>,
    own: Option<PerPath<EvaluationKey>>,
    opened: bool,
    /// The round that made the keys suffice.
    sufficed: Option<u64>,
    announced: bool,
}

/// What the beacon needs.
pub struct Epoch {
    /// Who may evaluate, per path.
    pub committees: PerPath<Committee>,
    /// This party's secret halves; `None` if it holds no share.
    pub own: Option<PerPath<EvaluationKey>>,
    /// The first slot with a value.
    pub first_slot: u64,
}

impl Keygen {
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
            Some(Kind::Dealing) => self.setup.keygen.dealing_bytes().checked_add(1),
            Some(Kind::Keys) => {
                let shape = self.setup.keygen.shape();
                let paths = 1 + usize::from(shape.threshold(Path::Fast).is_some());
                let party = SignedKeys::claimed_party(transaction);
                let weight = party.map_or(0, |party| shape.access().range(party).len());
                transaction::keys_bytes(weight, paths)
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
    pub fn checked(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Dealt(Ok(transaction)) => self.outputs.push_back(Output::Submit(transaction)),
            Verdict::Dealt(Err(error)) | Verdict::Opened(Err(error)) => self.refuse(error),
            Verdict::Judged(judged) => self.judged(judged),
            Verdict::Summed(Ok(aggregate)) => self.complete(aggregate),
            Verdict::Summed(Err(error)) => self.refuse(error),
            Verdict::Opened(Ok(opened)) => self.opened(opened),
            Verdict::Admitted(admitted) => self.admitted(admitted),
        }
        self.judge_next();
    }

    /// The next thing to do.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// What the beacon needs, once [`Output::Ready`] was given; then never again.
    pub fn take_epoch(&mut self) -> Option<Epoch> {
        let Stage::Complete(complete) = &mut self.stage else { return None };
        let first_slot = complete.first_slot(self.setup.lead)?;
        complete.announced.then_some(())?;
        Some(Epoch {
            committees: complete.committees.clone(),
            own: complete.own.take(),
            first_slot,
        })
    }

    /// The sum of the dealings that count, once it is fixed.
    #[must_use]
    pub fn aggregate(&self) -> Option<&Arc<Verified<Aggregate>>> {
        match &self.stage {
            Stage::Collecting(_) => None,
            Stage::Complete(complete) => Some(&complete.aggregate),
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
                    let committees = Arc::clone(&complete.bare);
                    self.judging.push(round);
                    let mut transactions = vec![transaction];
                    while let Some((round, next)) =
                        self.waiting.pop_front_if(|(_, next)| may_join(&transactions, next))
                    {
                        transactions.push(next);
                        self.judging.push(round);
                    }
                    self.outputs.push_back(Output::Run(Job::Admit { transactions, committees }));
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

    fn judged(&mut self, judged: Result<Arc<Verified<Dealing>>, String>) {
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
    fn complete(&mut self, aggregate: Arc<Verified<Aggregate>>) {
        self.judging.clear();
        let shape = self.setup.keygen.shape();
        let committee = |path| {
            let threshold = shape.threshold(path)?;
            let public = aggregate.public_shares(path)?.to_vec();
            Committee::new(shape.access().clone(), threshold, public).ok()
        };
        let Some(slow) = committee(Path::Slow) else {
            // A verified aggregate has as many public shares as the shape has indices.
            return self.refuse("the aggregate does not fit the committee");
        };
        let committees = PerPath { slow, fast: committee(Path::Fast) };
        let opened = shape.access().weight(self.me) == 0;
        if !opened {
            let aggregate = Arc::clone(&aggregate);
            self.outputs.push_back(Output::Run(Job::Open { aggregate }));
        }
        let bare = Arc::new(committees.clone());
        self.stage = Stage::Complete(Box::new(Complete {
            aggregate,
            committees,
            bare,
            own: None,
            opened,
            sufficed: None,
            announced: false,
        }));
    }

    fn opened(&mut self, opened: Opened) {
        let Stage::Complete(complete) = &mut self.stage else { return };
        complete.own = Some(opened.keys);
        complete.opened = true;
        self.outputs.push_back(Output::Submit(opened.transaction));
        self.announce();
    }

    fn admitted(&mut self, admitted: Vec<Result<Arc<AdmittedKeys>, String>>) {
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

impl Complete {
    fn first_slot(&self, lead: u64) -> Option<u64> {
        Some(self.sufficed?.saturating_add(lead))
    }

    /// Enters a party's keys, which were admitted against the bare committees.
    fn enter(&mut self, round: u64, keys: &AdmittedKeys) -> Result<(), String> {
        let committees = &mut self.committees;
        committees.slow.insert(keys.keys.slow.clone()).map_err(|error| error.to_string())?;
        if let (Some(committee), Some(key)) = (&mut committees.fast, &keys.keys.fast) {
            committee.insert(key.clone()).map_err(|error| error.to_string())?;
        }
        let needed = committees.slow.threshold().t();
        if self.sufficed.is_none() && committees.slow.admitted_weight() >= needed.get() {
            self.sufficed = Some(round);
        }
        Ok(())
    }
}

impl Job {
    /// Does the work. Pure but for the secrets of `identity`, which dealing and opening use.
    #[must_use]
    pub fn run(&self, setup: &Setup, identity: &Identity) -> Verdict {
        match self {
            Self::Deal => Verdict::Dealt(deal(setup, identity)),
            Self::Judge { transaction } => Verdict::Judged(judge(setup, transaction).map(Arc::new)),
            Self::Sum { dkg } => {
                let sum = dkg.aggregate().map(Arc::new);
                Verdict::Summed(sum.map_err(|error| error.to_string()))
            }
            Self::Open { aggregate } => Verdict::Opened(open(setup, identity, aggregate)),
            Self::Admit { transactions, committees } => {
                Verdict::Admitted(admit(setup, transactions, committees))
            }
        }
    }
}

fn deal(setup: &Setup, identity: &Identity) -> Result<Vec<u8>, String> {
    let mut rng = identity.rng(b"deal", setup.keygen.digest());
    let dealing = pvss_dkg::deal(&setup.keygen, identity.me, &identity.signer, &mut rng)
        .map_err(|error| error.to_string())?;
    Ok(transaction::dealing(&dealing))
}

fn judge(setup: &Setup, transaction: &[u8]) -> Result<Verified<Dealing>, String> {
    let body = body(transaction, Kind::Dealing)?;
    let dealing =
        Dealing::from_bytes(&setup.keygen, body).map_err(|error| format!("dealing: {error}"))?;
    let dealer = dealing.dealer();
    pvss_dkg::verify(&setup.keygen, dealing)
        .map_err(|error| format!("dealing of {dealer}: {error}"))
}

fn body(transaction: &[u8], expected: Kind) -> Result<&[u8], String> {
    match Kind::split(transaction) {
        Some((kind, body)) if kind == expected => Ok(body),
        other => Err(format!("{:?} where {expected:?} were expected", other.map(|(kind, _)| kind))),
    }
}

fn open(
    setup: &Setup,
    identity: &Identity,
    aggregate: &Verified<Aggregate>,
) -> Result<Opened, String> {
    let shares = aggregate
        .decrypt(&setup.keygen, identity.me, &identity.decryption)
        .map_err(|error| error.to_string())?;
    // Another aggregate, another factor: a partial counts for all shares ever blinded with its factor.
    let mut rng = identity.rng(b"blind", &aggregate.digest());
    // Two calls, two factors: with one factor a fast partial would be a slow partial.
    let (slow, slow_public) = wvuf::blind(&shares.slow, &mut rng);
    let fast = shares.fast.as_ref().map(|shares| wvuf::blind(shares, &mut rng));
    let (fast, fast_public) = fast.unzip();
    let signed = SignedKeys::new(setup, identity, slow_public, fast_public);
    Ok(Opened { keys: PerPath { slow, fast }, transaction: transaction::keys(&signed) })
}

/// Whether a transaction may be judged in one batch with these: keys, and of a party that has none in
/// the batch. So a batch gives what judging one by one would, wherever its boundaries are.
fn may_join(batch: &[Arc<[u8]>], next: &[u8]) -> bool {
    let claimed = |transaction: &[u8]| SignedKeys::claimed_party(transaction);
    Kind::of(next) == Some(Kind::Keys) && batch.iter().all(|one| claimed(one) != claimed(next))
}

/// Signatures and shapes one by one, the equations of all in one batch per path.
fn admit(
    setup: &Setup,
    transactions: &[Arc<[u8]>],
    committees: &PerPath<Committee>,
) -> Vec<Result<Arc<AdmittedKeys>, String>> {
    let decoded: Vec<Result<SignedKeys, String>> = transactions
        .iter()
        .map(|transaction| decode_keys(setup, transaction, committees.fast.is_some()))
        .collect();
    let batch = |key: &dyn Fn(&SignedKeys) -> Option<BlindedKey>| -> BTreeMap<Party, BlindedKey> {
        decoded.iter().flatten().filter_map(|keys| Some((keys.party, key(keys)?))).collect()
    };
    let slow = committees.slow.admit_all(batch(&|keys| Some(keys.slow.clone())));
    let fast =
        committees.fast.as_ref().map(|fast| fast.admit_all(batch(&|keys| keys.fast.clone())));
    decoded
        .into_iter()
        .map(|keys| {
            let party = keys?.party;
            let slow = outcome(&slow, party)?;
            let fast = fast.as_ref().map(|fast| outcome(fast, party)).transpose()?;
            Ok(Arc::new(AdmittedKeys { party, keys: PerPath { slow, fast } }))
        })
        .collect()
}

fn decode_keys(setup: &Setup, transaction: &[u8], both: bool) -> Result<SignedKeys, String> {
    let body = body(transaction, Kind::Keys)?;
    let keys: SignedKeys =
        borsh::from_slice(body).map_err(|error| format!("undecodable keys: {error}"))?;
    keys.verify(setup).map_err(|error| error.to_string())?;
    if keys.fast.is_some() != both {
        return Err(format!("{} publishes keys for the wrong paths", keys.party));
    }
    Ok(keys)
}

fn outcome(admission: &wvuf::Admission, party: Party) -> Result<AdmittedKey, String> {
    let admitted = admission.admitted.iter().find(|key| key.party() == party);
    admitted.cloned().ok_or_else(|| match admission.refused.get(&party) {
        Some(error) => format!("keys of {party}: {error}"),
        None => format!("keys of {party} were not judged"),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
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

    fn dealing(setup: &Setup, identity: &Identity) -> Arc<[u8]> {
        deal(setup, identity).unwrap().into()
    }

    /// Runs every job at once; what the party submits.
    fn drive(keygen: &mut Keygen, setup: &Setup, identity: &Identity) -> Vec<Vec<u8>> {
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
        let (setup, identities) = committee();
        let mut junk = vec![0; 1 + setup.keygen.dealing_bytes()];
        junk[1] = 0xff;
        let junk: Arc<[u8]> = junk.into();
        let mut ordered = vec![dealing(&setup, &identities[3])];
        ordered.extend(std::iter::repeat_n(junk, 5000));
        ordered.extend(std::iter::repeat_n(Arc::from([0_u8].as_slice()), 5000));
        ordered.extend([2, 0].map(|dealer: usize| dealing(&setup, &identities[dealer])));
        // One party is fast and gets every verdict before the next transaction, one has not judged
        // the first when the last arrives.
        let mut fast = Keygen::new(Arc::clone(&setup), Party::new(0));
        for transaction in &ordered {
            fast.ordered(1, std::slice::from_ref(transaction));
            drive(&mut fast, &setup, &identities[0]);
        }
        let mut late = Keygen::new(Arc::clone(&setup), Party::new(1));
        late.ordered(1, &ordered);
        drive(&mut late, &setup, &identities[1]);
        let key = |keygen: &Keygen| keygen.aggregate().map(|it| it.to_bytes());
        assert!(key(&fast).is_some());
        assert!(key(&fast) == key(&late), "two keys");
    }

    #[test]
    fn honest_transactions_have_the_right_length() {
        let (setup, identities) = committee();
        let dealings: Vec<_> = identities.iter().map(|one| dealing(&setup, one)).collect();
        for identity in &identities {
            let mut keygen = Keygen::new(Arc::clone(&setup), identity.me);
            keygen.ordered(1, &dealings);
            let submitted = drive(&mut keygen, &setup, identity);
            let holds = setup.keygen.shape().access().weight(identity.me) > 0;
            assert_eq!(submitted.len(), usize::from(holds));
            for transaction in submitted {
                assert_eq!(keygen.check_shape(&transaction), Ok(()));
                assert!(keygen.check_shape(&transaction[1..]).is_err());
                assert!(keygen.check_shape(&[transaction, vec![0]].concat()).is_err());
            }
        }
    }
}
