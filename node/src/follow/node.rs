//! Runs a [`Follower`] in real time: its messages over HTTP, its jobs on the pool, its records on the disk.
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prefinal_execution::{Height, Store};
use prefinal_lab::Failure;
use prefinal_light::{EpochEnding, StakeVerifier};
use prefinal_protocol::{Instant, Machine, Output};
use prefinal_sync::wire::Summary;
use prefinal_sync::{
    CertifiedPlaces, Effect, Follower, Input, Misconduct, Past, PeerId, StopReason,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant as Clock, MissedTickBehavior, interval_at, sleep_until};

use super::begin::Trusted;
use super::client::{Client, PeerUrl};
use super::home::Home;
use super::jobs::{EffectOf, InputOf, Jobs};
use super::report::{Report, Standing};
use super::{Mode, Options, doors};
use crate::execution::{AttestedStates, Endings, Library, NamedExecutor, states};
use crate::http::Server;
use crate::interrupt::Interrupts;
use crate::output;

/// Between two lines of progress.
const SHOWN: Duration = Duration::from_secs(1);

/// Where and for whom it follows.
pub(super) struct Site<'a> {
    pub(super) options: &'a Options,
    pub(super) home: Home,
    pub(super) clients: Vec<Client>,
    pub(super) trusted: Trusted,
    pub(super) interrupts: Interrupts,
}

struct Node<X: NamedExecutor> {
    follower: Follower<X, StakeVerifier, CertifiedPlaces>,
    jobs: Jobs<X, AttestedStates<X>>,
    library: Arc<Library<X, AttestedStates<X>>>,
    clients: Vec<Arc<Client>>,
    home: Home,
    endings: Vec<EpochEnding>,
    /// The same, as they are shown to others.
    shown: Endings,
    report: Report,
    mode: Mode,
    start: Clock,
    /// Why the last peer was banned.
    banned: Option<String>,
    stopped: Option<StopReason>,
}

/// Follows until it is interrupted, or there.
pub(super) async fn run<X: NamedExecutor>(site: Site<'_>) -> Result<(), Failure> {
    let Site { options, home, clients, trusted, mut interrupts } = site;
    let (inputs, inbox) = unbounded_channel();
    let mut node = Node::<X>::open(options, home, clients, &trusted, inputs)?;
    if let Some(address) = options.http {
        let (states, library) = (Arc::clone(&node.jobs.states), Arc::clone(&node.library));
        let routes = doors::routes(&trusted, states, library, node.shown.clone());
        let server = Server::open_routes(address, routes, &options.limits).await?;
        let address = server.address().map_err(Failure::bad_input)?;
        node.report.note(&format!("http://{address}/ serves what it has, for others to follow"));
        tokio::spawn(server.run());
    }
    let ended = tokio::select! {
        ended = node.live(inbox, options.to.map(Height::new)) => ended,
        () = interrupts.next() => {
            node.report.finish();
            say!("interrupted");
            Ok(())
        }
    };
    node.report.finish();
    ended?;
    let committed = node.follower.committed();
    let root = hex::encode(committed.roots.state);
    let height = committed.height.get();
    say!("height {height}, verified: {}; state {root}", node.report.total());
    if let Some(line) = node.forgotten() {
        say!("{line}");
    }
    Ok(())
}

impl<X: NamedExecutor> Node<X> {
    fn open(
        options: &Options,
        home: Home,
        clients: Vec<Client>,
        trusted: &Trusted,
        inputs: UnboundedSender<InputOf<X>>,
    ) -> Result<Self, Failure> {
        let failed = |error| home.failed(error);
        let states = states::<X>(&home.state(), &trusted.genesis()).map_err(failed)?;
        let committed = states.committed().map_err(failed)?;
        let past = Past::of(&states).map_err(failed)?;
        let (mut trust, endings) = (trusted.verifier()?, home.endings()?);
        past.advance(&mut trust, &endings).map_err(Failure::bad_input)?;
        let states = Arc::new(Mutex::new(states));
        let shown = Endings::default();
        endings.iter().for_each(|ending| shown.add(ending.clone()));
        let library = Library::of_follower(Arc::clone(&states), &trusted.beginning, shown.clone());
        let library = Arc::new(library);
        let (height, place) = (committed.height.get(), home.path().display());
        say!("{}: kept in {place}, from height {height} on", X::NAME);
        Ok(Self {
            follower: Follower::new(options.config(trusted)?, trust, CertifiedPlaces, past),
            jobs: Jobs { executor: Arc::new(X::new(trusted.waypoint.chain)), states, inputs },
            library,
            clients: clients.into_iter().map(Arc::new).collect(),
            home,
            endings,
            shown,
            report: Report::new(),
            mode: options.mode,
            start: Clock::now(),
            banned: None,
            stopped: None,
        })
    }

