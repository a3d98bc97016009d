//! Randomness and certificates of one chain behind one driver, with a handover between committees and a
//! crash anywhere.
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZeroUsize;
use std::time::Duration;

use prefinal_beacon::epochs::{self, Epochs};
use prefinal_beacon::stack::{
    Channel, Effect, Envelope, OneOf, Record, Stack, StackError, records_of,
};
use prefinal_beacon::{Config, Limits, MultiSig, Slot, Wvuf};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::{Context, EpochId};
use prefinal_driver::{Driver, MessageError, Options, Receiver, StartError};
use prefinal_journal::Journal;
use prefinal_protocol::Recipient;

use crate::fixture::*;
use crate::tools::*;

type Ours = (Wvuf, (MultiSig, ()));

const ALL: [Party; 4] = [A, B, C, D];
/// The first slot of the second epoch, and when it becomes known.
const BOUNDARY: u64 = 4;
const TOLD_AFTER: u64 = 2;
const LAST: u64 = 6;
/// Before anything is asked for again.
const PAUSE: Duration = Duration::from_millis(2);
const SECOND: EpochId = EpochId::new(CONTEXT.epoch.get() + 1);

/// The keys of two epochs.
struct Chain([(World<Wvuf>, World<MultiSig>); 2]);

impl Chain {
    fn new() -> Self {
        let of = |seed| (World::demanding(seed), World::demanding(seed + 1));
        Self([of(861), of(863)])
    }

    fn configs(&self, epoch: usize, me: Party) -> (Config<Wvuf>, Config<MultiSig>) {
        let (randomness, certificates) = &self.0[epoch];
        let randomness = randomness.config(me, &TIGHT);
        let certificates = certificates.config(me, &TIGHT_VALUE);
        let limits = Limits { retry: PAUSE, ..randomness.limits };
        let (context, first) = match epoch {
            0 => (CONTEXT, slot(1)),
            _ => (Context { epoch: SECOND, ..CONTEXT }, slot(BOUNDARY)),
        };
        (
            Config { context, first, limits, ..randomness },
            Config { context, first, limits, ..certificates },
        )
    }

    /// With as many epochs as this party was told of.
    fn stack(&self, me: Party, told: usize, log: &[Record]) -> Stack<Ours> {
        let life = life_of(log.len());
        let configs = (0..told).map(|epoch| self.configs(epoch, me));
        let (randomness, certificates): (Vec<_>, Vec<_>) =
            configs.map(|(one, other)| (Config { life, ..one }, Config { life, ..other })).unzip();
        let own = |place| records_of::<Ours>(log, Channel::new(place)).unwrap();
        let randomness = Epochs::new(randomness, &own(0)).unwrap();
        let certificates = Epochs::new(certificates, &own(1)).unwrap();
        Stack::new((Some(randomness), (Some(certificates), ()))).unwrap()
    }
}

/// Four drivers, and everything between them in the order in which it was sent.
struct Net {
    chain: Chain,
    journals: BTreeMap<Party, Paper>,
    drivers: BTreeMap<Party, Started>,
    told: usize,
    queue: VecDeque<(Party, Recipient<Party>, Vec<u8>)>,
    shown: BTreeMap<Party, BTreeSet<(u8, u64)>>,
    retired: BTreeMap<Party, usize>,
    /// How many of `A`'s steps there were, and behind which it crashes.
    steps: usize,
    crash: Option<usize>,
    /// What readers had dealt with before they start.
    read: Option<Slot>,
    read_beside: Option<Slot>,
    shorten: NonZeroUsize,
}

type Started = (Driver<Stack<Ours>>, Receiver<Effect<Ours>>);

impl Net {
    fn new(crash: Option<usize>) -> Self {
        let mut net = Self {
            chain: Chain::new(),
            journals: ALL.map(|party| (party, Paper::default())).into(),
            drivers: BTreeMap::new(),
            told: 1,
            queue: VecDeque::new(),
            shown: BTreeMap::new(),
            retired: BTreeMap::new(),
            steps: 0,
            crash,
            read: None,
            read_beside: None,
            shorten: Options::default().shorten,
        };
        ALL.into_iter().for_each(|party| net.start(party));
        net
    }

    fn try_start(&self, party: Party) -> Result<Started, StartError<StackError>> {
        let build = |log: Vec<Record>| Ok(self.chain.stack(party, self.told, &log));
        let Self { read, read_beside, shorten, .. } = *self;
        let options = Options { read, read_beside, shorten, ..Options::default() };
        Driver::start(build, self.journals[&party].clone(), here, options)
    }

    fn start(&mut self, party: Party) {
        let started = self.try_start(party).unwrap();
        self.drivers.insert(party, started);
        self.carry_out(party);
    }

    fn restart(&mut self, party: Party) {
        let torn = self.journals[&party].torn_off();
        self.journals.insert(party, torn);
        self.start(party);
    }

