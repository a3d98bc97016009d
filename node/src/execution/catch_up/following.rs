//! A follower at work in a party, over the links that parties have.
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::certificate::Certificate;
use prefinal_engine::Quorum;
use prefinal_execution::{Committed, Height, Recovered, Store};
use prefinal_light::{BeaconVerifier, StakeVerifier};
use prefinal_net::Frame;
use prefinal_protocol::{Instant, Machine, Output, Slot};
use prefinal_registry::light;
use prefinal_state::StateError;
use prefinal_sync::wire::Summary;
use prefinal_sync::{
    CertifiedPlaces, Config, Effect, Follower, Input, Misconduct, Past, PeerId, Replay,
};
use prefinal_validator::setup::Setup;
use prefinal_weighted_rounding::Stake;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant as Clock, sleep_until, timeout};

use super::super::executor::NamedExecutor;
use super::super::store::{AttestedStore, lock};
use crate::follow::jobs::{EffectOf, InputOf, Jobs};
use crate::party::SyncLinks;

/// Nothing more was stored for so long: the party goes on as it is. Five peers that say nothing, asked one after
/// another for the block that all wait for, take half of it.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a party that follows speaks through and listens to.
pub struct Line {
    /// Where its questions leave for its peers.
    pub links: Arc<dyn SyncLinks>,
    /// Where their answers come in, as the desk sorts them out.
    pub answers: UnboundedReceiver<Frame>,
}

/// Whose word about the chain's length counts: that of more stake than may be faulty.
#[derive(Clone)]
pub struct Witnesses {
    /// The committee.
    pub setup: Arc<Setup>,
    /// How much of its stake may be faulty.
    pub quorum: Quorum,
}

/// Where a party that follows keeps what it gets.
pub struct Shelf<X: NamedExecutor> {
    /// What knows the executor's rules.
    pub executor: Arc<X>,
    /// The party's own store.
    pub store: Arc<Mutex<AttestedStore<X>>>,
    /// What verifies the slots' values, if they are to be kept for others that execute the blocks.
    pub beacon: Option<BeaconVerifier>,
}

/// A follower at work in a party.
pub struct Following<X: NamedExecutor> {
    line: Line,
    witnesses: Vec<Witnesses>,
    /// The highest block that peers were believed to have. They may say less later, or others may come first.
    tip: Option<Height>,
    follower: Follower<X, StakeVerifier, CertifiedPlaces>,
    jobs: Jobs<X, AttestedStore<X>>,
    verdicts: UnboundedReceiver<InputOf<X>>,
    start: Clock,
    /// When the last block was stored.
    last: Clock,
    /// Whether the store has a job.
    is_storing: bool,
    /// Whether nothing more is to be stored.
    is_closing: bool,
    bytes: usize,
    bans: Vec<Misconduct>,
    ended: Option<Ended>,
}

/// Why a follower stores nothing more.
pub enum Ended {
    /// It cannot go on; described in words.
    Failed(String),
    /// Its peers are of no use.
    InVain(&'static str),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(why) => f.write_str(why),
            Self::InVain(why) => f.write_str(why),
        }
    }
}

