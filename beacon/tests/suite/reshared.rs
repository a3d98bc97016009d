//! A key that one committee dealt and handed over to the next, by the real key generation: other people,
//! other weights, other thresholds, the same group key.
use std::sync::{Arc, OnceLock};

use prefinal_beacon::{Binding, Bls, Config, Finality, Life, Limits, Paths, Quorum, Sharing};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::{MinSig, min_sig};
use prefinal_crypto_core::context::{Context, EpochId};
use prefinal_crypto_core::threshold::{Signer, SigningCommittee};
use prefinal_pvss_dkg::field::{self, Handover, Key, Predecessor};
use prefinal_pvss_dkg::{
    Dealer, DecryptionKey, Dkg, Member, Paths as PerPath, Purpose, Session, Shape,
};
use prefinal_weighted_rounding::{Stake, Weight};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::fixture::{CONTEXT, RETRY, slot};

/// Somebody, whatever their number in a committee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Person(pub(crate) u64);

/// People and weights, and the thresholds of both paths.
pub(crate) struct Plan {
    pub(crate) people: &'static [(u64, u32)],
    slow: u32,
    fast: u32,
}

impl Plan {
    /// The engine counts what partials count.
    fn finality(&self) -> Finality {
        let stakes = self.people.iter().map(|(_, weight)| Stake::new((*weight).into()));
        Finality::exact(&stakes.collect::<Vec<_>>(), Quorum::BYZANTINE).unwrap()
    }
}

/// The first of them leaves; the last two join.
pub(crate) const PLANS: [Plan; 3] = [
    Plan { people: &[(0, 2), (1, 1), (2, 1), (3, 1)], slow: 3, fast: 4 },
    Plan { people: &[(4, 1), (3, 2), (2, 0), (1, 1), (5, 2)], slow: 3, fast: 5 },
    Plan { people: &[(5, 1), (1, 1), (3, 1), (4, 1)], slow: 2, fast: 3 },
];
/// Where the epochs after the first begin.
pub(crate) const BOUNDARIES: [u64; 2] = [4, 7];

/// An epoch's key with all its secrets.
pub(crate) struct Term {
    config: Arc<prefinal_pvss_dkg::Config>,
    key: Key,
    signers: Vec<min_sig::SecretKey>,
    number: u64,
}

fn shape(plan: &Plan) -> Shape {
    let weights: Vec<Weight> = plan.people.iter().map(|(_, weight)| Weight::new(*weight)).collect();
    let (slow, fast) = (Weight::new(plan.slow), Some(Weight::new(plan.fast)));
    Shape::new(&weights, PerPath { slow, fast }).unwrap()
}

fn session(epoch: u64) -> Session {
    Session { context: context(epoch), attempt: 0, purpose: Purpose::Randomness }
}

pub(crate) fn context(epoch: u64) -> Context {
    Context { epoch: EpochId::new(epoch), ..CONTEXT }
}

/// A party's key in an epoch, as often as a test wants to open its shares again.
fn key(epoch: u64, party: Party) -> DecryptionKey {
    DecryptionKey::random(&mut ChaCha20Rng::seed_from_u64(1000 * epoch + u64::from(party.get())))
}

fn recruit(
    count: usize,
    epoch: u64,
    rng: &mut ChaCha20Rng,
) -> (Vec<min_sig::SecretKey>, Vec<Member>) {
    let (mut signers, mut members) = (Vec::new(), Vec::new());
    for (_, party) in (0..count).zip((0..).map(Party::new)) {
        let (signer, key) = (min_sig::SecretKey::random(rng), key(epoch, party));
        let public = signer.public_key();
        members.push(Member {
            stake: Stake::new(1),
            encryption: key.register(&signer, rng).verify(&public).unwrap(),
            signer: public.verify_possession(&signer.prove_possession()).unwrap(),
        });
        signers.push(signer);
    }
    (signers, members)
}

impl Term {
    fn first(plan: &Plan, rng: &mut ChaCha20Rng) -> Self {
        let (signers, members) = recruit(plan.people.len(), 0, rng);
        let config =
            prefinal_pvss_dkg::Config::new(session(0), shape(plan), members, Stake::new(1));
        let config = Arc::new(config.unwrap());
        let mut dkg = Dkg::new(config.clone());
        for dealer in 0..2_u32 {
            let party = Party::new(dealer);
            let dealing = field::deal(&config, party, &signers[party.index()], rng).unwrap();
            dkg.add(Arc::new(field::verify(&config, dealing).unwrap())).unwrap();
        }
        let key = dkg.key().unwrap();
        Self { config, key, signers, number: 0 }
    }

