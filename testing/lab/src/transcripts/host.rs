//! Carries out what the parties of a key generation want done, at the price of the primitives in it.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_jolteon::Jolteon;
use prefinal_protocol::Recipient;
use prefinal_pvss_dkg::Aggregate;
use prefinal_registry::NamedEngine;
use prefinal_sim::{Host, Seat, Step};

use super::party::{Done, Effect, Input, Maker, Post, Stage, Terms, Work};
use super::{Agreement, Transcript, Transcripts};
use crate::dealt::AROUND;
use crate::failure::Failure;
use crate::legible::ReadableEngine;
use crate::priced::Priced;
use crate::prices::{Bill, Prices, heaviest};

/// The dealers of an aggregate, if it holds and they are enough.
type Dealers = Option<BTreeSet<Party>>;

/// What was ordered, as the party that is first counts it.
#[derive(Clone, Copy, Default)]
pub(super) struct OnChain {
    pub(super) bytes: u64,
    pub(super) transactions: u64,
}

pub(super) struct TranscriptHost<'a, S> {
    committee: &'a Transcripts,
    terms: Terms,
    prices: Prices,
    heaviest: u64,
    pub(super) memo: <Jolteon as ReadableEngine>::Memo,
    pub(super) on_chain: OnChain,
    /// The dealers of each party's key.
    keys: Vec<BTreeSet<Party>>,
    pub(super) wrong: Option<String>,
    /// The aggregate that was checked last, with its dealers if it holds.
    checked: Option<(Arc<[u8]>, Dealers)>,
    priced: PhantomData<fn() -> S>,
}

impl<'a, S: Priced> TranscriptHost<'a, S> {
    pub(super) fn new(
        committee: &'a Transcripts,
        agreement: Agreement,
        prices: Prices,
    ) -> Result<Self, Failure> {
        let setup = &committee.setup;
        let stakes = setup.members.iter().map(|member| member.stake.get()).collect();
        let host = Self {
            committee,
            terms: Terms { agreement, stakes },
            prices,
            heaviest: heaviest(setup.keygen.shape()),
            memo: Default::default(),
            on_chain: OnChain::default(),
            keys: Vec::new(),
            wrong: None,
            checked: None,
            priced: PhantomData,
        };
        // What would fail at a boot fails here.
        drop(host.maker(Seat::new(0)).map_err(Failure::bad_input)?);
        Ok(host)
    }

    fn maker(&self, seat: Seat) -> Result<Maker, String> {
        let Transcripts { setup, identities, .. } = self.committee;
        let identity = identities.get(seat.index()).ok_or_else(|| format!("{seat} is nobody"))?;
        let started = <Jolteon as NamedEngine>::begin(setup, identity, Vec::new());
        let (engine, _) = started.map_err(|error| error.to_string())?;
        Ok(Maker::new(identity.me, engine, self.terms.clone()))
    }

    /// How many dealers made the key, which must be one key.
    pub(super) fn dealers(&self) -> Result<usize, Failure> {
        let mut keys = self.keys.iter();
        let first = keys.next().ok_or_else(|| Failure::bad_input("a committee of nobody"))?;
        if keys.any(|other| other != first) {
            let what = "two parties have keys of different dealers".to_owned();
            return Err(Failure::Disagreement(what));
        }
        Ok(first.len())
    }

    fn bill(&self) -> Bill<'_> {
        let shape = self.committee.setup.keygen.shape();
        Bill { prices: self.prices, shape, heaviest: self.heaviest }
    }

    fn transcript(&self, bytes: &[u8]) -> Option<&Transcript> {
        self.committee.dealings.iter().find(|one| *one.bytes == *bytes)
    }

    /// Does the work. What somebody has checked before is not computed again.
    fn work(&mut self, seat: Seat, work: Work) -> Done {
        let config = &self.committee.setup.keygen;
        match work {
            Work::Engine(job) => {
                Done::Engine(<Jolteon as ReadableEngine>::run(&mut self.memo, &job))
            }
            Work::Deal => {
                let own = self.committee.dealings.get(seat.index());
                let own = own.unwrap_or_else(|| unreachable!("every seat has a transcript"));
                Done::Dealt(Arc::clone(&own.bytes))
            }
            Work::Judge(bytes) => {
                Done::Judged(self.transcript(&bytes).map(|one| Arc::clone(&one.checked)))
            }
            Work::Sum(dealings) => match Aggregate::sum(config, &dealings) {
                Ok(sum) => Done::Summed(sum.to_bytes().into()),
                Err(error) => {
                    self.wrong.get_or_insert(error.to_string());
                    Done::Summed(Arc::from([]))
                }
            },
            Work::Check(bytes) => {
                if self.checked.as_ref().is_none_or(|(known, _)| *known != bytes) {
                    let sum = Aggregate::from_bytes(config, &bytes).ok();
                    let sum = sum.and_then(|sum| sum.verify(config).ok());
                    let dealers = sum.map(|sum| sum.dealers().collect());
                    let dealers = dealers.filter(|dealers| self.terms.suffice(dealers));
                    self.checked = Some((bytes, dealers));
                }
                Done::Checked(self.checked.as_ref().and_then(|(_, dealers)| dealers.clone()))
            }
        }
    }
}

