//! Which dealings make the key: the part of the protocol that depends on the kind of key.
//!
//! | collector              | what is dealt            | a place is              | enough are           |
//! |------------------------|--------------------------|-------------------------|----------------------|
//! | [`Dkg<Dealing>`]       | fresh secrets, `h^f(k)`  | a dealer                | dealers by stake     |
//! | [`Dkg<field::Dealing>`] | fresh secrets, `f(k)`   | a dealer                | dealers by stake     |
//! | [`Handover`]           | shares of the key before | a share, with its holder | `t` shares           |
//!
//! At most one dealing counts for each *place*. A third party needs only a collector without dealings
//! to judge a message of the session.
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use prefinal_crypto_core::access::{Party, ShareIndex};
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::challenge::Transcript;
use prefinal_weighted_rounding::Stake;
use rand_core::CryptoRng;
use thiserror::Error;

use super::epoch::{Element, EpochKey, Field, Group};
use super::fault::{Evidence, Fault, Misdeed};
use super::job::{Accusation, OpenedShares};
use crate::accepted::Accepted;
use crate::aggregate::{Aggregate, AggregateError, Shares};
use crate::config::Config;
use crate::deal::deal;
use crate::dealing::Dealing;
use crate::dkg::{AnyDealing, Dkg, DkgError};
use crate::field::large::RevealedMask;
use crate::field::{
    self, AddError, DecryptError, Handover, HandoverError, LargeChunk, LargeChunkError, TooLarge,
};
use crate::key::{DecryptionKey, NotOpened};
use crate::verify::verify_all;
use crate::wire::{DecodeError, Reader, VERSION};

/// A place: at most one dealing counts for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The party that deals.
    pub dealer: Party,
    /// The share of the key before that is dealt on; `None` if the secret is fresh.
    pub share: Option<ShareIndex>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.share {
            Some(share) => write!(f, "{share} of {}", self.dealer),
            None => write!(f, "{}", self.dealer),
        }
    }
}

/// Why a verified dealing does not count.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotCounted {
    /// A dealing of a fresh secret.
    #[error(transparent)]
    Fresh(#[from] DkgError),
    /// A dealing of a share of the key before.
    #[error(transparent)]
    Share(#[from] AddError),
}

impl NotCounted {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Fresh(error) => error.code(),
            Self::Share(error) => error.code(),
        }
    }
}

/// Why a peer's offer is not the finalized key.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RecoverError {
    /// The encoding is wrong.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// A dealing in it is invalid.
    #[error(transparent)]
    Dealing(#[from] Misdeed),
    /// Two dealings are for one place, or there are too many.
    #[error(transparent)]
    NotCounted(#[from] NotCounted),
    /// The dealings do not make a key.
    #[error(transparent)]
    Sum(#[from] AggregateError),
    /// The dealings make another key than the finalized one.
    #[error("dealings make another key than the one that was finalized")]
    OtherKey,
}

impl RecoverError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Decode(error) => error.code(),
            Self::Dealing(error) => error.code(),
            Self::NotCounted(error) => error.code(),
            Self::Sum(error) => error.code(),
            Self::OtherKey => "other-key",
        }
    }
}

/// A token for reading this party's own log: dealings in it were checked before they were written to
/// its disk.
pub struct OwnRecord(());

impl OwnRecord {
    pub(super) const fn new() -> Self {
        Self(())
    }
}

pub trait Sealed {}
impl Sealed for Dkg<Dealing> {}
impl Sealed for Dkg<field::Dealing> {}
impl Sealed for Handover {}

