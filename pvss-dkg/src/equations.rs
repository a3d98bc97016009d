//! The equations of sharings, of one or of many, as one product of pairings.
//!
//! For `W` shares on each path, share `k` on path `p` held by party `i(k)`:
//!
//! | what                            | equation                                   | weight               |
//! |---------------------------------|--------------------------------------------|----------------------|
//! | the two commitments agree       | `e(F, ĝ) = e(g, V̂₀)`                       | `δ`                  |
//! | each ciphertext opens to `V̂ₖ`   | `e(Cₖ, ĝ) = e(h, V̂ₖ) · e(Rₖ, êk_i(k))`     | `γₖ`, one per `k, p` |
//! | degree `< t_p`, with point 0    | `∑ₖ vₖ(z)·V̂ₖ = 0`, see `low_degree`        | `w_p`, one per `p`   |
//! | the secret is known (`proof`)   | `T + c·F = z·g`                            | `κ`                  |
//! | the shares are known (`opening`) | `T̂ + ∑cₖ·V̂ₖ = ẑ·ĝ`                        | `ε`                  |
//!
//! A dealing has the last two; an aggregate has not. All in one, summed over the sharings at hand:
//!
//! ```text
//! e(−∑(δF + ∑γₖCₖ − κ(T + cF − zg) + εẑ·h), ĝ) · e(g, ∑δV̂₀)
//!   · e(h, ∑(∑(γₖ + w·vₖ + ε·cₖ)V̂ₖ + w·v₀V̂₀ + εT̂)) · ∏ᵢ e(∑_(i(k)=i) γₖRₖ, êkᵢ) = 1
//! ```
//!
//! **`n + 3` pairings, whatever the number of sharings**: only the sums grow. Each sharing adds a term
//! of 255 bits in 𝔾₂ and two of 128 bits in 𝔾₁ for each share.
//!
//! **Sound** because every equation of every sharing has a separate weight of 128 bits. Weights are
//! drawn from a transcript over all of them, when all errors are fixed. For any error that is not one,
//! at most one value of its weight makes the product one: 2⁻¹²⁸ for each attempt of a cheater, or of
//! cheaters that work together. `z` is common, so that the dual words are computed once. A degree that
//! is too high shows at all but `2³²` of `2²⁵⁵` values of `z`, for each sharing by itself.
//!
//! See also `verify` and `aggregate` (what is checked before), and `prefinal_crypto_core::bisect` (finding the
//! culprit when the product fails).
use std::iter;
use std::ops::Range;

use prefinal_crypto_core::bisect::Weight;
use prefinal_crypto_core::challenge::Transcript;
use prefinal_crypto_core::curve::hazmat::{
    Factor, Gt, check_pairing_product, in_parts, pairing_product, vartime_msm, vartime_msm_128,
    vartime_msm_bytes, vartime_sums,
};
use prefinal_crypto_core::curve::{
    Affine, G1Affine, G1Projective, G2Affine, G2Projective, Group, Projective, Scalar,
};
use prefinal_crypto_core::generators::{g_hat, h};

use crate::config::Config;
use crate::dealing::{Body, Dealing, Sharing};
use crate::low_degree::DualWord;
use crate::opening::Statement;
use crate::proof::widen;
use crate::shape::SharePath;
use crate::verify::SharingError;

/// The fewest parties that justify a separate thread: a millisecond of work.
const LEAST_HOLDERS: usize = 16;

/// Values that are claimed to be a sharing.
#[derive(Clone, Copy)]
pub(crate) struct Claim<'a> {
    pub(crate) commitment: &'a G1Affine,
    pub(crate) body: &'a Body,
    /// The dealing that it belongs to; its proofs are checked too.
    pub(crate) dealing: Option<&'a Dealing>,
}

/// All equations of some sharings.
pub(crate) struct Equations<'a> {
    config: &'a Config,
    /// By path, for all sharings.
    words: Vec<(SharePath, DualWord)>,
    weighted: Vec<Weighted<'a>>,
}

