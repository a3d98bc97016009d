//! What a trusted dealer hands out in each scheme, and how its partials go wrong.
use std::collections::BTreeMap;

use borsh::BorshDeserialize;
use prefinal_beacon::{Binding, Bls, ConfigError, MultiSig, Reveal, Scheme, Value, Wvuf};
use prefinal_crypto_core::access::{Access, Party, Threshold};
use prefinal_crypto_core::bls::{MinSig, min_sig};
use prefinal_crypto_core::certificate::{Certificate, Elector, Electorate, Signers};
use prefinal_crypto_core::curve::hazmat::pairing_product;
use prefinal_crypto_core::curve::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar};
use prefinal_crypto_core::drand::RoundNumber;
use prefinal_crypto_core::generators::{g_hat, h};
use prefinal_crypto_core::polynomial::Placement;
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::threshold::{self, Setup, Signer};
use prefinal_crypto_core::wvuf::{self, AdmittedKey, EvaluationKey, KeyShares, audit, blind};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::fixture::CONTEXT;

/// A scheme as tests need it.
pub(crate) trait Instance: Scheme<Output: Copy> {
    /// One sharing with its secrets.
    type Dealt;

    /// Bytes of a partial of weight one.
    const PARTIAL_BYTES: usize;
    /// Bytes of an output that is shown by one partial.
    const SHOWN_BYTES: usize;
    /// Slots that are many, by what one of them costs.
    const MANY: u64;
    /// Whether outputs cannot but depend on the value, and one path is all there is.
    const VALUES_ONLY: bool = false;
    /// How two paths that are one are refused.
    const ONE_PATH: fn(Party) -> ConfigError;

    fn deal(
        access: &Access,
        threshold: Threshold,
        shared: (&Scalar, &[Scalar]),
        rng: &mut ChaCha20Rng,
    ) -> Self::Dealt;

    fn committee(dealt: &Self::Dealt, binding: Binding) -> Self::Committee;

    /// `None` for a party without shares.
    fn secret(dealt: &Self::Dealt, party: Party, binding: Binding) -> Option<Self::Secret>;

    /// Decodes, is of weight one, and is wrong.
    fn wrong_partial(number: u64) -> Self::Partial;

    /// The point that no partial may end with.
    fn identity() -> Vec<u8>;

    /// Two partials of weight one with errors that cancel in [`Instance::naive`].
    fn cancelling(dealt: &Self::Dealt, pair: [(Party, &Self::Partial); 2]) -> [Self::Partial; 2];

    /// What a batch without random coefficients would compare.
    fn naive(dealt: &Self::Dealt, partials: &BTreeMap<Party, Self::Partial>) -> Vec<u8>;

    /// An output of a committee of one, by its partial.
    fn alone(party: Party, partial: Self::Partial) -> Self::OutputMessage;

    /// Checks an output from public data, by other code than the beacon's.
    fn audit(dealt: &Self::Dealt, reveal: &Reveal<Self>);
}

fn recoded<T: BorshDeserialize>(point: &impl borsh::BorshSerialize) -> T {
    borsh::from_slice(&borsh::to_vec(point).unwrap()).unwrap()
}

pub(crate) struct DealtWvuf {
    pub(crate) committee: wvuf::VufCommittee,
    pub(crate) empty: wvuf::VufCommittee,
    pub(crate) admitted: BTreeMap<Party, AdmittedKey>,
    keys: BTreeMap<Party, Secret<[u8; 32]>>,
    shares: BTreeMap<Party, KeyShares>,
}

impl DealtWvuf {
    /// A party's key with the factor that a seed gives: one seed, one factor, on whichever path.
    pub(crate) fn blinded(&self, party: Party, seed: u64) -> AdmittedKey {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (_, key) = blind(&self.empty, party, &self.shares[&party], &mut rng);
        self.empty.admit(party, key).unwrap()
    }

    /// `rᵢ`, which only a test knows.
    fn blinding(&self, party: Party) -> Scalar {
        let blinding = Scalar::from_bytes(self.keys[&party].expose()).unwrap().invert().unwrap();
        assert_eq!(self.committee.keys()[&party].pi(), (h() * blinding).to_affine());
        blinding
    }
}

