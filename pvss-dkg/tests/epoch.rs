//! An epoch from registration to randomness, through the public interface and real encodings only.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::sync::Arc;

use prefinal_crypto_core::access::{Party, ShareIndex};
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::context::{ChainId, Context, EpochId, Slot};
use prefinal_crypto_core::curve::hazmat::check_pairing_product;
use prefinal_crypto_core::curve::{G1Affine, G1Projective};
use prefinal_crypto_core::generators::{g_hat, h};
use prefinal_crypto_core::polynomial::Domain;
use prefinal_crypto_core::wvuf::{self, EvaluationKey, Input, Output};
use prefinal_pvss_dkg::{
    Accepted, Aggregate, Config, ConfigError, Dealing, DecryptionKey, Dkg, KeyRegistration, Member,
    Paths, Progress, Purpose, Session, Shape, SharePath, Shares, deal, verify,
};
use prefinal_weighted_rounding::{Stake, Weight};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

const WEIGHTS: [u32; 6] = [2, 0, 5, 1, 0, 4];
const SLOW: u32 = 5;
const FAST: u32 = 8;
const CONTEXT: Context = Context { chain: ChainId::new([1; 32]), epoch: EpochId::new(9) };

struct Epoch {
    config: Arc<Config>,
    signers: Vec<min_sig::SecretKey>,
    seed: u64,
    rng: ChaCha20Rng,
}

fn member(signer: &min_sig::SecretKey, key: &DecryptionKey, rng: &mut ChaCha20Rng) -> Member {
    let public = signer.public_key();
    let bytes = borsh::to_vec(&key.register(signer, rng)).unwrap();
    let registration: KeyRegistration = borsh::from_slice(&bytes).unwrap();
    Member {
        stake: Stake::new(10),
        encryption: registration.verify(&public).unwrap(),
        signer: public.verify_possession(&signer.prove_possession()).unwrap(),
    }
}

fn shape(fast: Option<u32>) -> Shape {
    let (slow, fast) = (Weight::new(SLOW), fast.map(Weight::new));
    Shape::new(&WEIGHTS.map(Weight::new), Paths { slow, fast }).unwrap()
}

/// The party's key, as often as a test wants to open its shares again.
fn key(seed: u64, party: Party) -> DecryptionKey {
    DecryptionKey::random(&mut ChaCha20Rng::seed_from_u64(1000 * seed + u64::from(party.get())))
}

fn epoch(seed: u64, fast: Option<u32>) -> Epoch {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let signers: Vec<_> = WEIGHTS.map(|_| min_sig::SecretKey::random(&mut rng)).into();
    let pairs = signers.iter().zip((0..).map(Party::new));
    let members = pairs.map(|(signer, party)| member(signer, &key(seed, party), &mut rng));
    let members: Vec<Member> = members.collect();
    let session = Session { context: CONTEXT, attempt: 0, purpose: Purpose::Randomness };
    let config = Config::new(session, shape(fast), members, Stake::new(20)).unwrap();
    Epoch { config: Arc::new(config), signers, seed, rng }
}

impl Epoch {
    /// Three dealings, over the wire, one of a party without shares.
    fn run(&mut self) -> Accepted<Aggregate> {
        let mut dkg = Dkg::new(self.config.clone());
        for dealer in [5, 1, 2].map(Party::new) {
            let signer = &self.signers[dealer.index()];
            let sent = deal(&self.config, dealer, signer, &mut self.rng).unwrap().to_bytes();
            let dealing = Dealing::from_bytes(&self.config, &sent).unwrap();
            dkg.add(Arc::new(verify(&self.config, dealing).unwrap())).unwrap();
        }
        assert_eq!(dkg.progress(), Progress::Qualified);
        dkg.aggregate().unwrap()
    }

