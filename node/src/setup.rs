//! What a committee agrees on before its first message, and what each party keeps to itself.
//!
//! [`Setup`] is public and equal for all; [`Identity`] holds one party's secrets. Stake counts in
//! consensus and in who may deal; weight, which rounding makes of it, counts shares.
//!
//! The secrets of a demonstration are drawn from its seed, so that a run can be repeated; a chain
//! would draw them from the operating system and hand only registrations to its peers.
//!
//! Elsewhere: rounding (`weighted_rounding`), what dealers prove (`pvss_dkg`).

use std::sync::Arc;
use std::time::Duration;

use beacon::{Finality, FinalityError, Quorum};
use clap::ValueEnum;
use crypto_core::access::{Access, Party, Threshold};
use crypto_core::bls::min_sig;
use crypto_core::context::{ChainId, Context, EpochId};
use crypto_core::secret::Secret;
use crypto_core::verified::Verified;
use protocol::Pace;
use pvss_dkg::{DecryptionKey, EncryptionKey, Purpose, Session, Shape};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sha2::{Digest, Sha256};
use weighted_rounding::{Objective, Pair, Profile, Ratio, Rounding, Stake, Weight};

/// Slots between the block that completes the keys and the first slot with a value: time for
/// everybody to open its shares and to check the others' keys.
const LEAD: u64 = 6;

/// Largest block; a dealing for 129 parties has about a tenth of it.
const MAX_BLOCK_BYTES: usize = 1 << 20;

/// Which of the paper's algorithms reveals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Algorithm {
    /// Algorithm 1: partials go out when a slot is final
    Slow,
    /// Algorithm 3: partials of a second sharing go out with the vote that makes the slot final
    Fast,
    /// Algorithm 2: one sharing, no extra delay; every party counts as one unit of stake
    Tight,
}

/// Parties with their stake and weight, and the thresholds of the paths.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What consensus counts.
    pub stakes: Vec<Stake>,
    /// How many shares each party holds.
    pub weights: Vec<Weight>,
    /// Shares that reconstruct on the slow path, or on the only one.
    pub slow: Threshold,
    /// Shares that reconstruct on the fast path.
    pub fast: Option<Threshold>,
    /// Which algorithm runs.
    pub choice: Algorithm,
    /// Where the weights come from; `None` if every party counts as one.
    pub rounding: Option<Rounding>,
}

