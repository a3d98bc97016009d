//! Randomness, certificates and decryption of one slot, from one vote and in one message.
use std::collections::{BTreeMap, VecDeque};

use prefinal_beacon::epochs::{self, Epochs};
use prefinal_beacon::stack::{
    Channel, Channels, Effect, Envelope, Event, Input, OneOf, Output, Record, Stack, StackError,
    records_of,
};
use prefinal_beacon::{Batch, Bls, Config, Decryption, Mode, MultiSig, Path, Switch, View};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;
use prefinal_protocol::{Machine, Recipient};

use crate::decryption::Holders;
use crate::fixture::*;

const EPOCH: EpochId = CONTEXT.epoch;
const ALL: [Party; 4] = [A, B, C, D];

type Ours = (Bls, (MultiSig, (Decryption, ())));
type Message = <Ours as Channels>::Message;

const RANDOMNESS: Channel = Channel::new(0);
const CERTIFICATES: Channel = Channel::new(1);
const DECRYPTION: Channel = Channel::new(2);
const EVERY: [Channel; 3] = [RANDOMNESS, CERTIFICATES, DECRYPTION];

struct Chain {
    randomness: World<Bls>,
    certificates: World<MultiSig>,
    decryption: Holders,
}

impl Chain {
    fn new(seed: u64) -> Self {
        Self {
            randomness: World::demanding(seed),
            certificates: World::demanding(seed + 1),
            decryption: Holders::four(seed + 2),
        }
    }

    fn randomness(&self, me: Party) -> Config<Bls> {
        self.randomness.config(me, &TIGHT)
    }

    fn certificates(&self, me: Party) -> Config<MultiSig> {
        self.certificates.config(me, &TIGHT_VALUE)
    }

    fn decryption(&self, me: Party) -> Config<Decryption> {
        self.decryption.config(me, Algorithm::Tight)
    }

    fn channels(&self, me: Party, records: &[Record]) -> <Ours as Channels>::Epochs {
        let own = |channel| records_of::<Ours>(records, channel).unwrap();
        let life = life_of(records.len());
        let randomness = Config { life, ..self.randomness(me) };
        let certificates = Config { life, ..self.certificates(me) };
        let decryption = Config { life, ..self.decryption(me) };
        let randomness = Epochs::new([randomness], &own(RANDOMNESS)).ok();
        let certificates = Epochs::new([certificates], &own(CERTIFICATES)).ok();
        let decryption = Epochs::new([decryption], &own(DECRYPTION)).ok();
        (randomness, (certificates, (decryption, ())))
    }

    fn stack(&self, me: Party, records: &[Record]) -> Stack<Ours> {
        Stack::new(self.channels(me, records)).unwrap()
    }

    fn batch(&self, at: u64) -> Batch {
        self.decryption.two(at)
    }
}

fn content(batch: &Batch) -> Input<Ours> {
    let content = epochs::Input::Content { epoch: EPOCH, content: batch.clone() };
    Input::Of(OneOf::Rest(OneOf::Rest(OneOf::First(content))))
}

fn prefinalized(at: u64, batch: &Batch) -> Input<Ours> {
    let (slot, view) = (slot(at), View::new(slot(at), 0));
    Input::All(Event::Prefinalized { slot, view, value: batch.value() })
}

fn finalized(at: u64, batch: &Batch) -> Input<Ours> {
    Input::All(Event::Finalized { slot: slot(at), value: Some(batch.value()) })
}

/// One input, and all that follows; jobs are handed back at once.
fn step(stack: &mut Stack<Ours>, input: Input<Ours>) -> Vec<Output<Ours>> {
    stack.handle(ms(0), input);
    let mut outputs = Vec::new();
    while let Some(output) = stack.poll() {
        if let Output::Do(Effect::Check(job)) = &output {
            stack.handle(ms(0), Input::Checked(job.run()));
        }
        outputs.push(output);
    }
    outputs
}

fn channel(message: &Message) -> Channel {
    match message {
        OneOf::First(_) => RANDOMNESS,
        OneOf::Rest(OneOf::First(_)) => CERTIFICATES,
        OneOf::Rest(OneOf::Rest(_)) => DECRYPTION,
    }
}

