//! Committee after committee in the simulator, on both engines and in both schemes: the whole validator,
//! whose engines, keys and beacons change while the chain runs.
//!
//! | claim                                                                    | how                           |
//! |--------------------------------------------------------------------------|-------------------------------|
//! | three committees follow one another without a gap, and agree             | stakes move, two join, two leave |
//! | a party that crashes anywhere goes on                                    | disks cut at many records     |
//! | a party that was cut off at the boundary is told what is final           | a partition across it         |
//! | who deals the key on falsely is left out                                 | dealings with a changed byte  |
//! | a committee that is over has no say                                      | its partials, for later slots |
use prefinal_lab::local::Imperfections;
use prefinal_lab::priced::Priced;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use prefinal_beacon::{Bls, Path, Slot, Wvuf};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;
use prefinal_lab::check::Trial;
use prefinal_lab::committee::{Ground, Observation, Prices, Subject, ValidatorHost};
use prefinal_lab::machine::MessageOf;
use prefinal_protocol::Instant;
use prefinal_pvss_dkg::protocol as dkg;
use prefinal_registry::scheme::Name;
use prefinal_registry::{Jolteon, Malachite};
use prefinal_sim::{
    Disk, Network, Note, Partition, PartitionEffect, Seat, Simulation, Stop, Window,
};
use prefinal_validator::Message;
use prefinal_validator::fixed::FixedCommittees;
use prefinal_validator::keygen::{Job, Verdict};
use prefinal_validator::setup::{Algorithm, Plan, Setup};
use prefinal_weighted_rounding::{Ratio, Stake};

/// Of some 100 in each epoch. Parties 5 and 6 join, 4 and 3 leave.
const STAKES: [[u128; 7]; 3] =
    [[30, 25, 20, 15, 10, 0, 0], [28, 24, 21, 16, 0, 11, 0], [27, 26, 20, 0, 0, 14, 13]];
/// The next committee is named in this slot, and in twice that: a party that is behind by more than an
/// epoch finds nobody any more that answers for it.
const EVERY: NonZeroU64 = NonZeroU64::new(40).unwrap();
const DELAY: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(120);
/// Values that every party has to reveal in the last epoch.
const VALUES: u64 = 3;

/// Keys, and what key generation computes, are the same in every run.
trait Lab: Priced {
    fn ground() -> Arc<Ground<Self>>;
}

impl Lab for Bls {
    fn ground() -> Arc<Ground<Self>> {
        static GROUND: LazyLock<Arc<Ground<Bls>>> = LazyLock::new(found);
        Arc::clone(&GROUND)
    }
}

impl Lab for Wvuf {
    fn ground() -> Arc<Ground<Self>> {
        static GROUND: LazyLock<Arc<Ground<Wvuf>>> = LazyLock::new(found);
        Arc::clone(&GROUND)
    }
}

fn found<S: Priced>() -> Arc<Ground<S>> {
    Arc::new(Ground::new(&plan(0), 1).unwrap())
}

fn plan(epoch: usize) -> Plan {
    let stakes = STAKES[epoch].map(Stake::new).to_vec();
    Plan::new(stakes, Algorithm::Fast, Ratio::new(84, 100).unwrap()).unwrap()
}

fn rota<S: Priced>(ground: &Ground<S>) -> Setup {
    let mut setup = ground.setup().clone();
    setup.timeout = Duration::from_millis(600);
    let identities = ground.identities().iter().map(|identity| &**identity);
    FixedCommittees::chain(setup, &[plan(1), plan(2)], identities, EVERY).unwrap()
}

struct Run<S: Lab, E: Subject> {
    simulation: Simulation<ValidatorHost<S, E>>,
    faulty: BTreeSet<Party>,
}

fn stage<S: Lab, E: Subject>(network: Network, faulty: &[u32]) -> Run<S, E> {
    let ground = S::ground();
    let setup = rota(&ground);
    let host = ValidatorHost::new(ground, setup, Prices::Flat(Duration::from_millis(1))).unwrap();
    let simulation = Simulation::new(host, prefinal_sim::Setup::new(7, 1, network)).unwrap();
    Run { simulation, faulty: faulty.iter().copied().map(Party::new).collect() }
}

fn calm() -> Network {
    Network::constant(DELAY)
}

/// Where epochs begin, and which slots each seat has revealed.
#[derive(Default)]
struct Progress {
    first: BTreeMap<EpochId, Slot>,
    revealed: BTreeMap<Seat, BTreeSet<Slot>>,
}

impl Progress {
    fn see<S: Priced>(&mut self, note: &Note<Observation<S>>) {
        match &note.event {
            Observation::Ready { epoch, first, .. } => drop(self.first.insert(*epoch, *first)),
            Observation::Revealed(reveal) => {
                self.revealed.entry(note.seat).or_default().insert(reveal.slot);
            }
            _ => {}
        }
    }

