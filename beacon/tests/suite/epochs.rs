//! One chain of rounds through three committees: no slot without output, none with two, one order.
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use prefinal_beacon::epochs::{Effect, Epochs, HandoverError, Input, Message, Output, Record};
use prefinal_beacon::{
    self as beacon, Bls, Mode, Path, Paths, Reveal, Slot, Switch, View, Withheld,
};
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::context::{ChainId, Context};
use prefinal_crypto_core::drand::RoundNumber;
use prefinal_protocol::{Machine, Recipient};

use crate::fixture::{LIFE, RETRY, V, W, ms, slot};
use crate::reshared::{BOUNDARIES, PLANS, Person, config, context, epoch, party, person, terms};

const PEOPLE: [Person; 6] = [Person(0), Person(1), Person(2), Person(3), Person(4), Person(5)];
const LAST: u64 = 9;

/// The group key of all three, by other code than the beacon's.
fn group_key() -> min_sig::PublicKey {
    terms()[0].committees().slow.group_key()
}

/// Which epoch a slot is of.
fn owner(at: u64) -> usize {
    BOUNDARIES.iter().filter(|boundary| at >= **boundary).count()
}

/// The epochs of a person, and where the first begins.
fn own_epochs(who: Person) -> Vec<usize> {
    (0..PLANS.len()).filter(|number| party(*number, who).is_some()).collect()
}

/// People who exchange bytes; the test decides what is lost and who crashes.
pub(crate) struct Net {
    now: u64,
    pub(crate) people: BTreeMap<Person, Epochs<Bls>>,
    /// How many epochs each was told of.
    told: BTreeMap<Person, usize>,
    pub(crate) logs: BTreeMap<Person, Vec<Record>>,
    queue: VecDeque<(Person, Person, Vec<u8>)>,
    reveals: BTreeMap<Person, Vec<Reveal<Bls>>>,
    retired: BTreeMap<Person, Vec<usize>>,
    pub(crate) lost: fn(&Message<Bls>) -> bool,
}

impl Net {
    /// Each starts with the first epoch that it is in.
    pub(crate) fn new() -> Self {
        let mut net = Self {
            now: 0,
            people: BTreeMap::new(),
            told: BTreeMap::new(),
            logs: BTreeMap::new(),
            queue: VecDeque::new(),
            reveals: BTreeMap::new(),
            retired: BTreeMap::new(),
            lost: |_| false,
        };
        for who in PEOPLE {
            let first = own_epochs(who)[0];
            let epochs = Epochs::new(config(first, who), &[]).unwrap();
            net.people.insert(who, epochs);
            net.told.insert(who, first + 1);
        }
        net
    }

    /// Everybody learns of the next epoch.
    pub(crate) fn hand_over(&mut self, number: usize) {
        for who in PEOPLE {
            let told = self.told.get_mut(&who).unwrap();
            if *told > number {
                continue;
            }
            *told = number + 1;
            let epochs = self.people.get_mut(&who).unwrap();
            match config(number, who) {
                Some(config) => epochs.hand_over(config).unwrap(),
                None if party(number - 1, who).is_none() => {}
                None => epochs.leave(slot(BOUNDARIES[number - 1])).unwrap(),
            }
            self.carry_out(who);
        }
    }

    fn all(&mut self, input: &Input<Bls>) {
        for who in PEOPLE {
            self.say(who, input.clone());
        }
    }

    fn say(&mut self, who: Person, input: Input<Bls>) {
        self.people.get_mut(&who).unwrap().handle(ms(self.now), input);
        self.carry_out(who);
    }

    fn prefinalize(&mut self, at: u64) {
        let (slot, view) = (slot(at), View::new(slot(at), 0));
        self.all(&Input::Prefinalized { slot, view, value: V });
    }

    pub(crate) fn finalize(&mut self, at: u64) {
        self.all(&Input::Finalized { slot: slot(at), value: Some(V) });
    }

    pub(crate) fn deliver(&mut self) {
        while let Some((from, to, bytes)) = self.queue.pop_front() {
            let message: Message<Bls> = borsh::from_slice(&bytes).unwrap();
            let number = usize::try_from(message.epoch.get()).unwrap();
            if !(self.lost)(&message) {
                let from = party(number, from).unwrap();
                self.say(to, Input::Received { from, message });
            }
        }
    }

    pub(crate) fn wait(&mut self) {
        self.now += u64::try_from(RETRY.as_millis()).unwrap();
        self.all(&Input::Tick);
        self.deliver();
    }

