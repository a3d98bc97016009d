//! One party of an execution: any engine, any function, keys that were dealt before.
//!
//! It is like a [`validator`] without key generation: the engine's events go to the beacon, and the
//! beacon's answer to a prefinalization leaves before the vote, or in it. A [`Breach`] may stand
//! between the two.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ::prefinal_beacon::contract::{Rule, bound_value};
use ::prefinal_beacon::{
    Beacon, Binding, Config, ConfigError, Finality, Life, Limits, Path, Paths, Reveal, Scheme,
    Sharing, Slot, Value, View,
};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::Context;
use prefinal_protocol::{Instant, Machine, Recipient};

use super::breach::Breach;
use super::hand::Hand;
use super::permissive::FIRST;
use crate::legible::ReadableEngine;
use prefinal_engine::{self, Engine};

/// What all parties agree on.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub(crate) context: Context,
    pub(crate) binding: Binding,
    /// The attempt that the engine declares.
    pub(crate) declared: Option<u32>,
    /// What makes a value final.
    pub(crate) finality: Finality,
    /// What is left out of the contract.
    pub(crate) without: Option<Rule>,
    /// What a beacon keeps, if nothing is left out.
    pub(crate) limits: Limits,
}

/// What a party's beacon has said before, and whether that is all.
pub(crate) struct PastLife {
    pub(crate) life: Life,
    pub(crate) records: Vec<::prefinal_beacon::Record>,
}

/// What parties send each other.
pub(crate) enum Post<E: Engine, S: Scheme> {
    Engine(E::Message),
    Beacon(::prefinal_beacon::Message<S>),
}

/// What is on a disk.
#[derive(Clone, Debug)]
pub(crate) enum Record<R> {
    Engine(R),
    Beacon(::prefinal_beacon::Record),
}

impl<R: Clone> Record<R> {
    /// The records of the engine on a disk, and those of the beacon, each in their order.
    pub(crate) fn split(disk: &[Self]) -> (Vec<R>, Vec<::prefinal_beacon::Record>) {
        let (mut engine, mut beacon) = (Vec::new(), Vec::new());
        for record in disk {
            match record {
                Self::Engine(record) => engine.push(record.clone()),
                Self::Beacon(record) => beacon.push(*record),
            }
        }
        (engine, beacon)
    }
}

/// What happens to a member.
pub(crate) enum Input<E: Engine, S: Scheme> {
    Start,
    Received(Party, Arc<Post<E, S>>),
    Engine(E::Verdict),
    Beacon(::prefinal_beacon::Verdict<S>),
    Submit(Vec<u8>),
    Tick,
}

/// What a member wants done, in this order.
pub(crate) type Output<E, S> =
    prefinal_protocol::Output<Record<<E as Engine>::Record>, Effect<E, S>>;

/// What a member wants done, its records aside.
pub(crate) enum Effect<E: Engine, S: Scheme> {
    Send(Recipient<Party>, Post<E, S>),
    RunEngine(E::Job),
    RunBeacon(::prefinal_beacon::Job<S>),
    /// The transactions of a slot that is final, in their order.
    Ordered(Slot, Vec<Arc<[u8]>>),
    Finalized(Slot, Option<Value>),
    Revealed(Box<Reveal<S>>),
    Skipped(Slot),
    Accused(Party, String),
    /// The engine has begun to work, for the first time or after a crash.
    Started,
    /// A party contradicts what it has said about this slot, and must be accused.
    Exposed(Party, Slot),
}

/// Engine and beacon of one party.
pub(crate) struct Member<E: Engine, S: Scheme> {
    engine: E,
    beacon: Beacon<S>,
    /// Whether votes may carry partials; those of faulty parties travel on their own, to be tampered with.
    carries: bool,
    /// Whether the engine runs alone: its beacon hears nothing.
    is_alone: bool,
    binding: Binding,
    breach: Option<Breach>,
    /// What leaves early, for a breach.
    early: Option<(Path, S::Secret)>,
    context: Context,
    /// The values that a breach has changed.
    values: BTreeMap<Slot, Option<Value>>,
    outputs: VecDeque<Output<E, S>>,
}

impl<E: Engine, S: Scheme> Member<E, S> {
    /// A member that goes on where its beacon's records end.
    pub(crate) fn new(
        terms: &Terms,
        (me, hand): (Party, &Hand<S>),
        (engine, past): (E, prefinal_engine::PastVotes),
        PastLife { life, mut records }: PastLife,
        carries: bool,
    ) -> Result<Self, ConfigError> {
        let gave_up = past.abandoned.map(|view| ::prefinal_beacon::Record::Abandoned { view });
        let released = past.released.into_iter();
        let released =
            released.map(|(slot, value)| ::prefinal_beacon::Record::Released { slot, value });
        records.extend(released.chain(gave_up));
        let Terms { context, declared, without, .. } = *terms;
        let finality = terms.finality.clone();
        let breach = without.map(|rule| Breach::new(rule, declared, &records));
        let binding = breach.as_ref().map_or(terms.binding, |one| one.binding(terms.binding));
        let limits = breach.as_ref().map_or(terms.limits, Breach::limits);
        let paths = (hand.paths)(me).ok_or(ConfigError::WrongKey { path: Path::Slow })?;
        let early = breach.as_ref().and_then(|_| (hand.paths)(me)).and_then(early);
        let config = Config {
            context,
            me,
            paths,
            binding,
            fast_attempt: declared,
            finality,
            first: FIRST,
            life,
            limits,
        };
        let beacon = Beacon::new(config, &records)?;
        let (values, outputs) = (BTreeMap::new(), VecDeque::new());
        let is_alone = false;
        Ok(Self {
            engine,
            beacon,
            carries,
            is_alone,
            binding,
            breach,
            early,
            context,
            values,
            outputs,
        })
    }

