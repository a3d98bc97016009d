//! How a party that was away comes back to its peers, before it runs.
//!
//! ```text
//!  peers ── what they have ──► far behind? ──► Follower ──► its own store, durable ──► near the tip
//!                                  │ no                                                   │
//!                                  ▼                                                      ▼
//!                       its engine asks for the rest ◄──── goes on behind the last block (`prefinal_validator::adopt`)
//! ```
//! Its peers' engines keep the last blocks only, and their beacons the last values. A party that is more than
//! [`FAR`] blocks behind therefore follows the chain as a full node does: what blocks change is fetched from peers,
//! over the links that parties have, verified, and applied. So it executes nothing that it missed. It trusts the
//! committee of its own set-up, and no peer: how far the chain is, it believes more stake than may be faulty.
//!
//! Whatever peers say, the party starts: if nothing more comes for [`PATIENCE`], from where it is by then. If its disk is
//! slower than the chain, it follows for ever, as its engine would. Blocks that it has from peers carry no signed values
//! for others that follow it; those ask its peers.
#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::certificate::Certificate;
use prefinal_engine::Quorum;
use prefinal_execution::{Height, Recovered, Store};
use prefinal_light::StakeVerifier;
use prefinal_net::Frame;
use prefinal_protocol::{Instant, Machine, Output, Slot};
use prefinal_registry::light;
use prefinal_state::StateError;
use prefinal_sync::wire::{Ask, Compression, Request, RequestId, Summary};
use prefinal_sync::{CertifiedPlaces, Config, Effect, Follower, Input, Past, PeerId, Replay};
use prefinal_validator::setup::Setup;
use prefinal_weighted_rounding::Stake;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant as Clock, MissedTickBehavior, interval, sleep_until};

use super::executor::NamedExecutor;
use super::store::{AttestedStore, lock};
use crate::follow::jobs::{EffectOf, InputOf, Jobs};
use crate::party::network::Outbox;

/// A party that is behind by more blocks than this follows. So many Jolteon fetches in one message, and beacons have the
/// values of their slots.
const FAR: u64 = 64;

/// It follows until it is so near.
const NEAR: u64 = 8;

/// How long peers are waited for that do not say what they have, and between two questions.
const SURVEY: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(50);

/// Nothing more was stored for so long: the party goes on as it is. Five peers that say nothing, asked one after
/// another for the block that all wait for, take half of it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A party that may have been away.
pub(super) struct CatchUp<X: NamedExecutor> {
    pub(super) me: Party,
    pub(super) setup: Arc<Setup>,
    pub(super) quorum: Quorum,
    pub(super) executor: Arc<X>,
    pub(super) store: Arc<Mutex<AttestedStore<X>>>,
}

/// What a party that catches up speaks through and listens to.
pub struct Line {
    /// Where its questions leave for its peers.
    pub outbox: Outbox,
    /// Where their answers come in, as the desk sorts them out.
    pub answers: UnboundedReceiver<Frame>,
}

/// A follower at work in a party.
struct Following<'a, X: NamedExecutor> {
    party: &'a CatchUp<X>,
    line: Line,
    /// The highest block that peers were believed to have. They may say less later, or others may come first.
    tip: Height,
    follower: Follower<X, StakeVerifier, CertifiedPlaces>,
    jobs: Jobs<X, AttestedStore<X>>,
    start: Clock,
    /// When the last block was stored.
    last: Clock,
    /// Whether the store has a job.
    is_storing: bool,
    bytes: usize,
    stopped: Option<String>,
}

impl<X: NamedExecutor> CatchUp<X> {
    /// Comes near the peers, if they are far ahead. Says what it did.
    pub(super) async fn run(self, mut line: Line) {
        let me = self.me;
        let Some(tip) = self.survey(&mut line).await else { return };
        let Ok(before) = lock(&self.store).committed() else { return };
        let behind = tip.get().saturating_sub(before.height.get());
        if behind <= FAR {
            return;
        }
        say!("{me}: {behind} blocks behind its peers, follows them");
        let told = match self.follow(line, tip).await {
            Ok(told) => told,
            Err(why) => format!("cannot follow its peers: {why}"),
        };
        say!("{me}: {told}");
    }