/// Collects verified dealings until they make a key.
pub trait Collect: Sealed + Clone + Send + Sync + 'static {
    /// The kind of the shares of the key.
    type Element: Element;
    /// The dealing of one dealer for one place.
    type Dealing: Send + Sync;
    /// The sum of the dealings that count.
    type Sum: Send + Sync;
    /// A party's secret shares.
    type Shares: Send;
    /// What a dealer must hold to deal, for example its shares of the key before.
    type DealerInput;

    /// The configuration: dealers, recipients, thresholds.
    fn config(&self) -> &Arc<Config>;
    /// Names the configuration, what is dealt, and the key that is handed over. The protocol's
    /// signatures are bound to it.
    fn session(&self) -> [u8; 32];
    /// The exact length of a dealing in bytes.
    fn dealing_bytes(&self) -> usize;
    /// The places that the dealer may deal for, once each.
    fn owed(&self, dealer: Party) -> Vec<Place>;
    /// Makes a dealing for the place and encodes it.
    ///
    /// # Errors
    /// If the signer is not the dealer's, or `held` is not what was dealt to it.
    fn deal(
        &self,
        place: Place,
        signer: &min_sig::SecretKey,
        held: &Self::DealerInput,
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<u8>, HandoverError>;
    /// Decodes a dealing that its dealer has signed for that place.
    ///
    /// # Errors
    /// What its dealer did wrong.
    fn decode(&self, place: Place, bytes: &[u8]) -> Result<Self::Dealing, Misdeed>;
    /// Checks dealings together. Each verdict is the same as if the dealing were checked alone.
    fn check(&self, dealings: Vec<Self::Dealing>) -> Vec<Result<Accepted<Self::Dealing>, Misdeed>>;
    /// Decodes a dealing that this party has judged before.
    ///
    /// # Errors
    /// If the bytes are not those that were written.
    fn reread(&self, bytes: &[u8], own: &OwnRecord)
    -> Result<Accepted<Self::Dealing>, DecodeError>;
    /// Counts the next dealing in the finalized order.
    ///
    /// # Errors
    /// If it does not count. The collector is unchanged then.
    fn count(&mut self, dealing: Arc<Accepted<Self::Dealing>>) -> Result<(), NotCounted>;
    /// The places whose dealings count.
    fn places(&self) -> BTreeSet<Place>;
    /// Whether the dealings that count would suffice together with one more for each place in `more`.
    /// None of these places has a dealing that counts.
    fn would_do(&self, more: &BTreeSet<Place>) -> bool;
    /// Adds the dealings up to the key.
    ///
    /// # Errors
    /// If the dealings do not suffice, or do not make a key.
    fn sum(&self) -> Result<Self::Sum, AggregateError>;
    /// The public part of the key, which everybody knows.
    fn epoch_key(&self, sum: &Self::Sum) -> EpochKey<Self::Element>;
    /// What an absent party needs besides the finalized key.
    fn to_bytes(&self, sum: &Self::Sum) -> Vec<u8>;
    /// Reads such bytes and checks the dealings, but does not compare them with the finalized key.
    ///
    /// # Errors
    /// The first check that fails.
    fn recover(&self, bytes: &[u8]) -> Result<Self::Sum, RecoverError>;
    /// Decrypts the party's own shares and wipes the decryption key.
    ///
    /// # Errors
    /// If the key is not the party's. The error gives the key back.
    fn open(
        &self,
        sum: &Self::Sum,
        party: Party,
        key: DecryptionKey,
    ) -> Result<OpenedShares<Self>, NotOpened<DecryptError>>;
    /// The chunk of a verified dealing that is too large, as the revealed mask shows.
    ///
    /// # Errors
    /// If the mask shows no such chunk.
    #[doc(hidden)]
    fn check_mask(
        &self,
        dealing: &Self::Dealing,
        mask: &RevealedMask,
    ) -> Result<TooLarge, LargeChunkError>;
}

impl Collect for Dkg<Dealing> {
    type Element = Group;
    type Dealing = Dealing;
    type Sum = Accepted<Aggregate>;
    type Shares = Shares;
    type DealerInput = ();

    fn config(&self) -> &Arc<Config> {
        self.config()
    }

    fn session(&self) -> [u8; 32] {
        session(self.config(), b"group elements", &[])
    }

    fn dealing_bytes(&self) -> usize {
        self.config().dealing_bytes()
    }

    fn owed(&self, dealer: Party) -> Vec<Place> {
        one_each(self.config(), dealer)
    }