    fn carry_out(&mut self, who: Person) {
        while let Some(output) = self.people.get_mut(&who).unwrap().poll() {
            let effect = match output {
                Output::Keep(record) | Output::Note(record) => {
                    self.logs.entry(who).or_default().push(record);
                    continue;
                }
                Output::Do(effect) => effect,
            };
            let Effect::Of { epoch, effect } = effect else {
                if let Effect::Retired { epoch } = effect {
                    let number = usize::try_from(epoch.get()).unwrap();
                    self.retired.entry(who).or_default().push(number);
                }
                continue;
            };
            let number = usize::try_from(epoch.get()).unwrap();
            match effect {
                beacon::Effect::Send { to, message } => {
                    let bytes = borsh::to_vec(&Message { epoch, message }).unwrap();
                    let peers = PLANS[number].people.iter().map(|(name, _)| Person(*name));
                    let meant = |peer: &Person| match to {
                        Recipient::All => *peer != who,
                        Recipient::One(one) => *peer == person(number, one),
                    };
                    for peer in peers.filter(meant) {
                        self.queue.push_back((who, peer, bytes.clone()));
                    }
                }
                beacon::Effect::Check(job) => {
                    let verdict = Input::Checked { epoch, verdict: job.run() };
                    self.people.get_mut(&who).unwrap().handle(ms(self.now), verdict);
                }
                beacon::Effect::Reveal(reveal) => {
                    assert_eq!(number, owner(reveal.slot.get()), "another committee's slot");
                    self.reveals.entry(who).or_default().push(*reveal);
                }
                // A party that holds no shares follows, and says nothing.
                // So does the one that came back, until it knows where the others are.
                beacon::Effect::Refused(beacon::Refusal::Withheld(
                    Withheld::NoShares { .. } | Withheld::Lost { .. },
                )) => {}
                other => panic!("{who:?}: {other:?}"),
            }
        }
    }

    /// The person loses everything but its log, of which a crash may have cost the end.
    pub(crate) fn restart(&mut self, who: Person, keep: usize) {
        let log = self.logs.entry(who).or_default();
        log.truncate(keep);
        let numbers = own_epochs(who).into_iter().filter(|number| *number < self.told[&who]);
        let configs: Vec<_> = numbers.filter_map(|number| config(number, who)).map(later).collect();
        let mut epochs = Epochs::new(configs, log).unwrap();
        let next = self.told[&who];
        if next > 1 && party(next - 1, who).is_none() {
            epochs.leave(slot(BOUNDARIES[next - 2])).unwrap();
        }
        self.people.insert(who, epochs);
        self.carry_out(who);
    }

    /// Everybody has each of its slots, once, in order, under the one key.
    fn check(&self, last: u64) {
        let key = group_key();
        for who in PEOPLE {
            let own: BTreeSet<usize> = own_epochs(who).into_iter().collect();
            let slots = (1..=last).filter(|at| own.contains(&owner(*at)));
            let expected: Vec<u64> = slots.collect();
            let reveals = self.reveals.get(&who).map_or(&[][..], Vec::as_slice);
            let seen: Vec<u64> = reveals.iter().map(|reveal| reveal.slot.get()).collect();
            assert_eq!(seen, expected, "{who:?}");
            for reveal in reveals {
                let round = RoundNumber::new(reveal.slot.get()).unwrap().message();
                let domain = beacon::Bls::purpose(beacon::Binding::Slot).domain();
                assert_eq!(reveal.output.verify(&key, domain, &round), Ok(()), "{}", reveal.slot);
            }
        }
    }
}

#[test]
fn three_committees_make_one_chain_of_rounds() {
    let mut net = Net::new();
    for at in 1..=LAST {
        // The next committee is known a slot before its first.
        if let Some(number) = BOUNDARIES.iter().position(|boundary| at + 1 == *boundary) {
            net.hand_over(number + 1);
        }
        net.prefinalize(at);
        net.deliver();
        net.finalize(at);
        net.deliver();
    }
    net.check(LAST);
    for reveals in net.reveals.values() {
        assert!(reveals.iter().all(|reveal| reveal.path == Path::Fast), "no delay at a boundary");
    }
    assert_eq!(net.retired[&Person(1)], [0, 1]);
    assert_eq!(net.retired[&Person(0)], [0], "who left is done");
    let here = |number: usize| net.people[&Person(1)].beacon(epoch(number)).is_some();
    assert_eq!([0, 1, 2].map(here), [false, true, true], "one retired epoch answers, not two");
}

