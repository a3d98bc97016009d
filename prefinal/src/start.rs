//! The common case: one scheme, a journal in a file, rayon's pool.
use std::path::Path;
use std::sync::Arc;

use prefinal_beacon::Life;
use prefinal_beacon::stack::Envelope;
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::entropy::{SystemError, system_seed};
use prefinal_driver::{Driver, Options, Receiver, Task};
use prefinal_journal::{JournalError, Redb};
use prefinal_validator::keygen::KeygenError;
use prefinal_validator::participant::{Effect, Host, Participant};
use prefinal_validator::scheme::KeyedScheme;
use prefinal_validator::setup::{Identity, Setup};

/// Any error, for programs that print it and end.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A started party: its callbacks, and the stream of what they lead to.
pub type RunningParty<S> = (Driver<Participant<S>>, Receiver<Effect<S>>);

/// A message between the parties of scheme `S`. Send it over authenticated links, in Borsh's encoding.
pub type Message<S> = Envelope<(S, ())>;

/// Why a party does not start.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The identity is not that of a member with this number.
    #[error("the set-up has another key for {0}")]
    NotMember(Party),
    /// The journal's file cannot be made or opened, or is another party's.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The system gives no randomness to tell this life of the party from the ones before.
    #[error(transparent)]
    Randomness(#[from] SystemError),
    /// The records do not fit the set-up.
    #[error(transparent)]
    Driver(#[from] prefinal_driver::StartError<KeygenError>),
}

impl StartError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotMember(_) => "not-a-member",
            Self::Journal(error) => error.code(),
            Self::Randomness(error) => error.code(),
            Self::Driver(error) => error.code(),
        }
    }
}

/// Starts a party for the first time: creates its journal at `file`, where there must be none, and runs the
/// scheme `S` on rayon's pool. The effects in the stream are carried out by the host, in their order.
///
/// A party must never be created twice with one identity: it would forget what it has released. To
/// restart it, call [`open`]. Costs what [`Participant::new`] does, and a few writes.
///
/// # Errors
/// If the identity is not a member's, if the file exists or cannot be written.
pub fn create<S: KeyedScheme>(
    file: impl AsRef<Path>,
    setup: Setup,
    identity: Identity,
    host: Host,
) -> Result<RunningParty<S>, StartError> {
    let owner = owner(&setup, &identity)?;
    start(Redb::create(file.as_ref(), &owner)?, Life::First, setup, identity, host)
}

/// Starts a party again, with the journal that [`create`] made. It continues where its records end: what it
/// had released it releases again, and nothing that contradicts it.
///
/// # Errors
/// If the identity is not a member's, if the journal is missing, damaged, in use or another party's, or if the
/// system gives no randomness.
pub fn open<S: KeyedScheme>(
    file: impl AsRef<Path>,
    setup: Setup,
    identity: Identity,
    host: Host,
) -> Result<RunningParty<S>, StartError> {
    let owner = owner(&setup, &identity)?;
    let journal = Redb::open(file.as_ref(), &owner)?;
    let mut life = [0; 16];
    life.iter_mut().zip(system_seed()?.expose()).for_each(|(byte, drawn)| *byte = *drawn);
    start(journal, Life::later(life), setup, identity, host)
}

fn start<S: KeyedScheme>(
    journal: Redb,
    life: Life,
    setup: Setup,
    identity: Identity,
    host: Host,
) -> Result<RunningParty<S>, StartError> {
    let (setup, identity) = (Arc::new(setup), Arc::new(identity));
    let make = |records| Participant::new(&setup, &identity, life, records, host);
    Ok(Driver::start(make, journal, |task: Task| rayon::spawn(task), Options::default())?)
}

/// Whose journal it is: the chain, the party, and the first bytes of its key, for a member who comes back
/// with a new key needs a new journal.
fn owner(setup: &Setup, identity: &Identity) -> Result<String, StartError> {
    let key = identity.signer.public_key();
    let member = setup.members.get(identity.me.index());
    if member.is_none_or(|member| *member.key.get() != key) {
        return Err(StartError::NotMember(identity.me));
    }
    let [a, b, c, d, ..] = key.to_bytes();
    let key = u32::from_be_bytes([a, b, c, d]);
    Ok(format!("{:?}, {}, key {key:08x}", setup.context.chain, identity.me))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
mod tests {
    use prefinal_beacon::Bls;
    use prefinal_crypto_core::context::ChainId;
    use prefinal_crypto_core::secret::Secret;
    use prefinal_engine::Quorum;
    use prefinal_validator::setup::{Algorithm, Plan};
    use prefinal_weighted_rounding::{Ratio, Stake};

    use super::*;

    const HOST: Host = Host::new(Quorum::BYZANTINE, Some(0));

    fn identity(number: u8) -> Identity {
        Identity::from_seed(Party::new(number.into()), Secret::new([number + 1; 32]))
    }

    fn setup(chain: u8) -> Setup {
        let plan = [40, 30, 20, 10].map(Stake::new).to_vec();
        let plan = Plan::new(plan, Algorithm::Fast, Ratio::FIVE_SIXTHS).unwrap();
        let registrations: Vec<_> = (0..4).map(|number| identity(number).registration()).collect();
        Setup::new(ChainId::new([chain; 32]), &plan, &registrations).unwrap()
    }

    fn refusal(result: Result<RunningParty<Bls>, StartError>) -> StartError {
        result.err().unwrap()
    }

    #[test]
    fn a_party_is_created_once_and_opened_after() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("journal");
        let missing = refusal(open(&file, setup(1), identity(0), HOST));
        assert!(matches!(missing, StartError::Journal(_)), "{missing}");
        drop(create::<Bls>(&file, setup(1), identity(0), HOST).unwrap());
        let again = refusal(create(&file, setup(1), identity(0), HOST));
        assert!(matches!(again, StartError::Journal(_)), "{again}");
        drop(open::<Bls>(&file, setup(1), identity(0), HOST).unwrap());
    }

    #[test]
    fn a_journal_is_one_partys_on_one_chain() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("journal");
        drop(create::<Bls>(&file, setup(1), identity(0), HOST).unwrap());
        for (chain, party) in [(2, 0), (1, 1)] {
            let wrong = refusal(open(&file, setup(chain), identity(party), HOST));
            assert!(matches!(wrong, StartError::Journal(JournalError::Owner { .. })), "{wrong}");
        }
    }

    #[test]
    fn an_identity_has_its_own_number() {
        let folder = tempfile::tempdir().unwrap();
        for number in [1, 4] {
            let seed = Secret::new([1; 32]);
            let wrong = Identity::from_seed(Party::new(number), seed);
            let refused = refusal(create(folder.path().join("journal"), setup(1), wrong, HOST));
            assert!(matches!(refused, StartError::NotMember(party) if party.get() == number));
        }
    }
}
