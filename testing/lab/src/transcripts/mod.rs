//! Key generation by transcripts: one aggregate on the chain, beside every dealing on it.
//!
//! Both ways begin with a dealing of every party (a *transcript*, as Das et al. call it) and end when a party has
//! checked what the chain ordered.
//!
//! | stage         | [`Agreement::OneAggregate`], as the paper does             | [`Agreement::EachDealing`], as we do       |
//! |---------------|-------------------------------------------------------------|---------------------------------------------|
//! | dealing       | the own transcript is made                                   | the same                                    |
//! | dissemination | sent to everybody; those of more than two thirds have come   | by the engine's transactions                |
//! | aggregation   | each was checked as it came; they are added up               | dealings of more than a third, in their order, are checked and added up |
//! | agreement     | one aggregate is ordered, and checked                        | dealings of more than a third are ordered   |
//!
//! Transcripts are real: made, encoded, sent, decoded, checked and added up on the curve. Each is made and checked once
//! in real time, and every party is charged for it at the price of the primitives in it ([`crate::costs`]). Links and
//! interfaces are those of the simulator, which carries every byte. The engine is Jolteon, with ideal signatures at
//! the price of real ones. Party `i` submits its aggregate [`TURN`]` · i` after it has one, unless one was ordered
//! before. What is not there: the protocol's records and evidence ([`prefinal_pvss_dkg::protocol`]), opening of shares.
mod host;
mod party;

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use prefinal_jolteon::Jolteon;
use prefinal_protocol::Instant;
use prefinal_pvss_dkg::{Accepted, Dealing, deal, verify};
use prefinal_sim::{Seat, Simulation, Stop};
use prefinal_validator::setup::{self, Identity, Plan, Setup};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use self::host::TranscriptHost;
use self::party::Stage;
use crate::dealt::World;
use crate::failure::Failure;
use crate::latency::PATIENCE;
use crate::legible::ReadableEngine;
use crate::waits::Waits;

/// How long the next party waits before it submits its aggregate too.
pub const TURN: Duration = Duration::from_secs(2);

/// What goes onto the chain, and so what parties agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// Every dealing is a transaction.
    EachDealing,
    /// Parties exchange transcripts, and one sum of them is a transaction.
    OneAggregate,
}

/// What a key generation takes.
#[derive(Debug)]
pub struct Report {
    /// From the start to the party's own transcript.
    pub dealing: Waits,
    /// From there until transcripts of more than two thirds of the stake have come; nothing where the engine
    /// disseminates.
    pub dissemination: Waits,
    /// From the last transcript that is needed to their sum, or from the last ordered dealing to their sum.
    pub aggregation: Waits,
    /// From the sum to a checked aggregate on the chain, or from the own dealing to the last one that is ordered.
    pub agreement: Waits,
    /// From the start to the key.
    pub total: Waits,
    /// Length of one party's transcript in bytes.
    pub transcript: usize,
    /// Bytes of transactions that were ordered until the last party had the key.
    pub on_chain: u64,
    /// Transactions that were ordered until then.
    pub transactions: u64,
    /// Bytes that each party sent, a mean; zero if links have no limits.
    pub sent: u64,
    /// Dealers whose secrets are in the key.
    pub dealers: usize,
}

/// A committee with its transcripts, for runs of both kinds.
pub struct Transcripts {
    setup: Arc<Setup>,
    identities: Vec<Arc<Identity>>,
    dealings: Vec<Transcript>,
}

/// A party's transcript, as bytes and checked.
#[derive(Clone)]
pub(crate) struct Transcript {
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) checked: Arc<Accepted<Dealing>>,
}

impl Transcripts {
    /// Makes and checks everybody's transcript, on all cores. It takes as long as that takes.
    ///
    /// # Errors
    /// If the plan's parts do not fit together, or a transcript fails its check.
    pub fn new(plan: &Plan, seed: u64) -> Result<Self, Failure> {
        let (setup, identities) = setup::found(plan, seed).map_err(Failure::bad_input)?;
        let identities: Vec<_> = identities.into_iter().map(Arc::new).collect();
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let (setup, all) = (&setup, &identities);
        let dealings = std::thread::scope(|scope| {
            let part = |first: usize| {
                let own = all.iter().skip(first).step_by(threads);
                scope.spawn(move || own.map(|one| made(setup, one, seed)).collect::<Vec<_>>())
            };
            let parts: Vec<_> = (0..threads).map(part).collect();
            let parts = parts.into_iter().map(|part| {
                part.join().unwrap_or_else(|_| vec![Err(Failure::bad_input("a dealer ended"))])
            });
            parts.flatten().collect::<Result<Vec<_>, _>>()
        });
        let mut dealings = dealings?;
        dealings.sort_by_key(|one| one.checked.dealer());
        Ok(Self { setup: Arc::new(setup.clone()), identities, dealings })
    }