    fn shares(&self, aggregate: &Accepted<Aggregate>) -> Vec<(Party, Shares)> {
        let open =
            |party| (party, aggregate.decrypt(&self.config, party, key(self.seed, party)).unwrap());
        self.config.shape().access().parties().map(open).collect()
    }

    /// Blinds, admits, evaluates and combines what is there of `path`, without `absent`.
    fn output(
        &mut self,
        aggregate: &Accepted<Aggregate>,
        path: SharePath,
        absent: &[u32],
        input: &Input,
    ) -> Output {
        let shape = self.config.shape();
        let access = shape.access().clone();
        let threshold = shape.threshold(path).unwrap();
        let public = aggregate.public_shares(path).unwrap().to_vec();
        let mut committee = wvuf::VufCommittee::new(access, threshold, public).unwrap();
        let mut blinded = BTreeMap::new();
        let mut evaluators: Vec<(Party, EvaluationKey)> = Vec::new();
        for (party, shares) in self.shares(aggregate) {
            let own = match path {
                SharePath::Slow => shares.slow,
                SharePath::Fast => shares.fast.unwrap(),
            };
            if !own.is_empty() && !absent.contains(&party.get()) {
                let (evaluation, key) = wvuf::blind(&committee, party, &own, &mut self.rng);
                blinded.insert(party, key);
                evaluators.push((party, evaluation));
            }
        }
        let admission = committee.admit_all(blinded);
        assert!(admission.refused.is_empty(), "{:?}", admission.refused);
        for admitted in admission.admitted {
            committee.insert(admitted).unwrap();
        }
        let partials =
            evaluators.iter().map(|(party, key)| (*party, key.evaluate(input))).collect();
        wvuf::combine(&committee.verify_all(input, partials).unwrap())
    }
}

/// `h^f(0)` from the first `count` shares.
fn secret(shares: &[G1Affine], count: usize) -> G1Affine {
    let indices: Vec<_> = (1..).map_while(ShareIndex::new).take(count).collect();
    let lambda = Domain::new(WEIGHTS.iter().sum()).lagrange_at_zero(&indices);
    let terms = shares.iter().zip(&lambda).map(|(share, lambda)| *share * lambda);
    terms.sum::<G1Projective>().into()
}

#[test]
fn both_paths_rebuild_the_one_secret() {
    let mut epoch = epoch(1, Some(FAST));
    let aggregate = epoch.run();
    let shares = epoch.shares(&aggregate);
    let slow: Vec<_> = shares.iter().flat_map(|(_, own)| own.slow.expose().to_vec()).collect();
    let fast = shares.iter().flat_map(|(_, own)| own.fast.as_ref().unwrap().expose().to_vec());
    let fast: Vec<_> = fast.collect();
    assert_eq!((slow.len(), fast.len()), (12, 12));
    assert!(slow.iter().zip(&fast).all(|(a, b)| a != b), "independent polynomials");

    let rebuilt = secret(&slow, 5);
    assert_eq!(secret(&slow, 12), rebuilt);
    assert_eq!(secret(&fast, 8), rebuilt);
    let terms = [(rebuilt, g_hat()), (-h(), *aggregate.public_key())];
    assert_eq!(check_pairing_product(terms), Ok(()));
    assert_ne!(secret(&slow, 4), rebuilt);
    assert_ne!(secret(&fast, 7), rebuilt);
    for (path, own) in [(SharePath::Slow, &slow), (SharePath::Fast, &fast)] {
        let public = aggregate.public_shares(path).unwrap();
        for (share, public) in own.iter().zip(public) {
            assert_eq!(check_pairing_product([(*share, g_hat()), (-h(), *public)]), Ok(()));
        }
    }
}

