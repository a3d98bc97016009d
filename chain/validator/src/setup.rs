//! The public set-up that a committee agrees on before its first message, and the secrets of each party.
//!
//! [`Setup`] is public and equal for all; [`Identity`] holds one party's secrets. Consensus counts
//! stake, and so does the rule on which parties may deal. Shares are counted in weight, which rounding
//! makes from stake.
//!
//! A chain's first set-up comes from what each party publishes:
//!
//! ```
//! use prefinal_crypto_core::access::Party;
//! use prefinal_crypto_core::context::ChainId;
//! # use prefinal_crypto_core::secret::Secret;
//! use prefinal_validator::setup::{Algorithm, Identity, Plan, Setup};
//! use prefinal_weighted_rounding::{Ratio, Stake};
//!
//! # let drawn = |party: u8| Secret::new([party + 1; 32]);
//! // Each party, once: a seed from the operating system, kept secret (`entropy::system_seed`).
//! let identities: Vec<_> = (0..4_u8)
//!     .map(|party| Identity::from_seed(Party::new(party.into()), drawn(party)))
//!     .collect();
//! // Public, in the genesis: stakes and registrations, in the same order.
//! let stakes = [30, 30, 20, 20].map(Stake::new).to_vec();
//! let registrations: Vec<_> = identities.iter().map(Identity::registration).collect();
//! // Everybody computes the same from it.
//! let plan = Plan::new(stakes, Algorithm::Fast, Ratio::FIVE_SIXTHS)?;
//! let setup = Setup::new(ChainId::new([7; 32]), &plan, &registrations)?;
//! # assert_eq!(setup.members.len(), 4);
//! # Ok::<(), prefinal_validator::setup::PlanError>(())
//! ```
//! Later committees come from this one: [`Setup::grow`] gives the set-up of the next epoch, with other stakes
//! and with newcomers behind the parties that are known. A party keeps its number in all epochs. Who decides
//! is a [`Succession`]: the stake, by transactions ([`ApprovedChanges`](crate::change::ApprovedChanges)), or
//! a list that is fixed at the start ([`FixedCommittees`](crate::fixed::FixedCommittees)).
//!
//! [`found`] draws the secrets of a whole committee from one number, for demonstrations and tests whose
//! runs can be repeated.
//!
//! See also `prefinal_weighted_rounding` (rounding) and `prefinal_pvss_dkg` (what dealers prove).

mod next;
mod registration;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ed25519_consensus::SigningKey;
use prefinal_beacon::{Finality, FinalityError, Quorum};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::{SignatureError, min_sig};
use prefinal_crypto_core::context::{ChainId, Context, EpochId};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::verified::Verified;
use prefinal_engine::{Block, Pace};
use prefinal_protocol::Slot;
use prefinal_pvss_dkg::{
    ConfigError, DecryptionKey, KeyError, KeyRegistration, Purpose, Session, Shape, ShapeError,
};
use prefinal_weighted_rounding::{
    Objective, PairError, Profile, Ratio, Rounding, SolveError, Stake,
};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sha2::{Digest, Sha256};

use crate::change::ChangeError;

pub use self::registration::Registration;

/// Slots between the block that completes the keys and the first slot with a value. In this time
/// parties open their shares and check the others' keys.
const LEAD: u64 = 6;

/// The first epoch of every chain.
pub const FIRST: EpochId = EpochId::new(0);

/// Limit of a block in bytes. A dealing for 129 parties takes about a tenth of it.
const MAX_BLOCK_BYTES: usize = 1 << 20;

/// The algorithm of the paper that reveals values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Algorithm 1: partials go out when a slot is final
    Slow,
    /// Algorithm 3: partials of a second sharing go out with the vote that makes the slot final
    Fast,
    /// Algorithm 2: one sharing, no extra delay; every party counts as one unit of stake
    Tight,
}

/// The plan of a committee: the parties' stakes and weights, and the thresholds of the paths.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The stake of each party, which consensus counts.
    pub stakes: Vec<Stake>,
    /// Number of shares of each party, and number of shares that reconstruct on each path.
    pub shape: Shape,
    /// The algorithm that runs.
    pub choice: Algorithm,
    /// The share of the stake that reconstructs on the fast path, if there is one.
    pub fast_ratio: Ratio,
    /// The rounding that gave the weights; `None` if every party counts as one.
    pub rounding: Option<Rounding>,
}