    async fn live(
        &mut self,
        mut inbox: UnboundedReceiver<InputOf<X>>,
        to: Option<Height>,
    ) -> Result<(), Failure> {
        for (number, _) in (0..).zip(&self.clients) {
            self.follower.handle(self.now(), Input::Connected(PeerId::new(number)));
        }
        let mut ticks = interval_at(Clock::now() + SHOWN, SHOWN);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            self.carry_out()?;
            match &self.stopped {
                Some(StopReason::Failed(why)) => return Err(self.home.failed(why)),
                Some(reason) => return Err(Failure::Disagreement(reason.to_string())),
                None => {}
            }
            if self.follower.scores().next().is_none() {
                let last = self.banned.take().unwrap_or_default();
                return Err(Failure::Disagreement(format!(
                    "every peer is banned, the last: {last}; if the one that the home began with has lied, begin \
                     again with another --home and other peers"
                )));
            }
            let is_there = to.is_some_and(|to| self.follower.committed().height >= to);
            if is_there || output::is_closed() {
                return Ok(());
            }
            let deadline = self.deadline();
            tokio::select! {
                Some(input) = inbox.recv() => self.follower.handle(self.now(), input),
                () = sleep_until(deadline) => self.follower.handle(self.now(), Input::Tick),
                _ = ticks.tick() => self.show(),
            }
        }
    }

    /// What is there, if it is not everything.
    fn forgotten(&self) -> Option<String> {
        let kept = self.follower.kept();
        let lowest = Some(kept.lowest).filter(|lowest| *lowest > Height::GENESIS)?;
        let (first, bytes) = (lowest.next().get(), megabytes(kept.bytes));
        let file = self.home.state_bytes().map_or_else(String::new, |bytes| {
            format!("; with the state and free pages the file has {}", megabytes(bytes))
        });
        Some(format!("blocks from {first} on are kept, {bytes}{file}"))
    }

    fn now(&self) -> Instant {
        Instant::at(self.start.elapsed())
    }

    fn deadline(&self) -> Clock {
        let rest = self.follower.wake_at().map(|at| at.since_start());
        self.start + rest.unwrap_or_else(|| self.start.elapsed().saturating_add(SHOWN))
    }

    fn carry_out(&mut self) -> Result<(), Failure> {
        while let Some(output) = self.follower.poll() {
            match output {
                // It is durable before anything that follows.
                Output::Keep(ending) | Output::Note(ending) => {
                    self.endings.push(ending.clone());
                    self.home.keep(&self.endings)?;
                    self.shown.add(ending);
                }
                Output::Do(effect) => self.act(effect),
            }
        }
        Ok(())
    }

    fn act(&mut self, effect: EffectOf<X>) {
        match self.jobs.start(effect) {
            Some(Effect::Send { peer, bytes }) => self.send(peer, bytes),
            Some(Effect::Ban(misconduct)) => self.ban(&misconduct),
            Some(Effect::Committed { transactions, .. }) => self.report.count(transactions),
            Some(Effect::Stopped(reason)) => self.stopped = Some(reason),
            _ => {}
        }
    }

    fn client(&self, peer: PeerId) -> Option<&Arc<Client>> {
        self.clients.get(usize::try_from(peer.get()).ok()?)
    }

    /// An answer that does not come is late, and costs the peer its score.
    fn send(&self, peer: PeerId, bytes: Vec<u8>) {
        let Some(client) = self.client(peer).map(Arc::clone) else { return };
        let (inputs, most) = (self.jobs.inputs.clone(), self.follower.longest());
        tokio::spawn(async move {
            if let Ok(bytes) = client.post("/sync", bytes, most).await {
                drop(inputs.send(Input::Received { peer, bytes }));
            }
        });
    }

    fn ban(&mut self, misconduct: &Misconduct) {
        let url = self.client(misconduct.peer).map(|client| client.url().to_string());
        let line = format!("{} is banned: {}", url.unwrap_or_default(), misconduct.fault);
        self.report.note(&line);
        self.banned = Some(line);
    }

    fn show(&mut self) {
        let Self { follower, clients, library, report, .. } = self;
        let url = |peer: PeerId| Some(clients.get(usize::try_from(peer.get()).ok()?)?.url());
        let peers = follower.scores().filter_map(|(peer, score)| Some((url(peer)?, score)));
        let peers: Vec<(&PeerUrl, _)> = peers.collect();
        let summaries = || peers.iter().filter_map(|(_, score)| score.summary.as_ref());
        let tip = summaries().filter_map(|summary| summary.blocks).map(|all| all.last.get()).max();
        if let Some(hops) = summaries().map(|summary| summary.hops).min() {
            library.set_hops(hops.saturating_add(1));
        }
        let next = follower.committed().height.next();
        let has_next = |has: &Summary| has.blocks.is_some_and(|blocks| blocks.contains(next));
        let is_cut_off = self.mode != Mode::Snapshot && !summaries().any(has_next);
        let mode = if follower.is_restoring() { "fetching a state" } else { self.mode.as_str() };
        let height = follower.committed().height.get();
        let lowest = follower.kept().lowest.get();
        report.show(&Standing { height, lowest, tip, is_cut_off, mode, peers });
    }
}

fn megabytes(bytes: u64) -> String {
    let tenths = bytes.div_ceil(100_000);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}
