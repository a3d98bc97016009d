//! Channels beside the one whose keys are made on the chain.
//!
//! Their keys are known with the set-up of an epoch: nobody deals them. So they begin with the first value
//! of the first epoch, and are handed over wherever the epoch changes.
use ::beacon::epochs::Epochs;
use ::beacon::stack::{Channel, Channels, OneOf, Record};
use ::beacon::{Binding, Config, Finality, Life, Limits, MultiSig, Paths, Sharing};
use crypto_core::certificate::{Elector, Electorate};
use engine::Quorum;
use protocol::Slot;

use crate::event::HaltError;
use crate::setup::{Identity, Setup};

/// What the channels of one epoch are made of.
pub struct Basis<'a> {
    /// What its committee agrees on.
    pub setup: &'a Setup,
    /// Who signs.
    pub identity: &'a Identity,
    /// The epoch's first slot.
    pub first: Slot,
    /// Of the party.
    pub life: Life,
    /// Of the engine.
    pub fast_attempt: Option<u32>,
    /// Of the engine.
    pub quorum: Quorum,
}

/// A list of channels that need no key generation.
pub trait Beside: Channels {
    /// The channels of the first epoch; this list begins at `channel`, and `records` are those of all.
    ///
    /// # Errors
    /// If the set-up makes no such channel, or the records are not its own.
    fn begin(
        basis: &Basis<'_>,
        channel: Channel,
        records: &[Record],
    ) -> Result<Self::Epochs, HaltError>;

    /// What each of them goes on with in the next epoch.
    ///
    /// # Errors
    /// If the set-up makes no such channel.
    fn next(basis: &Basis<'_>) -> Result<Vec<Self::Config>, HaltError>;
}

impl Beside for () {
    fn begin(_: &Basis<'_>, _: Channel, _: &[Record]) -> Result<(), HaltError> {
        Ok(())
    }

    fn next(_: &Basis<'_>) -> Result<Vec<Self::Config>, HaltError> {
        Ok(Vec::new())
    }
}

/// Certificates on the value of each slot.
impl<L: Beside> Beside for (MultiSig, L) {
    fn begin(
        basis: &Basis<'_>,
        channel: Channel,
        records: &[Record],
    ) -> Result<Self::Epochs, HaltError> {
        let own = records.iter().filter(|record| record.channel == channel);
        let own: Vec<_> = own.map(|record| record.record).collect();
        let epochs = Epochs::new([certificates(basis)?], &own)?;
        Ok((Some(epochs), L::begin(basis, channel.next(), records)?))
    }

    fn next(basis: &Basis<'_>) -> Result<Vec<Self::Config>, HaltError> {
        let rest = L::next(basis)?.into_iter().map(OneOf::Rest);
        Ok(std::iter::once(OneOf::First(certificates(basis)?)).chain(rest).collect())
    }
}

/// Signed with the vote, for the value that the vote is for.
fn certificates(basis: &Basis<'_>) -> Result<Config<MultiSig>, HaltError> {
    let Basis { setup, identity, first, life, fast_attempt, quorum } = *basis;
    let stakes: Vec<_> = setup.members.iter().map(|member| member.stake).collect();
    let electors = setup.certifiers.iter().zip(&stakes);
    let electors = electors.map(|(key, stake)| Elector { key: *key, stake: stake.get() });
    let total = stakes.iter().fold(0_u128, |sum, stake| sum.saturating_add(stake.get()));
    let need = quorum.of(weighted_rounding::Stake::new(total)).get();
    let committee = Electorate::with_quorum(electors.collect(), need)?;
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