    /// Runs one key generation with these transcripts, over the world's links.
    ///
    /// # Errors
    /// If the engine refuses the committee, or a party does not come to a key, or to another one than the others.
    pub fn run<S: crate::priced::Priced>(
        &self,
        agreement: Agreement,
        world: &World,
    ) -> Result<Report, Failure> {
        let host = TranscriptHost::<S>::new(self, agreement, world.prices)?;
        let seats = u32::try_from(self.identities.len()).map_err(Failure::bad_input)?;
        let mut around = prefinal_sim::Setup::new(seats, world.seed, world.network.clone());
        around.cores = world.cores;
        let mut simulation = Simulation::new(host, around).map_err(Failure::bad_input)?;
        Jolteon::idealize(&mut simulation.host_mut().memo);
        let mut keys = 0;
        let stop = simulation.run_watching(Instant::at(PATIENCE), |note| {
            keys += u32::from(note.event == Stage::Key);
            if keys < seats { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        if let Some(wrong) = &simulation.host().wrong {
            return Err(Failure::Disagreement(wrong.clone()));
        }
        if stop != Stop::Watcher {
            return Err(Failure::Disagreement(format!("{keys} of {seats} keys after {stop:?}")));
        }
        let mut times = vec![Times::default(); self.identities.len()];
        for note in simulation.take_notes() {
            let Some(times) = times.get_mut(note.seat.index()) else { continue };
            let place = match note.event {
                Stage::Dealt => &mut times.dealt,
                Stage::Arrived => &mut times.arrived,
                Stage::Ordered => &mut times.ordered,
                Stage::Summed => &mut times.summed,
                Stage::Key => &mut times.key,
            };
            place.get_or_insert(note.at);
        }
        let all = (0..seats).map(|seat| simulation.traffic(Seat::new(seat)).sent);
        let sent = all.sum::<u64>() / u64::from(seats.max(1));
        self.report(agreement, &times, simulation.host(), sent)
    }

    fn report<S: crate::priced::Priced>(
        &self,
        agreement: Agreement,
        times: &[Times],
        host: &TranscriptHost<S>,
        sent: u64,
    ) -> Result<Report, Failure> {
        let dealers = host.dealers()?;
        let spans = |from: fn(&Times) -> Option<Instant>, to: fn(&Times) -> Option<Instant>| {
            times.iter().filter_map(|one| Some(to(one)?.since(from(one)?))).collect::<Waits>()
        };
        let start = |_: &Times| Some(Instant::START);
        let [dissemination, aggregation, agreed] = match agreement {
            Agreement::OneAggregate => [
                spans(|one| one.dealt, |one| one.arrived),
                spans(|one| one.arrived, |one| one.summed),
                spans(|one| one.summed, |one| one.key),
            ],
            Agreement::EachDealing => [
                Waits::default(),
                spans(|one| one.ordered, |one| one.key),
                spans(|one| one.dealt, |one| one.ordered),
            ],
        };
        Ok(Report {
            dealing: spans(start, |one| one.dealt),
            dissemination,
            aggregation,
            agreement: agreed,
            total: spans(start, |one| one.key),
            transcript: self.setup.keygen.dealing_bytes(),
            on_chain: host.on_chain.bytes,
            transactions: host.on_chain.transactions,
            sent,
            dealers,
        })
    }
}

/// When a party came to each stage.
#[derive(Clone, Default)]
struct Times {
    dealt: Option<Instant>,
    arrived: Option<Instant>,
    ordered: Option<Instant>,
    summed: Option<Instant>,
    key: Option<Instant>,
}

fn made(setup: &Setup, identity: &Identity, seed: u64) -> Result<Transcript, Failure> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    rng.set_stream(identity.me.get().into());
    let dealing = deal(&setup.keygen, identity.me, &identity.signer, &mut rng);
    let bytes: Arc<[u8]> = dealing.map_err(Failure::bad_input)?.to_bytes().into();
    let read = Dealing::from_bytes(&setup.keygen, &bytes).map_err(Failure::bad_input)?;
    let checked = Arc::new(verify(&setup.keygen, read).map_err(Failure::bad_input)?);
    Ok(Transcript { bytes, checked })
}
