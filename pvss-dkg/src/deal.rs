//! The dealer's side. It is constant time in everything secret.
//!
//! | step   | equation                                                                    |
//! |--------|-----------------------------------------------------------------------------|
//! | share  | `f`, `f'` random of degree `t − 1`, `t' − 1` with `f(0) = f'(0) = s` random  |
//! | commit | `F = g^s`, `V̂₀ = ĝ^s`, `V̂ₖ = ĝ^f(ω^(k−1))`                                  |
//! | lock   | `r_k` random, `Rₖ = g^r_k`, `Cₖ = h^f(ω^(k−1)) · ek^r_k`                     |
//! | prove  | see `opening`: every share is known; see `proof`: `s` is                     |
//! | sign   | see `proof`                                                                 |
//!
//! Everything that is drawn depends on fresh randomness, the dealer's signing key, the configuration
//! (session, attempt, committee) and what is dealt ([`hedge`](prefinal_crypto_core::hedge)). So a generator
//! that continues from a stored seed still deals another secret in another session. The nonces of the proofs
//! depend also on what is proven and on the secret it is proven with.
//!
//! `g`, `h` and `ĝ` have tables, so a share costs three table multiplications and one plain one, all of
//! them in batches. `f` is evaluated at all points by one FFT. With the feature `parallel` batches are
//! spread over the caller's rayon pool. All randomness is drawn before, so the bytes are the same.
use std::sync::LazyLock;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::curve::hazmat::{FixedBase, multiply_each};
use prefinal_crypto_core::curve::{G1, G1Affine, G1Projective, G2, Projective, Scalar};
use prefinal_crypto_core::entropy::ImplausibleRandomness;
use prefinal_crypto_core::generators::{g_hat, h};
use prefinal_crypto_core::hedge::Hedge;
use prefinal_crypto_core::polynomial::{Domain, Polynomial};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::sharing;
use rand_core::CryptoRng;
use thiserror::Error;

use crate::config::Config;
use crate::dealing::{Body, Dealing, Sharing};
use crate::opening::{Opening, Statement};
use crate::proof::Contribution;
use crate::shape::SharePath;

pub(crate) static TABLE_G: LazyLock<FixedBase<G1>> =
    LazyLock::new(|| FixedBase::new(&G1Affine::generator()));
static TABLE_H: LazyLock<FixedBase<G1>> = LazyLock::new(|| FixedBase::new(&h()));
static TABLE_G_HAT: LazyLock<FixedBase<G2>> = LazyLock::new(|| FixedBase::new(&g_hat()));

/// Why a party cannot deal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DealError {
    /// The dealer is not a party of the committee.
    #[error("dealer {dealer} of a committee of {members}")]
    Dealer {
        /// The index of the dealer.
        dealer: u32,
        /// Number of parties in the committee.
        members: usize,
    },
    /// The signing key is not the dealer's, so others would refuse the signature.
    #[error("signing key is not the one that the committee knows for {dealer}")]
    Signer {
        /// The dealer that was to sign.
        dealer: Party,
    },
    /// The generator is broken. Nothing is dealt with it.
    #[error(transparent)]
    Randomness(#[from] ImplausibleRandomness),
}

impl DealError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Dealer { .. } => "not-a-member",
            Self::Signer { .. } => "other-signing-key",
            Self::Randomness(error) => error.code(),
        }
    }
}

/// The dealer, its signing key and its configuration.
pub(crate) struct Author<'a> {
    pub(crate) config: &'a Config,
    pub(crate) party: Party,
    pub(crate) signer: &'a min_sig::SecretKey,
}

/// The secrets of a dealing. The dealer drops them when the dealing is made.
pub(crate) struct Openings {
    /// `s`.
    pub(crate) constant: Secret<Scalar>,
    pub(crate) slow: SharingOpenings,
    pub(crate) fast: Option<SharingOpenings>,
}

/// The secrets of one path, an entry per share.
pub(crate) struct SharingOpenings {
    /// `f(ω^(k−1))`.
    pub(crate) values: Secret<Vec<Scalar>>,
    /// `r_k`.
    pub(crate) randomness: Secret<Vec<Scalar>>,
}

/// Deals a random secret to the committee.
///
/// ```
/// # use prefinal_crypto_core::{access::Party, bls::min_sig};
/// # use prefinal_crypto_core::context::{ChainId, Context, EpochId};
/// # use prefinal_pvss_dkg::{Config, DecryptionKey, Member, Purpose, Session, Shape};
/// # use prefinal_weighted_rounding::{Ratio, Stake};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # let stakes = [4, 3, 2, 1].map(Stake::new);
/// # let shape = Shape::tight(&stakes, Ratio::HALF)?;
/// # let (mut signers, mut keys, mut members) = (Vec::new(), Vec::new(), Vec::new());
/// # for stake in stakes {
/// #     let (signer, key) = (min_sig::SecretKey::random(&mut rng), DecryptionKey::random(&mut rng));
/// #     let public = signer.public_key();
/// #     let encryption = key.register(&signer, &mut rng).verify(&public)?;
/// #     let signer_key = public.verify_possession(&signer.prove_possession())?;
/// #     members.push(Member { stake, encryption, signer: signer_key });
/// #     signers.push(signer);
/// #     keys.push(key);
/// # }
/// # let context = Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(1) };
/// # let session = Session { context, attempt: 0, purpose: Purpose::Randomness };
/// # let qualify = Config::more_than(Ratio::ONE_THIRD, stakes)?;
/// # let config = std::sync::Arc::new(Config::new(session, shape, members, qualify)?);
/// use prefinal_pvss_dkg::{Dealing, deal, verify};
///
/// let bytes = deal(&config, Party::new(2), &signers[2], &mut rng)?.to_bytes();
/// let received = Dealing::from_bytes(&config, &bytes)?;
/// assert_eq!(verify(&config, received)?.dealer(), Party::new(2));
/// // Nobody deals in the name of another party.
/// assert!(deal(&config, Party::new(2), &signers[1], &mut rng).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If `dealer` is not a party of the committee, `signer` is not its key, or `rng` is broken.
pub fn deal(
    config: &Config,
    dealer: Party,
    signer: &min_sig::SecretKey,
    rng: &mut impl CryptoRng,
) -> Result<Dealing, DealError> {
    check_dealer(config, dealer, signer)?;
    let author = Author { config, party: dealer, signer };
    let mut rng = author.hedge(b"group elements").rng(rng);
    let openings = Openings::random(config, &mut rng);
    let body = openings.commit(config);
    Ok(author.publish(body, &openings, &mut rng))
}

