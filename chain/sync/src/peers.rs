//! The peers: what they say that they have, how fast they answer, and whom to ask next.
//!
//! A peer costs what its answers have taken lately, times what it is asked already, and something for its distance
//! to the validators, for those who are near have blocks first. The cheapest is asked; one time in eight one is drawn,
//! so that a peer that has become better is found. One that does not answer in time is left alone for a while, twice
//! as long each time. One that answers falsely is banned. So of `n` peers with one honest among them, the honest
//! one is asked after `n` timeouts at most.
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use prefinal_protocol::Instant;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use crate::config::{FollowerLimits, Strategy};
use crate::wire::Summary;

/// Names a peer. The host numbers its links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(u64);

impl PeerId {
    /// The peer of this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number that the host gave it.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// What a peer that has answered nothing yet is expected to take.
const FIRST: Duration = Duration::from_millis(200);
/// What a step of distance to the validators counts.
const HOP: Duration = Duration::from_millis(50);
/// No peer is left alone for longer than this many timeouts.
const LONGEST_PAUSE: u32 = 64;
/// Attempts double the time that an answer may take, as often as this.
const MOST_DOUBLINGS: u32 = 6;

/// How a peer does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerScore {
    /// What it says that it has, if it has said anything.
    pub summary: Option<Summary>,
    /// What its answers have taken lately.
    pub latency: Duration,
    /// Answers that were late or missing, each answer in time halves them.
    pub failures: u32,
    /// Requests that it has not answered yet.
    pub outstanding: usize,
}

#[derive(Debug)]
struct Peer {
    score: PeerScore,
    resume_at: Instant,
    poll_at: Instant,
}

/// All peers of a follower.
#[derive(Debug)]
pub(crate) struct Peers {
    all: BTreeMap<PeerId, Peer>,
    banned: BTreeSet<PeerId>,
    limits: FollowerLimits,
    strategy: Strategy,
    rng: ChaCha8Rng,
}

impl Peers {
    pub(crate) fn new(limits: FollowerLimits, strategy: Strategy, seed: [u8; 32]) -> Self {
        let rng = ChaCha8Rng::from_seed(seed);
        Self { all: BTreeMap::new(), banned: BTreeSet::new(), limits, strategy, rng }
    }

    pub(crate) fn connect(&mut self, peer: PeerId, now: Instant) {
        if self.banned.contains(&peer) {
            return;
        }
        let score = PeerScore { summary: None, latency: FIRST, failures: 0, outstanding: 0 };
        let fresh = Peer { score, resume_at: now, poll_at: now };
        self.all.entry(peer).or_insert(fresh);
    }

    pub(crate) fn disconnect(&mut self, peer: PeerId) {
        self.all.remove(&peer);
    }

    /// Whether the peer was not banned before.
    pub(crate) fn ban(&mut self, peer: PeerId) -> bool {
        self.all.remove(&peer);
        self.banned.insert(peer)
    }

    pub(crate) fn is_banned(&self, peer: PeerId) -> bool {
        self.banned.contains(&peer)
    }

    pub(crate) fn knows(&self, peer: PeerId) -> bool {
        self.all.contains_key(&peer)
    }

    pub(crate) fn scores(&self) -> impl Iterator<Item = (PeerId, &PeerScore)> {
        self.all.iter().map(|(peer, one)| (*peer, &one.score))
    }

    pub(crate) fn summaries(&self) -> impl Iterator<Item = &Summary> {
        self.all.values().filter_map(|peer| peer.score.summary.as_ref())
    }

    pub(crate) fn summary(&mut self, peer: PeerId, summary: Summary) {
        if let Some(peer) = self.all.get_mut(&peer) {
            peer.score.summary = Some(summary);
        }
    }

    /// The peer does not have what it said: whatever its next summary says, until then it has nothing.
    pub(crate) fn lacks(&mut self, peer: PeerId) {
        if let Some(peer) = self.all.get_mut(&peer) {
            peer.score.summary = None;
        }
    }

