//! One sharing, as bytes that every library reads.
use prefinal_crypto_core::access::{Access, Party, Threshold};
use prefinal_crypto_core::bls::{Domain, Variant};
use prefinal_crypto_core::commitment::Commitment;
use prefinal_crypto_core::curve::{Affine, Scalar};
use prefinal_crypto_core::polynomial::{Placement, Points, Polynomial};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::threshold::{KeyShares, Purpose, Setup, Signer, SigningCommittee};
use prefinal_fixture::{qualified, rng};

/// One case of a comparison: its committee and the message that is signed.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Parties, with one share each.
    pub n: u32,
    /// The threshold: how many parties sign.
    pub t: u32,
    /// Where the shares sit.
    pub placement: Placement,
    /// Which tag the message is hashed under: the one that the peer has.
    pub domain: Domain,
    /// What is hashed, with whatever the peer puts before it.
    pub message: &'static [u8],
}

impl Case {
    /// How the table names it.
    #[must_use]
    pub fn name(&self) -> String {
        match self.placement {
            Placement::Consecutive => format!("t={} of {}", self.t, self.n),
            Placement::RootsOfUnity => format!("t={} of {}, roots of unity", self.t, self.n),
        }
    }
}

/// All secrets of a committee from one trusted dealer, the same ones on every run.
#[derive(Debug)]
pub struct DealtSecrets<V: Variant> {
    /// The committee and the message.
    pub case: Case,
    /// Secret shares, 32 bytes each, big-endian.
    pub shares: Vec<[u8; 32]>,
    /// The commitment's points, compressed, from the constant upward.
    pub commitment: Vec<Vec<u8>>,
    pub(crate) own_commitment: Commitment<V::KeyGroup>,
    pub(crate) committee: SigningCommittee<V>,
    pub(crate) signers: Vec<Signer<V>>,
}

impl<V: Variant> DealtSecrets<V> {
    /// Deals the secrets of a case.
    #[must_use]
    pub fn new(case: Case) -> Self {
        let Case { n, t, placement, domain, .. } = case;
        let access = Access::new(&vec![1; usize::try_from(n).unwrap()]).unwrap();
        let threshold = Threshold::new(t, n).unwrap();
        let mut rng = rng();
        let secret = Secret::new(Scalar::random(&mut rng));
        let polynomial = Polynomial::random(threshold.t(), &secret, &mut rng);
        let values = polynomial.shares(&Points::of(&access, placement));
        let own_commitment = Commitment::commit(&polynomial);
        let purpose = Purpose::Messages(domain);
        let setup = Setup { access, threshold, placement, purpose };
        let committee = SigningCommittee::from_commitment(setup, &own_commitment).unwrap();
        let signer = |(value, party)| {
            let shares = KeyShares::new(Party::new(party), Secret::new(vec![value]));
            shares.check(&committee).unwrap()
        };
        let signers = values.expose().iter().copied().zip(0..).map(signer).collect();
        let shares = values.expose().iter().map(Scalar::to_bytes).collect();
        let bytes = |point: &Affine<V::KeyGroup>| point.to_bytes().as_ref().to_vec();
        let commitment = own_commitment.points().iter().map(bytes).collect();
        Self { case, shares, commitment, own_commitment, committee, signers }
    }

    /// Which parties sign: the first, or some.
    #[must_use]
    pub fn signing(&self, scattered: bool) -> Vec<usize> {
        if !scattered {
            return (0..usize::try_from(self.case.t).unwrap()).collect();
        }
        let parties = qualified(self.committee.access(), self.committee.threshold());
        let mut shares: Vec<usize> = parties.into_iter().map(Party::index).collect();
        shares.sort_unstable();
        shares
    }
}
