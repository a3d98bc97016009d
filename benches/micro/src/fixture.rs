//! Committees with all their secrets, dealt by one who is trusted.
//!
//! The weighted rows stand for the 129 validators of `data/stakes/aptos_mainnet_129.csv` under the
//! totals and thresholds that were deployed for them: 132 of 224 shares and 228 of 414. Which party
//! holds how many is decided here by rounding to the nearest with the divisor that gives this total.
use std::collections::BTreeMap;

use crypto_core::access::{Access, Party, Threshold};
use crypto_core::bls::{Domain, MinSig, PublicKey};
use crypto_core::commitment::Commitment;
use crypto_core::context::{ChainId, Context, EpochId};
use crypto_core::curve::{FixedBase, G1Affine, G2, G2Affine, Scalar};
use crypto_core::generators::{g_hat, h};
use crypto_core::polynomial::{Placement, Points, Polynomial};
use crypto_core::secret::Secret;
use crypto_core::threshold;
use crypto_core::wvuf::{BlindedKey, Committee, EvaluationKey, KeyShares, blind};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

/// What the threshold keys are for.
pub const DOMAIN: Domain = Domain::new("bench");
/// The same, as a committee has it.
pub const PURPOSE: threshold::Purpose = threshold::Purpose::Messages(DOMAIN);

const STAKES: &str = include_str!("../../../data/stakes/aptos_mainnet_129.csv");

/// Same figures on every run.
#[must_use]
pub fn rng() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(0x5eed)
}

/// A chain and an epoch.
#[must_use]
pub fn context() -> Context {
    Context { chain: ChainId::new([1; 32]), epoch: EpochId::new(3) }
}

/// The table's weights with this sum.
#[must_use]
pub fn weights(total: u32) -> Vec<u32> {
    let lines = STAKES.lines().filter(|line| !line.starts_with('#')).skip(1);
    let stakes: Vec<u128> = lines.map(|line| line.parse().unwrap()).collect();
    let mut weights = vec![0_u32; stakes.len()];
    for _ in 0..total {
        // Whose weight is rounded up next: the largest `stake/(2·weight + 1)`.
        let next = (0..stakes.len()).max_by(|&a, &b| {
            let by = |at: usize| u128::from(2 * weights[at] + 1);
            (stakes[a] * by(b)).cmp(&(stakes[b] * by(a)))
        });
        weights[next.unwrap()] += 1;
    }
    weights
}

/// Parties in random order, until they hold enough shares.
#[must_use]
pub fn qualified(access: &Access, threshold: Threshold) -> Vec<Party> {
    let mut rng = rng();
    let mut parties: Vec<Party> =
        access.parties().filter(|party| access.weight(*party) > 0).collect();
    for end in (1..parties.len()).rev() {
        let other = rng.next_u64() % (u64::try_from(end).unwrap() + 1);
        parties.swap(end, usize::try_from(other).unwrap());
    }
    let mut got = 0;
    let missing = |party: &Party| {
        let more = got < threshold.t().get();
        got += access.weight(*party);
        more
    };
    parties.into_iter().take_while(missing).collect()
}

/// A sharing for the weighted VUF.
pub struct Weighted {
    /// With the keys of all who hold shares.
    pub committee: Committee,
    /// Each party's own.
    pub keys: BTreeMap<Party, EvaluationKey>,
    /// What the parties publish.
    pub blinded: BTreeMap<Party, BlindedKey>,
}

impl Weighted {
    /// Deals a secret to parties of these weights.
    #[must_use]
    pub fn deal(weights: &[u32], t: u32) -> Self {
        let access = Access::new(weights).unwrap();
        let threshold = Threshold::new(t, access.total()).unwrap();
        let (polynomial, mut rng) = (polynomial(threshold), rng_for(threshold));
        let values = access.points();
        let values: Vec<Scalar> =
            values.iter().map(|point| *polynomial.evaluate(point).expose()).collect();
        let public: Vec<G2Affine> =
            values.iter().map(|value| (g_hat() * value).to_affine()).collect();
        let mut committee = Committee::new(access.clone(), threshold, public).unwrap();
        let (mut keys, mut blinded) = (BTreeMap::new(), BTreeMap::new());
        for party in access.parties().filter(|party| access.weight(*party) > 0) {
            let shares: Vec<G1Affine> =
                values[access.range(party)].iter().map(|value| (h() * value).to_affine()).collect();
            let (key, public) = blind(&KeyShares::new(shares), &mut rng);
            keys.insert(party, key);
            blinded.insert(party, public);
        }
        for key in committee.admit_all(blinded.clone()).admitted {
            committee.insert(key).unwrap();
        }
        assert_eq!(committee.admitted_weight(), access.total());
        Self { committee, keys, blinded }
    }
}

/// A committee that signs.
pub struct Signing {
    /// Who.
    pub committee: threshold::Committee<MinSig>,
    /// Each party's own.
    pub signers: BTreeMap<Party, threshold::Signer<MinSig>>,
    /// To the polynomial.
    pub commitment: Commitment<G2>,
}

impl Signing {
    /// Deals a secret for this purpose to parties of these weights.
    #[must_use]
    pub fn deal(
        weights: &[u32],
        t: u32,
        (placement, purpose): (Placement, threshold::Purpose),
    ) -> Self {
        let access = Access::new(weights).unwrap();
        let threshold = Threshold::new(t, access.total()).unwrap();
        let polynomial = polynomial(threshold);
        let commitment: Commitment<G2> = Commitment::commit(&polynomial);
        let values = polynomial.shares(&Points::of(&access, placement));
        let generator = FixedBase::new(&G2Affine::generator());
        let keys: Vec<_> =
            values.expose().iter().map(|value| generator.multiply(value).to_affine()).collect();
        let group = PublicKey::from_bytes(&commitment.constant().to_bytes()).unwrap();
        let setup = threshold::Setup { access: access.clone(), threshold, placement, purpose };
        let committee = threshold::Committee::from_share_keys(setup, &group, keys).unwrap();
        let signer = |party: Party| {
            let own = values.expose()[access.range(party)].to_vec();
            (party, threshold::KeyShares::new(party, Secret::new(own)).check(&committee).unwrap())
        };
        let holders = access.parties().filter(|party| access.weight(*party) > 0);
        let signers = holders.map(signer).collect();
        Self { committee, signers, commitment }
    }

    /// The partials of these parties on a message.
    #[must_use]
    pub fn partials(
        &self,
        parties: impl IntoIterator<Item = Party>,
        message: &threshold::Message<MinSig>,
    ) -> BTreeMap<Party, threshold::Partial<MinSig>> {
        let partial = |party| (party, self.signers[&party].partial(message).unwrap());
        parties.into_iter().map(partial).collect()
    }
}

/// Figures that differ from one threshold to the next: two paths have nothing in common but the secret.
fn rng_for(threshold: Threshold) -> ChaCha20Rng {
    let mut rng = rng();
    rng.set_stream(threshold.t().get().into());
    rng
}

/// Shares the one secret of all committees here.
fn polynomial(threshold: Threshold) -> Polynomial {
    let secret = Secret::new(Scalar::random(&mut rng()));
    Polynomial::random(threshold.t(), &secret, &mut rng_for(threshold))
}
