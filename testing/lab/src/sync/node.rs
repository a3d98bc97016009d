//! A node that follows, serves, or both, as a machine of the simulator.
use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use prefinal_execution::Height;
use prefinal_light::EpochEnding;
use prefinal_protocol::{Instant, Machine, Output};
use prefinal_sim::Seat;
use prefinal_state::transfers::Transfers;
use prefinal_sync::{
    CheckJob, Config, Effect, ExecuteJob, Follower, HashedNames, Input, Misconduct, PeerId,
    StopReason, StoreJob,
};

use super::chain::SampleCertificate;
use super::source::Part;
use super::trust::SampleTrust;

pub(super) type SampleFollower = Follower<Transfers, SampleTrust, HashedNames>;
type SampleInput = Input<Transfers, SampleTrust>;

/// What nodes say to each other, encoded.
pub(crate) type Bytes = Arc<[u8]>;

/// Where a node reads what others ask it for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Service {
    /// The shared chain, or a part of it.
    Chain(Part),
    /// Serves what its own store has, so many hops from the validators.
    Own { hops: u8 },
}

/// What a node is.
#[derive(Clone, Debug)]
pub(super) struct NodePlan {
    pub(super) follows: Option<Config>,
    /// The seats of the peers that it follows.
    pub(super) peers: Vec<Seat>,
    /// When it begins to follow.
    pub(super) begins: Duration,
    pub(super) serves: Option<Service>,
    /// Its answers are not compressed, so that a rule can alter them.
    pub(super) plain: bool,
}

/// What a node's host does wrong, for tests of the campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// Every certificate is believed.
    BelievesCertificates,
    /// What a peer says is taken for its neighbour's words.
    MixesUpPeers,
}

/// What checkers and statistics read.
#[derive(Clone, Debug)]
pub(super) enum Event {
    Committed(Height),
    Banned(Misconduct),
    Stopped(StopReason),
    /// More bytes than the follower's limits allow.
    Bytes(u64),
}

pub(super) enum Happens {
    /// The node has started, and has links to its peers.
    Start,
    Link {
        peer: Seat,
        is_up: bool,
    },
    Received(Seat, Bytes),
    Follower(Box<SampleInput>),
    Served(Seat, Vec<u8>),
    Tick,
}

pub(super) enum Job {
    Check(Box<CheckJob<Transfers, SampleTrust, HashedNames>>),
    Execute(Box<ExecuteJob<Transfers, SampleCertificate>>),
    Store(Box<StoreJob<Transfers, SampleCertificate>>),
    Serve { to: Seat, request: Bytes, now: Instant },
}

pub(super) enum Wants {
    Send(Seat, Bytes),
    Run(Job),
    Note(Event),
}

/// A node that is up.
pub(super) struct Node {
    pub(super) follower: Option<SampleFollower>,
    pub(super) peers: Vec<Seat>,
    pub(super) serves: bool,
    pub(super) mistake: Option<Mistake>,
    /// Most bytes that its follower may have.
    pub(super) bound: u64,
    pub(super) most: Rc<Cell<u64>>,
    /// Which life of the process this is. Its links end with it.
    pub(super) life: u32,
    pub(super) outputs: VecDeque<Output<EpochEnding, Wants>>,
    /// When it begins to follow.
    pub(super) begins: Instant,
    pub(super) now: Instant,
}

/// The kind of a message that is a request.
const REQUEST: u8 = 2;
/// The kind of an answer.
const ANSWER: u8 = 3;
/// The number of the request for a summary, which its answer does not carry.
const UNNUMBERED: [u8; 4] = [0xff; 4];

impl Node {
    fn follow(&mut self, input: SampleInput) {
        let Some(follower) = &mut self.follower else { return };
        follower.handle(self.now, input);
        let bytes = follower.bytes();
        self.most.set(self.most.get().max(bytes));
        if bytes > self.bound {
            self.outputs.push_back(Output::Do(Wants::Note(Event::Bytes(bytes))));
        }
        while let Some(output) = self.follower.as_mut().and_then(Machine::poll) {
            let output = match output {
                Output::Keep(ending) => Output::Keep(ending),
                Output::Note(ending) => Output::Note(ending),
                Output::Do(Effect::Send { peer, mut bytes }) => {
                    self.mark(&mut bytes);
                    Output::Do(Wants::Send(seat(peer), bytes.into()))
                }
                Output::Do(effect) => Output::Do(wants(effect)),
            };
            self.outputs.push_back(output);
        }
    }