impl Instance for Wvuf {
    type Dealt = DealtWvuf;

    const PARTIAL_BYTES: usize = 96;
    const SHOWN_BYTES: usize = 4 + 4 + 96;
    const MANY: u64 = 1_000;
    const ONE_PATH: fn(Party) -> ConfigError = |party| ConfigError::SharedBlinding { party };

    fn deal(
        access: &Access,
        threshold: Threshold,
        (_, shares): (&Scalar, &[Scalar]),
        rng: &mut ChaCha20Rng,
    ) -> DealtWvuf {
        let public = shares.iter().map(|share| (g_hat() * share).to_affine()).collect();
        let empty = wvuf::VufCommittee::new(access.clone(), threshold, public).unwrap();
        let mut committee = empty.clone();
        let (mut admitted, mut keys) = (BTreeMap::new(), BTreeMap::new());
        let mut dealt_shares = BTreeMap::new();
        for party in access.parties().filter(|party| access.weight(*party) > 0) {
            let own = &shares[access.range(party)];
            let own: Vec<_> = own.iter().map(|share| (h() * share).to_affine()).collect();
            let own = KeyShares::new(own);
            let (key, blinded) = blind(&empty, party, &own, rng);
            dealt_shares.insert(party, own);
            let key_admitted = empty.admit(party, blinded).unwrap();
            committee.insert(key_admitted.clone()).unwrap();
            admitted.insert(party, key_admitted);
            keys.insert(party, key.to_secret_bytes());
        }
        DealtWvuf { committee, empty, admitted, keys, shares: dealt_shares }
    }

    fn committee(dealt: &DealtWvuf, _: Binding) -> wvuf::VufCommittee {
        dealt.committee.clone()
    }

    fn secret(dealt: &DealtWvuf, party: Party, _: Binding) -> Option<EvaluationKey> {
        dealt.keys.get(&party).map(|bytes| EvaluationKey::from_secret_bytes(bytes).unwrap())
    }

    fn wrong_partial(number: u64) -> wvuf::Partial {
        recoded(&(G2Projective::generator() * Scalar::from_u64(number)).to_affine())
    }

    fn identity() -> Vec<u8> {
        G2Affine::identity().to_bytes().to_vec()
    }

    /// `∏ e(πᵢ, σᵢ)` stays what it is with `σ·ĝ^s` and `σ'·ĝ^(−r)`.
    fn cancelling(
        dealt: &DealtWvuf,
        [(one, first), (other, second)]: [(Party, &wvuf::Partial); 2],
    ) -> [wvuf::Partial; 2] {
        let shifted = |partial: &wvuf::Partial, by: Scalar| -> wvuf::Partial {
            let point = G2Projective::from(recoded::<G2Affine>(partial));
            recoded(&(point + G2Projective::generator() * by).to_affine())
        };
        let (r, s) = (dealt.blinding(one), dealt.blinding(other));
        [shifted(first, s), shifted(second, Scalar::ZERO - r)]
    }

    fn naive(dealt: &DealtWvuf, partials: &BTreeMap<Party, wvuf::Partial>) -> Vec<u8> {
        let pi = |party| dealt.committee.keys()[party].pi();
        let terms = partials.iter().map(|(party, partial)| (pi(party), recoded(partial)));
        pairing_product(&terms.collect::<Vec<_>>()).to_bytes().to_vec()
    }

    fn alone(party: Party, partial: wvuf::Partial) -> BTreeMap<Party, wvuf::Partial> {
        BTreeMap::from([(party, partial)])
    }

    fn audit(dealt: &DealtWvuf, reveal: &Reveal<Self>) {
        let committee = &dealt.committee;
        let (weights, t) = (committee.access().weights(), committee.threshold().t().get());
        let audit = audit::keys(&weights, t, committee.public(), committee.keys()).unwrap();
        let claim = (&reveal.proof, &reveal.output);
        let bound = reveal.bound.map(Value::to_bytes);
        assert_eq!(audit.verify(&CONTEXT, reveal.slot, bound, claim), Ok(()));
    }
}