    /// Whether the seat has all values, from the first of the chain to some of the last epoch.
    fn has(&self, seat: Seat) -> bool {
        let ends = (self.first.get(&EpochId::new(0)), self.first.get(&EpochId::new(2)));
        let (Some(first), Some(last)) = ends else { return false };
        let revealed = self.revealed.get(&seat);
        let has = |slot| revealed.is_some_and(|revealed| revealed.contains(&Slot::new(slot)));
        (first.get()..last.get() + VALUES).all(has)
    }
}

impl<S: Lab, E: Subject> Run<S, E> {
    fn progress(&self) -> Progress {
        let mut progress = Progress::default();
        self.simulation.notes().iter().for_each(|note| progress.see(note));
        progress
    }

    /// Runs until these seats have all values, and checks what must hold.
    fn finish(&mut self, seats: impl IntoIterator<Item = u32>) {
        let mut waiting: BTreeSet<Seat> = seats.into_iter().map(Seat::new).collect();
        let mut progress = self.progress();
        waiting.retain(|seat| !progress.has(*seat));
        if !waiting.is_empty() {
            let stop = self.simulation.run_watching(Instant::at(PATIENCE), |note| {
                progress.see(note);
                waiting.retain(|seat| !progress.has(*seat));
                if waiting.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            let last: Vec<_> =
                progress.revealed.iter().map(|(seat, slots)| (seat, slots.last())).collect();
            let first = &progress.first;
            assert_eq!(stop, Stop::Watcher, "{waiting:?} of {first:?}: {last:?}");
        }
        self.check();
    }

    /// What must hold of every run; secrecy, as Jolteon's votes are counted.
    fn check(&self) {
        let host = self.simulation.host();
        host.check_halted().unwrap();
        let crashed = self.simulation.crashed().map(|seat| Party::new(seat.get())).collect();
        let trial = Trial {
            ground: host.ground(),
            setups: &host.setups(),
            parties: &|seat| Party::new(seat.get()),
            faulty: &self.faulty,
            crashed: &crashed,
            imperfections: Imperfections::new(host.prices(), self.simulation.network()),
            before: &[],
            notes: self.simulation.notes(),
        };
        trial.check().unwrap();
    }

    /// How often honest parties refuse something, by the reason.
    fn refusals(&self) -> BTreeMap<String, usize> {
        let mut refusals = BTreeMap::new();
        for note in self.simulation.notes() {
            if let Observation::Refused(why) = &note.event {
                *refusals.entry(why.clone()).or_default() += 1;
            }
        }
        refusals
    }
}

/// What a run without faults shows.
struct Calm {
    /// The first slot of each epoch.
    first: BTreeMap<EpochId, Slot>,
    /// How many records each seat has written.
    records: BTreeMap<Seat, u64>,
    /// When slots were final at seat 0.
    finalized: BTreeMap<Slot, Instant>,
    /// Slots whose value some party had by the fast path.
    fast: BTreeSet<Slot>,
    refusals: BTreeMap<String, usize>,
}

impl Calm {
    fn watch<S: Lab, E: Subject>() -> Self {
        let mut run = stage::<S, E>(calm(), &[]);
        run.finish(0..7);
        let notes = || run.simulation.notes().iter();
        let finalized = notes().filter(|note| note.seat == Seat::new(0));
        let finalized = finalized.filter_map(|note| match note.event {
            Observation::Finalized(slot, _) => Some((slot, note.at)),
            _ => None,
        });
        let fast = notes().filter_map(|note| match &note.event {
            Observation::Revealed(reveal) if reveal.path == Path::Fast => Some(reveal.slot),
            _ => None,
        });
        let seats = (0..7).map(Seat::new);
        let records = |seat| u64::try_from(run.simulation.records(seat).len()).unwrap();
        Self {
            first: run.progress().first,
            records: seats.map(|seat| (seat, records(seat))).collect(),
            finalized: finalized.collect(),
            fast: fast.collect(),
            refusals: run.refusals(),
        }
    }
}

fn committees_follow(calm: &Calm) {
    let Calm { first, fast, refusals, .. } = calm;
    // Named in these slots at the earliest, and each epoch has slots.
    let named = EVERY.get();
    assert!(first[&EpochId::new(1)].get() > named && first[&EpochId::new(2)].get() > 2 * named);
    assert_eq!(*refusals, BTreeMap::new());
    // The fast path works in every epoch.
    for (epoch, first) in first {
        let end = first.after(4);
        assert!(fast.range(*first..end).next().is_some(), "{epoch} of {fast:?}");
    }
}

fn crashes_anywhere<S: Lab, E: Subject>(calm_run: &Calm) {
    // One stays, one joins, one leaves; early, in the middle, late. Each scheme has its turn with some.
    let crashes: &[(u32, u64)] = if S::NAME == Name::Wvuf { &[(5, 2)] } else { &[(0, 1), (3, 3)] };
    for (seat, quarter) in crashes.iter().copied() {
        let seat = Seat::new(seat);
        let crash = calm_run.records[&seat] * quarter / 4;
        let mut run = stage::<S, E>(calm(), &[]);
        run.simulation.crash_after_records(seat, crash).unwrap();
        loop {
            let until = run.simulation.now() + Duration::from_millis(5);
            assert!(until < Instant::at(PATIENCE), "{seat} crashes at record {crash}");
            run.simulation.run(until);
            if run.simulation.machine(seat).is_none() {
                break;
            }
        }
        let back = run.simulation.now() + Duration::from_millis(400);
        run.simulation.restart(seat, back, Disk::Kept).unwrap();
        run.finish(0..7);
    }
}

fn is_told_what_is_final<S: Lab, E: Subject>(calm_run: &Calm) {
    let boundary = calm_run.first[&EpochId::new(1)];
    let slots = [Slot::new(boundary.get() - 4), boundary.after(2)];
    let [from, until] = slots.map(|slot| calm_run.finalized[&slot]);
    let told = Rc::new(Cell::new(0_u32));
    // From shortly before the boundary to shortly behind it: one that joins, and one that leaves.
    let seats: &[u32] = if S::NAME == Name::Wvuf { &[5] } else { &[4, 5] };
    for seat in seats.iter().copied().map(Seat::new) {
        let mut network = Network::constant(DELAY);
        network = network.with_partition(Partition {
            window: Window::new(from, until),
            groups: vec![BTreeSet::from([seat])],
            blocked: PartitionEffect::Dropped,
        });
        let mut run = stage::<S, E>(network, &[]);
        let seen = Rc::clone(&told);
        run.simulation.host_mut().watch =
            Some(Box::new(move |_, to, _, message: &MessageOf<S, E>| {
                if to == seat && matches!(message, Message::Final { .. }) {
                    seen.set(seen.get() + 1);
                }
            }));
        run.finish(0..7);
    }
    // With the VUF the engine runs on beyond the boundary while keys are opened, and what it answers later
    // may be enough.
    assert!(told.get() > 0 || S::NAME == Name::Wvuf, "they are behind, and nobody tells them");
}

fn false_dealings<S: Lab, E: Subject>() {
    let mut run = stage::<S, E>(calm(), &[1]);
    let dealt = Rc::new(Cell::new(false));
    let done = Rc::clone(&dealt);
    let tamper = move |job: &Job<S>, verdict: Verdict<S>| match (job.is_deal(), verdict) {
        (true, Verdict::Dealings(dkg::Verdict::Dealt(Ok(mut envelopes)))) => {
            done.set(true);
            // Inside of the dealing; the envelope stays one.
            envelopes.iter_mut().for_each(|envelope| {
                let middle = envelope.len() / 2;
                envelope[middle] ^= 1;
            });
            Verdict::Dealings(dkg::Verdict::Dealt(Ok(envelopes)))
        }
        (_, verdict) => verdict,
    };
    run.simulation.host_mut().tampers.insert(Seat::new(1), Box::new(tamper));
    run.finish([0, 2, 3, 4, 5, 6]);
    assert!(dealt.get());
}

fn the_old_have_no_say<S: Lab, E: Subject>() {
    let mut run = stage::<S, E>(calm(), &[4]);
    let said = Rc::new(Cell::new(0_u32));
    let count = Rc::clone(&said);
    // Party 4 is in the first committee only: its last partial goes on, for slots of others.
    let mut last = None;
    run.simulation.host_mut().slip = Some(Box::new(move |seat, message| {
        if let (
            4,
            Message::Beacon(_, prefinal_beacon::Message::Partial { path, slot, partial, value }),
        ) = (seat.get(), message)
        {
            last = Some((*path, *slot, partial.clone(), *value));
        }
        let (path, slot, partial, value) = last.clone()?;
        count.set(count.get() + 1);
        let ahead = u64::from(count.get() % 40);
        let epoch = EpochId::new(u64::from(count.get() % 3));
        (seat.get() == 4).then(|| {
            let slot = slot.after(ahead);
            Message::Beacon(epoch, prefinal_beacon::Message::Partial { path, slot, value, partial })
        })
    }));
    run.finish([0, 1, 2, 3, 5, 6]);
    assert!(said.get() > 40, "{}", said.get());
}

macro_rules! on_each_engine {
    (after a calm run: $($behind:ident)*; $($test:ident)*) => {
        on_each_engine! { jolteon Jolteon ($($behind)*) ($($test)*) }
        on_each_engine! { malachite Malachite ($($behind)*) ($($test)*) }
    };
    ($module:ident $engine:ident $behind:tt $tests:tt) => {
        mod $module {
            on_each_engine! { bls Bls $engine $behind $tests }
            on_each_engine! { wvuf Wvuf $engine $behind $tests }
        }
    };
    ($name:ident $scheme:ident $engine:ident ($($behind:ident)*) ($($test:ident)*)) => {
        mod $name {
            use super::super::{Calm, $engine, $scheme};
            static CALM: std::sync::LazyLock<Calm> =
                std::sync::LazyLock::new(Calm::watch::<$scheme, $engine>);
            #[test] fn committees_follow() { super::super::committees_follow(&CALM); }
            $(#[test] fn $behind() { super::super::$behind::<$scheme, $engine>(&CALM); })*
            $(#[test] fn $test() { super::super::$test::<$scheme, $engine>(); })*
        }
    };
}

on_each_engine! {
    after a calm run: crashes_anywhere is_told_what_is_final;
    false_dealings the_old_have_no_say
}