fn envelopes(outputs: &[Output<Ours>]) -> Vec<(Recipient<Party>, Envelope<Ours>)> {
    let sent = outputs.iter().filter_map(|output| match output {
        Output::Do(Effect::Send { to, envelope }) => Some((*to, envelope.clone())),
        _ => None,
    });
    sent.collect()
}

fn records(outputs: &[Output<Ours>]) -> Vec<Record> {
    let records = outputs.iter().filter_map(|output| match output {
        Output::Keep(record) | Output::Note(record) => Some(*record),
        _ => None,
    });
    records.collect()
}

/// Which channels revealed which slot.
fn revealed(outputs: &[Output<Ours>]) -> Vec<(Channel, u64)> {
    let slot_of = |output: &Output<Ours>| -> Option<(Channel, u64)> {
        match output {
            Output::Do(Effect::Of(OneOf::First(epochs::Effect::Of {
                effect: prefinal_beacon::Effect::Reveal(reveal),
                ..
            }))) => Some((RANDOMNESS, reveal.slot.get())),
            Output::Do(Effect::Of(OneOf::Rest(OneOf::First(epochs::Effect::Of {
                effect: prefinal_beacon::Effect::Reveal(reveal),
                ..
            })))) => Some((CERTIFICATES, reveal.slot.get())),
            Output::Do(Effect::Of(OneOf::Rest(OneOf::Rest(OneOf::First(
                epochs::Effect::Of { effect: prefinal_beacon::Effect::Reveal(reveal), .. },
            ))))) => Some((DECRYPTION, reveal.slot.get())),
            _ => None,
        }
    };
    outputs.iter().filter_map(slot_of).collect()
}

/// The critical path has one write and one message, however many channels there are.
#[test]
fn what_a_vote_releases_leaves_in_one_envelope_behind_all_its_records() {
    let chain = Chain::new(1101);
    let mut stack = chain.stack(A, &[]);
    step(&mut stack, content(&chain.batch(1)));
    let outputs = step(&mut stack, prefinalized(1, &chain.batch(1)));
    let kinds: Vec<_> = outputs.iter().map(|output| matches!(output, Output::Keep(_))).collect();
    assert_eq!(kinds, [true, true, true, false]);
    assert_eq!(records(&outputs).map_channels(), EVERY);
    let [(to, envelope)] = &envelopes(&outputs)[..] else { panic!("one envelope") };
    assert_eq!((*to, envelope.epoch()), (Recipient::All, EPOCH));
    assert_eq!(envelope.messages().iter().map(channel).collect::<Vec<_>>(), EVERY);
}

trait MapChannels {
    fn map_channels(&self) -> Vec<Channel>;
}

impl MapChannels for Vec<Record> {
    fn map_channels(&self) -> Vec<Channel> {
        self.iter().map(|record| record.channel).collect()
    }
}

/// Four parties, bytes between them: every channel has its output with finality.
#[test]
fn every_channel_has_its_output_with_finality() {
    let chain = Chain::new(1111);
    let mut stacks: BTreeMap<Party, Stack<Ours>> =
        ALL.map(|party| (party, chain.stack(party, &[]))).into();
    let mut shown: BTreeMap<Party, Vec<(Channel, u64)>> = BTreeMap::new();
    for at in 1..=3 {
        let batch = chain.batch(at);
        let mut queue = VecDeque::new();
        for party in ALL {
            let stack = stacks.get_mut(&party).unwrap();
            step(stack, content(&batch));
            for (_, envelope) in envelopes(&step(stack, prefinalized(at, &batch))) {
                queue.push_back((party, borsh::to_vec(&envelope).unwrap()));
            }
        }
        while let Some((from, bytes)) = queue.pop_front() {
            for party in ALL.into_iter().filter(|party| *party != from) {
                let envelope = borsh::from_slice(&bytes).unwrap();
                let received = Input::Received { from, envelope };
                let outputs = step(stacks.get_mut(&party).unwrap(), received);
                assert!(envelopes(&outputs).is_empty());
                shown.entry(party).or_default().extend(revealed(&outputs));
            }
        }
        for party in ALL {
            let outputs = step(stacks.get_mut(&party).unwrap(), finalized(at, &batch));
            assert!(envelopes(&outputs).is_empty(), "tight: all has left with the vote");
            shown.entry(party).or_default().extend(revealed(&outputs));
        }
        for party in ALL {
            let mut last: Vec<_> = shown[&party].iter().filter(|(_, slot)| *slot == at).collect();
            last.sort();
            let expected = EVERY.map(|channel| (channel, at));
            assert_eq!(last, expected.iter().collect::<Vec<_>>(), "{party}");
        }
    }
}

