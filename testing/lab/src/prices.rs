//! The price of each piece of a validator's work in virtual time.
//!
//! Measured prices count the primitives (`costs`) in the work of a message, an input or a job. Flat
//! prices are for tests and for showing the network alone.
//!
//! What is really computed is in `ground` and `committee`.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::time::Duration;

use ::prefinal_beacon::Function;
use prefinal_crypto_core::access::Party;
use prefinal_pvss_dkg::protocol;
use prefinal_pvss_dkg::{Shape, SharePath};

use super::costs::{Costs, Work};
use crate::legible::ReadableEngine;
use crate::machine::MessageOf;
use crate::priced::Priced;
use prefinal_validator::keygen;
use prefinal_validator::{Input, Message};

/// The source of prices.
#[derive(Clone, Copy, Debug)]
pub enum Prices {
    /// A job of the engine takes this time, a job of the beacon twice, and one of the key generation
    /// ten times. Handling a message takes no time.
    Flat(Duration),
    /// Measured costs, spread over the cores of each party.
    Measured {
        /// The costs of primitives.
        costs: Costs,
        /// The number of cores of each party.
        cores: NonZeroU32,
    },
}

impl Prices {
    /// Nothing takes time: shows the network alone.
    pub const FREE: Self = Self::Flat(Duration::ZERO);

    /// Whether anything takes time.
    pub(crate) fn take_time(&self) -> bool {
        !matches!(self, Self::Flat(Duration::ZERO))
    }
}

/// Prices for one committee.
#[derive(Clone, Copy)]
pub(crate) struct Bill<'a> {
    pub(crate) prices: Prices,
    pub(crate) shape: &'a Shape,
    /// Shares of the party that has most.
    pub(crate) heaviest: u64,
}

/// Shares of the party that has most.
pub(crate) fn heaviest(shape: &Shape) -> u64 {
    shape.access().weights().into_iter().max().unwrap_or(0).into()
}