    /// A link does not outlive the process, and neither do answers on it. Here the upper half of a request's number
    /// says which life has asked.
    fn mark(&self, request: &mut [u8]) {
        let upper = request.get_mut(6..10).filter(|upper| **upper != UNNUMBERED);
        upper.into_iter().for_each(|upper| upper.copy_from_slice(&self.life.to_le_bytes()));
    }

    /// The answer without the mark, if this life has asked.
    fn unmark(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = bytes.to_vec();
        if bytes.get(1) == Some(&ANSWER)
            && let Some(upper) = bytes.get_mut(6..10)
        {
            if *upper != self.life.to_le_bytes() {
                return None;
            }
            upper.fill(0);
        }
        Some(bytes)
    }

    /// Whose words these are, by what the host believes.
    fn peer(&self, from: Seat) -> PeerId {
        let mixed = self.mistake == Some(Mistake::MixesUpPeers);
        let place = self.peers.iter().position(|peer| *peer == from).filter(|_| mixed);
        let next = place.and_then(|place| self.peers.get(place + 1).or(self.peers.first()));
        PeerId::new(next.copied().unwrap_or(from).get().into())
    }

    fn connect(&mut self) {
        for peer in self.peers.clone() {
            self.follow(Input::Connected(PeerId::new(peer.get().into())));
        }
    }
}

fn wants(effect: Effect<Transfers, SampleTrust, HashedNames>) -> Wants {
    match effect {
        Effect::Send { peer, bytes } => Wants::Send(seat(peer), bytes.into()),
        Effect::Check(job) => Wants::Run(Job::Check(job)),
        Effect::Execute(job) => Wants::Run(Job::Execute(job)),
        Effect::Store(job) => Wants::Run(Job::Store(job)),
        Effect::Ban(misconduct) => Wants::Note(Event::Banned(misconduct)),
        Effect::Committed { committed, .. } => Wants::Note(Event::Committed(committed.height)),
        Effect::Stopped(reason) => Wants::Note(Event::Stopped(reason)),
    }
}

/// Peers are numbered as seats are.
pub(super) fn seat(peer: PeerId) -> Seat {
    Seat::new(u32::try_from(peer.get()).unwrap_or(u32::MAX))
}

impl Machine for Node {
    type Input = Happens;
    type Record = EpochEnding;
    type Effect = Wants;

    fn handle(&mut self, now: Instant, input: Happens) {
        self.now = now;
        match input {
            Happens::Start | Happens::Tick if now < self.begins => {}
            Happens::Start => self.connect(),
            // It has waited for its time.
            Happens::Tick if self.begins > Instant::START => {
                self.begins = Instant::START;
                self.connect();
            }
            Happens::Tick => self.follow(Input::Tick),
            Happens::Link { peer, is_up } => {
                let peer = PeerId::new(peer.get().into());
                let linked = if is_up { Input::Connected } else { Input::Disconnected };
                self.follow(linked(peer));
            }
            Happens::Received(from, bytes) if self.serves && bytes.get(1) == Some(&REQUEST) => {
                let job = Job::Serve { to: from, request: bytes, now };
                self.outputs.push_back(Output::Do(Wants::Run(job)));
            }
            Happens::Received(from, bytes) => {
                let peer = self.peer(from);
                if let Some(bytes) = self.unmark(&bytes) {
                    self.follow(Input::Received { peer, bytes });
                }
            }
            Happens::Follower(input) => self.follow(*input),
            Happens::Served(to, bytes) => {
                self.outputs.push_back(Output::Do(Wants::Send(to, bytes.into())));
            }
        }
    }

    fn poll(&mut self) -> Option<Output<EpochEnding, Wants>> {
        self.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Instant> {
        if self.begins > self.now {
            return Some(self.begins);
        }
        self.follower.as_ref()?.wake_at()
    }
}