/// Both committees work at once; what the new one has waits for the last old slot.
#[test]
fn outputs_of_the_next_epoch_wait_for_the_last_of_this_one() {
    let mut net = Net::new();
    net.hand_over(1);
    net.lost = |message| message.message.slot() == Some(slot(3));
    for at in 1..=6 {
        net.prefinalize(at);
        net.finalize(at);
        net.deliver();
    }
    for who in [Person(1), Person(3)] {
        let seen = net.reveals[&who].iter().map(|reveal| reveal.slot.get());
        assert_eq!(seen.collect::<Vec<_>>(), [1, 2]);
        let epochs = &net.people[&who];
        assert_eq!(epochs.head(), slot(3));
        assert_eq!(epochs.beacon(epoch(1)).unwrap().head(), slot(7), "the new one is done");
        assert!(epochs.beacon(epoch(0)).unwrap().holds_secrets());
        let held = |record: &Record| matches!(record.record, beacon::Record::Revealed { slot: at } if at >= slot(4));
        assert!(!net.logs[&who].iter().any(held), "recorded as handed out before it is");
    }
    net.lost = |_| false;
    net.wait();
    net.check(6);
    let old = net.people[&Person(1)].beacon(epoch(0)).unwrap();
    assert!(!old.holds_secrets(), "wiped with the last slot");
}

/// A crash after any record, in the middle of two live epochs.
#[test]
fn a_restart_between_two_epochs_loses_nothing_and_repeats_nothing() {
    let who = Person(3);
    let play = |crash: Option<usize>| -> (Net, usize) {
        let mut net = Net::new();
        net.hand_over(1);
        let mut crashed = false;
        for at in [1, 2, 4, 3, 5] {
            net.prefinalize(at);
            net.finalize(at);
            net.deliver();
            let written = net.logs[&who].len();
            if let Some(keep) = crash.filter(|keep| !crashed && written >= *keep) {
                crashed = true;
                // What was shown and not yet recorded is shown again.
                let log = &net.logs[&who][..keep];
                let recorded = log
                    .iter()
                    .filter(|record| matches!(record.record, beacon::Record::Revealed { .. }));
                let recorded = recorded.count();
                net.reveals.entry(who).or_default().truncate(recorded);
                net.restart(who, keep);
                // The engine says again what it has decided.
                for again in [1, 2, 4, 3, 5] {
                    net.say(who, Input::Finalized { slot: slot(again), value: Some(V) });
                    if again == at {
                        break;
                    }
                }
                net.deliver();
            }
        }
        for _ in 0..4 {
            net.wait();
        }
        let written = net.logs[&who].len();
        (net, written)
    };
    let (whole, written) = play(None);
    whole.check(5);
    for keep in (0..=written).step_by(2) {
        let (net, _) = play(Some(keep));
        net.check(5);
    }
}

#[test]
fn an_old_partial_counts_for_no_new_slot_and_the_other_way_round() {
    let who = Person(1);
    let mut epochs = Epochs::new([0, 1].map(|number| config(number, who).unwrap()), &[]).unwrap();
    for (number, at) in [(0, 4), (1, 3), (2, 7)] {
        let from = party(number, Person(3)).unwrap();
        let signer = terms()[number].signer(from).unwrap().slow;
        let round = RoundNumber::new(at).unwrap();
        let partial =
            signer.partial(&prefinal_crypto_core::threshold::Message::round(round)).unwrap();
        let message =
            beacon::Message::Partial { path: Path::Slow, slot: slot(at), value: None, partial };
        let message = Message { epoch: epoch(number), message };
        epochs.handle(ms(0), Input::Received { from, message });
        assert!(epochs.poll().is_none());
    }
    let kept = |number: usize| epochs.beacon(epoch(number)).unwrap().pending_partials();
    assert_eq!([kept(0), kept(1)], [0, 0]);
    // The same from the slot's own committee is kept.
    let from = party(1, Person(3)).unwrap();
    let signer = terms()[1].signer(from).unwrap().slow;
    let message = prefinal_crypto_core::threshold::Message::round(RoundNumber::new(4).unwrap());
    let partial = signer.partial(&message).unwrap();
    let message =
        beacon::Message::Partial { path: Path::Slow, slot: slot(4), value: None, partial };
    epochs.handle(ms(0), Input::Received { from, message: Message { epoch: epoch(1), message } });
    assert_eq!(epochs.beacon(epoch(1)).unwrap().pending_partials(), 1);
}