    /// Behind each call: what it led to is read, and a crash comes if it is due.
    fn step(&mut self, party: Party, call: impl FnOnce(&Driver<Stack<Ours>>)) {
        call(&self.drivers[&party].0);
        self.carry_out(party);
        self.steps += usize::from(party == A);
        if party == A && self.crash == Some(self.steps) {
            self.crash = None;
            self.restart(party);
        }
    }

    fn carry_out(&mut self, party: Party) {
        while let Ok(effect) = self.drivers[&party].1.try_recv() {
            match effect {
                Effect::Send { to, envelope } => self.post(party, to, &envelope),
                Effect::Of(OneOf::First(effect)) => self.note(party, 0, &effect),
                Effect::Of(OneOf::Rest(OneOf::First(effect))) => self.note(party, 1, &effect),
                other => panic!("{other:?}"),
            }
        }
    }

    fn post(&mut self, from: Party, to: Recipient<Party>, envelope: &Envelope<Ours>) {
        self.queue.push_back((from, to, borsh::to_vec(envelope).unwrap()));
    }

    fn note<S: Instance>(&mut self, party: Party, channel: u8, effect: &epochs::Effect<S>) {
        match effect {
            epochs::Effect::Of { effect: prefinal_beacon::Effect::Reveal(reveal), .. } => {
                if channel == 0 {
                    let world = &self.chain.0[usize::from(reveal.slot >= slot(BOUNDARY))].0;
                    let expected = world.output(reveal.slot, None);
                    assert_eq!(format!("{:?}", reveal.output), format!("{expected:?}"));
                }
                self.shown.entry(party).or_default().insert((channel, reveal.slot.get()));
            }
            epochs::Effect::Of { effect: prefinal_beacon::Effect::Refused(_), .. } => {}
            epochs::Effect::Retired { .. } => *self.retired.entry(party).or_default() += 1,
            other => panic!("{party}, channel {channel}: {other:?}"),
        }
    }

    fn deliver(&mut self) {
        while let Some((from, to, bytes)) = self.queue.pop_front() {
            for party in ALL.into_iter().filter(|party| *party != from) {
                if to == Recipient::All || to == Recipient::One(party) {
                    let envelope = borsh::from_slice(&bytes).unwrap();
                    self.step(party, |driver| driver.on_message(from, envelope).unwrap());
                }
            }
        }
    }

    fn run(&mut self) {
        for number in 1..=LAST {
            for party in ALL {
                let mut vote = None;
                self.step(party, |driver| {
                    vote = driver.on_prefinalize(slot(number), view(number, 0), V).unwrap();
                });
                vote.iter().for_each(|envelope| self.post(party, Recipient::All, envelope));
            }
            self.deliver();
            for party in ALL {
                self.step(party, |driver| driver.on_finalize(slot(number), Some(V)).unwrap());
            }
            self.deliver();
            if number == TOLD_AFTER {
                self.told = 2;
                for party in ALL {
                    self.hand_over(party);
                }
            }
        }
        self.wait();
    }

    /// What is asked for comes, or is asked for again.
    fn wait(&mut self) {
        for _ in 0..8 {
            std::thread::sleep(PAUSE);
            for party in ALL {
                self.step(party, |driver| driver.tick().unwrap());
            }
            self.deliver();
        }
    }

    fn hand_over(&mut self, party: Party) {
        let (randomness, certificates) = self.chain.configs(1, party);
        self.step(party, |driver| {
            let done = driver.change(|stack| {
                stack.hand_over(OneOf::First(randomness))?;
                stack.hand_over(OneOf::Rest(OneOf::First(certificates)))
            });
            done.unwrap().unwrap();
        });
    }
}

/// Every slot in both channels.
fn all_slots() -> BTreeSet<(u8, u64)> {
    (0..2).flat_map(|channel| (1..=LAST).map(move |at| (channel, at))).collect()
}

#[test]
fn every_channel_goes_on_through_a_change_of_the_committee() {
    let mut net = Net::new(None);
    net.run();
    for party in ALL {
        assert_eq!(net.shown[&party], all_slots(), "{party}");
        assert_eq!(net.retired[&party], 2, "{party}: the first epoch, in both channels");
        let figures = net.drivers[&party].0.figures().unwrap();
        assert_eq!((figures.head, figures.jobs, figures.dropped), (slot(LAST + 1), 0, 0));
    }
}

/// Behind any step, at the handover too: the party goes on, and nobody misses anything.
#[test]
fn a_crash_anywhere_loses_no_channel_and_no_epoch() {
    let mut whole = Net::new(None);
    whole.run();
    assert!(whole.steps > 30, "{} steps", whole.steps);
    for crash in 1..=whole.steps {
        let mut net = Net::new(Some(crash));
        net.run();
        for party in ALL {
            assert_eq!(net.shown[&party], all_slots(), "{party}, crash behind step {crash}");
        }
    }
}

