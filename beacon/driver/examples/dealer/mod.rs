//! A trusted dealer, for examples. `prefinal_pvss_dkg` generates keys without one.
use std::error::Error;
use std::num::NonZeroU32;
use std::time::Duration;

use prefinal_beacon::{Binding, Bls, Config, Finality, Life, Limits, Paths, Quorum, Sharing, Slot};
use prefinal_crypto_core::access::{Access, Party, Threshold};
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::commitment::Commitment;
use prefinal_crypto_core::context::{ChainId, Context, EpochId};
use prefinal_crypto_core::curve::Scalar;
use prefinal_crypto_core::polynomial::{Placement, Points, Polynomial};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::threshold::{self, KeyShares, Setup};
use prefinal_weighted_rounding::Stake;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

pub(crate) type Committee = threshold::SigningCommittee<MinSig>;
type Failure = Box<dyn Error + Send + Sync>;

/// Parties of equal weight with two sharings of one secret.
pub(crate) struct Dealer {
    slow: Dealt,
    fast: Dealt,
    finality: Finality,
}

/// One sharing. Each party takes its share once.
struct Dealt {
    committee: Committee,
    shares: Vec<Option<Secret<Vec<Scalar>>>>,
}

impl Dealer {
    /// More than a third on the slow path, all parties on the fast one.
    pub(crate) fn new(parties: u32, seed: u64) -> Result<Self, Failure> {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let access = Access::new(&vec![1; usize::try_from(parties)?])?;
        let secret = Secret::new(Scalar::random(&mut rng));
        let mut deal = |t: u32| -> Result<_, Failure> {
            let threshold = Threshold::new(t, parties)?;
            let (placement, purpose) = (Placement::Consecutive, Bls::purpose(Binding::Slot));
            let setup = Setup { access: access.clone(), threshold, placement, purpose };
            let t = NonZeroU32::new(t).ok_or("a threshold of zero")?;
            let polynomial = Polynomial::random(t, &secret, &mut rng);
            let committee = Committee::from_commitment(setup, &Commitment::commit(&polynomial))?;
            let shares = polynomial.shares(&Points::of(&access, placement));
            let one = |share: &Scalar| Some(Secret::new(vec![*share]));
            Ok(Dealt { committee, shares: shares.expose().iter().map(one).collect() })
        };
        // Each party has one unit of stake and one share.
        let stakes = vec![Stake::new(1); usize::try_from(parties)?];
        let finality = Finality::exact(&stakes, Quorum::BYZANTINE)?;
        Ok(Self { slow: deal(parties / 3 + 1)?, fast: deal(parties)?, finality })
    }

    /// The public part, which everybody may know.
    pub(crate) const fn public(&self) -> &Committee {
        &self.slow.committee
    }

    /// The configuration of a party, with its own secrets. Call it once for each party.
    pub(crate) fn config(&mut self, me: Party) -> Result<Config<Bls>, Failure> {
        let (slow, fast) = (self.slow.take(me)?, self.fast.take(me)?);
        Ok(Config {
            context: Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(0) },
            me,
            paths: Paths::FastAndSlow { slow, fast, fast_from: Slot::new(1) },
            binding: Binding::Slot,
            fast_attempt: Some(0),
            finality: self.finality.clone(),
            first: Slot::new(1),
            // The journals are made for one run only.
            life: Life::First,
            // The links take no time.
            limits: Limits { retry: Duration::from_millis(100), ..Limits::default() },
        })
    }
}

impl Dealt {
    fn take(&mut self, me: Party) -> Result<Sharing<Bls>, Failure> {
        let own = self.shares.get_mut(me.index()).and_then(Option::take);
        let own = KeyShares::new(me, own.ok_or("no share is left")?).check(&self.committee)?;
        Ok(Sharing { committee: self.committee.clone(), secret: Some(own) })
    }
}