/// Rule 4 over a boundary, and over a crash: who gave up on a view holds back all slots up to it.
#[test]
fn a_view_given_up_in_one_epoch_is_given_up_in_the_next() {
    let who = Person(1);
    let view = View::new(slot(5), 0);
    let withheld = |epochs: &mut Epochs<Bls>| -> Vec<Withheld> {
        let claim =
            |at| Input::Prefinalized { slot: slot(at), view: View::new(slot(at), 0), value: V };
        for at in 1..=6 {
            epochs.handle(ms(0), claim(at));
        }
        let outputs = std::iter::from_fn(|| epochs.poll());
        let reasons = outputs.filter_map(|output| match output {
            Output::Do(Effect::Of {
                effect: beacon::Effect::Refused(beacon::Refusal::Withheld(why)),
                ..
            }) => Some(why),
            _ => None,
        });
        reasons.collect()
    };
    for late in [false, true] {
        let mut first = config(0, who).unwrap();
        if late {
            // An epoch that releases nothing early has nothing to remember for itself.
            if let Paths::FastAndSlow { slow, .. } = first.paths {
                first.paths = Paths::Slow(slow);
            }
        }
        let mut epochs = Epochs::new([first], &[]).unwrap();
        epochs.handle(ms(0), Input::Abandoned { view });
        let mut log = Vec::new();
        while let Some(output) = epochs.poll() {
            if let Output::Keep(record) | Output::Note(record) = output {
                log.push(record);
            }
        }
        let old = config(0, who).unwrap();
        let restarted = Epochs::new([old, config(1, who).unwrap()].map(later), &log).unwrap();
        // Nothing was said about slot 4 and after, so the boundary is not too late.
        epochs.hand_over(config(1, who).unwrap()).unwrap();
        for mut epochs in [epochs, restarted] {
            let reasons = withheld(&mut epochs);
            let given_up = |why: &&Withheld| matches!(why, Withheld::Abandoned { .. });
            let new = reasons.iter().filter(given_up).filter(
                |why| matches!(why, Withheld::Abandoned { view, .. } if view.slot >= slot(4)),
            );
            assert_eq!(new.count(), 2, "slots 4 and 5, late {late}: {reasons:?}");
        }
    }
}

/// For a life after another.
fn later(config: beacon::Config<Bls>) -> beacon::Config<Bls> {
    beacon::Config { life: LIFE, ..config }
}

/// That slots of an old epoch were off is no switch of a later one: those that were there and those
/// that restarted hand over the same.
#[test]
fn slots_that_were_off_before_an_epoch_are_none_of_its_switches() {
    let who = PEOPLE.into_iter().find(|who| own_epochs(*who).len() == 3).unwrap();
    let configs = || [0, 1].map(|number| config(number, who).unwrap());
    let records = |epochs: &mut Epochs<Bls>| -> Vec<Record> {
        let outputs = std::iter::from_fn(|| epochs.poll());
        let kept = outputs.filter_map(|output| match output {
            Output::Keep(record) | Output::Note(record) => Some(record),
            _ => None,
        });
        kept.collect()
    };
    let mut epochs = Epochs::new(configs(), &[]).unwrap();
    for at in 1..=3 {
        epochs.handle(ms(0), Input::Finalized { slot: slot(at), value: Some(V) });
    }
    epochs.handle(ms(0), Input::WasOff { first: slot(2), last: slot(3) });
    let log = records(&mut epochs);
    assert!(log.iter().any(|it| matches!(it.record, beacon::Record::WasOff { .. })));
    let mut restarted = Epochs::new(configs().map(later), &log).unwrap();
    records(&mut restarted);
    let handed_over = [epochs, restarted].map(|mut epochs| {
        epochs.hand_over(config(2, who).unwrap()).unwrap();
        records(&mut epochs)
    });
    assert_eq!(handed_over[0], handed_over[1]);
}

