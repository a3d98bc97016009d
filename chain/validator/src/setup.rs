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
use crypto_core::access::Party;
use crypto_core::bls::{SignatureError, min_sig};
use crypto_core::context::{ChainId, Context, EpochId};
use crypto_core::secret::Secret;
use crypto_core::verified::Verified;
use ed25519_consensus::SigningKey;
use engine::{Block, Pace};
use protocol::Slot;
use pvss_dkg::{
    ConfigError, Dealer, DecryptionKey, EncryptionKey, KeyError, KeyRegistration, Purpose, Session,
    Shape, ShapeError,
};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sha2::{Digest, Sha256};
use weighted_rounding::{Objective, PairError, Profile, Ratio, Rounding, SolveError, Stake};

/// Slots between the block that completes the keys and the first slot with a value: time for
/// everybody to open its shares and to check the others' keys.
const LEAD: u64 = 6;

/// The epoch that every chain begins with.
pub const FIRST: EpochId = EpochId::new(0);

/// Largest block; a dealing for 129 parties has about a tenth of it.
const MAX_BLOCK_BYTES: usize = 1 << 20;

/// Which of the paper's algorithms reveals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// How many shares each party holds, and how many reconstruct on each path.
    pub shape: Shape,
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
    Fast(#[from] PairError),
    /// The rounding failed.
    #[error(transparent)]
    Rounding(#[from] SolveError),
    /// The parties are fixed; who joins or leaves gets another stake.
    #[error("{got} {what} for {expected} parties")]
    Parties {
        /// What there is one of for each party.
        what: &'static str,
        /// How many there are.
        got: usize,
        /// How many parties the chain has.
        expected: usize,
    },
    /// Weights and thresholds make no shares.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// Members and shares make no key generation.
    #[error(transparent)]
    Keygen(#[from] ConfigError),
    /// A party is not the owner of its encryption key.
    #[error("{party}: {error}")]
    Encryption {
        /// The party whose key it is.
        party: Party,
        /// The check that its key fails.
        #[source]
        error: KeyError,
    },
    /// A party is not the owner of its signing key.
    #[error("{party}: {error}")]
    Signing {
        /// The party whose key it is.
        party: Party,
        /// The check that its key fails.
        #[source]
        error: SignatureError,
    },
}

impl Plan {
    /// Rounds the stakes for the chosen algorithm. Tight thresholds need exact weights, so there
    /// every party with a stake counts as one unit. A party of stake 0 is not in the committee: it
    /// follows, and holds no share.
    ///
    /// # Errors
    /// If there are too few parties, or no rounding for the ratio.
    pub fn new(stakes: Vec<Stake>, choice: Algorithm, fast: Ratio) -> Result<Self, PlanError> {
        if stakes.len() < 4 {
            return Err(PlanError::TooFew(stakes.len()));
        }
        let profile = match choice {
            Algorithm::Tight => return Self::tight(&stakes),
            Algorithm::Slow => Profile::slow(),
            Algorithm::Fast => Profile::slow_and_fast(fast)?,
        };
        let rounding = Rounding::solve(&stakes, &profile, Objective::least_total())?;
        let shape = Shape::from_rounding(&rounding)?;
        Ok(Self { stakes, shape, choice, rounding: Some(rounding) })
    }

    /// Everybody counts as one: the threshold is the quorum of the engine, more than two thirds.
    fn tight(stakes: &[Stake]) -> Result<Self, PlanError> {
        let stakes: Vec<Stake> = stakes.iter().map(|one| (*one).min(Stake::new(1))).collect();
        let shape = Shape::tight(&stakes, Ratio::TWO_THIRDS)?;
        Ok(Self { stakes, shape, choice: Algorithm::Tight, rounding: None })
    }

    /// The same stakes with weights and thresholds of another origin.
    #[must_use]
    pub fn with_shape(self, shape: Shape) -> Self {
        Self { shape, rounding: None, ..self }
    }

    /// How many parties.
    #[must_use]
    pub fn parties(&self) -> usize {
        self.stakes.len()
    }
}

/// What all parties know.
#[derive(Clone)]
pub struct Setup {
    /// The chain and the epoch that the key is for.
    pub context: Context,
    /// What the engine counts.
    pub members: Vec<engine::Member<Verified<min_sig::PublicKey>>>,
    /// What the same members sign with in an engine that takes Ed25519 keys.
    pub ed25519: Vec<[u8; 32]>,
    /// What the same members sign certificates with: another key than for votes, of which there may be more
    /// than one in a slot.
    pub certifiers: Vec<Verified<min_sig::PublicKey>>,
    /// What dealers deal for.
    pub keygen: Arc<pvss_dkg::Config>,
    /// Which algorithm runs.
    pub choice: Algorithm,
    /// How many slots, from the chain's first with a value on, use the slow path alone.
    pub fast_after: u64,
    /// Slots between complete keys and the first value.
    pub lead: u64,
    /// How long the engine waits for a round before it gives it up.
    pub timeout: Duration,
    /// When the engine's leaders propose.
    pub pace: Pace,
    /// The engine's limit for a block.
    pub max_block_bytes: usize,
    /// Which committees follow; `None` if this one stays.
    pub succession: Option<Arc<dyn Succession>>,
}

/// Who decides on the next committee.
pub trait Succession: Send + Sync {
    /// Asked at each final block of an epoch in order, until it answers. The answer depends on nothing but
    /// what it is asked, for all parties have to come to the same, and a party that restarts to the same
    /// again.
    fn next(&self, current: &Setup, slot: Slot, block: &Block) -> Option<Arc<Setup>>;
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
    /// The same committee with weights and thresholds of another origin.
    ///
    /// # Errors
    /// If these are not for as many parties.
    pub fn with_shape(&self, shape: Shape) -> Result<Self, ConfigError> {
        let before = &self.keygen;
        let (session, members) = (*before.session(), before.members().to_vec());
        let config = pvss_dkg::Config::new(session, shape, members, before.qualify())?;
        Ok(Self { keygen: Arc::new(config), ..self.clone() })
    }

    /// The set-up of the next epoch: the same parties with the stakes of another plan, which is 0 for one
    /// that is not in the committee yet, or not any more. The committee of this epoch deals; dealings are
    /// encrypted under the keys that the parties register for the next one ([`Identity::register`]), in
    /// their order.
    ///
    /// # Errors
    /// If the plan or the registrations are for other parties, a registration is not its party's, or the
    /// plan's parts do not fit together.
    pub fn next(&self, plan: &Plan, registrations: &[KeyRegistration]) -> Result<Self, PlanError> {
        let before = self.keygen.members();
        let expected = before.len();
        for (what, got) in [("stakes", plan.parties()), ("registrations", registrations.len())] {
            if got != expected {
                return Err(PlanError::Parties { what, got, expected });
            }
        }
        let mut recipients = Vec::with_capacity(expected);
        let parties = (0..).map(Party::new).zip(before).zip(registrations).zip(&plan.stakes);
        for (((party, member), registration), stake) in parties {
            let encryption = registration.verify(member.signer.get());
            let encryption = encryption.map_err(|error| PlanError::Encryption { party, error })?;
            let (stake, signer) = (*stake, member.signer);
            recipients.push(pvss_dkg::Member { stake, signer, encryption });
        }
        let epoch = self.context.epoch.next();
        let context = Context { epoch, ..self.context };
        let session = Session { context, attempt: 0, ..*self.keygen.session() };
        let dealers: Vec<Dealer> = before
            .iter()
            .map(|member| Dealer { stake: member.stake, signer: member.signer })
            .collect();
        let stakes = dealers.iter().map(|dealer| dealer.stake);
        let qualify = pvss_dkg::Config::more_than(Ratio::ONE_THIRD, stakes)?;
        let shape = plan.shape.clone();
        let keygen = pvss_dkg::Config::handover(session, shape, recipients, dealers, qualify)?;
        let members = self.members.iter().zip(&plan.stakes);
        let members = members.map(|(member, stake)| engine::Member { stake: *stake, ..*member });
        Ok(Self {
            context,
            members: members.collect(),
            keygen: Arc::new(keygen),
            choice: plan.choice,
            ..self.clone()
        })
    }

    /// What the engine's quorum asks of the thresholds, in the weights that the key generation counts and
    /// the stakes that they were made of. Weights that were made of none count parties, not stake: in
    /// measurements of when partials arrive, whose values nobody uses.
    ///
    /// # Errors
    /// If stakes and weights do not fit together.
    pub fn finality(&self, quorum: Quorum) -> Result<Finality, FinalityError> {
        let (shape, one_each) = (self.keygen.shape(), vec![Stake::new(1); self.members.len()]);
        Finality::rounded(shape.stakes().unwrap_or(&one_each), &shape.weights(), quorum)
    }
}

impl Identity {
    /// A party of a chain. Draw `seed` from the operating system, once, and keep it secret: all secrets of the
    /// party, in every epoch, can be computed from it, and from any old copy of it.
    #[must_use]
    pub const fn new(me: Party, signer: min_sig::SecretKey, seed: Secret<[u8; 32]>) -> Self {
        Self { me, signer, seed }
    }

    /// Randomness for one purpose of this party in one session.
    #[must_use]
    pub fn rng(&self, purpose: &[u8], session: &[u8; 32]) -> ChaCha20Rng {
        rng(b"PREFINAL-V1-NODE-PURPOSE", &[self.seed.expose(), purpose, session])
    }

    /// Opens what dealers encrypt for an epoch, another key in each, and is used up by that. A demonstration
    /// draws it again when it starts again, for it stores no shares; so its seed gives them away for ever.
    #[must_use]
    pub fn decryption(&self, epoch: EpochId) -> DecryptionKey {
        DecryptionKey::random(&mut self.rng(b"decryption", &numbered(epoch)))
    }

    /// What the party publishes to receive shares in an epoch.
    #[must_use]
    pub fn register(&self, epoch: EpochId) -> KeyRegistration {
        let mut rng = self.rng(b"registration", &numbered(epoch));
        self.decryption(epoch).register(&self.signer, &mut rng)
    }

    /// The seed of its Ed25519 key, for engines that sign with one.
    #[must_use]
    pub fn ed25519(&self) -> Secret<[u8; 32]> {
        let mut seed = [0; 32];
        rand_core::Rng::fill_bytes(&mut self.rng(b"ed25519", &[0; 32]), &mut seed);
        Secret::new(seed)
    }

    /// The secret key that signs certificates, and nothing else.
    #[must_use]
    pub fn certifier(&self) -> min_sig::SecretKey {
        min_sig::SecretKey::random(&mut self.rng(b"certifier", &[0; 32]))
    }

    fn ed25519_public(&self) -> [u8; 32] {
        SigningKey::from(*self.ed25519().expose()).verification_key().to_bytes()
    }
}

/// What a party publishes to become a member.
struct Registration {
    signer: Owned,
    certifier: Owned,
    encryption: KeyRegistration,
}

/// A key with the proof that its secret is known.
struct Owned {
    key: min_sig::PublicKey,
    possession: min_sig::ProofOfPossession,
}

impl Owned {
    fn new(secret: &min_sig::SecretKey) -> Self {
        Self { key: secret.public_key(), possession: secret.prove_possession() }
    }

    fn verify(&self, party: Party) -> Result<Verified<min_sig::PublicKey>, PlanError> {
        let verified = self.key.verify_possession(&self.possession);
        verified.map_err(|error| PlanError::Signing { party, error })
    }
}

/// Draws a demonstration's secrets from its seed and sets the committee up.
///
/// # Errors
/// If the plan's parts do not fit together.
pub fn found(plan: &Plan, seed: u64) -> Result<(Setup, Vec<Identity>), PlanError> {
    let mut identities = Vec::with_capacity(plan.parties());
    let mut members = Vec::with_capacity(plan.parties());
    let mut recipients = Vec::with_capacity(plan.parties());
    let mut certifiers = Vec::with_capacity(plan.parties());
    for (me, stake) in (0..).map(Party::new).zip(&plan.stakes) {
        let (identity, registration) = draw(me, seed);
        let (signer, encryption) = admit(me, &registration)?;
        certifiers.push(registration.certifier.verify(me)?);
        members.push(engine::Member { key: signer, stake: *stake });
        recipients.push(pvss_dkg::Member { stake: *stake, signer, encryption });
        identities.push(identity);
    }
    let chain = ChainId::new(
        Sha256::digest([&b"prefinal devnet "[..], &seed.to_be_bytes()].concat()).into(),
    );
    let context = Context { chain, epoch: FIRST };
    let session = Session { context, attempt: 0, purpose: Purpose::Randomness };
    let qualify = pvss_dkg::Config::more_than(Ratio::ONE_THIRD, plan.stakes.iter().copied())?;
    let keygen = pvss_dkg::Config::new(session, plan.shape.clone(), recipients, qualify)?;
    let setup = Setup {
        context,
        members,
        ed25519: identities.iter().map(Identity::ed25519_public).collect(),
        certifiers,
        keygen: Arc::new(keygen),
        choice: plan.choice,
        fast_after: 0,
        lead: LEAD,
        timeout: Duration::from_secs(2),
        pace: Pace::NONE,
        max_block_bytes: MAX_BLOCK_BYTES,
        succession: None,
    };
    Ok((setup, identities))
}

fn draw(me: Party, seed: u64) -> (Identity, Registration) {
    let mut rng = rng(b"PREFINAL-V1-NODE-DEMO", &[&seed.to_be_bytes(), &me.get().to_be_bytes()]);
    let signer = min_sig::SecretKey::random(&mut rng);
    let mut drawn = [0; 32];
    rand_core::Rng::fill_bytes(&mut rng, &mut drawn);
    let identity = Identity::new(me, signer, Secret::new(drawn));
    let registration = Registration {
        signer: Owned::new(&identity.signer),
        certifier: Owned::new(&identity.certifier()),
        encryption: identity.decryption(FIRST).register(&identity.signer, &mut rng),
    };
    (identity, registration)
}

/// The checks that every party makes of every other before it takes it for a member.
fn admit(
    party: Party,
    registration: &Registration,
) -> Result<(Verified<min_sig::PublicKey>, EncryptionKey), PlanError> {
    let encryption = registration.encryption.verify(&registration.signer.key);
    let encryption = encryption.map_err(|error| PlanError::Encryption { party, error })?;
    Ok((registration.signer.verify(party)?, encryption))
}

/// The epoch's number as wide as a session; all zeros for the first.
fn numbered(epoch: EpochId) -> [u8; 32] {
    let mut session = [0; 32];
    if let Some(last) = session.last_chunk_mut() {
        *last = epoch.get().to_be_bytes();
    }
    session
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
        let fast = Ratio::FIVE_SIXTHS;
        let stakes = [40, 30, 20, 10].map(Stake::new).to_vec();
        let plan = Plan::new(stakes, Algorithm::Fast, fast).unwrap();
        let (setup, identities) = found(&plan, 1).unwrap();
        let before = &setup.keygen;
        let session = Session { purpose, ..*before.session() };
        let members = before.members().to_vec();
        let config = Config::new(session, before.shape().clone(), members, before.qualify());
        let session = S::collect(Arc::new(config.unwrap()), None).unwrap().session();
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