    /// Asks the peers what they have. They may come up later than this party.
    async fn survey(&self, line: &mut Line) -> Option<Height> {
        let ask = Ask::Summary;
        let ask = Request { id: RequestId::new(0), accepts: Compression::None, ask }.to_wire();
        let (mut tips, end) = (BTreeMap::new(), Clock::now() + SURVEY);
        let mut ticks = interval(PAUSE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while tips.len() < line.outbox.peers().count() && Clock::now() < end {
            tokio::select! {
                _ = ticks.tick() => {
                    let silent = line.outbox.peers().filter(|peer| !tips.contains_key(peer));
                    silent.for_each(|peer| line.outbox.send_sync(peer, ask.clone()));
                }
                Some(frame) = line.answers.recv() => {
                    if let Ok(summary) = Summary::from_wire(&frame.content) {
                        tips.insert(frame.from, tip_of(&summary));
                    }
                }
            }
        }
        self.believed(&tips)
    }

    /// The highest block that more stake than may be faulty says to have. So an honest peer has it.
    fn believed(&self, tips: &BTreeMap<Party, Height>) -> Option<Height> {
        let stake = |party: Party| self.setup.members.get(party.index()).map(|member| member.stake);
        let sum = |parties: &mut dyn Iterator<Item = Party>| {
            let mut stakes = parties.filter_map(stake);
            stakes.try_fold(Stake::ZERO, Stake::checked_add)
        };
        let total = sum(&mut (0..).map(Party::new).take(self.setup.members.len()))?;
        let may_lie = self.quorum.faulty(total);
        let is_believed = |height: &Height| {
            let mut say = tips.iter().filter(|(_, tip)| *tip >= height).map(|(party, _)| *party);
            sum(&mut say).is_some_and(|stake| stake > may_lie)
        };
        tips.values().copied().filter(is_believed).max()
    }

    async fn follow(&self, line: Line, tip: Height) -> Result<String, String> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| format!("no randomness: {error}"))?;
        let (waypoint, members) =
            (light::waypoint(&self.setup, Slot::new(0)), light::members(&self.setup));
        let trust = StakeVerifier::new(&waypoint, &members).map_err(|error| error.to_string())?;
        let past = self.past().map_err(|error| error.to_string())?;
        let config = Config::new(Replay::Deltas, seed);
        let (inputs, mut verdicts) = unbounded_channel();
        let (executor, states) = (Arc::clone(&self.executor), Arc::clone(&self.store));
        let start = Clock::now();
        let mut following = Following {
            party: self,
            line,
            tip,
            follower: Follower::new(config, trust, CertifiedPlaces, past),
            jobs: Jobs { executor, states, inputs },
            start,
            last: start,
            is_storing: false,
            bytes: 0,
            stopped: None,
        };
        let from = following.follower.committed().height;
        following.live(&mut verdicts).await;
        let to = following.follower.committed().height;
        let blocks = to.get().saturating_sub(from.get());
        let (bytes, taken) = (following.bytes, start.elapsed().as_millis());
        let why = following.stopped.map_or_else(String::new, |why| format!("; then {why}"));
        Ok(format!(
            "stored {blocks} blocks of its peers up to {to}: {bytes} bytes, {taken} ms{why}"
        ))
    }

    /// What the store has. Blocks that this party executed and nobody has certified are executed or fetched again:
    /// what a certificate is of then comes from those that signed it.
    fn past(&self) -> Result<Past<Certificate<MinSig>>, StateError> {
        let mut store = lock(&self.store);
        let Recovered { optimistic, .. } = store.recover()?;
        for one in optimistic.iter().rev() {
            store.revert(&one.block.header)?;
        }
        Past::of(store.states())
    }
}

impl<X: NamedExecutor> Following<'_, X> {
    async fn live(&mut self, verdicts: &mut UnboundedReceiver<InputOf<X>>) {
        for peer in self.line.outbox.peers() {
            self.follower.handle(Instant::START, Input::Connected(id_of(peer)));
        }
        while !self.is_done() {
            let wake = self.follower.wake_at().map(|at| self.start + at.since_start());
            let deadline = wake.map_or(self.last + PATIENCE, |wake| wake.min(self.last + PATIENCE));
            let input = tokio::select! {
                Some(frame) = self.line.answers.recv() => {
                    self.bytes = self.bytes.saturating_add(frame.content.len());
                    Input::Received { peer: id_of(frame.from), bytes: frame.content.to_vec() }
                }
                Some(input) = verdicts.recv() => input,
                () = sleep_until(deadline) => Input::Tick,
            };
            self.take(input);
        }
        // The store must be as the validator finds it.
        while self.is_storing
            && let Some(input) = verdicts.recv().await
        {
            self.take(input);
        }
    }

    fn take(&mut self, input: InputOf<X>) {
        self.is_storing &= !matches!(input, Input::Stored(_));
        self.follower.handle(Instant::at(self.start.elapsed()), input);
        while let Some(output) = self.follower.poll() {
            // Endings are verified from the first epoch on whenever a party comes back.
            if let Output::Do(effect) = output {
                self.act(effect);
            }
        }
    }

    fn act(&mut self, effect: EffectOf<X>) {
        if matches!(effect, Effect::Store(_)) {
            if self.is_done() {
                return;
            }
            self.is_storing = true;
        }
        match self.jobs.start(effect) {
            Some(Effect::Send { peer, bytes }) => {
                let party = u32::try_from(peer.get()).map(Party::new);
                party
                    .into_iter()
                    .for_each(|party| self.line.outbox.send_sync(party, bytes.clone()));
            }
            Some(Effect::Ban(misconduct)) => {
                let (me, peer) = (self.party.me, misconduct.peer.get());
                say!("{me}: party {peer} is not asked any more: {}", misconduct.fault);
            }
            Some(Effect::Committed { .. }) => self.last = Clock::now(),
            Some(Effect::Stopped(reason)) => self.stopped = Some(reason.to_string()),
            _ => {}
        }
    }

    /// Near the peers, or no nearer for too long.
    fn is_done(&mut self) -> bool {
        let tip = |(peer, tip): (PeerId, Height)| {
            Some((Party::new(u32::try_from(peer.get()).ok()?), tip))
        };
        let scores = self.follower.scores();
        let tips = scores.filter_map(|(peer, score)| Some((peer, tip_of(score.summary.as_ref()?))));
        let tips: BTreeMap<_, _> = tips.filter_map(tip).collect();
        self.tip = self.tip.max(self.party.believed(&tips).unwrap_or(Height::GENESIS));
        if self.follower.committed().height.after(NEAR) >= self.tip {
            return true;
        }
        if self.follower.scores().next().is_none() {
            self.stopped.get_or_insert_with(|| "all of them lie".to_owned());
        }
        if self.last.elapsed() >= PATIENCE {
            self.stopped.get_or_insert_with(|| "no more came".to_owned());
        }
        self.stopped.is_some()
    }
}

fn tip_of(summary: &Summary) -> Height {
    summary.blocks.map_or(Height::GENESIS, |blocks| blocks.last)
}

fn id_of(peer: Party) -> PeerId {
    PeerId::new(peer.get().into())
}