pub(crate) struct DealtBls {
    setup: Setup,
    group: G2Affine,
    share_keys: Vec<G2Affine>,
    pub(crate) secret: Scalar,
    pub(crate) shares: Vec<Scalar>,
}

impl DealtBls {
    pub(crate) fn new(
        access: &Access,
        threshold: Threshold,
        (secret, shares): (&Scalar, &[Scalar]),
    ) -> Self {
        let public = |share: &Scalar| (G2Projective::generator() * *share).to_affine();
        let (placement, purpose) = (Placement::RootsOfUnity, Bls::purpose(Binding::Slot));
        Self {
            setup: Setup { access: access.clone(), threshold, placement, purpose },
            group: public(secret),
            share_keys: shares.iter().map(public).collect(),
            secret: *secret,
            shares: shares.to_vec(),
        }
    }
}

impl Instance for Bls {
    type Dealt = DealtBls;

    const PARTIAL_BYTES: usize = 4 + 48;
    const SHOWN_BYTES: usize = 48;
    const MANY: u64 = 3_000;
    const ONE_PATH: fn(Party) -> ConfigError = |party| ConfigError::SharedShare { party };

    fn deal(
        access: &Access,
        threshold: Threshold,
        shared: (&Scalar, &[Scalar]),
        _: &mut ChaCha20Rng,
    ) -> DealtBls {
        DealtBls::new(access, threshold, shared)
    }

    /// One secret for outputs of both kinds, which only a test would have.
    fn committee(dealt: &DealtBls, binding: Binding) -> threshold::SigningCommittee<MinSig> {
        let setup = Setup { purpose: Bls::purpose(binding), ..dealt.setup.clone() };
        let keys = dealt.share_keys.clone();
        threshold::SigningCommittee::from_share_keys(setup, &recoded(&dealt.group), keys).unwrap()
    }

    fn secret(dealt: &DealtBls, party: Party, binding: Binding) -> Option<Signer<MinSig>> {
        let own = dealt.shares[dealt.setup.access.range(party)].to_vec();
        let shares = threshold::KeyShares::new(party, Secret::new(own));
        shares.check(&Self::committee(dealt, binding)).ok()
    }

    fn wrong_partial(number: u64) -> threshold::Partial<MinSig> {
        recoded(&vec![(G1Projective::generator() * Scalar::from_u64(number)).to_affine()])
    }

    fn identity() -> Vec<u8> {
        G1Affine::identity().to_bytes().to_vec()
    }

    /// `∏ σⱼ` stays what it is with `σ·g` and `σ'·g^(−1)`.
    fn cancelling(
        _: &DealtBls,
        [(_, first), (_, second)]: [(Party, &threshold::Partial<MinSig>); 2],
    ) -> [threshold::Partial<MinSig>; 2] {
        let shifted = |partial: &threshold::Partial<MinSig>, by: G1Affine| {
            recoded(&vec![(G1Projective::from(partial.points()[0]) + by).to_affine()])
        };
        [shifted(first, G1Affine::generator()), shifted(second, -G1Affine::generator())]
    }

    fn naive(_: &DealtBls, partials: &BTreeMap<Party, threshold::Partial<MinSig>>) -> Vec<u8> {
        let points = partials.values().flat_map(|partial| partial.points().to_vec());
        points.sum::<G1Projective>().to_affine().to_bytes().to_vec()
    }

    /// One share of one is the key.
    fn alone(_: Party, partial: threshold::Partial<MinSig>) -> min_sig::Signature {
        recoded(&partial.points()[0])
    }

    fn audit(dealt: &DealtBls, reveal: &Reveal<Self>) {
        let (purpose, message) = match reveal.bound {
            None => {
                let round = RoundNumber::new(reveal.slot.get()).unwrap();
                (Bls::purpose(Binding::Slot), round.message().to_vec())
            }
            Some(value) => (Bls::CERTIFICATES, Bls::statement(&CONTEXT, reveal.slot, value)),
        };
        let key = recoded(&dealt.group);
        assert_eq!(reveal.output.verify(&key, purpose.domain(), &message), Ok(()));
    }
}