/// Why a committee cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Fewer than four parties: Byzantine agreement needs four to survive one fault.
    #[error("a committee needs at least 4 parties, got {0}")]
    TooFew(usize),
    /// The fast path's ratio does not fit above two thirds.
    #[error("--fast: {0}")]
    Fast(#[from] PairError),
    /// No small weights were found for these stakes.
    #[error(transparent)]
    Rounding(#[from] SolveError),
    /// There are more or fewer of these items than parties that need one. Parties of an earlier epoch
    /// keep their numbers: a party that leaves has stake 0, and newcomers are behind all others.
    #[error("{got} {what} for {expected} parties")]
    Parties {
        /// The kind of item that is needed once for each party.
        what: &'static str,
        /// Number of items that were given.
        got: usize,
        /// Number of parties of the chain.
        expected: usize,
    },
    /// Weights and thresholds do not fit together.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// Members and shares do not fit together for a key generation.
    #[error(transparent)]
    Keygen(#[from] ConfigError),
    /// A party that is to hold shares in the next epoch has registered no encryption key for it.
    #[error(
        "{got} of {need} parties with stake have registered an encryption key, {missing} has not"
    )]
    Unregistered {
        /// Number of parties with stake that have registered a key.
        got: usize,
        /// Number of parties with stake, newcomers left out.
        need: usize,
        /// The first party without a key.
        missing: Party,
    },
    /// The encryption key has served this epoch: a break-in now would open dealings of both epochs.
    #[error("the encryption key of {party} has been used before")]
    UsedKey {
        /// The party that registered it.
        party: Party,
    },
    /// Two parties have the same key: one could answer for the other.
    #[error("{first} and {second} have the same {what} key")]
    SameKey {
        /// What the key is for.
        what: &'static str,
        /// One of the two.
        first: Party,
        /// The other party with the same key.
        second: Party,
    },
    /// A party does not own its encryption key.
    #[error("{party}: {error}")]
    Encryption {
        /// The owner of the key.
        party: Party,
        /// The check that the key fails.
        #[source]
        error: KeyError,
    },
    /// A party does not own its signing key.
    #[error("{party}: {error}")]
    Signing {
        /// The owner of the key.
        party: Party,
        /// The check that the key fails.
        #[source]
        error: SignatureError,
    },
}

impl PlanError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooFew(_) => "too-few-parties",
            Self::Fast(error) => error.code(),
            Self::Rounding(error) => error.code(),
            Self::Parties { .. } => "wrong-count",
            Self::Unregistered { .. } => "not-registered",
            Self::UsedKey { .. } => "key-used-up",
            Self::Shape(error) => error.code(),
            Self::Keygen(error) => error.code(),
            Self::SameKey { .. } => "duplicate-key",
            Self::Encryption { error, .. } => error.code(),
            Self::Signing { error, .. } => error.code(),
        }
    }
}

impl Plan {
    /// Rounds the stakes for the chosen algorithm. Tight thresholds need exact weights, so there every
    /// party with a stake counts as one unit. A party of stake 0 is not in the committee: it follows
    /// the chain and holds no share.
    ///
    /// # Errors
    /// If there are too few parties, or there is no rounding for the ratio.
    pub fn new(stakes: Vec<Stake>, choice: Algorithm, fast: Ratio) -> Result<Self, PlanError> {
        if stakes.len() < 4 {
            return Err(PlanError::TooFew(stakes.len()));
        }
        let profile = match choice {
            Algorithm::Tight => return Self::tight(&stakes, fast),
            Algorithm::Slow => Profile::slow(),
            Algorithm::Fast => Profile::slow_and_fast(fast)?,
        };
        let rounding = Rounding::solve(&stakes, &profile, Objective::least_total())?;
        let shape = Shape::from_rounding(&rounding)?;
        Ok(Self { stakes, shape, choice, fast_ratio: fast, rounding: Some(rounding) })
    }

