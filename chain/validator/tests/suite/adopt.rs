//! Parties that go on behind a block that their store has from peers: which may, and from where.
use std::num::NonZeroU64;
use std::sync::Arc;

use prefinal_beacon::stack::Channel;
use prefinal_beacon::{Bls, Record as Released, Wvuf};
use prefinal_dispel::{Dispel, Record as OfStages};
use prefinal_engine::{Block, Engine, FinalBlock};
use prefinal_execution::{BlockId, Header, Height};
use prefinal_jolteon::Jolteon;
use prefinal_malachite::Malachite;
use prefinal_protocol::{EpochId, Slot, Value};
use prefinal_trantor::Trantor;
use prefinal_validator::adopt::{self, StoredBlocks, is_possible};
use prefinal_validator::execution::{MarkedBlock, PipelineHost, Record as Executed, marked};
use prefinal_validator::fixed::FixedCommittees;
use prefinal_validator::participant::Record as Kept;
use prefinal_validator::scheme::KeyedScheme;
use prefinal_validator::setup::{Algorithm, Plan, Setup};
use prefinal_validator::{Record, RecordOf};
use prefinal_weighted_rounding::{Ratio, Stake};

use crate::execution::{SETUP, Said, Seat, WORLD, name, signs};
use crate::sum::{Disk, add};

const EVERY: NonZeroU64 = NonZeroU64::new(20).unwrap();

const DEALT: Channel = Channel::new(0);
const CERTIFICATES: Channel = Channel::new(1);

type OfPartyWith<E> = RecordOf<E, PipelineHost<Disk>>;
type OfParty = OfPartyWith<Jolteon>;

/// A store whose first block is that of slot 3, with one transaction in each: its slot. Without this one, if there is one.
#[derive(Default)]
struct Blocks {
    lost: Option<Height>,
}

impl StoredBlocks for Blocks {
    fn header(&self, height: Height) -> Option<Header> {
        Some(header(height.get() + 2))
    }

    fn transactions(&self, height: Height) -> Option<Vec<Vec<u8>>> {
        let slot = height.get() + 2;
        (self.lost != Some(height)).then(|| vec![slot.to_be_bytes().to_vec()])
    }
}

/// A damaged store: whichever block is asked for, it has the one of slot 90.
struct Circle;

impl StoredBlocks for Circle {
    fn header(&self, _: Height) -> Option<Header> {
        Some(header(90))
    }

    fn transactions(&self, _: Height) -> Option<Vec<Vec<u8>>> {
        Some(Vec::new())
    }
}

fn adopted<S: KeyedScheme, E: Engine>(
    setup: &Setup,
    records: &[OfPartyWith<E>],
    last: Header,
) -> Vec<OfPartyWith<E>> {
    adopt::adopted::<S, E>(setup, records, last, &Blocks::default())
}

fn header(slot: u64) -> Header {
    let id = |slot| BlockId::new(name(slot).to_bytes());
    let (height, parent) = (Height::new(slot - 2), id(slot - 1));
    Header { id: id(slot), parent, height, slot: Slot::new(slot) }
}

fn ordered<E: Engine>(slot: u64) -> OfPartyWith<E> {
    let block = MarkedBlock { value: name(slot), transactions: Vec::new(), deals: false };
    Record::Application(Executed::Ordered { slot: Slot::new(slot), block })
}

/// It has its keys, and a beacon that has noted a slot.
fn past<E: Engine>() -> Vec<OfPartyWith<E>> {
    let revealed = Released::Revealed { slot: Slot::new(7) };
    let kept = Kept::Beacon(DEALT, SETUP.context.epoch, revealed);
    vec![Record::Participant(kept), ordered::<E>(9)]
}

const fn passed_over(first: u64, last: u64) -> Released {
    Released::PassedOver { first: Slot::new(first), last: Slot::new(last) }
}