    fn hand_over(&self, plan: &Plan, epoch: u64, rng: &mut ChaCha20Rng) -> Self {
        let (signers, members) = recruit(plan.people.len(), epoch, rng);
        let dealer = |member: &Member| Dealer { stake: member.stake, signer: member.signer };
        let dealers = self.config.members().iter().map(dealer).collect();
        let config = prefinal_pvss_dkg::Config::handover(
            session(epoch),
            shape(plan),
            members,
            dealers,
            Stake::new(1),
        );
        let config = Arc::new(config.unwrap());
        let before = Predecessor::new(&self.config, &self.key);
        let mut handover = Handover::new(config.clone(), before).unwrap();
        for party in self.config.shape().access().parties() {
            let shares = self.open(party);
            let holder = handover.holder(party, &self.signers[party.index()], &shares).unwrap();
            let dealt = holder.indices().take(handover.remaining().0);
            let dealt: Vec<_> = dealt.map(|share| holder.deal(share, rng).unwrap()).collect();
            for dealing in dealt {
                handover.add(Arc::new(handover.verify(dealing).unwrap())).unwrap();
            }
        }
        let key = handover.key().unwrap();
        Self { config, key, signers, number: epoch }
    }

    fn open(&self, party: Party) -> field::Shares {
        self.key.decrypt(&self.config, party, key(self.number, party)).unwrap().shares
    }

    pub(crate) fn committees(&self) -> PerPath<SigningCommittee<MinSig>> {
        self.key.signing(&self.config, Bls::purpose(Binding::Slot)).unwrap()
    }

    pub(crate) fn signer(&self, party: Party) -> Option<PerPath<Signer<MinSig>>> {
        self.open(party).signing(party, &self.committees()).ok()
    }
}

/// Three epochs of one key; made once.
pub(crate) fn terms() -> &'static [Term] {
    static TERMS: OnceLock<Vec<Term>> = OnceLock::new();
    TERMS.get_or_init(|| {
        let mut rng = ChaCha20Rng::seed_from_u64(900);
        let mut terms = vec![Term::first(&PLANS[0], &mut rng)];
        for epoch in 1..PLANS.len() {
            let next =
                terms[epoch - 1].hand_over(&PLANS[epoch], u64::try_from(epoch).unwrap(), &mut rng);
            terms.push(next);
        }
        terms
    })
}

pub(crate) fn epoch(number: usize) -> EpochId {
    EpochId::new(u64::try_from(number).unwrap())
}

pub(crate) fn party(number: usize, person: Person) -> Option<Party> {
    let at = PLANS[number].people.iter().position(|(name, _)| *name == person.0)?;
    Some(Party::new(u32::try_from(at).unwrap()))
}

pub(crate) fn person(number: usize, party: Party) -> Person {
    Person(PLANS[number].people[party.index()].0)
}

/// `None` if the person is not of the epoch.
pub(crate) fn config(number: usize, person: Person) -> Option<Config<Bls>> {
    let me = party(number, person)?;
    let (term, mut secrets) = (&terms()[number], None);
    let PerPath { slow, fast } = term.committees();
    if PLANS[number].people[me.index()].1 > 0 {
        secrets = term.signer(me);
    }
    let (slow_key, fast_key) = secrets.map_or((None, None), |keys| (Some(keys.slow), keys.fast));
    Some(Config {
        context: context(u64::try_from(number).unwrap()),
        me,
        paths: Paths::FastAndSlow {
            slow: Sharing { committee: slow, secret: slow_key },
            fast: Sharing { committee: fast.unwrap(), secret: fast_key },
            fast_from: slot(0),
        },
        binding: Binding::Slot,
        fast_attempt: Some(0),
        finality: PLANS[number].finality(),
        first: slot(number.checked_sub(1).map_or(1, |before| BOUNDARIES[before])),
        life: Life::First,
        limits: Limits { window: 16, history: 8, retry: RETRY, ..Limits::default() },
    })
}