pub(crate) struct DealtMultiSig {
    pub(crate) electorate: Electorate<MinSig>,
    keys: Vec<Secret<[u8; 32]>>,
}

impl Instance for MultiSig {
    type Dealt = DealtMultiSig;

    const PARTIAL_BYTES: usize = 48;
    /// A bitmap of one party.
    const SHOWN_BYTES: usize = 4 + 1 + 48;
    const MANY: u64 = 1_000;
    const VALUES_ONLY: bool = true;
    const ONE_PATH: fn(Party) -> ConfigError = |_| ConfigError::OnePath;

    /// Nothing is shared: each party has a key, and its weight is its stake.
    fn deal(
        access: &Access,
        threshold: Threshold,
        _: (&Scalar, &[Scalar]),
        rng: &mut ChaCha20Rng,
    ) -> DealtMultiSig {
        let keys: Vec<_> = access.parties().map(|_| min_sig::SecretKey::random(rng)).collect();
        let elector = |(party, key): (Party, &min_sig::SecretKey)| Elector {
            key: key.public_key().verify_possession(&key.prove_possession()).unwrap(),
            stake: access.weight(party).into(),
        };
        let electors = access.parties().zip(&keys).map(elector).collect();
        let quorum = threshold.t().get().into();
        let electorate = Electorate::with_quorum(electors, quorum).unwrap();
        let keys = keys.iter().map(min_sig::SecretKey::to_secret_bytes).collect();
        DealtMultiSig { electorate, keys }
    }

    fn committee(dealt: &DealtMultiSig, _: Binding) -> Electorate<MinSig> {
        dealt.electorate.clone()
    }

    fn secret(dealt: &DealtMultiSig, party: Party, _: Binding) -> Option<min_sig::SecretKey> {
        let bytes = dealt.keys.get(party.index())?;
        Some(min_sig::SecretKey::from_secret_bytes(bytes).unwrap())
    }

    fn wrong_partial(number: u64) -> min_sig::Signature {
        recoded(&(G1Projective::generator() * Scalar::from_u64(number)).to_affine())
    }

    fn identity() -> Vec<u8> {
        G1Affine::identity().to_bytes().to_vec()
    }

    /// `∏ σᵢ` stays what it is with `σ·g` and `σ'·g^(−1)`.
    fn cancelling(
        _: &DealtMultiSig,
        [(_, first), (_, second)]: [(Party, &min_sig::Signature); 2],
    ) -> [min_sig::Signature; 2] {
        let shifted = |signature: &min_sig::Signature, by: G1Affine| {
            let point = G1Projective::from(recoded::<G1Affine>(signature));
            recoded(&(point + by).to_affine())
        };
        [shifted(first, G1Affine::generator()), shifted(second, -G1Affine::generator())]
    }

    fn naive(_: &DealtMultiSig, partials: &BTreeMap<Party, min_sig::Signature>) -> Vec<u8> {
        let points = partials.values().map(recoded::<G1Affine>);
        points.sum::<G1Projective>().to_affine().to_bytes().to_vec()
    }

    /// As a light client would: from keys, stakes and the bytes of the certificate.
    fn alone(party: Party, partial: min_sig::Signature) -> Certificate<MinSig> {
        Certificate { signers: Signers::new(1, [party]).unwrap(), signature: partial }
    }

    fn audit(dealt: &DealtMultiSig, reveal: &Reveal<Self>) {
        let value = reveal.bound.unwrap();
        let message = Bls::statement(&CONTEXT, reveal.slot, value);
        let signers: Vec<_> = reveal.proof.signers.iter().collect();
        let electors = signers.iter().map(|party| dealt.electorate.elector(*party).unwrap());
        let stake: u128 = electors.clone().map(|elector| elector.stake).sum();
        assert!(stake >= dealt.electorate.quorum());
        let keys: Vec<_> = electors.map(|elector| elector.key).collect();
        let signature = &reveal.proof.signature;
        let checked = min_sig::verify_multi(&keys, MultiSig::DOMAIN, &message, signature);
        assert_eq!(checked, Ok(()));
    }
}