#[test]
fn a_party_with_keys_is_placed_behind_the_block_once() {
    let mut records = past::<Jolteon>();
    let added = adopted::<Bls, Jolteon>(&SETUP, &records, header(90));
    assert!(matches!(
        &added[..],
        [
            Record::Participant(Kept::Beacon(CERTIFICATES, _, certificates)),
            Record::Engine(_, prefinal_jolteon::Record::Finalized { round, block }),
            Record::Participant(Kept::Beacon(DEALT, _, values)),
            Record::Application(Executed::Adopted(_)),
        ] if round.get() == 90
            && Value::new(block.to_bytes()) == name(90)
            && *values == passed_over(8, 90)
            && *certificates == passed_over(0, 90)
    ));
    // A crash left some of them, and the rest is added.
    let torn: Vec<_> = records.iter().chain(&added[..2]).cloned().collect();
    assert_eq!(adopted::<Bls, Jolteon>(&SETUP, &torn, header(90)).len(), 3);
    // The crash came behind the records; and what it orders from there on counts too.
    records.extend(added);
    assert!(adopted::<Bls, Jolteon>(&SETUP, &records, header(90)).is_empty());
    records.push(ordered::<Jolteon>(95));
    let again = adopted::<Bls, Jolteon>(&SETUP, &records, header(96));
    assert_eq!(again.len(), 4);
    assert!(
        matches!(&again[0], Record::Participant(Kept::Beacon(_, _, record)) if *record == passed_over(91, 96))
    );
}

/// Its order is ahead of what it has from peers, or goes on from before: the states there are certified all the same,
/// and executed by nobody here again.
#[test]
fn certificates_that_the_store_has_are_waited_for_by_nobody() {
    let only_certificates = |records: &[OfParty]| {
        let added = adopted::<Bls, Jolteon>(&SETUP, records, header(90));
        let [Record::Participant(Kept::Beacon(CERTIFICATES, _, record))] = &added[..] else {
            panic!("{added:?}")
        };
        *record == passed_over(0, 90)
    };
    let ahead = [past::<Jolteon>(), vec![ordered::<Jolteon>(95)]].concat();
    assert!(only_certificates(&ahead));
    // Its keys are made by blocks that it has not read.
    assert!(only_certificates(&[]) && only_certificates(&[ordered::<Jolteon>(9)]));
    // An ordinary restart: the beacon handed over the certificate before the store had it.
    let revealed = Released::Revealed { slot: Slot::new(90) };
    let kept = Kept::Beacon(CERTIFICATES, SETUP.context.epoch, revealed);
    let ordinary = [ahead, vec![Record::Participant(kept)]].concat();
    assert!(adopted::<Bls, Jolteon>(&SETUP, &ordinary, header(90)).is_empty());
    let genesis = Header { height: Height::GENESIS, ..header(90) };
    assert!(adopted::<Bls, Jolteon>(&SETUP, &past::<Jolteon>(), genesis).is_empty());
}

#[test]
fn a_party_that_has_to_read_every_block_reads_every_block() {
    assert_eq!(adopted::<Bls, Jolteon>(&SETUP, &past::<Jolteon>(), header(90)).len(), 4);
    assert!(is_possible::<Jolteon>(&SETUP) && is_possible::<Malachite>(&SETUP));
    // What its rules look at is in no store.
    assert!(is_possible::<Dispel>(&SETUP) && !is_possible::<Trantor>(&SETUP));
    assert!(adopted::<Bls, Trantor>(&SETUP, &past::<Trantor>(), header(90)).is_empty());
    // With others parties count by what stands in blocks, and one may stand in a block that was missed.
    let complete = |epoch: EpochId| Record::Participant(Kept::KeysComplete(epoch));
    let these = SETUP.context.epoch;
    let [these, others] = [these, EpochId::new(these.get() + 1)].map(complete);
    let of_keys = |more: &[OfParty]| {
        let records = [past::<Jolteon>(), more.to_vec()].concat();
        adopted::<Wvuf, Jolteon>(&SETUP, &records, header(90)).len()
    };
    assert_eq!((of_keys(&[]), of_keys(&[others]), of_keys(&[these])), (1, 1, 4));
    // Blocks decide on the next committee.
    let stakes = vec![Stake::new(1); 4];
    let later = Plan::new(stakes, Algorithm::Fast, Ratio::new(9, 10).unwrap()).unwrap();
    let changing = FixedCommittees::chain(SETUP.clone(), &[later], WORLD.1.iter(), EVERY).unwrap();
    assert!(!is_possible::<Jolteon>(&changing));
    assert!(adopted::<Bls, Jolteon>(&changing, &past::<Jolteon>(), header(90)).is_empty());
}

