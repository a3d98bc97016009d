//! Committees of drivers whose callbacks come from many threads, or from tasks.
use prefinal_protocol::Recipient;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use prefinal_beacon::{Beacon, Bls, Effect, Message, Path, Reveal, Wvuf};
use prefinal_crypto_core::access::Party;
use prefinal_driver::{Driver, MessageError, Options, Receiver, StopReason, Task};
use prefinal_journal::Memory;

use crate::fixture::*;
use crate::tools::until;

const SLOTS: u64 = 12;

type Committee<S> = Vec<(Party, Driver<Beacon<S>>, Receiver<Effect<S>>)>;

fn committee<S: Instance>(
    world: &World<S>,
    pool: impl prefinal_driver::Pool + Clone,
) -> Committee<S> {
    let parties = world.parties().into_iter();
    parties
        .map(|me| {
            let config = world.config(me, &BOTH);
            let started = Driver::start(
                |records| Beacon::new(config, &records),
                Memory::new(),
                pool.clone(),
                Options::default(),
            );
            let (driver, effects) = started.unwrap();
            (me, driver, effects)
        })
        .collect()
}

fn check<S: Instance>(world: &World<S>, reveals: &[Reveal<S>]) {
    let slots: Vec<_> = reveals.iter().map(|one| one.slot.get()).collect();
    assert_eq!(slots, (1..=SLOTS).collect::<Vec<_>>());
    for reveal in reveals {
        assert_eq!(reveal.output, world.output(reveal.slot, None));
    }
}

/// A message on its way: from whom, to whom.
type Letter<S> = (Party, usize, Message<S>);

/// Every message is delivered three times, by whichever thread comes next.
#[derive(Clone)]
struct Post<S: Instance> {
    me: Party,
    links: Vec<Sender<Letter<S>>>,
    turn: usize,
}

impl<S: Instance> Post<S> {
    fn send(&mut self, to: Recipient<Party>, message: &Message<S>) {
        for peer in (0..4).filter(|peer| *peer != self.me.index()) {
            let own = Recipient::One(Party::new(u32::try_from(peer).unwrap()));
            if to == Recipient::All || to == own {
                self.turn += 1;
                let link = &self.links[self.turn % self.links.len()];
                drop(link.send((self.me, peer, message.clone())));
            }
        }
    }
}