#[test]
fn both_paths_give_one_output() {
    let mut epoch = epoch(2, Some(FAST));
    let aggregate = epoch.run();
    let input = Input::new(&CONTEXT, Slot::new(42), Some([5; 32]));
    let slow = epoch.output(&aggregate, SharePath::Slow, &[], &input);
    assert_eq!(epoch.output(&aggregate, SharePath::Fast, &[], &input), slow);
    // Without party 2 there are 7 shares left, without 5 there are 8.
    assert_eq!(epoch.output(&aggregate, SharePath::Slow, &[2], &input), slow);
    assert_eq!(epoch.output(&aggregate, SharePath::Fast, &[5], &input), slow);
    let next = Input::new(&CONTEXT, Slot::new(43), Some([5; 32]));
    assert_ne!(epoch.output(&aggregate, SharePath::Slow, &[], &next), slow);
}

#[test]
fn a_party_that_was_absent_needs_the_aggregate_only() {
    let mut epoch = epoch(3, Some(FAST));
    let bytes = epoch.run().to_bytes();
    let aggregate = Aggregate::from_bytes(&epoch.config, &bytes).unwrap();
    let aggregate = aggregate.verify(&epoch.config).unwrap();
    assert_eq!(aggregate.dealers().collect::<Vec<_>>(), [1, 2, 5].map(Party::new));
    let input = Input::new(&CONTEXT, Slot::new(1), None);
    let slow = epoch.output(&aggregate, SharePath::Slow, &[], &input);
    assert_eq!(epoch.output(&aggregate, SharePath::Fast, &[], &input), slow);
}

#[test]
fn one_path_is_enough() {
    let mut epoch = epoch(4, None);
    let aggregate = epoch.run();
    assert!(aggregate.public_shares(SharePath::Fast).is_none());
    assert!(epoch.shares(&aggregate).iter().all(|(_, shares)| shares.fast.is_none()));
    let input = Input::new(&CONTEXT, Slot::new(1), None);
    let all = epoch.output(&aggregate, SharePath::Slow, &[], &input);
    assert_eq!(epoch.output(&aggregate, SharePath::Slow, &[2], &input), all);
}

#[test]
fn one_seed_one_transcript() {
    let run = |seed| epoch(seed, Some(FAST)).run().to_bytes();
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

#[test]
fn a_stranger_cannot_deal() {
    let mut epoch = epoch(7, Some(FAST));
    let stranger = min_sig::SecretKey::random(&mut epoch.rng);
    assert!(deal(&epoch.config, Party::new(0), &stranger, &mut epoch.rng).is_err());
    assert!(deal(&epoch.config, Party::new(6), &epoch.signers[0], &mut epoch.rng).is_err());
}

#[test]
fn parts_of_a_configuration_must_fit() {
    let epoch = epoch(8, Some(FAST));
    let members = epoch.config.members();
    let with = |members: &[Member], qualify| {
        let session = *epoch.config.session();
        Config::new(session, shape(Some(FAST)), members.to_vec(), Stake::new(qualify)).map(|_| ())
    };
    assert_eq!(with(members, 59), Ok(()));
    let total = Stake::new(60);
    assert_eq!(with(members, 0), Err(ConfigError::NoQualification { total }));
    let unreachable = ConfigError::Unreachable { qualify: total, total };
    assert_eq!(with(members, 60), Err(unreachable));
    assert_eq!(with(&members[..5], 20), Err(ConfigError::Members { members: 5, weights: 6 }));
    let mut rich = members.to_vec();
    rich[4].stake = Stake::new(u128::MAX);
    let party = Party::new(4);
    assert_eq!(with(&rich, 20), Err(ConfigError::StakeOverflow { party }));
    let (first, second) = (Party::new(0), Party::new(3));
    let mut twin = members.to_vec();
    twin[3].encryption = twin[0].encryption.clone();
    let what = "encryption";
    assert_eq!(with(&twin, 20), Err(ConfigError::DuplicateKey { first, second, what }));
    let mut twin = members.to_vec();
    twin[3].signer = twin[0].signer;
    let what = "signing";
    assert_eq!(with(&twin, 20), Err(ConfigError::DuplicateKey { first, second, what }));
}