#[test]
fn what_does_not_follow_is_refused() {
    let who = Person(1);
    let mut epochs = Epochs::new(config(0, who), &[]).unwrap();
    let next = |change: &dyn Fn(&mut beacon::Config<Bls>)| {
        let mut next = config(1, who).unwrap();
        change(&mut next);
        next
    };
    let again = next(&|config| config.context = context(0));
    let error = HandoverError::Epoch { got: epoch(0), last: epoch(0) };
    assert_eq!(epochs.hand_over(again).unwrap_err(), error);
    let chain = ChainId::new([9; 32]);
    let other = next(&|config| config.context = Context { chain, ..context(1) });
    let expected = context(0).chain;
    assert_eq!(epochs.hand_over(other).unwrap_err(), HandoverError::Chain { got: chain, expected });
    let empty = next(&|config| config.first = slot(1));
    let error = HandoverError::TooLate { first: slot(1), earliest: slot(2) };
    assert_eq!(epochs.hand_over(empty).unwrap_err(), error);
    // A fresh key would be another chain of rounds.
    let fresh = crate::fixture::World::<Bls>::four(904);
    let fresh = fresh.config(crate::fixture::A, &crate::fixture::SLOW);
    let fresh = beacon::Config { context: context(1), first: slot(4), ..fresh };
    assert_eq!(epochs.hand_over(fresh).unwrap_err(), HandoverError::GroupKey);
    // Counted from another slot, slot 4 would be signed as a round that is out.
    let shifted = next(&|config| {
        config.binding = beacon::Binding::Rounds { first: slot(2) };
        config.first = slot(4);
    });
    let error = HandoverError::Numbering { got: slot(2), expected: slot(1) };
    assert_eq!(epochs.hand_over(shifted).unwrap_err(), error);
    // What was said of slot 5 was said by the old committee.
    let view = View::new(slot(5), 0);
    epochs.handle(ms(0), Input::Prefinalized { slot: slot(5), view, value: V });
    let error = HandoverError::TooLate { first: slot(4), earliest: slot(6) };
    assert_eq!(epochs.hand_over(config(1, who).unwrap()).unwrap_err(), error);
    assert_eq!(
        epochs.leave(slot(5)).unwrap_err(),
        HandoverError::TooLate { first: slot(5), earliest: slot(6) }
    );
    epochs.leave(slot(6)).unwrap();
    let error = HandoverError::Ended { end: slot(6), first: slot(7) };
    assert_eq!(epochs.leave(slot(7)).unwrap_err(), error);
    epochs.handle(ms(0), Input::Finalized { slot: slot(6), value: Some(W) });
    let outputs: Vec<_> = std::iter::from_fn(|| epochs.poll()).collect();
    assert!(
        matches!(outputs.last(), Some(Output::Do(Effect::Elsewhere { slot: at })) if *at == slot(6))
    );
}

/// A switch for an old slot holds for all later ones, whichever epoch they are of.
#[test]
fn a_switch_reaches_over_the_boundary() {
    let who = Person(1);
    for told_before in [true, false] {
        let mut epochs = Epochs::new(config(0, who), &[]).unwrap();
        let switch = Switch { from: slot(2), mode: Mode::Off };
        if told_before {
            epochs.handle(ms(0), Input::Switch(switch));
        }
        epochs.hand_over(config(1, who).unwrap()).unwrap();
        if !told_before {
            epochs.handle(ms(0), Input::Switch(switch));
        }
        let late = Switch { from: slot(1), mode: Mode::On };
        epochs.handle(ms(0), Input::Finalized { slot: slot(1), value: Some(V) });
        epochs.handle(ms(0), Input::Switch(late));
        for at in 2..=5 {
            epochs.handle(ms(0), Input::Finalized { slot: slot(at), value: Some(V) });
        }
        let mut sent = Vec::new();
        let mut refused = 0;
        while let Some(output) = epochs.poll() {
            match output {
                Output::Do(Effect::Of { effect: beacon::Effect::Send { message, .. }, .. }) => {
                    sent.extend(message.slot().map(beacon::Slot::get));
                }
                Output::Do(Effect::Of {
                    effect: beacon::Effect::Refused(beacon::Refusal::Switch(_)),
                    ..
                }) => {
                    refused += 1;
                }
                _ => {}
            }
        }
        assert_eq!((sent, refused), (vec![1], 1), "told before the handover: {told_before}");
    }
}

#[test]
fn records_and_messages_name_their_epoch() {
    let record =
        Record { epoch: epoch(258), record: beacon::Record::Revealed { slot: Slot::new(2) } };
    let bytes = borsh::to_vec(&record).unwrap();
    assert_eq!(bytes, [2, 1, 0, 0, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 0, 0, 0]);
    let message = Message::<Bls> {
        epoch: epoch(1),
        message: beacon::Message::Request { slot: Slot::new(3) },
    };
    let bytes = borsh::to_vec(&message).unwrap();
    assert_eq!(bytes, [1, 0, 0, 0, 0, 0, 0, 0, 1, 3, 0, 0, 0, 0, 0, 0, 0]);
}