/// One sharing with the weights of its equations.
struct Weighted<'a> {
    claim: Claim<'a>,
    /// `δ`
    secret: u128,
    paths: Vec<WeightedPath<'a>>,
    proofs: Option<Proofs<'a>>,
}

struct WeightedPath<'a> {
    sharing: &'a Sharing,
    /// `w_p`
    degree: u128,
    /// `γₖ`
    openings: Vec<u128>,
}

struct Proofs<'a> {
    dealing: &'a Dealing,
    /// `κ`
    knowledge: u128,
    /// `ε`
    opening: Scalar,
    /// `c` of the proof of knowledge.
    challenge: Scalar,
    /// `cₖ` of the opening, over all paths.
    challenges: Vec<u128>,
}

/// Some of the sharings, with what all their weights are multiplied with.
struct Selected<'a, 'b> {
    entries: Vec<(usize, &'b Weighted<'a>)>,
    weight: Weight,
}

impl<'a> Equations<'a> {
    /// `origin` is a hash of everything else that the caller has read.
    pub(crate) fn new(config: &'a Config, claims: &[Claim<'a>], origin: &[u8; 32]) -> Self {
        let mut transcript = Transcript::new(b"PREFINAL-V1-PVSS-SHARING");
        transcript.append(b"config", config.digest());
        transcript.append(b"origin", origin);
        for Claim { commitment, body, dealing } in claims {
            transcript.append_point(b"commitment", commitment);
            transcript.append(b"body", &body.digest());
            if let Some(dealing) = dealing {
                transcript.append(b"contribution", &dealing.contribution.digest(config));
                transcript.append_point(b"opening nonce", &dealing.opening.nonce);
                transcript.append_scalar(b"opening response", &dealing.opening.response);
            }
        }
        let z = transcript.scalar(b"z");
        let word = |path| {
            let threshold = config.shape().threshold(path)?;
            Some((path, config.low_degree().dual_word(threshold, &z)))
        };
        let words = [SharePath::Slow, SharePath::Fast].into_iter().filter_map(word).collect();
        let weigh = |claim: &Claim<'a>| Weighted::new(config, *claim, &mut transcript);
        let weighted = claims.iter().map(weigh).collect();
        Self { config, words, weighted }
    }

    /// The product, which is one if all equations of these sharings hold.
    pub(crate) fn product(&self, range: Range<usize>, weight: Weight) -> Gt {
        let entries = range.clone().zip(self.weighted.get(range).unwrap_or_default()).collect();
        let selected = Selected { entries, weight };
        let mut points = vec![selected.left().to_affine()];
        let mut against = vec![g_hat()];
        let holders: Vec<_> = self.config.holders().collect();
        let sums = in_parts(holders.len(), LEAST_HOLDERS, |range| {
            selected.ephemerals(holders.get(range).unwrap_or_default().iter().map(|it| &it.2))
        });
        points.extend(sums.into_iter().flatten());
        against.extend(holders.iter().map(|(_, key, _)| *key.g2()));
        let keys = selected.sum(|one| vec![(one.claim.body.public_key, one.secret)]);
        let commitments = selected.commitments(&self.words);
        let [keys, commitments] = [keys.to_affine(), commitments.to_affine()];
        let mut pairs: Vec<(G1Affine, G2Affine)> = points.into_iter().zip(against).collect();
        pairs.extend([(G1Affine::generator(), keys), (h(), commitments)]);
        pairing_product(&pairs)
    }

    /// The first equation of the sharing itself that fails.
    pub(crate) fn check_each(&self, place: usize) -> Result<(), SharingError> {
        let Some(one) = self.weighted.get(place) else { return Ok(()) };
        let Claim { commitment, body, .. } = one.claim;
        let agree = [(*commitment, g_hat()), (-G1Affine::generator(), body.public_key)];
        check_pairing_product(agree).map_err(|_| SharingError::Commitment)?;
        for (path, (name, word)) in one.paths.iter().zip(&self.words) {
            let shares = vartime_msm(&path.sharing.commitments, &word.at_shares);
            if !(shares + body.public_key * word.at_zero).is_identity() {
                let threshold = self.config.shape().threshold(*name).map_or(0, |it| it.t().get());
                return Err(SharingError::Degree { path: *name, threshold });
            }
        }
        for (party, key, span) in self.config.holders() {
            let opens = [
                (-sum_128(one.slices(&span, |it| &it.ciphertexts)), g_hat()),
                (h().into(), sum_128(one.slices(&span, |it| &it.commitments)).to_affine()),
                (sum_128(one.ephemerals(&span)), *key.g2()),
            ];
            check_pairing_product(opens.map(|(p, q)| (p.into(), q)))
                .map_err(|_| SharingError::Ciphertext { party })?;
        }
        Ok(())
    }
}