/// Numbers are those of an epoch: a party of one that is not here, or a number that it does not have, has
/// no room, and a new epoch makes room for its own.
#[test]
fn room_is_made_for_the_parties_of_each_epoch() {
    let mut net = Net::new(None);
    let request = |epoch| {
        let request = OneOf::First(prefinal_beacon::Message::Request { slot: slot(5) });
        Envelope::<Ours>::new(epoch, vec![request]).unwrap()
    };
    let said = |net: &Net, from, epoch| net.drivers[&A].0.on_message(from, request(epoch));
    assert!(said(&net, B, CONTEXT.epoch).is_ok());
    let refused = said(&net, B, SECOND).unwrap_err();
    assert!(matches!(refused, MessageError::UnknownEpoch { epoch: SECOND, .. }), "{refused}");
    let refused = said(&net, Party::new(4), CONTEXT.epoch).unwrap_err();
    assert!(matches!(refused, MessageError::NotMember { members: 4, .. }), "{refused}");
    net.told = 2;
    net.hand_over(A);
    assert!(said(&net, B, SECOND).is_ok());
}

/// A committee that is known ahead has revealed nothing yet, whatever its summary says.
#[test]
fn a_reader_may_be_behind_when_the_next_committee_is_known() {
    let mut net = Net::new(None);
    net.shorten = NonZeroUsize::MIN;
    net.start(A);
    net.step(A, |driver| driver.on_finalize(slot(1), Some(V)).unwrap());
    net.told = 2;
    net.hand_over(A);
    net.step(A, |driver| driver.on_finalize(slot(2), Some(V)).unwrap());
    net.drivers[&A].0.shut_down().unwrap();
    net.read = Some(slot(0));
    assert!(net.try_start(A).is_ok());
}

/// A handover that is refused changes nothing, and the caller gets the reason.
#[test]
fn a_refused_handover_is_an_answer() {
    let net = Net::new(None);
    let (mut next, _) = net.chain.configs(1, A);
    next.context.epoch = CONTEXT.epoch;
    let done = net.drivers[&A].0.change(|stack| stack.hand_over(OneOf::First(next))).unwrap();
    assert!(matches!(done, Err(StackError::Handover(_))), "{done:?}");
}

/// The first channel and those beside it may have two readers, of which one is behind.
#[test]
fn another_reader_of_the_channels_beside_is_shown_nothing_again() {
    let mut net = Net::new(None);
    net.run();
    (net.read, net.read_beside) = (Some(slot(LAST - 2)), Some(slot(LAST)));
    net.shown.remove(&A);
    net.drivers[&A].0.shut_down().unwrap();
    net.restart(A);
    net.wait();
    assert_eq!(net.shown[&A], [(0, LAST - 1), (0, LAST)].into());
}

/// What another reader had, and has lost, is shown again, although the record says that it was passed over.
#[test]
fn what_was_passed_over_is_shown_again_to_a_reader_that_has_lost_it() {
    let mut net = Net::new(None);
    net.run();
    (net.read, net.read_beside) = (Some(slot(LAST)), Some(slot(LAST - 1)));
    net.shown.remove(&A);
    net.drivers[&A].0.shut_down().unwrap();
    for (first, last) in [(BOUNDARY, LAST - 1), (LAST, LAST)] {
        let over = prefinal_beacon::Record::PassedOver { first: slot(first), last: slot(last) };
        let record = prefinal_beacon::epochs::Record { epoch: SECOND, record: over };
        let record = Record { channel: Channel::new(1), record };
        let journal = net.journals.get_mut(&A).unwrap();
        journal.append(&borsh::to_vec(&record).unwrap()).unwrap();
        journal.sync().unwrap();
    }
    net.restart(A);
    net.wait();
    assert_eq!(net.shown[&A], [(1, LAST)].into());
}

/// A reader that had dealt with the first slots and with no more is shown the others, in every channel.
#[test]
fn what_was_not_read_is_shown_again_in_every_channel() {
    let mut net = Net::new(None);
    net.run();
    net.read = Some(slot(LAST - 1));
    net.shown.remove(&A);
    // What was revealed is on record some time later, or when it ends well.
    net.drivers[&A].0.shut_down().unwrap();
    net.restart(A);
    net.wait();
    assert_eq!(net.shown[&A], [(0, LAST), (1, LAST)].into());
    // What one channel has forgotten would be missing for ever, whatever the other knows.
    net.drivers[&A].0.shut_down().unwrap();
    let mut old = net.journals[&A].torn_off();
    let mut short = Paper::default();
    for record in old.replay().unwrap() {
        let Record { channel, record } = borsh::from_slice(&record).unwrap();
        let is_final = matches!(record.record, prefinal_beacon::Record::Finalized { .. });
        if channel.place() == 0 || !is_final {
            short.append(&borsh::to_vec(&Record { channel, record }).unwrap()).unwrap();
        }
    }
    short.sync().unwrap();
    net.journals.insert(A, short);
    let why = net.try_start(A).map(drop).unwrap_err();
    assert!(matches!(why, StartError::Forgotten { next, .. } if next == slot(LAST)), "{why}");
}