/// The host has lost a block: its ciphertexts wait, and nothing else does.
#[test]
fn a_channel_without_output_delays_no_other() {
    let chain = Chain::new(1121);
    let mut stack = chain.stack(A, &[]);
    let mut shown = Vec::new();
    for at in 1..=2 {
        let batch = chain.batch(at);
        if at == 2 {
            step(&mut stack, content(&batch));
        }
        shown.extend(revealed(&step(&mut stack, prefinalized(at, &batch))));
        for peer in [B, C] {
            let mut other = chain.stack(peer, &[]);
            step(&mut other, content(&batch));
            for (_, envelope) in envelopes(&step(&mut other, prefinalized(at, &batch))) {
                let received = Input::Received { from: peer, envelope };
                shown.extend(revealed(&step(&mut stack, received)));
            }
        }
        shown.extend(revealed(&step(&mut stack, finalized(at, &batch))));
    }
    let [randomness, certificates, _] = EVERY;
    shown.sort();
    assert_eq!(shown, [(randomness, 1), (randomness, 2), (certificates, 1), (certificates, 2)]);
    let mut late = revealed(&step(&mut stack, content(&chain.batch(1))));
    late.sort();
    assert_eq!(late, [(DECRYPTION, 1), (DECRYPTION, 2)]);
}

#[test]
fn a_channel_is_switched_off_alone() {
    let chain = Chain::new(1131);
    let mut stack = chain.stack(A, &[]);
    let switch = Switch { from: slot(2), mode: Mode::Off };
    let outputs =
        step(&mut stack, Input::Of(OneOf::Rest(OneOf::First(epochs::Input::Switch(switch)))));
    assert_eq!(records(&outputs).map_channels(), [CERTIFICATES]);
    for (at, expected) in [(1, &EVERY[..]), (2, &[RANDOMNESS, DECRYPTION])] {
        let batch = chain.batch(at);
        step(&mut stack, content(&batch));
        let outputs = step(&mut stack, prefinalized(at, &batch));
        let [(_, envelope)] = &envelopes(&outputs)[..] else { panic!("one envelope") };
        assert_eq!(envelope.messages().iter().map(channel).collect::<Vec<_>>(), expected);
    }
}

/// What a channel that is not in use is sent leaves no trace.
#[test]
fn a_chain_does_without_what_it_does_not_want() {
    let chain = Chain::new(1141);
    let (randomness, _) = chain.channels(A, &[]);
    let mut stack = Stack::<Ours>::new((randomness, (None, (None, ())))).unwrap();
    let mut other = chain.stack(B, &[]);
    step(&mut other, content(&chain.batch(1)));
    let sent = envelopes(&step(&mut other, prefinalized(1, &chain.batch(1)))).remove(0).1;
    assert!(step(&mut stack, Input::Received { from: B, envelope: sent }).is_empty());
    let kept = stack.channels().0.as_ref().unwrap().beacon(EPOCH).unwrap();
    assert_eq!(kept.pending_partials(), 1);
    let next = OneOf::Rest(OneOf::First(chain.certificates(A)));
    assert_eq!(stack.hand_over(next).unwrap_err(), StackError::Unused(CERTIFICATES));
}

/// One secret, one purpose: shares of a signing key that decrypt would sign what a ciphertext says.
#[test]
fn two_channels_with_one_key_are_refused() {
    let chain = Chain::new(1151);
    let holders = Holders::of(1152, &chain.randomness.paths[&Path::Tight].secret);
    let decryption = Epochs::new([holders.config(A, Algorithm::Tight)], &[]).ok();
    let (randomness, (certificates, _)) = chain.channels(A, &[]);
    let channels = (randomness, (certificates, (decryption, ())));
    let (first, second) = (RANDOMNESS, DECRYPTION);
    let error = StackError::SharedKey { first, second };
    assert_eq!(Stack::<Ours>::new(channels).map(|_| ()).unwrap_err(), error);
    // Nor does a handover bring it in.
    let mut stack = chain.stack(A, &[]);
    let mut next = holders.config(A, Algorithm::Tight);
    next.context.epoch = CONTEXT.epoch.next();
    next.first = slot(5);
    assert_eq!(stack.hand_over(OneOf::Rest(OneOf::Rest(OneOf::First(next)))).unwrap_err(), error);
}

