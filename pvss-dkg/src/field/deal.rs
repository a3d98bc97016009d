//! The dealer's side. It is constant time in everything secret.
//!
//! The cost, for `N` chunks in `J` levels: `N` multiplications of holders' keys (with a table for a
//! holder of four shares or more), `N` short and `16·J` whole table multiplications to encrypt, some
//! 160 for the masks (drawn 1.65 times on average), and one plain multiplication for each holder and
//! each level. All run in batches.
use std::iter;
use std::sync::LazyLock;

use prefinal_crypto_core::access::{Party, ShareIndex};
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::challenge::Transcript;
use prefinal_crypto_core::curve::hazmat::{FixedBase, in_parts, multiply_each};
use prefinal_crypto_core::curve::{G1Affine, G1Projective, G2, G2Affine, Scalar};
use prefinal_crypto_core::entropy::ImplausibleRandomness;
use prefinal_crypto_core::hedge::Hedge;
use prefinal_crypto_core::polynomial::Domain;
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::sharing;
use rand_core::CryptoRng;

use super::chunk::{BITS, CHUNKS, powers, split};
use super::chunking::{Combiner, MASK_KEY, Masked, mask};
use super::dealing::{Body, Dealing, seal};
use super::layout::{Holder, Layout};
use super::proof::{Nonces, Proof, Responses, Statement, last};
use super::sharing::{Nonce, level_keys};
use crate::config::Config;
use crate::deal::{Author, DealError, TABLE_G, add_each, check_dealer};
use crate::proof::Contribution;
use crate::shape::SharePath;

/// From this number of multiplications on, a table for a recipient's key is cheaper than plain ones.
const TABLE_PAYS: usize = 64;
/// The fewest recipients that justify a separate thread: some milliseconds of work.
const LEAST_HOLDERS: usize = 4;

static TABLE_G2: LazyLock<FixedBase<G2>> = LazyLock::new(|| FixedBase::new(&G2Affine::generator()));

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
/// # let session = Session { context, attempt: 0, purpose: Purpose::Decryption };
/// # let qualify = Config::more_than(Ratio::ONE_THIRD, stakes)?;
/// # let config = std::sync::Arc::new(Config::new(session, shape, members, qualify)?);
/// use prefinal_pvss_dkg::field;
///
/// let bytes = field::deal(&config, Party::new(2), &signers[2], &mut rng)?.to_bytes();
/// let received = field::Dealing::from_bytes(&config, &bytes)?;
/// assert_eq!(field::verify(&config, received)?.dealer(), Party::new(2));
/// // Nobody deals in the name of another party.
/// assert!(field::deal(&config, Party::new(2), &signers[1], &mut rng).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If `dealer` is not a party of the committee, `signer` is not its key, or `rng` returns values that
/// no working generator returns.
pub fn deal(
    config: &Config,
    dealer: Party,
    signer: &min_sig::SecretKey,
    rng: &mut impl CryptoRng,
) -> Result<Dealing, DealError> {
    check_dealer(config, dealer, signer)?;
    let author = Author { config, party: dealer, signer };
    let mut rng = author.hedge(b"field elements").rng(rng);
    let witness = Witness::random(config, &Layout::new(config), &mut rng);
    Ok(publish(&author, &witness, None, &mut rng)?)
}

/// Encrypts, proves and signs. `share` is the share that is dealt on, with the digest of its key.
pub(crate) fn publish(
    author: &Author<'_>,
    witness: &Witness,
    share: Option<(ShareIndex, &[u8; 32])>,
    rng: &mut impl CryptoRng,
) -> Result<Dealing, ImplausibleRandomness> {
    let body = witness.encrypt(&Layout::new(author.config));
    witness.publish(author, body, share, rng)
}

/// The secrets of a dealing. The dealer drops them when the dealing is made.
pub(crate) struct Witness {
    /// `f(0)`
    pub(crate) constant: Secret<Scalar>,
    /// `f(ω^k)`, path by path
    pub(crate) values: Secret<Vec<Scalar>>,
    /// `s_kl`, share by share
    pub(crate) chunks: Secret<Vec<u64>>,
    /// `r_jl`, level by level
    pub(crate) randomness: Secret<Vec<Scalar>>,
}

impl Witness {
    pub(crate) fn random(config: &Config, layout: &Layout, rng: &mut impl CryptoRng) -> Self {
        let shape = config.shape();
        let sharing = sharing::Sharing::random(shape.slow(), shape.threshold(SharePath::Fast), rng);
        Self::new(config, layout, &sharing, rng)
    }

