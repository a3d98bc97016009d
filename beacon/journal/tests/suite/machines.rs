//! Epochs and stacks under a journal: a crash at every step, through a handover and with two schemes.
//!
//! In its second life a party is told everything once more, and first that the engine votes for another
//! value wherever its partial was heard. It says the same bytes, answers no second time, and has every
//! output in the end. What would leave early for the first time stays back, for nobody tells it where its
//! peers are.
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_beacon::epochs::{self, Epochs};
use prefinal_beacon::stack::{self, Channel, Event, OneOf, Stack, records_of};
use prefinal_beacon::{Bls, Message, MultiSig, Record, Slot, Value, View};
use prefinal_journal::{Journal, Journaled, Memory};
use prefinal_protocol::Machine;

use crate::fixture::*;
use crate::lives::{Disk, Fuse, LEFT};
use crate::reshared::{Person, config, party};

type RecordOf<M> = <M as Machine>::Record;
type EffectOf<M> = <M as Machine>::Effect;

enum Act<M: Machine> {
    Tell(M::Input),
    /// The next committee.
    HandOver,
}

/// A machine, what it is told, and what is heard of it.
trait Subject: Sized {
    type Machine: Machine<Input: Clone>;

    /// Goes on after these records, with the next committee if it was told of it.
    fn wake(&self, handed_over: bool, records: &[RecordOf<Self::Machine>]) -> Self::Machine;
    fn hand_over(machine: &mut Self::Machine);
    fn acts(&self) -> Vec<Act<Self::Machine>>;
    fn vote(at: Slot, value: Value) -> <Self::Machine as Machine>::Input;
    /// Takes note; a job is handed back.
    fn hear(
        heard: &mut Observed,
        effect: EffectOf<Self::Machine>,
    ) -> Option<<Self::Machine as Machine>::Input>;
    /// The beacon's own record, and of which channel and epoch it is.
    fn record(record: &RecordOf<Self::Machine>) -> (u8, Record);
}

#[derive(Default)]
struct Observed {
    /// Partials as they travel.
    partials: BTreeSet<Vec<u8>>,
    early: BTreeSet<Slot>,
    /// By channel, slots in the order of their outputs.
    order: BTreeMap<u8, Vec<Slot>>,
    outputs: BTreeMap<(u8, Slot), Vec<u8>>,
    /// Those of the fast path.
    fast: BTreeSet<Vec<u8>>,
}

impl Observed {
    fn sent<S: prefinal_beacon::Scheme>(&mut self, channel: u8, message: &Message<S>) {
        let Message::Partial { path, slot, .. } = message else { return };
        if *path != prefinal_beacon::Path::Slow {
            self.early.insert(*slot);
        }
        let bytes = [vec![channel], borsh::to_vec(message).unwrap()].concat();
        if *path == prefinal_beacon::Path::Fast {
            self.fast.insert(bytes.clone());
        }
        self.partials.insert(bytes);
    }

    fn revealed(&mut self, channel: u8, slot: Slot, output: Vec<u8>) {
        self.order.entry(channel).or_default().push(slot);
        let first = self.outputs.entry((channel, slot)).or_insert_with(|| output.clone());
        assert_eq!(*first, output, "two outputs of {slot}");
    }
}

/// Tells all until a crash. Gives whether it was told of the next committee, and whether it crashed.
fn live<T: Subject>(
    subject: &T,
    heard: &mut Observed,
    disk: Disk,
    (handed_over, attacks): (bool, &[Slot]),
) -> (bool, bool)
where
    RecordOf<T::Machine>: BorshSerialize + BorshDeserialize,
{
    let fuse = disk.fuse.clone();
    heard.order.clear();
    let mut told = handed_over;
    let opened: Result<_, prefinal_journal::OpenError<std::convert::Infallible>> =
        Journaled::open(disk, |records| Ok(subject.wake(handed_over, &records)));
    let mut journaled = opened.unwrap();
    let attacks = attacks.iter().map(|at| Act::Tell(T::vote(*at, W)));
    if !carry_out::<T>(&mut journaled, heard, &fuse) {
        return (told, true);
    }
    for act in attacks.chain(subject.acts()) {
        match act {
            Act::Tell(input) => journaled.handle(ms(0), input).unwrap(),
            Act::HandOver if told => {}
            Act::HandOver => {
                told = true;
                journaled.change(T::hand_over).unwrap();
            }
        }
        if !carry_out::<T>(&mut journaled, heard, &fuse) {
            return (told, true);
        }
    }
    (told, false)
}

fn carry_out<T: Subject>(
    journaled: &mut Journaled<T::Machine, Disk>,
    heard: &mut Observed,
    fuse: &Fuse,
) -> bool
where
    RecordOf<T::Machine>: BorshSerialize + BorshDeserialize,
{
    loop {
        match journaled.poll() {
            Ok(None) => return true,
            Ok(Some(_)) if fuse.burn() => return false,
            Ok(Some(effect)) => {
                if let Some(back) = T::hear(heard, effect) {
                    journaled.handle(ms(0), back).unwrap();
                }
            }
            Err(_) => return false,
        }
    }
}