fn carry<S: Instance>(
    drivers: &[Driver<Beacon<S>>],
    letters: std::sync::mpsc::Receiver<Letter<S>>,
) {
    for (from, to, message) in letters {
        for _ in 0..3 {
            match drivers[to].on_message(from, message.clone()) {
                Ok(()) => {}
                Err(MessageError::Stopped(StopReason::ShutDown)) => return,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

fn run_engine<S: Instance>(driver: &Driver<Beacon<S>>, mut post: Post<S>) {
    for number in 1..=SLOTS {
        let partial = driver.on_prefinalize(slot(number), view(number, 0), V).unwrap();
        post.send(Recipient::All, &partial.unwrap());
        driver.on_finalize(slot(number), Some(V)).unwrap();
    }
}

/// Until the stream ends; a party that has everything goes on answering those that have not.
fn read<S: Instance>(
    effects: &Receiver<Effect<S>>,
    mut post: Post<S>,
    complete: &AtomicUsize,
) -> Vec<Reveal<S>> {
    let mut reveals = Vec::new();
    while let Ok(event) = effects.recv_blocking() {
        match event {
            Effect::Send { to, message } => post.send(to, &message),
            Effect::Reveal(reveal) => {
                reveals.push(*reveal);
                if reveals.len() == usize::try_from(SLOTS).unwrap() {
                    complete.fetch_add(1, SeqCst);
                }
            }
            // On a busy machine a party is behind by more than the others keep: here is the archive.
            Effect::Lookup { to, slots } => {
                for reveal in reveals.iter().filter(|reveal| slots.contains(&reveal.slot)) {
                    post.send(Recipient::One(to), &reveal.message());
                }
            }
            other => panic!("{other:?}"),
        }
    }
    reveals
}

/// Four threads deliver, four are engines, four read, four are clocks, and the pool has its own.
fn hammered<S: Instance>(seed: u64, pool: impl prefinal_driver::Pool + Clone) {
    let world = World::<S>::four(seed);
    let committee = committee(&world, pool);
    let drivers: Arc<Vec<_>> =
        Arc::new(committee.iter().map(|(_, driver, _)| driver.clone()).collect());
    let (mut links, mut threads, mut readers) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..4 {
        let (link, letters) = channel();
        links.push(link);
        let drivers = Arc::clone(&drivers);
        threads.push(thread::spawn(move || carry(&drivers, letters)));
    }
    let complete = Arc::new(AtomicUsize::new(0));
    for (me, driver, effects) in committee {
        let post = Post { me, links: links.clone(), turn: me.index() };
        let (clock, engine, own) = (driver.clone(), driver, post.clone());
        threads.push(thread::spawn(move || run_engine(&engine, own)));
        threads.push(thread::spawn(move || drop(clock.run_clock(Duration::from_millis(3)))));
        let complete = Arc::clone(&complete);
        readers.push(thread::spawn(move || read(&effects, post, &complete)));
    }
    drop(links);
    until("everybody", || complete.load(SeqCst) == 4);
    for driver in drivers.iter() {
        driver.shut_down().unwrap();
    }
    for reader in readers {
        check(&world, &reader.join().unwrap());
    }
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn rayon_and_many_threads() {
    hammered::<Bls>(841, rayon::spawn::<Task>);
}

#[test]
fn a_thread_for_each_job() {
    hammered::<Wvuf>(842, |task: Task| drop(thread::spawn(task)));
}

/// A task for the effects of each party, jobs where tokio puts what blocks; the engine's callbacks
/// stand where a write to the disk may stand.
#[test]
fn tasks_and_a_runtime() {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    let handle = runtime.handle().clone();
    let world = Arc::new(World::<Bls>::four(843));
    let pool = move |task: Task| drop(handle.spawn_blocking(task));
    let committee = committee(&world, pool);
    let drivers: Vec<_> = committee.iter().map(|(_, driver, _)| driver.clone()).collect();
    runtime.block_on(async {
        let mut readers = tokio::task::JoinSet::new();
        for (me, driver, effects) in committee {
            let peers = drivers.clone();
            readers.spawn(async move {
                let mut reveals = Vec::new();
                while reveals.len() < usize::try_from(SLOTS).unwrap() {
                    let event = tokio::select! {
                        event = effects.recv() => event.unwrap(),
                        () = tokio::time::sleep(Duration::from_millis(20)) => {
                            driver.tick().unwrap();
                            continue;
                        }
                    };
                    match event {
                        Effect::Send { message, .. } => deliver(&peers, me, &message),
                        Effect::Reveal(reveal) => reveals.push(*reveal),
                        other => panic!("{other:?}"),
                    }
                }
                (me, effects, reveals)
            });
        }
        for number in 1..=SLOTS {
            for (me, driver) in (0..).map(Party::new).zip(&drivers) {
                let engine = driver.clone();
                let vote = move || engine.on_prefinalize(slot(number), view(number, 0), V).unwrap();
                let partial = tokio::task::spawn_blocking(vote).await.unwrap().unwrap();
                assert!(matches!(partial, Message::Partial { path: Path::Fast, .. }));
                deliver(&drivers, me, &partial);
            }
            for driver in &drivers {
                let engine = driver.clone();
                let last = move || engine.on_finalize(slot(number), Some(V)).unwrap();
                tokio::task::spawn_blocking(last).await.unwrap();
            }
        }
        let done = readers.join_all().await;
        assert_eq!(done.len(), 4);
        for (_, _, reveals) in &done {
            check(&world, reveals);
        }
    });
}

fn deliver<S: Instance>(drivers: &[Driver<Beacon<S>>], from: Party, message: &Message<S>) {
    for (_, driver) in drivers.iter().enumerate().filter(|(to, _)| *to != from.index()) {
        driver.on_message(from, message.clone()).unwrap();
    }
}