    /// A plan in which everybody counts as one. The threshold is the engine's quorum: more than two thirds.
    fn tight(stakes: &[Stake], fast_ratio: Ratio) -> Result<Self, PlanError> {
        let stakes: Vec<Stake> = stakes.iter().map(|one| (*one).min(Stake::new(1))).collect();
        let shape = Shape::tight(&stakes, Ratio::TWO_THIRDS)?;
        Ok(Self { stakes, shape, choice: Algorithm::Tight, fast_ratio, rounding: None })
    }

    /// The same stakes with other weights and thresholds.
    #[must_use]
    pub fn with_shape(self, shape: Shape) -> Self {
        Self { shape, rounding: None, ..self }
    }

    /// Number of parties, those without stake included.
    #[must_use]
    pub fn parties(&self) -> usize {
        self.stakes.len()
    }
}

/// The public set-up of one epoch, equal for all parties.
#[derive(Clone)]
pub struct Setup {
    /// The chain and the epoch that the key is for.
    pub context: Context,
    /// The parties as the engine counts them.
    pub members: Vec<prefinal_engine::Member<Verified<min_sig::PublicKey>>>,
    /// Ed25519 public keys of the same members, for an engine that uses such keys.
    pub ed25519: Vec<[u8; 32]>,
    /// Keys with which the same members sign certificates. They differ from the keys for votes, because
    /// a slot may have more than one vote.
    pub certifiers: Vec<CertificateKey>,
    /// Configuration of the key generation.
    pub keygen: Arc<prefinal_pvss_dkg::Config>,
    /// The algorithm that runs.
    pub choice: Algorithm,
    /// The share of the stake that reconstructs on the fast path, which later committees keep.
    pub fast_ratio: Ratio,
    /// Number of slots that use the slow path only, counted from the chain's first slot with a value.
    pub fast_after: u64,
    /// Number of slots between complete keys and the first value.
    pub lead: u64,
    /// Time that the engine waits in a round before it gives the round up.
    pub timeout: Duration,
    /// When the engine's leaders may propose.
    pub pace: Pace,
    /// The engine's limit for a block in bytes.
    pub max_block_bytes: usize,
    /// Decides on later committees; `None` if this committee stays.
    pub succession: Option<Arc<dyn Succession>>,
}

/// The key with which a member signs certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateKey {
    /// The key that verifies its certificates.
    pub key: Verified<min_sig::PublicKey>,
    /// Shows that the member owns it, to those who have not seen its registration.
    pub possession: min_sig::ProofOfPossession,
}

/// The rule that decides on the next committee.
pub trait Succession: Send + Sync {
    /// Called at each final block of an epoch, in order, until it returns a set-up. The result must
    /// depend on the arguments only: all parties must get the same one, and a party that restarts must
    /// get it again. A party that was away shows only those transactions of a block that have a
    /// [`Kind`](crate::transaction::Kind), so it must not depend on others. The set-up must be one that the key can be handed over to, as [`Setup::next`] and
    /// [`Setup::grow`] make it.
    fn next(&self, current: &Setup, slot: Slot, block: &Block) -> Decision;
}

/// What a final block says about the next committee.
#[derive(Default)]
pub struct Decision {
    /// The next set-up, if the block names one.
    pub next: Option<Arc<Setup>>,
    /// Transactions of the block that should change the committee and do not, in their order. Operators
    /// are told why ([`Event::ChangeRefused`](crate::Event::ChangeRefused)).
    pub refused: Vec<RefusedChange>,
}

/// A transaction that should change the committee and does not.
#[derive(Clone, Debug)]
pub struct RefusedChange {
    /// The place of the transaction in its block, counted from 0.
    pub position: usize,
    /// The check that it fails.
    pub error: Arc<ChangeError>,
}

/// The secrets of one party.
pub struct Identity {
    /// The party's number. It is the same in all epochs. A party that is to join a running chain has
    /// the number that the next committee gives it ([`Draft::number_of`](crate::change::Draft::number_of)).
    pub me: Party,
    /// Secret key that signs votes, dealings and keys.
    pub signer: min_sig::SecretKey,
    /// Dealing, blinding and the decryption key are drawn from this seed, so they are the same after a
    /// restart. So a crash cannot make a party deal twice or blind twice, and it can open its shares again.
    seed: Secret<[u8; 32]>,
}