fn crash_everywhere<T: Subject>(subject: &T)
where
    RecordOf<T::Machine>: BorshSerialize + BorshDeserialize,
{
    const LONG: usize = 100_000;
    let disk = |memory: &Rc<RefCell<Memory>>, fuse: &Fuse, lucky| Disk {
        memory: Rc::clone(memory),
        fuse: fuse.clone(),
        lucky,
    };
    let (memory, fuse) = (Rc::new(RefCell::new(Memory::new())), Fuse::new(LONG));
    let mut whole = Observed::default();
    live(subject, &mut whole, disk(&memory, &fuse, false), (false, &[]));
    assert!(whole.partials.len() == 8 && whole.outputs.len() >= 4, "{}", whole.outputs.len());
    for steps in 0..=(LONG - fuse.left()) {
        // Each step has its turn with one of them, and its neighbours with others.
        let (written, lucky) = LEFT[(steps + steps / LEFT.len()) % LEFT.len()];
        let (memory, fuse) = (Rc::new(RefCell::new(Memory::new())), Fuse::new(steps));
        let mut heard = Observed::default();
        let (told, crashed) = live(subject, &mut heard, disk(&memory, &fuse, lucky), (false, &[]));
        assert!(crashed || fuse.left() == 0);
        let left = Rc::new(RefCell::new(memory.borrow().after_crash(written)));
        let attacks: Vec<Slot> = heard.early.iter().copied().collect();
        let fuse = Fuse::new(LONG);
        live(subject, &mut heard, disk(&left, &fuse, false), (told, &attacks));
        // Not a byte that the party without a crash would not say, and all of those that finality releases.
        assert!(heard.partials.is_subset(&whole.partials), "crash after {steps} steps");
        let missing: BTreeSet<_> = whole.partials.difference(&heard.partials).cloned().collect();
        assert!(missing.is_subset(&whole.fast), "crash after {steps} steps");
        assert_eq!(heard.outputs, whole.outputs, "crash after {steps} steps");
        assert!(heard.order.values().all(|slots| slots.is_sorted()), "{:?}", heard.order);
        let mut released = BTreeMap::new();
        for bytes in left.borrow_mut().replay().unwrap() {
            let record = T::record(&borsh::from_slice(&bytes).unwrap());
            if let (channel, Record::Released { slot, value }) = record {
                let first = *released.entry((channel, slot)).or_insert(value);
                assert_eq!(first, value, "a second answer in {slot}, {steps} steps");
            }
        }
    }
}

const ME: Person = Person(1);
const LAST: u64 = 4;

/// The first committee has slots 1 to 3, another the rest.
struct TwoEpochs {
    letters: Vec<(Slot, epochs::Input<Bls>)>,
}

fn prefinal(at: u64, value: Value) -> epochs::Input<Bls> {
    epochs::Input::Prefinalized { slot: slot(at), view: view(at, 0), value }
}

impl TwoEpochs {
    /// What everybody else says in the course of it.
    fn new() -> Self {
        let mut letters = Vec::new();
        for who in [0, 2, 3, 4, 5].map(Person) {
            let configs = (0..2).filter_map(|number| config(number, who));
            let mut peer = Epochs::new(configs, &[]).unwrap();
            for at in 1..=LAST {
                peer.handle(ms(0), prefinal(at, V));
                peer.handle(ms(0), epochs::Input::Finalized { slot: slot(at), value: Some(V) });
            }
            while let Some(output) = peer.poll() {
                let epochs::Output::Do(epochs::Effect::Of {
                    epoch,
                    effect: prefinal_beacon::Effect::Send { message, .. },
                }) = output
                else {
                    continue;
                };
                let number = usize::try_from(epoch.get()).unwrap();
                let from = party(number, who).unwrap();
                let Some(at) = message.slot() else { continue };
                let message = epochs::Message { epoch, message };
                letters.push((at, epochs::Input::Received { from, message }));
            }
        }
        Self { letters }
    }
}

impl Subject for TwoEpochs {
    type Machine = Epochs<Bls>;

    fn wake(&self, handed_over: bool, records: &[epochs::Record]) -> Epochs<Bls> {
        let life = life_of(records.len());
        let configs = (0..=usize::from(handed_over)).filter_map(|number| config(number, ME));
        let configs = configs.map(|config| prefinal_beacon::Config { life, ..config });
        Epochs::new(configs, records).unwrap()
    }

    fn hand_over(epochs: &mut Epochs<Bls>) {
        epochs.hand_over(config(1, ME).unwrap()).unwrap();
    }

    fn acts(&self) -> Vec<Act<Epochs<Bls>>> {
        let mut acts = Vec::new();
        for at in 1..=LAST {
            if at == 3 {
                acts.push(Act::Tell(epochs::Input::Abandoned { view: View::new(slot(2), 0) }));
                acts.push(Act::HandOver);
            }
            acts.push(Act::Tell(prefinal(at, V)));
            let said = self.letters.iter().filter(|(about, _)| *about == slot(at));
            acts.extend(said.map(|(_, letter)| Act::Tell(letter.clone())));
            acts.push(Act::Tell(epochs::Input::Finalized { slot: slot(at), value: Some(V) }));
        }
        acts
    }