/// A crash after any output: what left is said again, and every message had its record.
#[test]
fn a_restart_says_the_same_in_one_envelope() {
    let chain = Chain::new(1161);
    let mut stack = chain.stack(A, &[]);
    step(&mut stack, content(&chain.batch(1)));
    let outputs = step(&mut stack, prefinalized(1, &chain.batch(1)));
    let first = envelopes(&outputs).remove(0).1;
    for written in 0..=3 {
        let log = &records(&outputs)[..written];
        let mut second = chain.stack(A, log);
        let mut said = envelopes(&std::iter::from_fn(|| second.poll()).collect::<Vec<_>>());
        step(&mut second, content(&chain.batch(1)));
        said.extend(envelopes(&step(&mut second, prefinalized(1, &chain.batch(1)))));
        let said = said.iter().flat_map(|(_, envelope)| envelope.messages());
        let said: Vec<_> = said.filter(|message| !asks(message)).collect();
        // Without a record nothing had left, and a later life says nothing early that is not on record.
        let again = if written == 0 { EVERY.len() } else { written };
        assert_eq!(said.len(), again, "{written} records");
        assert!(said.iter().all(|message| first.messages().contains(message)));
    }
    let mut restored: Vec<_> = stack.snapshot().map_channels();
    restored.dedup();
    assert_eq!(restored, EVERY);
}

/// Whether a later life asks where the others are.
fn asks(message: &Message) -> bool {
    use prefinal_beacon::Message::AskHead;
    matches!(
        message,
        OneOf::First(AskHead { .. })
            | OneOf::Rest(OneOf::First(AskHead { .. }))
            | OneOf::Rest(OneOf::Rest(OneOf::First(AskHead { .. })))
    )
}

#[test]
fn envelopes_have_the_documented_bytes() {
    let request =
        |at| OneOf::Rest(OneOf::First(prefinal_beacon::Message::Request { slot: slot(at) }));
    let envelope = Envelope::<Ours>::new(EPOCH, vec![request(3), request(4)]).unwrap();
    let bytes = borsh::to_vec(&envelope).unwrap();
    let one = |at| [vec![1, 1, at], vec![0; 7]].concat();
    let head = [vec![1, 0, 0, 0, 0, 0, 0, 0], vec![2, 0, 0, 0]].concat();
    assert_eq!(bytes, [head.clone(), one(3), one(4)].concat());
    assert_eq!(borsh::from_slice::<Envelope<Ours>>(&bytes).unwrap(), envelope);
    for len in 0..bytes.len() {
        assert!(borsh::from_slice::<Envelope<Ours>>(&bytes[..len]).is_err(), "{len} bytes");
    }
    for (position, byte) in [(8, 0), (8, 1), (8, 3), (11, 1), (12, 3), (13, 9)] {
        let mut bad = bytes.clone();
        bad[position] = byte;
        assert!(borsh::from_slice::<Envelope<Ours>>(&bad).is_err(), "byte {position}");
    }
    let many =
        |count: u8| [vec![1, 0, 0, 0, 0, 0, 0, 0, count, 0, 0, 0], one(3).repeat(count.into())];
    assert!(borsh::from_slice::<Envelope<Ours>>(&many(16).concat()).is_ok());
    assert!(borsh::from_slice::<Envelope<Ours>>(&many(17).concat()).is_err());
    assert!(Envelope::<Ours>::new(EPOCH, vec![]).is_none());
    assert!(Envelope::<Ours>::new(EPOCH, vec![request(1); 17]).is_none());
    let record = Record {
        channel: DECRYPTION,
        record: epochs::Record {
            epoch: EPOCH,
            record: prefinal_beacon::Record::Revealed { slot: slot(2) },
        },
    };
    let bytes = borsh::to_vec(&record).unwrap();
    assert_eq!(bytes, [2, 1, 0, 0, 0, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 0, 0, 0]);
}

