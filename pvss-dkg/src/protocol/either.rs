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
use super::job::Opened;
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
    ) -> Result<Opened<Self>, NotOpened<DecryptError>> {
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

fn of_either<C: Collect<Shares = Shares>>(opened: Opened<C>) -> Opened<FieldDealings> {
    Opened { shares: opened.shares, accusations: opened.accusations }
}