    pub(crate) fn new(
        config: &Config,
        layout: &Layout,
        sharing: &sharing::Sharing,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let domain = Domain::new(config.shape().slow().n().get());
        let mut values = Vec::with_capacity(layout.items);
        for polynomial in iter::once(sharing.slow()).chain(sharing.fast()) {
            // The domain may be larger than the committee.
            values.extend(polynomial.evaluate_over(&domain).expose().iter().take(config.shares()));
        }
        let values = Secret::new(values);
        let mut chunks = Vec::with_capacity(layout.items * CHUNKS);
        values.expose().iter().for_each(|value| chunks.extend_from_slice(split(value).expose()));
        let randomness = (0..layout.levels * CHUNKS).map(|_| Scalar::random(rng)).collect();
        Self {
            constant: Secret::new(*sharing.secret().expose()),
            values,
            chunks: Secret::new(chunks),
            randomness: Secret::new(randomness),
        }
    }

    /// `V̂`, `R` and `C`.
    pub(crate) fn encrypt(&self, layout: &Layout) -> Body {
        let mut ciphertexts = vec![G1Affine::identity(); layout.items * CHUNKS];
        let parts = in_parts(layout.holders.len(), LEAST_HOLDERS, |range| {
            self.encrypt_to(layout.holders.get(range).unwrap_or_default())
        });
        let items = layout.holders.iter().flat_map(|holder| &holder.items);
        for (item, own) in items.zip(parts.concat().chunks(CHUNKS)) {
            let places = ciphertexts.iter_mut().skip(item * CHUNKS);
            places.zip(own).for_each(|(place, ciphertext)| *place = *ciphertext);
        }
        Body {
            public_key: TABLE_G2.multiply(self.constant.expose()).into(),
            commitments: TABLE_G2.multiply_all(self.values.expose()),
            ephemerals: TABLE_G.multiply_all(self.randomness.expose()),
            ciphertexts,
        }
    }

    /// `ekᵢ^r_jl · g^s_kl` for all shares of some parties, one after the other.
    fn encrypt_to(&self, holders: &[Holder]) -> Vec<G1Affine> {
        let items = || holders.iter().flat_map(|holder| &holder.items);
        let mut chunks = Vec::with_capacity(CHUNKS * items().count());
        for item in items() {
            let own = self.chunks.expose().iter().skip(item * CHUNKS).take(CHUNKS);
            chunks.extend(own.map(|chunk| Scalar::from_u64(*chunk)));
        }
        let chunks = Secret::new(chunks);
        let chunks = Secret::new(TABLE_G.multiply_all_low(chunks.expose(), BITS));
        add_each(&self.masks(holders), &chunks)
    }

    /// `ekᵢ^r_jl`
    fn masks(&self, holders: &[Holder]) -> Secret<Vec<G1Affine>> {
        let randomness = |holder: &Holder| {
            self.randomness.expose().get(..holder.items.len() * CHUNKS).unwrap_or_default()
        };
        let is_light = |holder: &Holder| randomness(holder).len() < TABLE_PAYS;
        let light = || holders.iter().filter(|holder| is_light(holder));
        let keys: Vec<_> = light()
            .flat_map(|holder| iter::repeat_n(holder.key, randomness(holder).len()))
            .collect();
        let mut scalars = Vec::with_capacity(keys.len());
        light().for_each(|holder| scalars.extend_from_slice(randomness(holder)));
        let light = Secret::new(multiply_each(&keys, Secret::new(scalars).expose()));
        let mut rest = light.expose().iter();
        let mut masks = Vec::with_capacity(holders.iter().map(|it| randomness(it).len()).sum());
        for holder in holders {
            let own = randomness(holder);
            if is_light(holder) {
                masks.extend(rest.by_ref().take(own.len()));
            } else {
                let own = Secret::new(FixedBase::new(&holder.key).multiply_all(own));
                masks.extend_from_slice(own.expose());
            }
        }
        Secret::new(masks)
    }

    /// Proves the dealing and signs it.
    pub(crate) fn publish(
        &self,
        dealer: &Author<'_>,
        body: Body,
        share: Option<(ShareIndex, &[u8; 32])>,
        rng: &mut impl CryptoRng,
    ) -> Result<Dealing, ImplausibleRandomness> {
        let Author { config, party, signer } = *dealer;
        let layout = Layout::new(config);
        let commitment = G1Affine::from(TABLE_G.multiply(self.constant.expose()));
        let origin = origin(config, party, &commitment, share);
        let proof = self.prove(&Statement { layout: &layout, origin, body: &body }, rng)?;
        let share = share.map(|(share, _)| share);
        let seal = seal(share, &body, &proof);
        let contribution = Contribution::prove(config, party, seal, &self.constant, rng);
        let signature = contribution.sign(config, signer);
        Ok(Dealing { share, contribution, signature, body, proof })
    }