impl<'a> Weighted<'a> {
    fn new(config: &'a Config, claim: Claim<'a>, transcript: &mut Transcript) -> Self {
        let Claim { commitment, body, dealing } = claim;
        let mut one = |label| transcript.coefficients_128(label, 1).into_iter().sum();
        let secret = one(b"delta");
        let proofs = dealing.map(|dealing| {
            let dealer = dealing.contribution.dealer;
            let statement = Statement { config, dealer, commitment, body };
            Proofs {
                dealing,
                knowledge: one(b"kappa"),
                opening: widen(one(b"epsilon")),
                challenge: dealing.contribution.challenge(config),
                challenges: statement.challenges(&dealing.opening.nonce),
            }
        });
        let paths = body.sharings().map(|(_, sharing)| WeightedPath {
            sharing,
            degree: transcript.coefficients_128(b"degree", 1).into_iter().sum(),
            openings: transcript.coefficients_128(b"gamma", sharing.commitments.len()),
        });
        let paths = paths.collect();
        Self { claim, secret, paths, proofs }
    }

    /// Points of one party on all paths, with the `γₖ`.
    fn slices<G: Group>(
        &self,
        span: &Range<usize>,
        list: impl Fn(&Sharing) -> &Vec<Affine<G>>,
    ) -> Vec<(Affine<G>, u128)> {
        let on = |path: &WeightedPath<'_>| {
            let points = list(path.sharing).get(span.clone()).unwrap_or_default().to_vec();
            let weights = path.openings.get(span.clone()).unwrap_or_default().to_vec();
            points.into_iter().zip(weights)
        };
        self.paths.iter().flat_map(on).collect()
    }

    fn ephemerals(&self, span: &Range<usize>) -> Vec<(G1Affine, u128)> {
        self.slices(span, |sharing| &sharing.ephemerals)
    }

    /// `∑ₖ −γₖCₖ + κT`, terms of 128 bits.
    fn locked(&self) -> Vec<(G1Affine, u128)> {
        let ciphertexts = self.paths.iter().flat_map(|path| {
            path.sharing.ciphertexts.iter().map(|it| -*it).zip(path.openings.iter().copied())
        });
        let nonce = self.proofs.iter().map(|it| (it.dealing.contribution.nonce, it.knowledge));
        ciphertexts.chain(nonce).collect()
    }

    /// Coefficients of `F`, `g` and `h`.
    fn fixed(&self) -> [Scalar; 3] {
        let secret = -widen(self.secret);
        match &self.proofs {
            None => [secret, Scalar::ZERO, Scalar::ZERO],
            Some(Proofs { dealing, knowledge, opening, challenge, .. }) => {
                let knowledge = widen(*knowledge);
                let response = dealing.contribution.response;
                let shares = -(*opening * dealing.opening.response);
                [secret + knowledge * *challenge, -(knowledge * response), shares]
            }
        }
    }

    /// `∑(γₖ + w·vₖ + ε·cₖ)V̂ₖ + w·v₀V̂₀ + εT̂`, times `factor`.
    fn committed(
        &self,
        words: &[(SharePath, DualWord)],
        factor: Scalar,
    ) -> Vec<(G2Affine, Scalar)> {
        let mut at_zero = Scalar::ZERO;
        let mut terms = Vec::new();
        let known = self.proofs.iter().flat_map(|it| &it.challenges).copied().map(widen);
        let mut known = known.chain(iter::repeat(Scalar::ZERO));
        let opening = self.proofs.as_ref().map_or(Scalar::ZERO, |it| factor * it.opening);
        for (path, (_, word)) in self.paths.iter().zip(words) {
            let degree = factor * widen(path.degree);
            at_zero += degree * word.at_zero;
            let weights = path.openings.iter().zip(&word.at_shares).zip(&mut known);
            let weights =
                weights.map(|((gamma, v), c)| factor * widen(*gamma) + degree * *v + opening * c);
            terms.extend(path.sharing.commitments.iter().copied().zip(weights));
        }
        terms.push((self.claim.body.public_key, at_zero));
        terms.extend(self.proofs.iter().map(|it| (it.dealing.opening.nonce, opening)));
        terms
    }
}