/// The slots whose blocks a DISPEL engine is shown when its party goes on behind the last one.
fn shown_to_dispel(
    past: &[OfPartyWith<Dispel>],
    last: u64,
    blocks: &impl StoredBlocks,
) -> Option<Vec<u64>> {
    let added = adopt::adopted::<Bls, Dispel>(&SETUP, past, header(last), blocks);
    let of_engine = added.iter().filter_map(|record| match record {
        Record::Engine(_, record) => Some(record.clone()),
        _ => None,
    });
    let records: Vec<_> = of_engine.collect();
    let places = added.iter().any(|one| matches!(one, Record::Application(Executed::Adopted(_))));
    assert_eq!(places, !records.is_empty());
    let slots = records.iter().filter_map(|record| match record {
        OfStages::Ordered { stage, .. } => Some(*stage),
        _ => None,
    });
    let slots: Vec<_> = slots.collect();
    let block = |slot: &Slot| FinalBlock {
        slot: *slot,
        block: Block {
            value: name(slot.get()),
            transactions: vec![Arc::from(marked(&slot.get().to_be_bytes()))],
        },
    };
    assert_eq!(records, Dispel::adopted(slots.iter().map(block)));
    Some(slots.iter().map(|slot| slot.get()).collect()).filter(|slots: &Vec<_>| !slots.is_empty())
}

#[test]
fn an_engine_is_shown_all_that_was_ordered_lately_and_not_here_or_it_goes_on_from_before() {
    let all = Blocks::default();
    let shown = |ordered_here: u64, last| {
        let past = vec![past::<Dispel>().remove(0), ordered::<Dispel>(ordered_here)];
        shown_to_dispel(&past, last, &all)
    };
    assert_eq!(shown(9, 90), Some((10..=90).collect()));
    assert_eq!(shown(9, 600), Some((345..=600).collect()), "the last 256");
    // What the first slots have ordered is in no store.
    assert_eq!(shown(2, 90), Some((3..=90).collect()));
    assert_eq!(shown(1, 90), None);
    assert_eq!(shown(1, 258), Some((3..=258).collect()));
    // One that is not to be read.
    let lost = Blocks { lost: Some(Height::new(50)) };
    assert_eq!(shown_to_dispel(&past::<Dispel>(), 90, &lost), None);
    // One that names itself as its parent.
    assert_eq!(shown_to_dispel(&past::<Dispel>(), 90, &Circle), None);
}

#[test]
fn blocks_behind_the_adopted_one_are_executed_on_its_state_and_none_before() {
    let (mut ahead, mut away) = (Seat::new(), Seat::new());
    let sum = ahead.grow(90);
    away.grow(9);
    let mut back = away.behind(&ahead);
    assert_eq!((back.took(), back.committed()), (Vec::new(), 88));
    back.begin();
    // Its proposal names the adopted block, which it has never heard of.
    back.took();
    back.propose(91, &[4]);
    back.prefinalize(91);
    let executed = Said::Executed(Height::new(89));
    assert_eq!(back.took(), [executed, signs(91, add(sum, 4))]);
    // The engine reports what is old, and goes on.
    back.order(60, &[1]);
    assert_eq!(back.took(), []);
    back.order(91, &[4]);
    back.certify(91, add(sum, 4));
    assert_eq!(back.committed(), 89);
    // After another crash it is where it was.
    let mut again = back.restart();
    again.begin();
    again.order(92, &[5]);
    again.certify(92, add(add(sum, 4), 5));
    assert_eq!(again.committed(), 90);
    assert!(!again.took().iter().any(|said| matches!(said, Said::Other(_))));
}