    /// Peers that are to be asked what they have.
    pub(crate) fn due(&mut self, now: Instant) -> Vec<PeerId> {
        let due = self.all.iter_mut().filter(|(_, peer)| peer.poll_at <= now);
        due.map(|(id, peer)| {
            peer.poll_at = now + self.limits.poll;
            *id
        })
        .collect()
    }

    /// When a peer is to be asked what it has, or is no longer left alone.
    pub(crate) fn wake_at(&self, now: Instant) -> Option<Instant> {
        let polls = self.all.values().map(|peer| peer.poll_at);
        let pauses = self.all.values().map(|peer| peer.resume_at).filter(|at| *at > now);
        polls.chain(pauses).min()
    }

    /// Whom to ask for something, among those who say that they have it.
    pub(crate) fn choose(
        &mut self,
        now: Instant,
        has: impl Fn(&Summary) -> bool,
    ) -> Option<PeerId> {
        let most = self.limits.requests_to_one;
        let has = |peer: &Peer| peer.score.summary.as_ref().is_some_and(&has);
        let free = |peer: &Peer| peer.resume_at <= now && peer.score.outstanding < most;
        let fit = self.all.iter().filter(|(_, peer)| has(peer) && free(peer));
        let fit: Vec<(PeerId, Duration)> = fit.map(|(id, peer)| (*id, peer.cost())).collect();
        let is_drawn = self.strategy == Strategy::Naive || self.rng.next_u64().is_multiple_of(8);
        if is_drawn {
            let count = u64::try_from(fit.len()).ok().filter(|count| *count > 0)?;
            let drawn = self.rng.next_u64().checked_rem(count)?;
            return fit.get(usize::try_from(drawn).ok()?).map(|(id, _)| *id);
        }
        fit.iter().min_by_key(|(id, cost)| (*cost, *id)).map(|(id, _)| *id)
    }

    /// How long an answer of this peer may take, at this attempt.
    pub(crate) fn patience(&self, peer: PeerId, attempt: u32) -> Duration {
        let latency = self.all.get(&peer).map_or(FIRST, |peer| peer.score.latency);
        let patience = latency.saturating_mul(4).max(self.limits.timeout);
        patience.saturating_mul(1 << attempt.min(MOST_DOUBLINGS))
    }

    pub(crate) fn asked(&mut self, peer: PeerId) {
        if let Some(peer) = self.all.get_mut(&peer) {
            peer.score.outstanding = peer.score.outstanding.saturating_add(1);
        }
    }

    pub(crate) fn answered(&mut self, peer: PeerId, took: Duration) {
        if let Some(Peer { score, .. }) = self.all.get_mut(&peer) {
            score.outstanding = score.outstanding.saturating_sub(1);
            score.latency = score.latency.saturating_mul(3).saturating_add(took) / 4;
            score.failures /= 2;
        }
    }

    /// The answer is not waited for any more.
    pub(crate) fn released(&mut self, peer: PeerId) {
        if let Some(Peer { score, .. }) = self.all.get_mut(&peer) {
            score.outstanding = score.outstanding.saturating_sub(1);
        }
    }

    /// The peer did not answer in time, or does not have what it said.
    pub(crate) fn failed(&mut self, peer: PeerId, now: Instant) {
        let timeout = self.limits.timeout;
        if let Some(Peer { score, resume_at, .. }) = self.all.get_mut(&peer) {
            score.failures = score.failures.saturating_add(1);
            let pause = 1_u32.checked_shl(score.failures).unwrap_or(LONGEST_PAUSE);
            *resume_at = now + timeout.saturating_mul(pause.min(LONGEST_PAUSE));
        }
    }

    pub(crate) fn late(&mut self, peer: PeerId, now: Instant) {
        self.released(peer);
        self.failed(peer, now);
    }
}

impl Peer {
    fn cost(&self) -> Duration {
        let PeerScore { latency, outstanding, ref summary, .. } = self.score;
        let load = u32::try_from(outstanding).unwrap_or(u32::MAX).saturating_add(1);
        let hops = summary.as_ref().map_or(0, |summary| summary.hops);
        latency.saturating_mul(load).saturating_add(HOP.saturating_mul(hops.into()))
    }
}