/// Why there is no such committee.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// Byzantine agreement takes four to survive one.
    #[error("a committee needs at least 4 parties, got {0}")]
    TooFew(usize),
    /// The fast path's ratio does not fit above two thirds.
    #[error("--fast: {0}")]
    Fast(#[from] weighted_rounding::PairError),
    /// The rounding failed.
    #[error(transparent)]
    Rounding(#[from] weighted_rounding::SolveError),
    /// Rounding and sharing disagree about what a threshold is.
    #[error("thresholds do not fit the weights: {0}")]
    Shape(String),
}

impl Plan {
    /// Rounds the stakes for the chosen algorithm. Tight thresholds need exact weights, so there
    /// every party counts as one unit of stake.
    ///
    /// # Errors
    /// If there are too few parties, or no rounding for the ratio.
    pub fn new(stakes: Vec<Stake>, choice: Algorithm, fast: Ratio) -> Result<Self, PlanError> {
        if stakes.len() < 4 {
            return Err(PlanError::TooFew(stakes.len()));
        }
        let pairs = match choice {
            Algorithm::Tight => return Self::tight(stakes.len()),
            Algorithm::Slow => vec![Pair::slow()],
            Algorithm::Fast => {
                vec![Pair::slow(), Pair::new("fast", Ratio::TWO_THIRDS, fast)?]
            }
        };
        let profile = Profile::new(pairs).map_err(|error| PlanError::Shape(error.to_string()))?;
        let rounding = Rounding::solve(&stakes, &profile, Objective::least_total())?;
        let total = rounding.total().get();
        let threshold = |name| {
            let found = rounding.guarantee(name);
            found.map(|guarantee| new_threshold(guarantee.threshold().get(), total)).transpose()
        };
        let slow = threshold("slow")?
            .ok_or_else(|| PlanError::Shape("the slow path has no threshold".to_owned()))?;
        Ok(Self {
            slow,
            fast: threshold("fast")?,
            weights: rounding.weights().to_vec(),
            rounding: Some(rounding),
            stakes,
            choice,
        })
    }

    /// Everybody counts as one: the threshold is the quorum of the engine, more than two thirds.
    fn tight(parties: usize) -> Result<Self, PlanError> {
        let count = u32::try_from(parties).unwrap_or(u32::MAX);
        Ok(Self {
            stakes: vec![Stake::new(1); parties],
            weights: vec![Weight::new(1); parties],
            slow: new_threshold(count - count.div_ceil(3) + 1, count)?,
            fast: None,
            choice: Algorithm::Tight,
            rounding: None,
        })
    }

    /// How many parties.
    #[must_use]
    pub fn parties(&self) -> usize {
        self.stakes.len()
    }
}

fn new_threshold(t: u32, n: u32) -> Result<Threshold, PlanError> {
    Threshold::new(t, n).map_err(|error| PlanError::Shape(error.to_string()))
}

/// What all parties know.
#[derive(Clone)]
pub struct Setup {
    /// The chain and the epoch that the key is for.
    pub context: Context,
    /// What the engine counts.
    pub members: Vec<jolteon::Member>,
    /// What the same members sign with in Malachite.
    pub ed25519: Vec<malachite::PublicKey>,
    /// What dealers deal for.
    pub keygen: Arc<pvss_dkg::Config>,
    /// Which algorithm runs.
    pub choice: Algorithm,
    /// Thresholds count parties, not stake: with tight thresholds, where every party has one unit of it, and
    /// in measurements of when partials arrive, whose values nobody uses.
    pub one_each: bool,
    /// From which slot on the fast path is used.
    pub fast_after: u64,
    /// Slots between complete keys and the first value.
    pub lead: u64,
    /// How long the engine waits for a round before it gives it up.
    pub timeout: Duration,
    /// When the engine's leaders propose.
    pub pace: Pace,
    /// The engine's limit for a block.
    pub max_block_bytes: usize,
}

/// What one party alone knows.
pub struct Identity {
    /// Who.
    pub me: Party,
    /// Signs votes, dealings and keys.
    pub signer: min_sig::SecretKey,
    /// Dealing, blinding and the decryption key are drawn from this: after a restart they come out the
    /// same, so that a crash cannot make a party deal twice or blind twice, and it opens its shares again.
    seed: Secret<[u8; 32]>,
}

impl Setup {
    /// What the engine's quorum asks of the thresholds, in the weights that the key generation counts.
    ///
    /// # Errors
    /// If stakes and weights do not fit together.
    pub fn finality(&self, quorum: Quorum) -> Result<Finality, FinalityError> {
        let counted = |stake| if self.one_each { Stake::new(1) } else { stake };
        let stakes: Vec<Stake> = self.members.iter().map(|one| counted(one.stake)).collect();
        let access = self.keygen.shape().access();
        let weights = access.parties().map(|party| Weight::new(access.weight(party)));
        Finality::rounded(&stakes, &weights.collect::<Vec<_>>(), quorum)
    }
}

impl Identity {
    /// Randomness for one purpose of this party in one session.
    #[must_use]
    pub fn rng(&self, purpose: &[u8], session: &[u8; 32]) -> ChaCha20Rng {
        rng(b"PREFINAL-V1-NODE-PURPOSE", &[self.seed.expose(), purpose, session])
    }

    /// Opens what dealers encrypt, and is used up by that. A demonstration draws it again when it starts
    /// again, for it stores no shares; so its seed gives them away for ever.
    #[must_use]
    pub fn decryption(&self) -> DecryptionKey {
        DecryptionKey::random(&mut self.rng(b"decryption", &[0; 32]))
    }

    /// What signs in Malachite.
    #[must_use]
    pub fn ed25519(&self) -> malachite::SecretKey {
        let mut seed = [0; 32];
        rand_core::Rng::fill_bytes(&mut self.rng(b"ed25519", &[0; 32]), &mut seed);
        malachite::SecretKey::from_seed(seed)
    }
}

/// What a party publishes to become a member.
struct Registration {
    signer: min_sig::PublicKey,
    possession: min_sig::ProofOfPossession,
    encryption: pvss_dkg::KeyRegistration,
}

/// Draws a demonstration's secrets from its seed and sets the committee up.
///
/// # Errors
/// If the plan's parts do not fit together.
pub fn found(plan: &Plan, seed: u64) -> Result<(Setup, Vec<Identity>), PlanError> {
    let shape_error = |error: &dyn std::fmt::Display| PlanError::Shape(error.to_string());
    let mut identities = Vec::with_capacity(plan.parties());
    let mut members = Vec::with_capacity(plan.parties());
    let mut recipients = Vec::with_capacity(plan.parties());
    for (me, stake) in (0..).map(Party::new).zip(&plan.stakes) {
        let (identity, registration) = draw(me, seed);
        let (signer, encryption) =
            admit(&registration).map_err(|error| PlanError::Shape(format!("{me}: {error}")))?;
        members.push(jolteon::Member { key: signer, stake: *stake });
        recipients.push(pvss_dkg::Member { stake: *stake, signer, encryption });
        identities.push(identity);
    }
    let chain = ChainId::new(
        Sha256::digest([&b"prefinal devnet "[..], &seed.to_be_bytes()].concat()).into(),
    );
    let context = Context { chain, epoch: EpochId::new(0) };
    let weights: Vec<u32> = plan.weights.iter().map(|weight| weight.get()).collect();
    let access = Access::new(&weights).map_err(|error| shape_error(&error))?;
    let shape = Shape::new(access, plan.slow, plan.fast).map_err(|error| shape_error(&error))?;
    let session = Session { context, attempt: 0, purpose: Purpose::Randomness };
    let total: u128 = plan.stakes.iter().map(|stake| stake.get()).sum();
    let keygen = pvss_dkg::Config::new(session, shape, recipients, Stake::new(total / 3))
        .map_err(|error| shape_error(&error))?;
    let setup = Setup {
        context,
        members,
        ed25519: identities.iter().map(|identity| identity.ed25519().public_key()).collect(),
        keygen: Arc::new(keygen),
        choice: plan.choice,
        one_each: plan.rounding.is_none(),
        fast_after: 0,
        lead: LEAD,
        timeout: Duration::from_secs(2),
        pace: Pace::NONE,
        max_block_bytes: MAX_BLOCK_BYTES,
    };
    Ok((setup, identities))
}

fn draw(me: Party, seed: u64) -> (Identity, Registration) {
    let mut rng = rng(b"PREFINAL-V1-NODE-DEMO", &[&seed.to_be_bytes(), &me.get().to_be_bytes()]);
    let signer = min_sig::SecretKey::random(&mut rng);
    let mut drawn = [0; 32];
    rand_core::Rng::fill_bytes(&mut rng, &mut drawn);
    let identity = Identity { me, signer, seed: Secret::new(drawn) };
    let signer = &identity.signer;
    let public = signer.public_key();
    let registration = Registration {
        possession: signer.prove_possession(),
        encryption: identity.decryption().register(signer, &mut rng),
        signer: public,
    };
    (identity, registration)
}

/// The checks that every party makes of every other before it takes it for a member.
fn admit(
    registration: &Registration,
) -> Result<(Verified<min_sig::PublicKey>, EncryptionKey), Box<dyn std::error::Error>> {
    let encryption = registration.encryption.verify(&registration.signer)?;
    let signer = registration.signer.verify_possession(&registration.possession)?;
    Ok((signer, encryption))
}

fn rng(tag: &[u8], parts: &[&[u8]]) -> ChaCha20Rng {
    let mut hash = Sha256::new();
    hash.update(tag);
    for part in parts {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part);
    }
    ChaCha20Rng::from_seed(hash.finalize().into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use pvss_dkg::Config;
    use pvss_dkg::protocol::Collect;
    use rand_core::Rng;

    use super::*;
    use crate::scheme::Keyed;

    /// The first bytes from which the first party would draw, for a key with that purpose.
    fn drawn<S: Keyed>(purpose: Purpose) -> [u8; 32] {
        let fast = weighted_rounding::Ratio::new(5, 6).unwrap();
        let stakes = [40, 30, 20, 10].map(Stake::new).to_vec();
        let plan = Plan::new(stakes, Algorithm::Fast, fast).unwrap();
        let (setup, identities) = found(&plan, 1).unwrap();
        let before = &setup.keygen;
        let session = Session { purpose, ..*before.session() };
        let members = before.members().to_vec();
        let config = Config::new(session, before.shape().clone(), members, before.qualify());
        let session = S::collect(Arc::new(config.unwrap())).session();
        let mut bytes = [0; 32];
        identities[0].rng(b"deal", &session).fill_bytes(&mut bytes);
        bytes
    }

    #[test]
    fn a_party_draws_for_each_purpose_from_another_stream() {
        let draws = Purpose::ALL.map(drawn::<beacon::Bls>);
        let more = Purpose::ALL.map(drawn::<beacon::Wvuf>);
        let all: std::collections::BTreeSet<_> = draws.iter().chain(&more).collect();
        assert_eq!(all.len(), 6);
        assert_eq!(draws, Purpose::ALL.map(drawn::<beacon::Bls>));
    }
}