impl Bill<'_> {
    /// Decoding a partial; what the engine does when it takes a message in.
    pub(crate) fn input<S: Priced, E: ReadableEngine>(&self, input: &Input<S, E>) -> Duration {
        match input {
            Input::Received { from, message: Message::Engine(_, message) } => {
                self.engine_message_in::<S, E>(*from, message)
            }
            Input::Received { from, message: Message::Beacon(..) } => self.partial_in::<S>(*from),
            _ => Duration::ZERO,
        }
    }

    /// Taking in an engine's message, with the partial that it may carry.
    pub(crate) fn engine_message_in<S: Priced, E: ReadableEngine>(
        &self,
        from: Party,
        message: &E::Message,
    ) -> Duration {
        let Prices::Measured { costs, .. } = self.prices else { return Duration::ZERO };
        let partial = E::carried(message).map(|_| self.partial_in::<S>(from));
        E::receiving(&costs, message) + partial.unwrap_or_default()
    }

    /// Decoding a party's partial.
    pub(crate) fn partial_in<S: Priced>(&self, from: Party) -> Duration {
        let Prices::Measured { costs, .. } = self.prices else { return Duration::ZERO };
        nanos(S::decoding(&costs, self.own(from)))
    }

    /// Signing or evaluating what is sent.
    pub(crate) fn message<S: Priced, E: ReadableEngine>(
        &self,
        sender: Party,
        message: &MessageOf<S, E>,
    ) -> Duration {
        match message {
            Message::Engine(_, message) => self.engine_message_out::<S, E>(sender, message),
            Message::Beacon(_, ::prefinal_beacon::Message::Partial { .. }) => {
                self.partial_out::<S>(sender)
            }
            Message::Beacon(..)
            | Message::Beside(_)
            | Message::Ask { .. }
            | Message::Final { .. } => Duration::ZERO,
        }
    }

    /// Signing an engine's message, and evaluating what it may carry.
    pub(crate) fn engine_message_out<S: Priced, E: ReadableEngine>(
        &self,
        sender: Party,
        message: &E::Message,
    ) -> Duration {
        let Prices::Measured { costs, .. } = self.prices else { return Duration::ZERO };
        let partial = E::carried(message).map(|_| self.partial_out::<S>(sender));
        E::signing(&costs, message) + partial.unwrap_or_default()
    }

    /// Evaluating a party's partial.
    pub(crate) fn partial_out<S: Priced>(&self, sender: Party) -> Duration {
        let Prices::Measured { costs, .. } = self.prices else { return Duration::ZERO };
        nanos(S::evaluating(&costs, self.own(sender)))
    }

    pub(crate) fn engine<E: ReadableEngine>(&self, job: &E::Job) -> Duration {
        let Prices::Measured { costs, .. } = self.prices else { return self.flat(1) };
        E::working(&costs, job)
    }

    /// At the prices of `S`, of which the function `F` may be an ideal.
    pub(crate) fn beacon<S: Priced, F: Function>(
        &self,
        job: &::prefinal_beacon::Job<F>,
    ) -> Duration {
        let Prices::Measured { costs, .. } = self.prices else { return self.flat(2) };
        let access = self.shape.access();
        let work = |parties: &BTreeSet<Party>| {
            let shares = parties.iter().map(|party| u64::from(access.weight(*party))).sum();
            self.work(u64::try_from(parties.len()).unwrap_or(u64::MAX), shares)
        };
        let parties = job.work().parties();
        // What was worked through ahead was paid for then.
        let left = &parties - job.prepared();
        match job.work() {
            ::prefinal_beacon::Work::Foresee(_) => nanos(S::foreseeing(&costs, work(&parties))),
            ::prefinal_beacon::Work::Prepare(_) => nanos(S::adding(&costs, work(&left))),
            _ => nanos(S::combining(&costs, work(&left))),
        }
    }

    pub(crate) fn keygen<S: Priced>(&self, party: Party, job: &keygen::Job<S>) -> Duration {
        let Prices::Measured { costs, .. } = self.prices else { return self.flat(10) };
        let (holders, shares) = self.holders();
        let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
        match job {
            keygen::Job::Dealings(protocol::Job::Deal { .. }) => {
                nanos(S::dealing(&costs, self.work(holders, shares)))
            }
            keygen::Job::Dealings(protocol::Job::Judge { claims, .. }) => {
                let many = u32::try_from(claims.len()).unwrap_or(u32::MAX);
                nanos(S::judging(&costs, self.work(holders, shares))) * many
            }
            keygen::Job::Dealings(protocol::Job::Sum { counted }) => {
                let many = count(protocol::Collect::places(&**counted).len());
                nanos(S::summing(&costs, many, self.work(holders, shares)))
            }
            keygen::Job::Open { key } => {
                nanos(S::opening(&costs, count(S::dealers(&key.sum).len()), self.own(party)))
            }
            keygen::Job::Admit { transactions, .. } => {
                let many = count(transactions.len());
                // On average a key has its share of the shares.
                nanos(S::admitting(
                    &costs,
                    self.work(many, (shares * many).div_ceil(holders.max(1))),
                ))
            }
            keygen::Job::HandOver { job: protocol::Job::Deal { places, .. }, .. } => {
                let many = u32::try_from(places.len()).unwrap_or(u32::MAX);
                nanos(S::dealing(&costs, self.work(holders, shares))) * many
            }
            keygen::Job::Dealings(_) | keygen::Job::HandOver { .. } | keygen::Job::Fix { .. } => {
                Duration::ZERO
            }
        }
    }

    /// Making a transcript, on all cores.
    pub(crate) fn transcript_dealt<S: Priced>(&self) -> Duration {
        let Prices::Measured { costs, .. } = self.prices else { return self.flat(10) };
        let (holders, shares) = self.holders();
        nanos(S::dealing(&costs, self.work(holders, shares)))
    }

    /// Decoding and checking a transcript on one core: others are checked beside it.
    pub(crate) fn transcript_judged<S: Priced>(&self) -> Duration {
        let Prices::Measured { costs, .. } = self.prices else { return self.flat(10) };
        let (holders, shares) = self.holders();
        nanos(S::judging(&costs, Work { cores: 1, ..self.work(holders, shares) }))
    }

    /// Adding so many transcripts up.
    pub(crate) fn transcripts_summed<S: Priced>(&self, many: usize) -> Duration {
        let Prices::Measured { costs, .. } = self.prices else { return self.flat(10) };
        let (holders, shares) = self.holders();
        let many = u64::try_from(many).unwrap_or(u64::MAX);
        nanos(S::summing(&costs, many, self.work(holders, shares)))
    }

    /// Decoding and checking a sum of so many transcripts, on all cores: as one transcript, and for each dealer two
    /// points to decode, three terms of its proof, and its part in the product of the signatures.
    pub(crate) fn aggregate_checked<S: Priced>(&self, dealers: u32) -> Duration {
        let Prices::Measured { costs, cores } = self.prices else { return self.flat(10) };
        let (holders, shares) = self.holders();
        let one = S::judging(&costs, self.work(holders, shares));
        let each = 2 * costs.g1_decode + 3 * costs.g1_term.among(dealers.into());
        let each = each + costs.g1_hash + costs.miller_loop_of_many;
        nanos(one + u64::from(dealers) * each / u64::from(cores.get()))
    }

    fn flat(&self, times: u32) -> Duration {
        match self.prices {
            Prices::Flat(unit) => unit * times,
            Prices::Measured { .. } => Duration::ZERO,
        }
    }

    /// Holders and shares of one path.
    fn holders(&self) -> (u64, u64) {
        let access = self.shape.access();
        let holders = access.weights().iter().filter(|weight| **weight > 0).count();
        (u64::try_from(holders).unwrap_or(0), access.total().into())
    }

    /// Work for so many parties and shares in this committee.
    fn work(&self, parties: u64, shares: u64) -> Work {
        let cores = match self.prices {
            Prices::Flat(_) => 1,
            Prices::Measured { cores, .. } => cores.get().into(),
        };
        Work {
            parties,
            shares,
            paths: 1 + u64::from(self.shape.threshold(SharePath::Fast).is_some()),
            heaviest: self.heaviest,
            cores,
        }
    }

    /// Work of one party for its shares.
    fn own(&self, party: Party) -> Work {
        self.work(1, self.shape.access().weight(party).into())
    }
}

const fn nanos(count: u64) -> Duration {
    Duration::from_nanos(count)
}