impl Setup {
    /// The set-up of a chain's first epoch. The registrations are those of the plan's parties, in the
    /// same order; everybody who has both computes the same set-up. Slots wait two seconds
    /// ([`timeout`](Self::timeout)), the committee stays, and blocks have at most a mebibyte. Costs
    /// seven pairings for each party.
    ///
    /// # Errors
    /// If there are fewer or more registrations than parties, if a proof in one of them does not hold, if two
    /// parties have a key in common, or if the plan's parts do not fit together.
    pub fn new(
        chain: ChainId,
        plan: &Plan,
        registrations: &[Registration],
    ) -> Result<Self, PlanError> {
        let (got, expected) = (registrations.len(), plan.parties());
        if got != expected {
            return Err(PlanError::Parties { what: "registrations", got, expected });
        }
        let parties = (0..).map(Party::new).zip(registrations);
        let admitted = parties.map(|(party, registration)| registration.admit(party));
        let admitted = admitted.collect::<Result<Vec<_>, _>>()?;
        distinct("certificate", admitted.iter().map(|one| one.certifier.key.get().to_bytes()))?;
        distinct("Ed25519", admitted.iter().map(|one| one.ed25519))?;
        let both = || admitted.iter().zip(&plan.stakes);
        let members =
            both().map(|(one, stake)| prefinal_engine::Member { key: one.signer, stake: *stake });
        let recipients = both().map(|(one, stake)| prefinal_pvss_dkg::Member {
            stake: *stake,
            signer: one.signer,
            encryption: one.encryption.clone(),
        });
        let context = Context { chain, epoch: FIRST };
        let session = Session { context, attempt: 0, purpose: Purpose::Randomness };
        let qualify =
            prefinal_pvss_dkg::Config::more_than(Ratio::ONE_THIRD, plan.stakes.iter().copied())?;
        let shape = plan.shape.clone();
        let keygen = prefinal_pvss_dkg::Config::new(session, shape, recipients.collect(), qualify)?;
        Ok(Self {
            context,
            members: members.collect(),
            ed25519: admitted.iter().map(|one| one.ed25519).collect(),
            certifiers: admitted.iter().map(|one| one.certifier).collect(),
            keygen: Arc::new(keygen),
            choice: plan.choice,
            fast_ratio: plan.fast_ratio,
            fast_after: 0,
            lead: LEAD,
            timeout: Duration::from_secs(2),
            pace: Pace::NONE,
            max_block_bytes: MAX_BLOCK_BYTES,
            succession: None,
        })
    }

    /// The same committee with other weights and thresholds.
    ///
    /// # Errors
    /// If they are for another number of parties.
    pub fn with_shape(&self, shape: Shape) -> Result<Self, ConfigError> {
        let before = &self.keygen;
        let (session, members) = (*before.session(), before.members().to_vec());
        let config = prefinal_pvss_dkg::Config::new(session, shape, members, before.qualify())?;
        Ok(Self { keygen: Arc::new(config), ..self.clone() })
    }

    /// What the engine's quorum requires of the thresholds, in the weights of the key generation and
    /// the stakes that these were computed from. Without stakes, weights count parties. That is for
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
    /// A party of a chain. Draw `seed` from the operating system, once, and keep it secret. All secrets
    /// of the party, in every epoch, can be computed from it, and from any old copy of it.
    #[must_use]
    pub const fn new(me: Party, signer: min_sig::SecretKey, seed: Secret<[u8; 32]>) -> Self {
        Self { me, signer, seed }
    }

    /// A party all of whose secrets are drawn from one seed. Draw `seed` from the operating system, once,
    /// and keep it secret: it is everything that a party must not lose besides its journal.
    #[must_use]
    pub fn from_seed(me: Party, seed: Secret<[u8; 32]>) -> Self {
        let mut rng = rng(b"PREFINAL-V1-NODE-SIGNER", &[seed.expose()]);
        Self::new(me, min_sig::SecretKey::random(&mut rng), seed)
    }

    /// Randomness of this party for one purpose in one session.
    #[must_use]
    pub fn rng(&self, purpose: &[u8], session: &[u8; 32]) -> ChaCha20Rng {
        rng(b"PREFINAL-V1-NODE-PURPOSE", &[self.seed.expose(), purpose, session])
    }