impl Selected<'_, '_> {
    fn factor(&self, place: usize) -> Scalar {
        match self.weight {
            Weight::One => Scalar::ONE,
            Weight::Place => Scalar::from_u64(u64::try_from(place + 1).unwrap_or(u64::MAX)),
        }
    }

    /// The sum over lists of terms with coefficients of 128 bits.
    fn sum<G: Group>(
        &self,
        list: impl Fn(&Weighted<'_>) -> Vec<(Affine<G>, u128)>,
    ) -> Projective<G> {
        let terms = self.entries.iter().flat_map(|(place, one)| {
            list(one).into_iter().map(|(point, by)| (point, self.weight.apply(by, *place)))
        });
        let (points, scalars): (Vec<_>, Vec<_>) = terms.unzip();
        vartime_msm_bytes(&points, &scalars)
    }

    /// `∑γₖRₖ` for each party.
    fn ephemerals<'b>(&self, spans: impl Iterator<Item = &'b Range<usize>>) -> Vec<G1Affine> {
        let (mut terms, mut ends) = (Vec::new(), Vec::new());
        for span in spans {
            for (place, one) in &self.entries {
                let factor = self.factor(*place);
                let own = one.ephemerals(span).into_iter();
                terms.extend(own.map(|(r, by)| (r, Factor::new(&(factor * widen(by))))));
            }
            ends.push(terms.len());
        }
        vartime_sums(&terms, &ends)
    }

    /// The point that is paired with `ĝ`.
    fn left(&self) -> G1Projective {
        let (mut points, mut scalars) = (vec![G1Affine::generator(), h()], vec![]);
        let (mut on_g, mut on_h) = (Scalar::ZERO, Scalar::ZERO);
        for (place, one) in &self.entries {
            let factor = self.factor(*place);
            let [commitment, g, h] = one.fixed();
            points.push(*one.claim.commitment);
            scalars.push(factor * commitment);
            (on_g, on_h) = (on_g + factor * g, on_h + factor * h);
        }
        scalars.splice(0..0, [on_g, on_h]);
        self.sum(|one| one.locked()) + vartime_msm(&points, &scalars)
    }

    /// The point that is paired with `h`.
    fn commitments(&self, words: &[(SharePath, DualWord)]) -> G2Projective {
        let terms =
            self.entries.iter().flat_map(|(place, one)| one.committed(words, self.factor(*place)));
        let (points, scalars): (Vec<_>, Vec<_>) = terms.unzip();
        vartime_msm(&points, &scalars)
    }
}

fn sum_128<G: Group>(terms: Vec<(Affine<G>, u128)>) -> Projective<G> {
    let (points, scalars): (Vec<_>, Vec<_>) = terms.into_iter().unzip();
    vartime_msm_128(&points, &scalars)
}