    fn deal(
        &self,
        place: Place,
        signer: &min_sig::SecretKey,
        (): &(),
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<u8>, HandoverError> {
        Ok(deal(self.config(), place.dealer, signer, rng)?.to_bytes())
    }

    fn decode(&self, place: Place, bytes: &[u8]) -> Result<Dealing, Misdeed> {
        let dealing = Dealing::from_bytes(self.config(), bytes)?;
        check_place(place, Place { dealer: dealing.dealer(), share: None })?;
        Ok(dealing)
    }

    fn check(&self, dealings: Vec<Dealing>) -> Vec<Result<Accepted<Dealing>, Misdeed>> {
        named(verify_all(self.config(), dealings))
    }

    fn reread(&self, bytes: &[u8], _: &OwnRecord) -> Result<Accepted<Dealing>, DecodeError> {
        Ok(Accepted::new(Dealing::from_bytes(self.config(), bytes)?, *self.config().digest()))
    }

    fn count(&mut self, dealing: Arc<Accepted<Dealing>>) -> Result<(), NotCounted> {
        Ok(self.add(dealing).map(drop)?)
    }

    fn places(&self) -> BTreeSet<Place> {
        self.dealings().iter().map(|one| Place { dealer: one.dealer(), share: None }).collect()
    }

    fn would_do(&self, more: &BTreeSet<Place>) -> bool {
        would_qualify(self, more)
    }

    fn sum(&self) -> Result<Accepted<Aggregate>, AggregateError> {
        self.aggregate()
    }

    fn epoch_key(&self, sum: &Accepted<Aggregate>) -> EpochKey<Group> {
        EpochKey::of_aggregate(self.config(), sum)
    }

    fn to_bytes(&self, sum: &Accepted<Aggregate>) -> Vec<u8> {
        Aggregate::to_bytes(sum)
    }

    fn recover(&self, bytes: &[u8]) -> Result<Accepted<Aggregate>, RecoverError> {
        Ok(Aggregate::from_bytes(self.config(), bytes)?.verify(self.config())?)
    }

    fn open(
        &self,
        sum: &Accepted<Aggregate>,
        party: Party,
        key: DecryptionKey,
    ) -> Result<OpenedShares<Self>, NotOpened<DecryptError>> {
        match sum.decrypt(self.config(), party, key) {
            Ok(shares) => Ok(OpenedShares { shares, accusations: Vec::new() }),
            Err(NotOpened { key, error }) => Err(NotOpened { key, error: error.into() }),
        }
    }

    /// Dealings of group elements have no chunks.
    fn check_mask(&self, _: &Dealing, _: &RevealedMask) -> Result<TooLarge, LargeChunkError> {
        Err(LargeChunkError::Honest)
    }
}

impl Collect for Dkg<field::Dealing> {
    type Element = Field;
    type Dealing = field::Dealing;
    type Sum = field::Key;
    type Shares = field::Shares;
    type DealerInput = ();

    fn config(&self) -> &Arc<Config> {
        self.config()
    }

    fn session(&self) -> [u8; 32] {
        session(self.config(), b"field elements", &[])
    }

    fn dealing_bytes(&self) -> usize {
        self.config().field_dealing_bytes()
    }

    fn owed(&self, dealer: Party) -> Vec<Place> {
        one_each(self.config(), dealer)
    }

    fn deal(
        &self,
        place: Place,
        signer: &min_sig::SecretKey,
        (): &(),
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<u8>, HandoverError> {
        Ok(field::deal(self.config(), place.dealer, signer, rng)?.to_bytes())
    }

    fn decode(&self, place: Place, bytes: &[u8]) -> Result<field::Dealing, Misdeed> {
        decode(self.config(), place, bytes)
    }

    fn check(
        &self,
        dealings: Vec<field::Dealing>,
    ) -> Vec<Result<Accepted<field::Dealing>, Misdeed>> {
        named(field::verify_all(self.config(), dealings))
    }

    fn reread(&self, bytes: &[u8], _: &OwnRecord) -> Result<Accepted<field::Dealing>, DecodeError> {
        reread(self.config(), bytes)
    }

    fn count(&mut self, dealing: Arc<Accepted<field::Dealing>>) -> Result<(), NotCounted> {
        Ok(self.add(dealing).map(drop)?)
    }

    fn places(&self) -> BTreeSet<Place> {
        self.dealings().iter().map(|one| Place { dealer: one.dealer(), share: None }).collect()
    }

    fn would_do(&self, more: &BTreeSet<Place>) -> bool {
        would_qualify(self, more)
    }

    fn sum(&self) -> Result<field::Key, AggregateError> {
        self.key()
    }

    fn epoch_key(&self, sum: &field::Key) -> EpochKey<Field> {
        EpochKey::of_key(self.config(), sum)
    }

    fn to_bytes(&self, sum: &field::Key) -> Vec<u8> {
        write_dealings(sum)
    }

    fn recover(&self, bytes: &[u8]) -> Result<field::Key, RecoverError> {
        let most = self.config().dealers().len();
        // Not `add`: dealings that were finalized in another order may suffice before they are all in.
        Ok(field::Key::sum(self.config(), &read_dealings(self, bytes, most)?)?)
    }

    fn open(
        &self,
        sum: &field::Key,
        party: Party,
        key: DecryptionKey,
    ) -> Result<OpenedShares<Self>, NotOpened<DecryptError>> {
        Ok(opened(self.config(), sum.decrypt(self.config(), party, key)?))
    }

    fn check_mask(
        &self,
        dealing: &field::Dealing,
        mask: &RevealedMask,
    ) -> Result<TooLarge, LargeChunkError> {
        mask.check(self.config(), dealing)
    }
}

impl Collect for Handover {
    type Element = Field;
    type Dealing = field::Dealing;
    type Sum = field::Key;
    type Shares = field::Shares;
    type DealerInput = field::Shares;