/// Another list numbers its own channels, and has no others.
#[test]
fn a_channel_is_its_place_in_the_list() {
    type Two = (MultiSig, (Bls, ()));
    let request = prefinal_beacon::Message::Request { slot: slot(3) };
    let envelope = Envelope::<Two>::new(EPOCH, vec![OneOf::First(request)]).unwrap();
    let mut bytes = borsh::to_vec(&envelope).unwrap();
    assert_eq!(bytes[12..14], [0, 1]);
    assert_eq!(borsh::from_slice::<Envelope<Two>>(&bytes).unwrap(), envelope);
    bytes[12] = 1;
    let second = borsh::from_slice::<Envelope<Two>>(&bytes).unwrap();
    assert!(matches!(second.messages(), [OneOf::Rest(OneOf::First(_))]));
    bytes[12] = 2;
    assert!(borsh::from_slice::<Envelope<Two>>(&bytes).is_err());
    assert!(borsh::from_slice::<Envelope<Ours>>(&bytes).is_ok());
}

/// What such a channel has promised would be forgotten, and released again for another value.
#[test]
fn records_of_a_channel_that_the_list_lacks_are_refused() {
    type Two = (Bls, (MultiSig, ()));
    let record = prefinal_beacon::Record::Finalized { slot: slot(2), value: Some(V) };
    let record = epochs::Record { epoch: EPOCH, record };
    let of = |channel| Record { channel, record };
    let records = [of(RANDOMNESS), of(DECRYPTION)];
    assert_eq!(records_of::<Ours>(&records, RANDOMNESS), Ok(vec![record]));
    let error = StackError::UnknownChannel { channel: DECRYPTION, count: 2 };
    assert_eq!(records_of::<Two>(&records, RANDOMNESS), Err(error));
}

/// Late partials of a backlog go to all at once, and no envelope is longer than others decode.
#[test]
fn a_long_backlog_leaves_in_envelopes_that_others_accept() {
    let chain = Chain::new(1171);
    let mut stack = chain.stack(A, &[]);
    let mut log = Vec::new();
    for at in 1..=12 {
        log.extend(records(&step(&mut stack, finalized(at, &chain.batch(at)))));
    }
    let mut second = chain.stack(A, &log);
    let outputs: Vec<_> = std::iter::from_fn(|| second.poll()).collect();
    let sizes: Vec<_> =
        envelopes(&outputs).iter().map(|(_, envelope)| envelope.messages().len()).collect();
    assert_eq!(sizes.iter().sum::<usize>(), 24, "decryption waits for its content");
    assert!(sizes.iter().all(|size| *size <= Envelope::<Ours>::MOST), "{sizes:?}");
    for (_, envelope) in envelopes(&outputs) {
        let bytes = borsh::to_vec(&envelope).unwrap();
        assert!(borsh::from_slice::<Envelope<Ours>>(&bytes).is_ok());
    }
}

/// What a journal must have on disk before it goes on, and what it may write some time.
#[test]
fn a_journal_sees_every_record_with_its_channel_and_epoch() {
    let chain = Chain::new(1181);
    let mut stack = chain.stack(A, &[]);
    step(&mut stack, content(&chain.batch(1)));
    let mut outputs = step(&mut stack, prefinalized(1, &chain.batch(1)));
    for peer in [B, C] {
        let mut other = chain.stack(peer, &[]);
        step(&mut other, content(&chain.batch(1)));
        for (_, envelope) in envelopes(&step(&mut other, prefinalized(1, &chain.batch(1)))) {
            outputs.extend(step(&mut stack, Input::Received { from: peer, envelope }));
        }
    }
    outputs.extend(step(&mut stack, finalized(1, &chain.batch(1))));
    assert_eq!(revealed(&outputs).len(), 3);
    let written = records(&outputs);
    let (mut kept, mut noted) = (Vec::new(), Vec::new());
    for output in outputs {
        match output {
            Output::Keep(record) => kept.push(record),
            Output::Note(record) => noted.push(record),
            Output::Do(_) => {}
        }
    }
    let is_reveal =
        |record: &Record| matches!(record.record.record, prefinal_beacon::Record::Revealed { .. });
    let (reveals, promises): (Vec<_>, Vec<_>) = written.into_iter().partition(is_reveal);
    assert_eq!((noted.as_slice(), kept.as_slice()), (&reveals[..], &promises[..]));
    assert_eq!((kept.len(), noted.len()), (6, 3));
}