impl Witnesses {
    /// The highest block that more stake than may be faulty says to have. So an honest peer has it.
    pub(super) fn believed(&self, tips: &BTreeMap<Party, Height>) -> Option<Height> {
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
}

impl<X: NamedExecutor> Following<X> {
    /// Begins behind what the store has. What is trusted is the chain's first committee. Blocks that this party executed
    /// and nobody has certified are executed or fetched again: what a certificate is of then comes from those that
    /// signed it.
    ///
    /// # Errors
    /// If the store cannot be read, or the system has no randomness.
    pub fn start(
        first: &Setup,
        witnesses: Vec<Witnesses>,
        shelf: Shelf<X>,
        line: Line,
    ) -> Result<Self, String> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| format!("no randomness: {error}"))?;
        let (waypoint, members) = (light::waypoint(first, Slot::new(0)), light::members(first));
        let trust = StakeVerifier::new(&waypoint, &members).map_err(|error| error.to_string())?;
        let Shelf { executor, store, beacon } = shelf;
        let past = past(&mut lock(&store)).map_err(|error| error.to_string())?;
        let (inputs, verdicts) = unbounded_channel();
        let (peers, now) = (line.links.peers(), Clock::now());
        let mut config = Config { beacon, ..Config::new(Replay::Deltas, seed) };
        // The links carry more than answers.
        config.limits.requests_to_one = 2;
        let mut following = Self {
            line,
            witnesses,
            tip: None,
            follower: Follower::new(config, trust, CertifiedPlaces, past),
            jobs: Jobs { executor, states: store, inputs },
            verdicts,
            start: now,
            last: now,
            is_storing: false,
            is_closing: false,
            bytes: 0,
            bans: Vec::new(),
            ended: None,
        };
        for peer in peers {
            following.take(Input::Connected(id_of(peer)));
        }
        Ok(following)
    }

    /// Waits for the next thing that happens, and does what follows from it. Nothing is lost if the caller stops
    /// waiting.
    pub async fn step(&mut self) {
        let wake = self.follower.wake_at().map(|at| self.start + at.since_start());
        let deadline = wake.map_or(self.last + PATIENCE, |wake| wake.min(self.last + PATIENCE));
        let input = tokio::select! {
            Some(frame) = self.line.answers.recv() => {
                self.bytes = self.bytes.saturating_add(frame.content.len());
                Input::Received { peer: id_of(frame.from), bytes: frame.content.to_vec() }
            }
            Some(input) = self.verdicts.recv() => input,
            () = sleep_until(deadline) => Input::Tick,
        };
        self.take(input);
        if self.follower.scores().next().is_none() {
            self.ended.get_or_insert(Ended::InVain("all of them lie"));
        }
        if self.last.elapsed() >= PATIENCE {
            self.ended.get_or_insert(Ended::InVain("no more came"));
        }
    }

    /// Ends with the store as it is between two blocks.
    pub async fn finish(&mut self) {
        self.is_closing = true;
        while self.is_storing {
            match timeout(PATIENCE, self.verdicts.recv()).await {
                Ok(Some(input)) => self.take(input),
                Ok(None) | Err(_) => {
                    self.ended = Some(Ended::Failed("the store gives no answer".to_owned()));
                    return;
                }
            }
        }
    }

    /// The last stored block.
    pub const fn committed(&self) -> Committed {
        self.follower.committed()
    }

    /// Why it stores nothing more, if it does not.
    pub const fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref()
    }

    /// The highest block that peers were believed to have; `None` as long as too few have said what they have.
    pub fn tip(&mut self) -> Option<Height> {
        let tip = |(peer, tip): (PeerId, Height)| {
            Some((Party::new(u32::try_from(peer.get()).ok()?), tip))
        };
        let scores = self.follower.scores();
        let tips = scores.filter_map(|(peer, score)| Some((peer, tip_of(score.summary.as_ref()?))));
        let tips: BTreeMap<_, _> = tips.filter_map(tip).collect();
        let believed = self.witnesses.iter().filter_map(|one| one.believed(&tips)).max();
        self.tip = self.tip.max(believed);
        self.tip
    }

    /// Whether all peers have said what they have.
    pub fn has_heard_all(&self) -> bool {
        self.follower.scores().all(|(_, score)| score.summary.is_some())
    }

    /// Bytes that came, and for how long it has been at work.
    pub fn spent(&self) -> (usize, Duration) {
        (self.bytes, self.start.elapsed())
    }

    /// The peers that are not asked any more since this was called last, with what they did.
    pub fn bans(&mut self) -> Vec<Misconduct> {
        std::mem::take(&mut self.bans)
    }

    fn take(&mut self, input: InputOf<X>) {
        self.is_storing &= !matches!(input, Input::Stored(_));
        self.follower.handle(Instant::at(self.start.elapsed()), input);
        while let Some(output) = self.follower.poll() {
            // Endings are verified from the first epoch on whenever a party follows.
            if let Output::Do(effect) = output {
                self.act(effect);
            }
        }
    }

    fn act(&mut self, effect: EffectOf<X>) {
        if matches!(effect, Effect::Store(_)) {
            if self.is_closing {
                return;
            }
            self.is_storing = true;
        }
        match self.jobs.start(effect) {
            Some(Effect::Send { peer, bytes }) => {
                if let Ok(party) = u32::try_from(peer.get()) {
                    self.line.links.send_sync(Party::new(party), bytes);
                }
            }
            Some(Effect::Ban(misconduct)) => self.bans.push(misconduct),
            Some(Effect::Committed { .. }) => self.last = Clock::now(),
            Some(Effect::Stopped(reason)) => self.ended = Some(Ended::Failed(reason.to_string())),
            _ => {}
        }
    }
}

/// What a store has.
fn past<X: NamedExecutor>(
    store: &mut AttestedStore<X>,
) -> Result<Past<Certificate<MinSig>>, StateError> {
    let Recovered { optimistic, .. } = store.recover()?;
    for one in optimistic.iter().rev() {
        store.revert(&one.block.header)?;
    }
    Past::of(store.states())
}

pub(super) fn tip_of(summary: &Summary) -> Height {
    summary.blocks.map_or(Height::GENESIS, |blocks| blocks.last)
}

fn id_of(peer: Party) -> PeerId {
    PeerId::new(peer.get().into())
}
