//! One collector for keys with field elements, for fresh secrets and for handovers.
//!
//! A chain starts with a fresh key and hands it over from committee to committee. Code that follows the
//! chain through all epochs is generic over one [`Collect`]. This collector is, in each epoch, one of
//! the two kinds. Sessions and bytes are the same as those of the collector inside.
use std::collections::BTreeSet;
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig;
use rand_core::CryptoRng;

use super::collect::{Collect, NotCounted, OwnRecord, Place, RecoverError, Sealed};
use super::epoch::{EpochKey, Field};
use super::fault::Misdeed;
use super::job::OpenedShares;
use crate::accepted::Accepted;
use crate::aggregate::AggregateError;
use crate::config::Config;
use crate::dkg::Dkg;
use crate::field::large::RevealedMask;
use crate::field::{
    self, DecryptError, Handover, HandoverError, LargeChunkError, Shares, TooLarge,
};
use crate::key::{DecryptionKey, NotOpened};
use crate::wire::DecodeError;

/// Collects dealings of field elements, for a fresh key or for a handover.
///
/// A chain runs the same code for its first key and for all later ones. Here a committee of one party makes
/// a key, and hands it over to itself with a fresh encryption key:
/// ```
/// # use std::sync::Arc;
/// # use prefinal_crypto_core::{access::Party, bls::min_sig};
/// # use prefinal_crypto_core::context::{ChainId, Context, EpochId};
/// # use prefinal_pvss_dkg::{Config, DecryptionKey, Member, Purpose, Session, Shape};
/// # use prefinal_weighted_rounding::{Ratio, Stake};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # let stakes = [3].map(Stake::new);
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
/// # let session = Session { context, attempt: 0, purpose: Purpose::Certificates };
/// # let qualify = Config::more_than(Ratio::ONE_THIRD, stakes)?;
/// # let config = std::sync::Arc::new(Config::new(session, shape, members, qualify)?);
/// # let old = config;
/// use prefinal_protocol::{Instant, Machine, Output};
/// use prefinal_pvss_dkg::field::{self, Handover, Shares};
/// use prefinal_pvss_dkg::protocol::{Effect, FieldDealings, Input, Keygen, Keys, Position, Ready, Role};
/// use prefinal_pvss_dkg::{Dealer, Dkg};
///
/// // `held`: this party's shares of the key before. `None` if there is no key before.
/// let mut keygen = |dealings: FieldDealings, key: DecryptionKey, held: Option<Arc<Shares>>| {
///     let (me, mut decryption) = (Some(Party::new(0)), Some(key));
///     let role = Role { dealer: me, recipient: me };
///     let mut keys = Keys { signer: &signers[0], decryption: &mut decryption, held: &held };
///     let mut keygen = Keygen::new(dealings, role, vec![]).unwrap();
///     let (now, mut place, mut ready) = (Instant::START, 0, None);
///     keygen.handle(now, Input::Start);
///     while let Some(output) = keygen.poll() {
///         match output {
///             Output::Do(Effect::Run(job)) => {
///                 keygen.handle(now, Input::Checked(job.run(&mut keys, &mut rng)));
///             }
///             Output::Do(Effect::Submit(message)) => {
///                 place += 1; // where the chain ordered it
///                 keygen.handle(now, Input::Ordered { position: Position::new(place), message });
///             }
///             Output::Do(Effect::Ready(end)) => ready = Some(end),
///             _ => {} // store records
///         }
///     }
///     let Ready { key, shares, .. } = *ready.unwrap();
///     (key, shares.unwrap().unwrap())
/// };
///
/// let fresh = Dkg::<field::Dealing>::new(old.clone());
/// let (first, shares) = keygen(fresh.into(), keys.remove(0), None);
/// # let member = old.members()[0].clone();
/// # let again = DecryptionKey::random(&mut <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(2));
/// # let mut one = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(3);
/// # let encryption = again.register(&signers[0], &mut one).verify(&signers[0].public_key())?;
/// # let session = Session { context: Context { epoch: EpochId::new(2), ..context }, ..session };
/// # let dealers = vec![Dealer { stake: member.stake, signer: member.signer }];
/// # let members = vec![Member { encryption, ..member }];
/// # let next = Arc::new(Config::handover(session, old.shape().clone(), members, dealers, qualify)?);
/// let handover = Handover::new(next, first.predecessor())?; // `next`: the next committee
/// let (second, _) = keygen(handover.into(), again, Some(Arc::new(shares)));
/// assert_eq!(second.public_key(), first.public_key()); // the same secret, shared again
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub enum FieldDealings {
    /// Dealings of fresh secrets, for the first key of a chain.
    Fresh(Box<Dkg<field::Dealing>>),
    /// Dealings of shares of the key before, for all later keys.
    Handover(Box<Handover>),
}

