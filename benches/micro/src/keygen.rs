//! A key generation as one party goes through it, with everybody else's dealings at hand.
use std::collections::{BTreeMap, VecDeque};
use std::hint::black_box;
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::wvuf::{self, BlindedKey, blind};
use prefinal_protocol::{Instant, Machine};
use prefinal_pvss_dkg::protocol::{
    Collect, Effect, Input, Keygen, Keys, Output, Position, Ready, Role,
};
use prefinal_pvss_dkg::{Dealing, Dkg, SharePath};

use crate::fixture::{Dealers, rng};

/// Whose processor time is measured.
pub const ME: Party = Party::new(0);

/// A committee, and what its first dealers have submitted.
pub struct Rehearsal<C: Collect<DealerInput = ()>> {
    /// With all their secrets.
    pub dealers: Dealers,
    blank: C,
    ordered: Vec<Arc<[u8]>>,
}

/// What came of it.
struct Run<C: Collect> {
    submitted: Option<Arc<[u8]>>,
    ready: Option<Box<Ready<C>>>,
}

impl<C: Collect<DealerInput = ()>> Rehearsal<C> {
    /// A committee of `count` parties, each of which deals.
    #[must_use]
    pub fn new(blank: C, dealers: Dealers, count: u32) -> Self {
        let mut rehearsal = Self { dealers, blank, ordered: Vec::new() };
        let submitted =
            (0..count).map(|dealer| rehearsal.run(Party::new(dealer), &[]).submitted.unwrap());
        rehearsal.ordered = submitted.collect();
        rehearsal
    }

    /// From the start until the key is ready.
    #[must_use]
    pub fn key(&self) -> Ready<C> {
        *self.run(ME, &self.ordered).ready.unwrap()
    }

    /// What the party submits; and its key, if these messages make one, which are all ordered before
    /// it judges any.
    fn run(&self, party: Party, ordered: &[Arc<[u8]>]) -> Run<C> {
        let decryption = &mut Some(Dealers::key(party));
        let signer = &self.dealers.signers[party.index()];
        let mut keys = Keys { signer, decryption, held: &() };
        let role = Role { dealer: Some(party), recipient: Some(party) };
        let mut keygen = Keygen::new(self.blank.clone(), role, Vec::new()).unwrap();
        let mut rng = Dealers::rng(party);
        keygen.handle(Instant::START, Input::Start);
        for (message, number) in ordered.iter().zip(1..) {
            let (position, message) = (Position::new(number), Arc::clone(message));
            keygen.handle(Instant::START, Input::Ordered { position, message });
        }
        let (mut jobs, mut run) = (VecDeque::new(), Run { submitted: None, ready: None });
        loop {
            while let Some(output) = keygen.poll() {
                match output {
                    Output::Do(Effect::Run(job)) => jobs.push_back(job),
                    Output::Do(Effect::Submit(message)) => run.submitted = Some(message),
                    Output::Do(Effect::Ready(key)) => run.ready = Some(key),
                    Output::Keep(_) | Output::Note(_) | Output::Do(Effect::Counted { .. }) => {}
                    _ => panic!("everybody is honest"),
                }
            }
            let Some(job) = jobs.pop_front() else { return run };
            keygen.handle(Instant::START, Input::Checked(job.run(&mut keys, &mut rng)));
        }
    }
}

/// Blinded keys of all parties on each path.
pub type Blinded = BTreeMap<SharePath, BTreeMap<Party, BlindedKey>>;

impl Rehearsal<Dkg<Dealing>> {
    /// What everybody publishes once the key is ready.
    #[must_use]
    pub fn blinded(&self) -> Blinded {
        let (ready, mut all) = (self.key(), Blinded::new());
        let config = &self.dealers.config;
        let access = ready.key.shape().access();
        let committees = ready.key.evaluation().unwrap();
        for party in access.parties().filter(|party| access.weight(*party) > 0) {
            let shares = ready.sum.decrypt(config, party, Dealers::key(party)).unwrap();
            let slow = (SharePath::Slow, Some(&committees.slow), Some(shares.slow));
            let fast = (SharePath::Fast, committees.fast.as_ref(), shares.fast);
            for (path, committee, shares) in [slow, fast] {
                let (Some(committee), Some(shares)) = (committee, shares) else { continue };
                let key = blind(committee, party, &shares, &mut rng()).1;
                all.entry(path).or_default().insert(party, key);
            }
        }
        all
    }

    /// The key, this party's blinded shares, and committees that have admitted everybody's.
    #[must_use]
    pub fn committees(&self, blinded: &Blinded) -> Vec<wvuf::VufCommittee> {
        let ready = self.key();
        let shares = ready.shares.unwrap().unwrap();
        let paths = ready.key.evaluation().unwrap();
        for own in [Some(shares.slow), shares.fast].iter().flatten() {
            black_box(blind(&paths.slow, Party::new(0), own, &mut rng()));
        }
        let committees = [(SharePath::Slow, Some(paths.slow)), (SharePath::Fast, paths.fast)];
        let committees = committees.into_iter().filter_map(|(path, it)| Some((path, it?)));
        committees
            .map(|(path, mut committee)| {
                let admission = committee.admit_all(blinded[&path].clone());
                assert_eq!(admission.admitted.len(), blinded[&path].len());
                for key in admission.admitted {
                    committee.insert(key).unwrap();
                }
                committee
            })
            .collect()
    }
}