    /// Masks and nonces depend on what is proven and on all its secrets: two responses to one nonce
    /// would reveal shares.
    pub(crate) fn prove(
        &self,
        statement: &Statement<'_>,
        rng: &mut impl CryptoRng,
    ) -> Result<Proof, ImplausibleRandomness> {
        let (begun, shares) = statement.begin();
        let mut rng = Hedge::new(b"PREFINAL-V1-PVSS-FIELD-NONCES")
            .public(b"statement", &begun.clone().bytes(b"hedge"))
            .scalars(b"share", self.values.expose().iter())
            .scalars(b"randomness", self.randomness.expose().iter())
            .rng(rng);
        let masked = mask(statement, &begun, &self.chunks, &mut rng)?;
        Ok(self.answer(statement.layout, &shares, masked, &mut rng))
    }

    /// Computes everything after stage 2.
    pub(crate) fn answer(
        &self,
        layout: &Layout,
        shares: &[u128],
        masked: Masked,
        rng: &mut impl CryptoRng,
    ) -> Proof {
        let deltas: Vec<Scalar> = layout.holders.iter().map(|_| Scalar::random(rng)).collect();
        let deltas = Secret::new(deltas);
        let delta_masks = Secret::new(Scalar::random(rng));
        let nonce = Nonce::random(layout.levels, rng);
        let nonces = Nonces {
            masks: TABLE_G.multiply(delta_masks.expose()).into(),
            holders: TABLE_G.multiply_all(deltas.expose()),
            chunks: chunk_nonce(layout, &delta_masks, &deltas).into(),
            levels: TABLE_G.multiply_all(nonce.levels.expose()),
            shares: nonce.of_shares(&level_keys(layout, shares)).into(),
            commitment: nonce.commitment(),
        };
        let Masked { masks, betas, sums, challenges, mut transcript } = masked;
        let (repetitions, c) = last(&mut transcript, &sums, &nonces);
        let combiner = Combiner::new(&repetitions);
        let responses = Responses {
            masks: betas
                .expose()
                .iter()
                .zip(&repetitions)
                .map(|(beta, y)| crate::proof::widen(*y) * *beta)
                .sum::<Scalar>()
                + *delta_masks.expose(),
            holders: self.answer_holders(layout, &combiner, &challenges, &deltas),
            levels: self.answer_levels(&c, &nonce.levels),
            shares: nonce.answer_shares(&c, shares, self.values.expose()),
        };
        Proof { masks, sums, nonces, responses }
    }

    /// `zᵢ`
    fn answer_holders(
        &self,
        layout: &Layout,
        combiner: &Combiner,
        challenges: &[u128],
        deltas: &Secret<Vec<Scalar>>,
    ) -> Vec<Scalar> {
        let mut answers = deltas.expose().clone();
        for entry in layout.entries() {
            let challenges = challenges.iter().skip(entry.item * CHUNKS).take(CHUNKS);
            let randomness = self.randomness.expose().iter().skip(entry.level * CHUNKS);
            let sum: Scalar =
                challenges.zip(randomness).map(|(e, r)| combiner.combine(*e) * *r).sum();
            if let Some(answer) = answers.get_mut(entry.holder) {
                *answer += sum;
            }
        }
        answers
    }

    /// `zⱼ`
    fn answer_levels(&self, c: &Scalar, rhos: &Secret<Vec<Scalar>>) -> Vec<Scalar> {
        let levels = self.randomness.expose().chunks(CHUNKS).zip(rhos.expose());
        let powers = powers();
        levels
            .map(|(randomness, rho)| {
                let joined: Scalar =
                    powers.iter().zip(randomness).map(|(power, r)| *power * *r).sum();
                *c * joined + *rho
            })
            .collect()
    }
}

/// Binds a proof to one dealing of one run, to the secret that it commits to and to the origin of that
/// secret: a share of the key with that digest, or none.
pub(crate) fn origin(
    config: &Config,
    dealer: Party,
    commitment: &G1Affine,
    share: Option<(ShareIndex, &[u8; 32])>,
) -> [u8; 32] {
    let mut transcript = Transcript::new(b"PREFINAL-V1-PVSS-FIELD-ORIGIN");
    transcript.append(b"config", config.digest());
    transcript.append_u64(b"dealer", u64::from(dealer.get()));
    transcript.append_point(b"commitment", commitment);
    if let Some((share, key)) = share {
        transcript.append_u64(b"share", u64::from(share.get()));
        transcript.append(b"key", key);
    }
    transcript.bytes(b"origin")
}

/// `Y = y₀^δ₀ · ∏ᵢ ekᵢ^δᵢ`
fn chunk_nonce(
    layout: &Layout,
    masks: &Secret<Scalar>,
    holders: &Secret<Vec<Scalar>>,
) -> G1Projective {
    let keys: Vec<_> = layout.holders.iter().map(|holder| holder.key).collect();
    let masked = Secret::new(multiply_each(&keys, holders.expose()));
    masked.expose().iter().copied().sum::<G1Projective>() + *MASK_KEY * masks.expose()
}
