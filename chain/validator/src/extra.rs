//! Channels beside the one whose keys are made on the chain.
//!
//! Their keys are known with the set-up of an epoch, so nobody deals them. These channels begin with
//! the first value of the first epoch, and are handed over at every change of epoch.
use ::prefinal_beacon::epochs::Epochs;
use ::prefinal_beacon::stack::{Channel, Channels, OneOf, Record};
use ::prefinal_beacon::{
    Binding, Config, Finality, Life, Limits, MultiSig, Paths, Scheme, Sharing, StateSig,
};
use prefinal_crypto_core::bls::{MinSig, min_sig};
use prefinal_crypto_core::certificate::{Elector, Electorate, ElectorateError};
use prefinal_engine::Quorum;
use prefinal_protocol::Slot;
use prefinal_weighted_rounding::Stake;

use crate::event::HaltError;
use crate::setup::{Identity, Setup};

/// The data from which the channels of one epoch are made.
pub struct Basis<'a> {
    /// The epoch, its members and their keys.
    pub setup: &'a Setup,
    /// The party's own secret keys.
    pub identity: &'a Identity,
    /// The first slot of the epoch that has outputs.
    pub first: Slot,
    /// Whether the party may have released something before that its records do not show.
    pub life: Life,
    /// The attempt at a slot whose votes release partials, if the engine has one.
    pub fast_attempt: Option<u32>,
    /// The stake that makes a value final.
    pub quorum: Quorum,
}

/// A list of channels that need no key generation.
pub trait ExtraChannels: Channels<Epochs: Default + Send, Input: Send, Effect: Send> {
    /// The channels of the first epoch. This list begins at `channel`; `records` are the records of all
    /// channels.
    ///
    /// # Errors
    /// If the set-up does not allow such a channel, or the records are not the channel's own.
    fn begin(
        basis: &Basis<'_>,
        channel: Channel,
        records: &[Record],
    ) -> Result<Self::Epochs, HaltError>;

    /// The configurations with which the channels continue in the next epoch.
    ///
    /// # Errors
    /// If the set-up does not allow such a channel.
    fn next(basis: &Basis<'_>) -> Result<Vec<Self::Config>, HaltError>;
}

impl ExtraChannels for () {
    fn begin(_: &Basis<'_>, _: Channel, _: &[Record]) -> Result<(), HaltError> {
        Ok(())
    }

    fn next(_: &Basis<'_>) -> Result<Vec<Self::Config>, HaltError> {
        Ok(Vec::new())
    }
}

/// A channel that signs with the certifiers' keys. A list has at most one, for a key has one purpose.
pub trait Certifying: Scheme<Committee = Electorate<MinSig>, Secret = min_sig::SecretKey> {}

/// On the value of each slot.
impl Certifying for MultiSig {}
/// On the state that each slot's block leaves. The host gives the state's root as
/// [`Input::Beside`](crate::participant::Input::Beside).
impl Certifying for StateSig {}

/// Certificates in front of the channels of `L`.
impl<C: Certifying, L: ExtraChannels> ExtraChannels for (C, L) {
    fn begin(
        basis: &Basis<'_>,
        channel: Channel,
        records: &[Record],
    ) -> Result<Self::Epochs, HaltError> {
        let own = records.iter().filter(|record| record.channel == channel);
        let own: Vec<_> = own.map(|record| record.record).collect();
        let epochs = Epochs::new([certificates::<C>(basis)?], &own)?;
        Ok((Some(epochs), L::begin(basis, channel.next(), records)?))
    }

    fn next(basis: &Basis<'_>) -> Result<Vec<Self::Config>, HaltError> {
        let rest = L::next(basis)?.into_iter().map(OneOf::Rest);
        Ok(std::iter::once(OneOf::First(certificates::<C>(basis)?)).chain(rest).collect())
    }
}

/// The committee of this set-up that signs certificates: a certificate is valid with more stake than the
/// engine's quorum.
///
/// # Errors
/// If the members' stakes do not make such a committee.
pub fn electorate(setup: &Setup, quorum: Quorum) -> Result<Electorate<MinSig>, ElectorateError> {
    let stakes = || setup.members.iter().map(|member| member.stake.get());
    let electors = setup.certifiers.iter().zip(stakes());
    let electors = electors.map(|(one, stake)| Elector { key: one.key, stake });
    let total = stakes().fold(0_u128, u128::saturating_add);
    Electorate::with_quorum(electors.collect(), quorum.of(Stake::new(total)).get())
}

/// The configuration of certificates: signed with the vote, on the value that the vote is for.
fn certificates<C: Certifying>(basis: &Basis<'_>) -> Result<Config<C>, HaltError> {
    let Basis { setup, identity, first, life, fast_attempt, quorum } = *basis;
    let stakes: Vec<_> = setup.members.iter().map(|member| member.stake).collect();
    let committee = electorate(setup, quorum)?;
    let signs = stakes.get(identity.me.index()).is_some_and(|stake| stake.get() > 0);
    let secret = signs.then(|| identity.certifier());
    Ok(Config {
        context: setup.context,
        me: identity.me,
        paths: Paths::Tight(Sharing { committee, secret }),
        binding: Binding::Value,
        fast_attempt,
        finality: Finality::exact(&stakes, quorum)?,
        first,
        life,
        limits: Limits::default(),
    })
}