    fn vote(at: Slot, value: Value) -> epochs::Input<Bls> {
        prefinal(at.get(), value)
    }

    fn hear(heard: &mut Observed, effect: epochs::Effect<Bls>) -> Option<epochs::Input<Bls>> {
        let epochs::Effect::Of { epoch, effect } = effect else { return None };
        match effect {
            prefinal_beacon::Effect::Send { message, .. } => heard.sent(0, &message),
            prefinal_beacon::Effect::Check(job) => {
                return Some(epochs::Input::Checked { epoch, verdict: job.run() });
            }
            prefinal_beacon::Effect::Reveal(reveal) => {
                heard.revealed(0, reveal.slot, reveal.output.to_bytes().to_vec());
            }
            _ => {}
        }
        None
    }

    fn record(record: &epochs::Record) -> (u8, Record) {
        (0, record.record)
    }
}

type Ours = (Bls, (MultiSig, ()));

/// Randomness and certificates under one stream.
struct TwoSchemes {
    randomness: World<Bls>,
    certificates: World<MultiSig>,
}

impl TwoSchemes {
    fn stack(
        &self,
        me: prefinal_crypto_core::access::Party,
        records: &[stack::Record],
    ) -> Stack<Ours> {
        let (randomness, certificates) =
            (self.randomness.config(me, &TIGHT), self.certificates.config(me, &TIGHT_VALUE));
        let life = life_of(records.len());
        let randomness = prefinal_beacon::Config { life, ..randomness };
        let certificates = prefinal_beacon::Config { life, ..certificates };
        let own = |place| records_of::<Ours>(records, Channel::new(place)).unwrap();
        let randomness = Epochs::new([randomness], &own(0)).unwrap();
        let certificates = Epochs::new([certificates], &own(1)).unwrap();
        Stack::new((Some(randomness), (Some(certificates), ()))).unwrap()
    }
}

impl Subject for TwoSchemes {
    type Machine = Stack<Ours>;

    fn wake(&self, _: bool, records: &[stack::Record]) -> Stack<Ours> {
        self.stack(A, records)
    }

    fn hand_over(_: &mut Stack<Ours>) {}

    fn acts(&self) -> Vec<Act<Stack<Ours>>> {
        let mut acts = Vec::new();
        for at in 1..=LAST {
            acts.push(Act::Tell(Self::vote(slot(at), V)));
            for from in [B, C] {
                let mut peer = self.stack(from, &[]);
                peer.handle(ms(0), Self::vote(slot(at), V));
                while let Some(output) = peer.poll() {
                    if let stack::Output::Do(stack::Effect::Send { envelope, .. }) = output {
                        acts.push(Act::Tell(stack::Input::Received { from, envelope }));
                    }
                }
            }
            let event = Event::Finalized { slot: slot(at), value: Some(V) };
            acts.push(Act::Tell(stack::Input::All(event)));
        }
        acts
    }

    fn vote(at: Slot, value: Value) -> stack::Input<Ours> {
        stack::Input::All(Event::Prefinalized { slot: at, view: View::new(at, 0), value })
    }

    fn hear(heard: &mut Observed, effect: stack::Effect<Ours>) -> Option<stack::Input<Ours>> {
        match effect {
            stack::Effect::Send { envelope, .. } => {
                for message in envelope.messages() {
                    match message {
                        OneOf::First(message) => heard.sent(0, message),
                        OneOf::Rest(OneOf::First(message)) => heard.sent(1, message),
                        OneOf::Rest(OneOf::Rest(none)) => match *none {},
                    }
                }
            }
            stack::Effect::Check(job) => return Some(stack::Input::Checked(job.run())),
            stack::Effect::Of(OneOf::First(epochs::Effect::Of {
                effect: prefinal_beacon::Effect::Reveal(reveal),
                ..
            })) => heard.revealed(0, reveal.slot, reveal.output.to_bytes().to_vec()),
            stack::Effect::Of(OneOf::Rest(OneOf::First(epochs::Effect::Of {
                effect: prefinal_beacon::Effect::Reveal(reveal),
                ..
            }))) => heard.revealed(1, reveal.slot, reveal.output.to_bytes()),
            stack::Effect::Of(_) => {}
        }
        None
    }

    fn record(record: &stack::Record) -> (u8, Record) {
        (record.channel.place(), record.record.record)
    }
}

#[test]
fn epochs_crash_anywhere_through_a_handover() {
    crash_everywhere(&TwoEpochs::new());
}

#[test]
fn two_schemes_crash_anywhere_and_say_the_same() {
    let (randomness, certificates) = (World::demanding(711), World::demanding(712));
    crash_everywhere(&TwoSchemes { randomness, certificates });
}