impl<S: Priced> Host for TranscriptHost<'_, S> {
    type Machine = Maker;
    type Message = Arc<Post>;
    type Job = Work;
    type Verdict = Done;
    type Event = Stage;

    fn boot(&mut self, seat: Seat, _: &[()]) -> Maker {
        let maker = self.maker(seat);
        maker.unwrap_or_else(|error| unreachable!("the set-up was checked: {error}"))
    }

    fn first_input(&mut self, _: Seat) -> Option<Input> {
        Some(Input::Start)
    }

    fn encoded_len(&mut self, post: &Arc<Post>) -> u64 {
        let length = match &**post {
            Post::Engine(message) => borsh::object_length(message).unwrap_or_default(),
            Post::Transcript(bytes) => bytes.len(),
        };
        u64::try_from(length.saturating_add(AROUND)).unwrap_or(u64::MAX)
    }

    fn received(&mut self, _: Seat, from: Seat, post: &Arc<Post>) -> Input {
        Input::Received(Party::new(from.get()), Arc::clone(post))
    }

    fn checked(&mut self, _: Seat, done: Done) -> Input {
        Input::Done(done)
    }

    fn tick(&mut self, _: Seat) -> Input {
        Input::Tick
    }

    fn input_cost(&mut self, _: Seat, input: &Input) -> Duration {
        match (input, self.prices) {
            (Input::Received(_, post), Prices::Measured { costs, .. }) => match &**post {
                Post::Engine(message) => Jolteon::receiving(&costs, message),
                Post::Transcript(_) => Duration::ZERO,
            },
            _ => Duration::ZERO,
        }
    }

    fn carry_out(&mut self, effect: Effect, step: &mut Step<'_, Self>) {
        match effect {
            Effect::Send(to, post) => {
                if let Post::Engine(message) = &post {
                    Jolteon::see(&mut self.memo, Party::new(step.seat().get()), message);
                    if let Prices::Measured { costs, .. } = self.prices {
                        step.spend(Jolteon::signing(&costs, message));
                    }
                }
                let to = match to {
                    Recipient::All => Recipient::All,
                    Recipient::One(party) => Recipient::One(Seat::new(party.get())),
                };
                step.send(to, Arc::new(post));
            }
            Effect::Run(work) => step.run(work),
            Effect::Ordered(lengths) => {
                if step.seat() == Seat::new(0) {
                    let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
                    self.on_chain.transactions += count(lengths.len());
                    self.on_chain.bytes += count(lengths.into_iter().sum());
                }
            }
            Effect::Reached(stage) => step.note(stage),
            Effect::Key(dealers) => self.keys.push(dealers),
            Effect::Accused(party) => {
                self.wrong.get_or_insert(format!("{party} is accused"));
            }
        }
    }

    fn run(&mut self, seat: Seat, work: Work) -> (Done, Duration) {
        let cost = match &work {
            Work::Engine(job) => self.bill().engine::<Jolteon>(job),
            Work::Deal => self.bill().transcript_dealt::<S>(),
            Work::Judge(bytes) if self.is_own(seat, bytes) => Duration::ZERO,
            Work::Judge(_) => self.bill().transcript_judged::<S>(),
            Work::Sum(all) => self.bill().transcripts_summed::<S>(all.len()),
            Work::Check(bytes) => {
                // Their number stands behind the version.
                let dealers = bytes.get(1..5).and_then(|count| count.try_into().ok());
                self.bill().aggregate_checked::<S>(dealers.map_or(0, u32::from_be_bytes))
            }
        };
        (self.work(seat, work), cost)
    }
}

impl<S: Priced> TranscriptHost<'_, S> {
    fn is_own(&self, seat: Seat, bytes: &[u8]) -> bool {
        self.transcript(bytes).is_some_and(|one| one.checked.dealer().get() == seat.get())
    }
}
