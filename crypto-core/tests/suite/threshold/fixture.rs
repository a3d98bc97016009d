//! A dealer that everybody trusts, for tests only.
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use prefinal_crypto_core::access::{Access, Party, Threshold};
use prefinal_crypto_core::bls::{Domain, SecretKey, Variant};
use prefinal_crypto_core::commitment::Commitment;
use prefinal_crypto_core::curve::{Affine, Scalar};
use prefinal_crypto_core::polynomial::{Placement, Points, Polynomial};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::threshold::{
    KeyShares, Message, Partial, Purpose, Setup, Signer, SigningCommittee,
};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

/// Party 1 holds nothing, parties 0 and 3 hold the same.
pub(crate) const WEIGHTS: [u32; 6] = [3, 0, 1, 3, 5, 2];
pub(crate) const HOLDERS: [u32; 5] = [0, 2, 3, 4, 5];
pub(crate) const T: u32 = 7;
pub(crate) const DOMAIN: Domain = Domain::new("threshold test");

pub(crate) fn rng(seed: u64) -> ChaCha20Rng {
    println!("seed {seed}");
    ChaCha20Rng::seed_from_u64(seed)
}

pub(crate) fn party(position: u32) -> Party {
    Party::new(position)
}

pub(crate) fn parties(positions: &[u32]) -> BTreeSet<Party> {
    positions.iter().copied().map(Party::new).collect()
}

pub(crate) fn setup(placement: Placement, purpose: Purpose) -> Setup {
    let access = Access::new(&WEIGHTS).unwrap();
    let threshold = Threshold::new(T, access.total()).unwrap();
    Setup { access, threshold, placement, purpose }
}

pub(crate) fn message<V: Variant>() -> Message<V> {
    Message::new(DOMAIN, b"message")
}

/// A partial of any points.
pub(crate) fn forged<V: Variant>(points: &[Affine<V::SignatureGroup>]) -> Partial<V> {
    borsh::from_slice(&borsh::to_vec(points).unwrap()).unwrap()
}

pub(crate) struct Dealt<V: Variant> {
    pub(crate) committee: SigningCommittee<V>,
    pub(crate) key: SecretKey,
    pub(crate) values: Vec<Scalar>,
    pub(crate) signers: BTreeMap<Party, Signer<V>>,
}

impl<V: Variant> Dealt<V> {
    pub(crate) fn new(placement: Placement, seed: u64) -> Self {
        Self::with(setup(placement, Purpose::Messages(DOMAIN)), seed)
    }

    pub(crate) fn with(setup: Setup, seed: u64) -> Self {
        let mut rng = rng(seed);
        let key = SecretKey::random(&mut rng);
        let secret = Secret::new(Scalar::from_bytes(key.to_secret_bytes().expose()).unwrap());
        let t = NonZeroU32::new(setup.threshold.t().get()).unwrap();
        let polynomial = Polynomial::random(t, &secret, &mut rng);
        let points = Points::of(&setup.access, setup.placement);
        let values = polynomial.shares(&points).expose().clone();
        let commitment = Commitment::commit(&polynomial);
        let committee = SigningCommittee::from_commitment(setup, &commitment).unwrap();
        let access = committee.access().clone();
        let mut signers = BTreeMap::new();
        for party in access.parties().filter(|party| access.weight(*party) > 0) {
            let own = Secret::new(values[access.range(party)].to_vec());
            signers.insert(party, KeyShares::new(party, own).check(&committee).unwrap());
        }
        Self { committee, key, values, signers }
    }

    pub(crate) fn partials(&self, set: &[u32], on: &Message<V>) -> BTreeMap<Party, Partial<V>> {
        parties(set).into_iter().map(|i| (i, self.signers[&i].partial(on).unwrap())).collect()
    }

    /// The parties' partials as one who is lying about some of them sends them.
    pub(crate) fn wrong(&self, liars: &[u32], on: &Message<V>) -> BTreeMap<Party, Partial<V>> {
        let mut all = self.partials(&HOLDERS, on);
        all.extend(self.partials(liars, &Message::new(DOMAIN, b"other")));
        all
    }
}

/// Every set of parties that hold shares.
pub(crate) fn subsets() -> impl Iterator<Item = Vec<u32>> {
    (0..1_u32 << HOLDERS.len()).map(|set| {
        let holders = HOLDERS.iter().enumerate();
        holders.filter(|(at, _)| set >> at & 1 == 1).map(|(_, holder)| *holder).collect()
    })
}

pub(crate) fn weight(set: &[u32]) -> u32 {
    set.iter().map(|&i| WEIGHTS[party(i).index()]).sum()
}