    /// The same engine without a beacon, to compare with.
    pub(crate) fn alone(self) -> Self {
        Self { is_alone: true, ..self }
    }

    pub(crate) const fn beacon(&self) -> &Beacon<S> {
        &self.beacon
    }

    fn settle(&mut self, now: Instant) {
        while let Some(output) = self.engine.poll() {
            self.take_engine_output(now, output);
            self.drain_beacon();
        }
        self.drain_beacon();
    }

    fn take_engine_output(&mut self, now: Instant, output: prefinal_engine::Output<E>) {
        let effect = match output.split(Record::Engine) {
            Ok(effect) => effect,
            Err(record) => return self.outputs.push_back(record),
        };
        self.effect(match effect {
            prefinal_engine::Effect::Send { to, message } => {
                Effect::Send(to, Post::Engine(message))
            }
            prefinal_engine::Effect::Run(job) => Effect::RunEngine(job),
            prefinal_engine::Effect::Prefinalized { slot, view, value } => {
                return self.prefinalized(now, slot, view, value);
            }
            prefinal_engine::Effect::Carried { from, partial } => match borsh::from_slice(&partial)
            {
                Ok(message) => {
                    return self
                        .beacon
                        .handle(now, ::prefinal_beacon::Input::Received { from, message });
                }
                Err(error) => Effect::Accused(from, error.to_string()),
            },
            prefinal_engine::Effect::Finalized { slot, block } => {
                let value = block.as_ref().map(|block| block.value);
                if let Some(block) = block {
                    self.effect(Effect::Ordered(slot, block.transactions));
                }
                return self.finalized(now, slot, value);
            }
            prefinal_engine::Effect::Abandoned { view } => {
                return self.beacon.handle(now, ::prefinal_beacon::Input::Abandoned { view });
            }
            prefinal_engine::Effect::Accused { party, fault } => Effect::Accused(party, fault),
            prefinal_engine::Effect::Proposed { .. } | prefinal_engine::Effect::Refused(_) => {
                return;
            }
        });
    }

    fn effect(&mut self, effect: Effect<E, S>) {
        self.outputs.push_back(Output::Do(effect));
    }

    fn prefinalized(&mut self, now: Instant, slot: Slot, view: View, value: Value) {
        if self.is_alone {
            return;
        }
        let mut bound = value;
        if let Some(breach) = &mut self.breach {
            bound = breach.prefinalized(slot, view, value);
            if breach.releases(slot, (view, bound), self.beacon.head()) {
                return self.release(slot, bound);
            }
        }
        self.beacon
            .handle(now, ::prefinal_beacon::Input::Prefinalized { slot, view, value: bound });
        self.carry();
    }

    /// What the contract holds back leaves all the same.
    fn release(&mut self, slot: Slot, value: Value) {
        let Some((path, secret)) = &self.early else { return };
        let path = *path;
        let Some(bound) = bound_value(self.binding, Some(value)) else { return };
        let input = S::input(&self.context, self.binding, slot, bound);
        let Some(partial) = input.and_then(|input| S::evaluate(secret, &input)) else { return };
        let record = ::prefinal_beacon::Record::Released { slot, value };
        self.remember(&record);
        let message = ::prefinal_beacon::Message::Partial { path, slot, value: bound, partial };
        self.effect(Effect::Send(Recipient::All, Post::Beacon(message)));
    }

    fn finalized(&mut self, now: Instant, slot: Slot, value: Option<Value>) {
        self.effect(Effect::Finalized(slot, value));
        if self.is_alone {
            return;
        }
        self.values.insert(slot, value);
        let told = match &self.breach {
            Some(breach) => breach.finalized(slot, value),
            None => Some(value),
        };
        if let Some(value) = told {
            self.beacon.handle(now, ::prefinal_beacon::Input::Finalized { slot, value });
        }
    }