/// Checks that `signer` is the key of that party of the committee.
pub(crate) fn check_dealer(
    config: &Config,
    dealer: Party,
    signer: &min_sig::SecretKey,
) -> Result<(), DealError> {
    let members = config.dealers().len();
    let listed =
        config.dealer(dealer).ok_or(DealError::Dealer { dealer: dealer.get(), members })?;
    if *listed.signer != signer.public_key() {
        return Err(DealError::Signer { dealer });
    }
    Ok(())
}

impl Openings {
    pub(crate) fn random(config: &Config, rng: &mut impl CryptoRng) -> Self {
        let shape = config.shape();
        let slow = shape.slow();
        let sharing = sharing::Sharing::random(slow, shape.threshold(SharePath::Fast), rng);
        let domain = Domain::new(slow.n().get());
        let mut open = |polynomial| SharingOpenings::random(config, polynomial, &domain, rng);
        Self {
            slow: open(sharing.slow()),
            fast: sharing.fast().map(open),
            constant: Secret::new(*sharing.secret().expose()),
        }
    }

    /// `V̂`, `R` and `C` of all paths.
    pub(crate) fn commit(&self, config: &Config) -> Body {
        Body {
            public_key: TABLE_G_HAT.multiply(self.constant.expose()).into(),
            slow: self.slow.commit(config),
            fast: self.fast.as_ref().map(|fast| fast.commit(config)),
        }
    }

    /// All shares, slow path first. Takes `count` of each path, because the domain may be larger.
    fn shares(&self, count: usize) -> impl Iterator<Item = &Scalar> + Clone {
        let paths = [Some(&self.slow), self.fast.as_ref()].into_iter().flatten();
        paths.flat_map(move |path| path.values.expose().iter().take(count))
    }
}

impl SharingOpenings {
    fn random(
        config: &Config,
        polynomial: &Polynomial,
        domain: &Domain,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let randomness = (0..config.shares()).map(|_| Scalar::random(rng)).collect();
        Self { values: polynomial.evaluate_over(domain), randomness: Secret::new(randomness) }
    }

    fn commit(&self, config: &Config) -> Sharing {
        let (values, randomness) = (self.values.expose(), self.randomness.expose());
        let keys: Vec<G1Affine> = config
            .holders()
            .flat_map(|(_, key, span)| std::iter::repeat_n(*key.g1(), span.len()))
            .collect();
        // The domain may be larger than the committee.
        let values = values.get(..keys.len()).unwrap_or_default();
        let shares = Secret::new(TABLE_H.multiply_all(values));
        let masks = Secret::new(multiply_each(&keys, randomness));
        Sharing {
            commitments: TABLE_G_HAT.multiply_all(values),
            ephemerals: TABLE_G.multiply_all(randomness),
            ciphertexts: add_each(&shares, &masks),
        }
    }
}

/// Adds each pair, in constant time.
pub(crate) fn add_each(
    left: &Secret<Vec<G1Affine>>,
    right: &Secret<Vec<G1Affine>>,
) -> Vec<G1Affine> {
    let pairs = left.expose().iter().zip(right.expose());
    let sums: Vec<_> = pairs.map(|(left, right)| G1Projective::from(left) + *right).collect();
    // The Z coordinate of a sum is the difference of two secrets.
    Projective::batch_to_affine(Secret::new(sums).expose())
}

impl Author<'_> {
    /// Everything that the draws of a dealing depend on, besides the generator. `what` says what is dealt.
    pub(crate) fn hedge(&self, what: &[u8]) -> Hedge {
        Hedge::new(b"PREFINAL-V1-PVSS-DRAWS")
            .public(b"what", what)
            .public(b"config", self.config.digest())
            .public(b"dealer", &self.party.get().to_be_bytes())
            .secret(b"signer", &self.signer.to_secret_bytes())
    }

    /// Proves knowledge of everything dealt, and signs.
    pub(crate) fn publish(
        &self,
        body: Body,
        openings: &Openings,
        rng: &mut impl CryptoRng,
    ) -> Dealing {
        let Self { config, party, signer } = *self;
        let secret = &openings.constant;
        let commitment = G1Affine::from(TABLE_G.multiply(secret.expose()));
        let statement = Statement { config, dealer: party, commitment: &commitment, body: &body };
        let opening = Opening::prove(&statement, openings.shares(config.shares()), rng);
        let contribution = Contribution::prove(config, party, opening.seal(&body), secret, rng);
        let signature = contribution.sign(config, signer);
        Dealing { contribution, signature, opening, body }
    }
}