impl Sealed for FieldDealings {}

impl From<Dkg<field::Dealing>> for FieldDealings {
    fn from(fresh: Dkg<field::Dealing>) -> Self {
        Self::Fresh(Box::new(fresh))
    }
}

impl From<Handover> for FieldDealings {
    fn from(handover: Handover) -> Self {
        Self::Handover(Box::new(handover))
    }
}

/// Makes the same call on either variant.
macro_rules! either {
    ($self:expr, $collector:ident => $call:expr) => {
        match $self {
            Self::Fresh($collector) => $call,
            Self::Handover($collector) => $call,
        }
    };
}

impl Collect for FieldDealings {
    type Element = Field;
    type Dealing = field::Dealing;
    type Sum = field::Key;
    type Shares = Shares;
    /// A dealer of fresh secrets needs `None`. A dealer of a handover needs its shares of the key before.
    type DealerInput = Option<Arc<Shares>>;

    fn config(&self) -> &Arc<Config> {
        either!(self, one => Collect::config(&**one))
    }

    fn session(&self) -> [u8; 32] {
        either!(self, one => one.session())
    }

    fn dealing_bytes(&self) -> usize {
        either!(self, one => one.dealing_bytes())
    }

    fn owed(&self, dealer: Party) -> Vec<Place> {
        either!(self, one => one.owed(dealer))
    }

    fn deal(
        &self,
        place: Place,
        signer: &min_sig::SecretKey,
        held: &Option<Arc<Shares>>,
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<u8>, HandoverError> {
        match self {
            Self::Fresh(fresh) => fresh.deal(place, signer, &(), rng),
            Self::Handover(handover) => {
                let dealer = place.dealer;
                let held = held.as_deref().ok_or(HandoverError::NoShares { dealer })?;
                Collect::deal(&**handover, place, signer, held, rng)
            }
        }
    }

    fn decode(&self, place: Place, bytes: &[u8]) -> Result<field::Dealing, Misdeed> {
        either!(self, one => one.decode(place, bytes))
    }

    fn check(
        &self,
        dealings: Vec<field::Dealing>,
    ) -> Vec<Result<Accepted<field::Dealing>, Misdeed>> {
        either!(self, one => one.check(dealings))
    }

    fn reread(
        &self,
        bytes: &[u8],
        own: &OwnRecord,
    ) -> Result<Accepted<field::Dealing>, DecodeError> {
        either!(self, one => one.reread(bytes, own))
    }

    fn count(&mut self, dealing: Arc<Accepted<field::Dealing>>) -> Result<(), NotCounted> {
        either!(self, one => one.count(dealing))
    }

    fn places(&self) -> BTreeSet<Place> {
        either!(self, one => one.places())
    }

    fn would_do(&self, more: &BTreeSet<Place>) -> bool {
        either!(self, one => one.would_do(more))
    }

    fn sum(&self) -> Result<field::Key, AggregateError> {
        either!(self, one => one.sum())
    }

    fn epoch_key(&self, sum: &field::Key) -> EpochKey<Field> {
        either!(self, one => one.epoch_key(sum))
    }

    fn to_bytes(&self, sum: &field::Key) -> Vec<u8> {
        either!(self, one => one.to_bytes(sum))
    }

    fn recover(&self, bytes: &[u8]) -> Result<field::Key, RecoverError> {
        either!(self, one => one.recover(bytes))
    }

    fn open(
        &self,
        sum: &field::Key,
        party: Party,
        key: DecryptionKey,
    ) -> Result<OpenedShares<Self>, NotOpened<DecryptError>> {
        either!(self, one => one.open(sum, party, key).map(of_either))
    }

    fn check_mask(
        &self,
        dealing: &field::Dealing,
        mask: &RevealedMask,
    ) -> Result<TooLarge, LargeChunkError> {
        either!(self, one => one.check_mask(dealing, mask))
    }
}

fn of_either<C: Collect<Shares = Shares>>(opened: OpenedShares<C>) -> OpenedShares<FieldDealings> {
    OpenedShares { shares: opened.shares, accusations: opened.accusations }
}
