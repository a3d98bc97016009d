//! An epoch with all its secrets, fresh or handed over.
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::{Domain, MinSig, min_sig};
use prefinal_crypto_core::context::{ChainId, Context, EpochId};
use prefinal_crypto_core::threshold::{Message, Purpose, Signer, SigningCommittee};
use prefinal_pvss_dkg::field::{self, Handover, Key, Predecessor};
use prefinal_pvss_dkg::{
    Config, Dealer, DecryptionKey, Dkg, Member, Paths, Session, Shape, SharePath,
};
use prefinal_weighted_rounding::{Stake, Weight};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

pub(crate) const DOMAIN: Domain = Domain::new("field test");

/// Weights and thresholds.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) weights: Vec<u32>,
    pub(crate) slow: u32,
    pub(crate) fast: Option<u32>,
}

pub(crate) struct Epoch {
    pub(crate) config: Arc<Config>,
    pub(crate) key: Key,
    pub(crate) signers: Vec<min_sig::SecretKey>,
    /// Of which decryption keys are drawn.
    seed: u64,
    pub(crate) rng: ChaCha20Rng,
}

fn shape(plan: &Plan) -> Shape {
    let weights: Vec<Weight> = plan.weights.iter().copied().map(Weight::new).collect();
    let (slow, fast) = (Weight::new(plan.slow), plan.fast.map(Weight::new));
    Shape::new(&weights, Paths { slow, fast }).unwrap()
}

fn session(epoch: u64, purpose: prefinal_pvss_dkg::Purpose) -> Session {
    let context = Context { chain: ChainId::new([2; 32]), epoch: EpochId::new(epoch) };
    Session { context, attempt: 0, purpose }
}

struct People {
    signers: Vec<min_sig::SecretKey>,
    members: Vec<Member>,
}

/// The party's key, as often as a test wants to open its shares again.
fn key(seed: u64, party: u64) -> DecryptionKey {
    DecryptionKey::random(&mut ChaCha20Rng::seed_from_u64(1_000_000 * seed + party))
}

fn people(count: usize, seed: u64, rng: &mut ChaCha20Rng) -> People {
    let mut people = People { signers: Vec::new(), members: Vec::new() };
    for (_, party) in (0..count).zip(0..) {
        let (signer, key) = (min_sig::SecretKey::random(rng), key(seed, party));
        let public = signer.public_key();
        people.members.push(Member {
            stake: Stake::new(1),
            encryption: key.register(&signer, rng).verify(&public).unwrap(),
            signer: public.verify_possession(&signer.prove_possession()).unwrap(),
        });
        people.signers.push(signer);
    }
    people
}

impl Epoch {
    /// The first two parties deal.
    pub(crate) fn first(plan: &Plan, seed: u64) -> Self {
        Self::made_for(prefinal_pvss_dkg::Purpose::Certificates, plan, seed)
    }

    pub(crate) fn made_for(purpose: prefinal_pvss_dkg::Purpose, plan: &Plan, seed: u64) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let People { signers, members } = people(plan.weights.len(), seed, &mut rng);
        let session = session(0, purpose);
        let config = Config::new(session, shape(plan), members, Stake::new(1)).unwrap();
        let config = Arc::new(config);
        let dealings = [0, 1].map(|dealer: u32| {
            let (party, signer) = (Party::new(dealer), &signers[Party::new(dealer).index()]);
            let bytes = field::deal(&config, party, signer, &mut rng).unwrap().to_bytes();
            field::Dealing::from_bytes(&config, &bytes).unwrap()
        });
        let mut dkg = Dkg::new(config.clone());
        for dealing in field::verify_all(&config, dealings.into()) {
            dkg.add(Arc::new(dealing.unwrap())).unwrap();
        }
        let key = dkg.key().unwrap();
        Self { config, key, signers, seed, rng }
    }

    /// The next epoch: parties that hold shares now deal them on, to others or to the same, who have fresh
    /// decryption keys.
    pub(crate) fn hand_over(&mut self, plan: &Plan, same: bool) -> Self {
        let number = self.config.session().context.epoch.get() + 1;
        let (seed, mut rng) = (1000 + number, ChaCha20Rng::seed_from_u64(1000 + number));
        let People { signers, members } = if same {
            let mut before = ChaCha20Rng::seed_from_u64(1000 + number - 1);
            people(self.signers.len(), seed, &mut before)
        } else {
            people(plan.weights.len(), seed, &mut rng)
        };
        let dealer = |member: &Member| Dealer { stake: member.stake, signer: member.signer };
        let dealers = self.config.members().iter().map(dealer).collect();
        let session = session(number, self.config.session().purpose);
        let config = Config::handover(session, shape(plan), members, dealers, Stake::new(1));
        let config = Arc::new(config.unwrap());
        let before = Predecessor::new(&self.config, &self.key);
        let mut handover = Handover::new(config.clone(), before).unwrap();
        let dealings = self.dealt_on(&handover);
        for dealing in handover.verify_all(dealings) {
            handover.add(Arc::new(dealing.unwrap())).unwrap();
        }
        let key = handover.key().unwrap();
        Self { config, key, signers, seed, rng }
    }

    /// As many shares of the slow path as it takes, the last ones first.
    fn dealt_on(&mut self, handover: &Handover) -> Vec<field::Dealing> {
        let shape = self.config.shape().clone();
        let mut missing = handover.remaining().0;
        let mut dealings = Vec::new();
        for party in shape.access().parties().rev() {
            let shares = self.open(party);
            let holder = handover.holder(party, &self.signers[party.index()], &shares).unwrap();
            for share in holder.indices().take(missing) {
                dealings.push(holder.deal(share, &mut self.rng).unwrap());
                missing -= 1;
            }
        }
        dealings
    }

    pub(crate) fn open(&self, party: Party) -> field::Shares {
        let key = key(self.seed, u64::from(party.get()));
        self.key.decrypt(&self.config, party, key).unwrap().shares
    }

    pub(crate) fn committees(&self) -> Paths<SigningCommittee<MinSig>> {
        self.committees_for(Purpose::Messages(DOMAIN))
    }

    fn committees_for(&self, purpose: Purpose) -> Paths<SigningCommittee<MinSig>> {
        self.key.signing(&self.config, purpose).unwrap()
    }

    pub(crate) fn holders(&self) -> Vec<Party> {
        let access = self.config.shape().access();
        access.parties().filter(|party| access.weight(*party) > 0).collect()
    }

    pub(crate) fn signer(
        &self,
        party: Party,
        committees: &Paths<SigningCommittee<MinSig>>,
    ) -> Paths<Signer<MinSig>> {
        self.open(party).signing(party, committees).unwrap()
    }

    /// What the committee signs on one path.
    pub(crate) fn signature(&self, path: SharePath, message: &[u8]) -> min_sig::Signature {
        self.signature_for(DOMAIN, path, message)
    }

    pub(crate) fn signature_for(
        &self,
        domain: Domain,
        path: SharePath,
        message: &[u8],
    ) -> min_sig::Signature {
        let committees = self.committees_for(Purpose::Messages(domain));
        let (committee, message) = (committees.get(path).unwrap(), Message::new(domain, message));
        let partials = self.holders().into_iter().map(|party| {
            let signers = self.signer(party, &committees);
            (party, signers.get(path).unwrap().partial(&message).unwrap())
        });
        committee.verify_all(&message, partials.collect()).unwrap().combine()
    }
}