    /// The key that opens what dealers encrypt for an epoch. It is another key in each epoch, and one
    /// opening uses it up. A demonstration stores no shares and draws the key again at each start, so
    /// its seed reveals the shares for ever.
    #[must_use]
    pub fn decryption(&self, epoch: EpochId) -> DecryptionKey {
        DecryptionKey::random(&mut self.rng(b"decryption", &numbered(epoch)))
    }

    /// The registration with which the party can receive shares in an epoch.
    #[must_use]
    pub fn register(&self, epoch: EpochId) -> KeyRegistration {
        let mut rng = self.rng(b"registration", &numbered(epoch));
        self.decryption(epoch).register(&self.signer, &mut rng)
    }

    /// The seed of the party's Ed25519 key, for engines that sign with one.
    #[must_use]
    pub fn ed25519(&self) -> Secret<[u8; 32]> {
        let mut seed = [0; 32];
        rand_core::Rng::fill_bytes(&mut self.rng(b"ed25519", &[0; 32]), &mut seed);
        Secret::new(seed)
    }

    /// The secret key for certificates. It signs nothing else.
    #[must_use]
    pub fn certifier(&self) -> min_sig::SecretKey {
        min_sig::SecretKey::random(&mut self.rng(b"certifier", &[0; 32]))
    }

    fn ed25519_public(&self) -> [u8; 32] {
        SigningKey::from(*self.ed25519().expose()).verification_key().to_bytes()
    }
}

/// Draws the secrets of a whole committee from one number and makes its set-up. For demonstrations and
/// tests: anybody that knows the number knows every secret.
///
/// # Errors
/// If the plan's parts do not fit together.
pub fn found(plan: &Plan, seed: u64) -> Result<(Setup, Vec<Identity>), PlanError> {
    let parties = (0..).map(Party::new).take(plan.parties());
    let (identities, registrations): (Vec<_>, Vec<_>) = parties.map(|me| draw(me, seed)).unzip();
    let chain = Sha256::digest([&b"prefinal devnet "[..], &seed.to_be_bytes()].concat());
    Ok((Setup::new(ChainId::new(chain.into()), plan, &registrations)?, identities))
}

fn draw(me: Party, seed: u64) -> (Identity, Registration) {
    let mut rng = rng(b"PREFINAL-V1-NODE-DEMO", &[&seed.to_be_bytes(), &me.get().to_be_bytes()]);
    let signer = min_sig::SecretKey::random(&mut rng);
    let mut drawn = [0; 32];
    rand_core::Rng::fill_bytes(&mut rng, &mut drawn);
    let identity = Identity::new(me, signer, Secret::new(drawn));
    let encryption = identity.decryption(FIRST).register(&identity.signer, &mut rng);
    let registration = Registration::of(&identity, encryption);
    (identity, registration)
}

/// Refuses a list in which two parties have the same key.
fn distinct<K: Ord>(what: &'static str, keys: impl Iterator<Item = K>) -> Result<(), PlanError> {
    let mut owners = BTreeMap::new();
    for (second, key) in (0..).map(Party::new).zip(keys) {
        if let Some(first) = owners.insert(key, second) {
            return Err(PlanError::SameKey { what, first, second });
        }
    }
    Ok(())
}

/// The epoch's number, as long as a session. All zeros for the first epoch.
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
    use prefinal_pvss_dkg::Config;
    use prefinal_pvss_dkg::protocol::Collect;
    use rand_core::Rng;

    use super::*;
    use crate::scheme::KeyedScheme;

    /// The first bytes from which the first party would draw, for a key with that purpose.
    fn drawn<S: KeyedScheme>(purpose: Purpose) -> [u8; 32] {
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
        let draws = Purpose::ALL.map(drawn::<prefinal_beacon::Bls>);
        let more = Purpose::ALL.map(drawn::<prefinal_beacon::Wvuf>);
        let all: std::collections::BTreeSet<_> = draws.iter().chain(&more).collect();
        assert_eq!(all.len(), 6);
        assert_eq!(draws, Purpose::ALL.map(drawn::<prefinal_beacon::Bls>));
    }
}