    /// Hands what the beacon released on a prefinalization to the engine, if its votes have room.
    fn carry(&mut self) {
        let answer: Vec<_> = std::iter::from_fn(|| self.beacon.poll()).collect();
        let mut record = None;
        for output in answer {
            match output {
                ::prefinal_beacon::Output::Keep(
                    released @ ::prefinal_beacon::Record::Released { .. },
                ) => {
                    record = Some(released);
                }
                ::prefinal_beacon::Output::Do(::prefinal_beacon::Effect::Send {
                    to: Recipient::All,
                    message: ::prefinal_beacon::Message::Partial { path, slot, value, partial },
                }) if self.carries => {
                    let message =
                        ::prefinal_beacon::Message::Partial { path, slot, value, partial };
                    // Writing into memory does not fail.
                    let bytes = borsh::to_vec(&message).unwrap_or_default();
                    match (self.engine.carry(bytes), record.take()) {
                        // The engine's record of the vote is the record of the release.
                        (Ok(()), Some(record)) => self.remember(&record),
                        (Ok(()), None) => {}
                        (Err(_), record) => {
                            self.keep(record);
                            self.send(Recipient::All, message);
                        }
                    }
                }
                output => {
                    self.keep(record.take());
                    self.take_beacon_output(output);
                }
            }
        }
        self.keep(record);
    }

    fn remember(&mut self, record: &::prefinal_beacon::Record) {
        if let Some(breach) = &mut self.breach {
            breach.written(record);
        }
    }

    fn keep(&mut self, record: Option<::prefinal_beacon::Record>) {
        let Some(record) = record else { return };
        self.remember(&record);
        self.outputs.push_back(Output::Keep(Record::Beacon(record)));
    }

    fn send(&mut self, to: Recipient<Party>, message: ::prefinal_beacon::Message<S>) {
        if let (Some(breach), ::prefinal_beacon::Message::Partial { path, slot, .. }) =
            (&self.breach, &message)
            && breach.keeps_back(*path, *slot)
        {
            return;
        }
        self.effect(Effect::Send(to, Post::Beacon(message)));
    }

    fn drain_beacon(&mut self) {
        while let Some(output) = self.beacon.poll() {
            self.take_beacon_output(output);
        }
    }

    fn take_beacon_output(&mut self, output: ::prefinal_beacon::Output<S>) {
        let effect = match output {
            ::prefinal_beacon::Output::Keep(record) | ::prefinal_beacon::Output::Note(record) => {
                return self.keep(Some(record));
            }
            ::prefinal_beacon::Output::Do(effect) => effect,
        };
        let effect = match effect {
            ::prefinal_beacon::Effect::Send { to, message } => return self.send(to, message),
            ::prefinal_beacon::Effect::Check(job) => Effect::RunBeacon(job),
            ::prefinal_beacon::Effect::Reveal(mut reveal) => {
                // As the engine named it.
                if let Some(value) = self.values.remove(&reveal.slot) {
                    reveal.value = value;
                }
                Effect::Revealed(reveal)
            }
            ::prefinal_beacon::Effect::Skipped { slot }
            | ::prefinal_beacon::Effect::Off { slot } => Effect::Skipped(slot),
            ::prefinal_beacon::Effect::Accuse { party, fault } => {
                Effect::Accused(party, fault.to_string())
            }
            ::prefinal_beacon::Effect::Lookup { .. }
            | ::prefinal_beacon::Effect::Stalled { .. }
            | ::prefinal_beacon::Effect::Refused(_) => return,
        };
        self.effect(effect);
    }
}

/// The path that releases on prefinalization, and this party's secret of it.
fn early<S: Scheme>(paths: Paths<S>) -> Option<(Path, S::Secret)> {
    let (path, Sharing { secret, .. }) = match paths {
        Paths::Slow(_) => return None,
        Paths::Tight(sharing) => (Path::Tight, sharing),
        Paths::FastAndSlow { fast_from, .. } if fast_from == Slot::new(u64::MAX) => return None,
        Paths::FastAndSlow { fast, .. } => (Path::Fast, fast),
    };
    Some((path, secret?))
}

impl<E: ReadableEngine, S: Scheme> Machine for Member<E, S> {
    type Input = Input<E, S>;
    type Record = Record<E::Record>;
    type Effect = Effect<E, S>;

    fn handle(&mut self, now: Instant, input: Input<E, S>) {
        match input {
            Input::Start => {
                self.effect(Effect::Started);
                self.engine.handle(now, prefinal_engine::Input::Start);
            }
            Input::Received(from, post) => match &*post {
                Post::Engine(message) => {
                    if let Some(slot) = self.engine.exposes(from, message) {
                        self.effect(Effect::Exposed(from, slot));
                    }
                    let message = message.clone();
                    self.engine.handle(now, prefinal_engine::Input::Received { from, message });
                }
                Post::Beacon(message) => {
                    let message = message.clone();
                    self.beacon.handle(now, ::prefinal_beacon::Input::Received { from, message });
                }
            },
            Input::Engine(verdict) => {
                self.engine.handle(now, prefinal_engine::Input::Checked(verdict))
            }
            Input::Beacon(verdict) => {
                self.beacon.handle(now, ::prefinal_beacon::Input::Checked(verdict))
            }
            Input::Submit(bytes) => self.engine.handle(now, prefinal_engine::Input::Submit(bytes)),
            Input::Tick => {
                self.engine.handle(now, prefinal_engine::Input::Tick);
                self.beacon.handle(now, ::prefinal_beacon::Input::Tick);
            }
        }
        self.settle(now);
    }

    fn poll(&mut self) -> Option<Output<E, S>> {
        self.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Instant> {
        self.engine.wake_at().into_iter().chain(self.beacon.wake_at()).min()
    }
}