    fn config(&self) -> &Arc<Config> {
        &self.config
    }

    fn session(&self) -> [u8; 32] {
        session(&self.config, b"handover", &self.before().digest)
    }

    fn dealing_bytes(&self) -> usize {
        self.config.field_dealing_bytes()
    }

    fn owed(&self, dealer: Party) -> Vec<Place> {
        let shares = self.before().access().indices(dealer);
        shares.map(|share| Place { dealer, share: Some(share) }).collect()
    }

    fn deal(
        &self,
        place: Place,
        signer: &min_sig::SecretKey,
        held: &field::Shares,
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<u8>, HandoverError> {
        let Place { dealer, share } = place;
        let share = share.ok_or(HandoverError::Holder { dealer, share: 0 })?;
        Ok(self.holder(dealer, signer, held)?.deal(share, rng)?.to_bytes())
    }

    fn decode(&self, place: Place, bytes: &[u8]) -> Result<field::Dealing, Misdeed> {
        decode(&self.config, place, bytes)
    }

    fn check(
        &self,
        dealings: Vec<field::Dealing>,
    ) -> Vec<Result<Accepted<field::Dealing>, Misdeed>> {
        named(self.verify_all(dealings))
    }

    fn reread(&self, bytes: &[u8], _: &OwnRecord) -> Result<Accepted<field::Dealing>, DecodeError> {
        reread(&self.config, bytes)
    }

    fn count(&mut self, dealing: Arc<Accepted<field::Dealing>>) -> Result<(), NotCounted> {
        Ok(self.add(dealing).map(drop)?)
    }

    fn places(&self) -> BTreeSet<Place> {
        self.dealings().map(|(share, dealer)| Place { dealer, share: Some(share) }).collect()
    }

    fn would_do(&self, more: &BTreeSet<Place>) -> bool {
        more.len() >= self.remaining().0
    }

    fn sum(&self) -> Result<field::Key, AggregateError> {
        self.key()
    }

    fn epoch_key(&self, sum: &field::Key) -> EpochKey<Field> {
        EpochKey::of_key(&self.config, sum)
    }

    fn to_bytes(&self, sum: &field::Key) -> Vec<u8> {
        write_dealings(sum)
    }

    fn recover(&self, bytes: &[u8]) -> Result<field::Key, RecoverError> {
        let mut fresh = self.without_dealings();
        for dealing in read_dealings(self, bytes, fresh.remaining().0)? {
            fresh.count(dealing)?;
        }
        Ok(fresh.key()?)
    }

    fn open(
        &self,
        sum: &field::Key,
        party: Party,
        key: DecryptionKey,
    ) -> Result<OpenedShares<Self>, NotOpened<DecryptError>> {
        Ok(opened(&self.config, sum.decrypt(&self.config, party, key)?))
    }

    fn check_mask(
        &self,
        dealing: &field::Dealing,
        mask: &RevealedMask,
    ) -> Result<TooLarge, LargeChunkError> {
        mask.check(&self.config, dealing)
    }
}

/// Accuses the dealers that were slow to open, with evidence.
fn opened<C: Collect<Shares = field::Shares>>(
    config: &Config,
    opened: field::OpenedShares,
) -> OpenedShares<C> {
    let accuse = |large: &LargeChunk| {
        let misdeed = large.verify(config).ok()?.into();
        let fault = Fault { party: large.dealing().dealer(), misdeed };
        Some(Accusation { fault, evidence: Arc::new(Evidence::of_chunk(large)) })
    };
    let accusations = opened.large.iter().filter_map(accuse).collect();
    OpenedShares { shares: opened.shares, accusations }
}

fn session(config: &Config, what: &[u8], before: &[u8]) -> [u8; 32] {
    let mut transcript = Transcript::new(b"PREFINAL-V1-PVSS-PROTOCOL-SESSION");
    transcript.append(b"config", config.digest());
    transcript.append(b"what", what);
    transcript.append(b"before", before);
    transcript.bytes(b"session")
}

fn one_each(config: &Config, dealer: Party) -> Vec<Place> {
    config.dealer(dealer).map(|_| Place { dealer, share: None }).into_iter().collect()
}

fn would_qualify<D: AnyDealing>(dkg: &Dkg<D>, more: &BTreeSet<Place>) -> bool {
    let counted = dkg.dealings().iter().map(|one| one.dealer());
    let dealers = counted.chain(more.iter().map(|place| place.dealer));
    let stakes = dealers.filter_map(|dealer| dkg.config().dealer(dealer));
    // The total of all dealers does not overflow, so neither does this.
    let stake = stakes.fold(Stake::ZERO, |sum, one| sum.checked_add(one.stake).unwrap_or(sum));
    stake > dkg.config().qualify()
}

fn check_place(signed: Place, dealt: Place) -> Result<(), Misdeed> {
    if signed == dealt { Ok(()) } else { Err(Misdeed::Misplaced { signed, dealt }) }
}

fn decode(config: &Config, place: Place, bytes: &[u8]) -> Result<field::Dealing, Misdeed> {
    let dealing = field::Dealing::from_bytes(config, bytes)?;
    check_place(place, Place { dealer: dealing.dealer(), share: dealing.share })?;
    Ok(dealing)
}

/// Turns each error into the dealer's misdeed.
fn named<T, E>(verdicts: Vec<Result<T, E>>) -> Vec<Result<T, Misdeed>>
where
    Misdeed: From<E>,
{
    verdicts.into_iter().map(|verdict| verdict.map_err(Misdeed::from)).collect()
}

fn reread(config: &Config, bytes: &[u8]) -> Result<Accepted<field::Dealing>, DecodeError> {
    Ok(Accepted::new(field::Dealing::from_bytes(config, bytes)?, *config.digest()))
}

fn write_dealings(key: &field::Key) -> Vec<u8> {
    let dealings: Vec<Vec<u8>> = key.dealings().map(|dealing| dealing.to_bytes()).collect();
    let count = u32::try_from(dealings.len()).unwrap_or(u32::MAX);
    [vec![VERSION], count.to_be_bytes().to_vec(), dealings.concat()].concat()
}

/// Reads and checks at most `most` dealings.
fn read_dealings<C: Collect<Dealing = field::Dealing>>(
    set_up: &C,
    bytes: &[u8],
    most: usize,
) -> Result<Vec<Arc<Accepted<field::Dealing>>>, RecoverError> {
    let mut reader = Reader::new(bytes);
    reader.version()?;
    let (count, each) = (reader.count(most)?, set_up.dealing_bytes());
    let (got, expected) = (bytes.len(), count.saturating_mul(each).saturating_add(1 + 4));
    if got != expected {
        return Err(DecodeError::Length { got, expected }.into());
    }
    let dealings = bytes.get(1 + 4..).unwrap_or_default().chunks(each);
    let dealings = dealings.map(|one| field::Dealing::from_bytes(set_up.config(), one));
    let checked = set_up.check(dealings.collect::<Result<_, _>>()?);
    Ok(checked.into_iter().map(|one| one.map(Arc::new)).collect::<Result<_, _>>()?)
}
