//! Parties that go on behind a block that their store has from peers: which may, and from where.
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::Arc;

use prefinal_beacon::Record as Released;
use prefinal_beacon::stack::Channel;
use prefinal_dispel::{Dispel, Record as OfStages};
use prefinal_engine::{Block, Engine, FinalBlock};
use prefinal_execution::{BlockId, Header, Height};
use prefinal_jolteon::Jolteon;
use prefinal_protocol::{EpochId, Slot, Value};
use prefinal_trantor::{NOTE, Record as OfHeights, Trantor};
use prefinal_validator::adopt::{self, StoredBlocks, StoredTransactions};
use prefinal_validator::execution::{MarkedBlock, PipelineHost, Record as Executed, marked};
use prefinal_validator::fixed::FixedCommittees;
use prefinal_validator::participant::Record as Kept;
use prefinal_validator::setup::{Algorithm, Plan};
use prefinal_validator::transaction::dealing;
use prefinal_validator::{Record, RecordOf};
use prefinal_weighted_rounding::{Ratio, Stake};

use crate::execution::{SETUP, Said, Seat, WORLD, name, signs};
use crate::sum::{Disk, add};

const EVERY: NonZeroU64 = NonZeroU64::new(20).unwrap();

const DEALT: Channel = Channel::new(0);
const CERTIFICATES: Channel = Channel::new(1);

const UNKNOWN: &[u8] = b"something";

type OfPartyWith<E> = RecordOf<E, PipelineHost<Disk>>;
type OfParty = OfPartyWith<Jolteon>;

/// A store whose first block is that of slot 3, with one transaction in each: its slot.
#[derive(Default)]
struct Blocks {
    /// A block that cannot be read.
    lost: Option<Height>,
    /// Slots without blocks.
    empty: Vec<u64>,
    /// What the block of a slot carries.
    carried: BTreeMap<u64, Vec<u8>>,
    /// The first slots of the epochs behind the first one.
    begin: Vec<u64>,
    /// No state announces them.
    is_silent: bool,
}

impl Blocks {
    fn slot(&self, height: Height) -> u64 {
        let mut slots = (3..).filter(|slot| !self.empty.contains(slot));
        slots.nth(usize::try_from(height.get() - 1).unwrap()).unwrap()
    }

    fn header(&self, slot: u64) -> Header {
        let empty = self.empty.iter().filter(|one| **one < slot).count();
        let height = Height::new(slot - 2 - u64::try_from(empty).unwrap());
        Header { height, ..header(slot) }
    }
}

impl StoredBlocks for Blocks {
    fn header(&self, height: Height) -> Option<Header> {
        Some(self.header(self.slot(height)))
    }

    fn epoch(&self, height: Height) -> Option<EpochId> {
        let slot = self.slot(height);
        let number = self.begin.iter().filter(|first| **first <= slot).count();
        Some(EpochId::new(u64::try_from(number).unwrap()))
    }

    fn first_slot(&self, epoch: EpochId) -> Option<Slot> {
        let number = usize::try_from(epoch.get()).unwrap();
        self.begin.get(number - 1).filter(|_| !self.is_silent).map(|first| Slot::new(*first))
    }

    /// With something that nobody executes, and that is of no key generation.
    fn transactions(&self, height: Height) -> Option<StoredTransactions> {
        let slot = self.slot(height);
        let executed = vec![slot.to_be_bytes().to_vec()];
        let carried =
            [UNKNOWN.to_vec()].into_iter().chain(self.carried.get(&slot).cloned()).collect();
        (self.lost != Some(height)).then_some(StoredTransactions { executed, carried })
    }
}

/// A damaged store: whichever block is asked for, it has the one of slot 90.
struct Circle;

impl StoredBlocks for Circle {
    fn header(&self, _: Height) -> Option<Header> {
        Some(header(90))
    }

    fn epoch(&self, _: Height) -> Option<EpochId> {
        Some(EpochId::new(0))
    }

    fn first_slot(&self, _: EpochId) -> Option<Slot> {
        None
    }

    fn transactions(&self, _: Height) -> Option<StoredTransactions> {
        Some(StoredTransactions::default())
    }
}

fn adopted<E: Engine>(records: &[OfPartyWith<E>], last: Header) -> Vec<OfPartyWith<E>> {
    adopt::adopted::<E>(&SETUP, records, last, &Blocks::default())
}

fn header(slot: u64) -> Header {
    let id = |slot| BlockId::new(name(slot).to_bytes());
    let (height, parent) = (Height::new(slot - 2), id(slot - 1));
    Header { id: id(slot), parent, height, slot: Slot::new(slot) }
}

fn ordered<E: Engine>(slot: u64) -> OfPartyWith<E> {
    let block = MarkedBlock { value: name(slot), transactions: Vec::new(), carried: Vec::new() };
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
    let added = adopted::<Jolteon>(&records, header(90));
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
    assert_eq!(adopted::<Jolteon>(&torn, header(90)).len(), 3);
    // The crash came behind the records; and what it orders from there on counts too.
    records.extend(added);
    assert!(adopted::<Jolteon>(&records, header(90)).is_empty());
    records.push(ordered::<Jolteon>(95));
    let again = adopted::<Jolteon>(&records, header(96));
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
        let added = adopted::<Jolteon>(records, header(90));
        let [Record::Participant(Kept::Beacon(CERTIFICATES, _, record))] = &added[..] else {
            panic!("{added:?}")
        };
        *record == passed_over(0, 90)
    };
    let ahead = [past::<Jolteon>(), vec![ordered::<Jolteon>(95)]].concat();
    assert!(only_certificates(&ahead));
    // Its keys are made by blocks that it has not read, and no store has.
    let read = |slot| vec![kept_ordered(0, slot), ordered::<Jolteon>(slot)];
    assert!(only_certificates(&[]) && only_certificates(&read(1)));
    assert_eq!(adopted::<Jolteon>(&read(2), header(90)).len(), 4);
    // An ordinary restart: the beacon handed over the certificate before the store had it.
    let revealed = Released::Revealed { slot: Slot::new(90) };
    let kept = Kept::Beacon(CERTIFICATES, SETUP.context.epoch, revealed);
    let ordinary = [ahead, vec![Record::Participant(kept)]].concat();
    assert!(adopted::<Jolteon>(&ordinary, header(90)).is_empty());
    let genesis = Header { height: Height::GENESIS, ..header(90) };
    assert!(adopted::<Jolteon>(&past::<Jolteon>(), genesis).is_empty());
}

/// The note that Trantor puts behind the transactions of a height: a batch, and nothing that is repeated.
fn note(height: u64) -> Vec<u8> {
    borsh::to_vec(&(NOTE, height, vec![[7_u8; 32]], Vec::<[u8; 32]>::new())).unwrap()
}

/// What a Trantor engine is shown of its epoch's heights: the runs of those that have blocks.
fn shown_to_trantor(last: u64, blocks: &Blocks) -> Option<Vec<(u64, u64)>> {
    let last = blocks.header(last);
    let added = adopt::adopted::<Trantor>(&SETUP, &past::<Trantor>(), last, blocks);
    let of_engine = added.iter().filter_map(|record| match record {
        Record::Engine(_, OfHeights::Adopted(runs)) => {
            Some(runs.iter().map(|run| (run.first.get(), run.last.get())).collect())
        }
        _ => None,
    });
    let runs: Vec<_> = of_engine.collect();
    let places = added.iter().any(|one| matches!(one, Record::Application(Executed::Adopted(_))));
    assert_eq!(places, runs.len() == 1);
    runs.into_iter().next()
}

#[test]
fn an_engine_that_needs_every_slot_is_shown_all_and_refuses_blocks_without_its_notes() {
    let notes = |first: u64| (3..=1600).map(move |slot| (slot, note(slot + 1 - first.min(slot))));
    let (empty, carried) = (vec![20, 21, 90], notes(1).collect());
    let mut blocks = Blocks { carried, empty, ..Blocks::default() };
    let runs = vec![(10, 19), (22, 89), (91, 1500)];
    assert_eq!(shown_to_trantor(1500, &blocks), Some(runs));
    // In a later epoch its heights begin with the first slot.
    let later = Blocks {
        carried: notes(52).collect(),
        begin: vec![30, 52],
        empty: vec![52],
        ..Blocks::default()
    };
    assert_eq!(shown_to_trantor(60, &later), Some(vec![(2, 9)]));
    // One that lacks its note, or has that of another slot, however long ago.
    blocks.carried.insert(30, note(31));
    assert_eq!(shown_to_trantor(1500, &blocks), None);
    blocks.carried.remove(&30);
    assert_eq!(shown_to_trantor(1500, &blocks), None);
}

/// A transaction of this many bytes behind its header, of the kind of published keys.
fn keys(bytes: usize) -> Vec<u8> {
    [&[1][..], &[0; 8], &vec![7; bytes]].concat()
}

/// Keys that parties publish late, and shares of later keys, are in blocks that it missed.
#[test]
fn what_blocks_carry_is_read_by_a_party_that_was_away() {
    let carried = BTreeMap::from([(12, keys(1)), (40, keys(2))]);
    let blocks = Blocks { carried, empty: vec![20], ..Blocks::default() };
    let last = blocks.header(60);
    let added = adopt::adopted::<Jolteon>(&SETUP, &past::<Jolteon>(), last, &blocks);
    assert_eq!(reads(&added), [(0, 12, Some(keys(1))), (0, 40, Some(keys(2)))]);
    // Those that it has read are not read twice, whatever its last record is about.
    let finalized = Released::Finalized { slot: Slot::new(39), value: Some(name(39)) };
    let finalized = Record::Participant(Kept::Beacon(DEALT, SETUP.context.epoch, finalized));
    // The application may have a block that was not read any more when the process ended.
    for (record, left) in [(kept_ordered(0, 12), 1), (finalized, 1), (ordered::<Jolteon>(12), 2)] {
        let records = [past::<Jolteon>(), vec![record]].concat();
        let added = adopt::adopted::<Jolteon>(&SETUP, &records, last, &blocks);
        assert_eq!(reads(&added).len(), left);
    }
    // If one cannot be read, none is passed over.
    let blocks = Blocks { lost: Some(Height::new(30)), ..blocks };
    let added = adopt::adopted::<Jolteon>(&SETUP, &past::<Jolteon>(), last, &blocks);
    assert!(reads(&added).is_empty() && added.len() == 1);
    // The first blocks made keys, and no store has them.
    assert_eq!(adopt::adopted::<Jolteon>(&SETUP, &[], last, &Blocks::default()).len(), 1);
}

/// A slot that the party has read in this epoch.
fn kept_ordered(epoch: u64, slot: u64) -> OfParty {
    let (epoch, block) = (EpochId::new(epoch), Some(name(slot)));
    let (slot, transactions) = (Slot::new(slot), Vec::new());
    Record::Participant(Kept::Ordered { epoch, slot, block, transactions })
}

/// What a party is told of slots that it missed: epoch, slot, and the transaction of each, or none if it has no block.
fn reads(added: &[OfParty]) -> Vec<(u64, u64, Option<Vec<u8>>)> {
    let read = added.iter().filter_map(|record| match record {
        Record::Participant(Kept::Ordered { epoch, slot, block, transactions }) => {
            assert_eq!(*block, block.map(|_| name(slot.get())));
            let transaction = block.map(|_| transactions.iter().flat_map(|one| one.to_vec()));
            Some((epoch.get(), slot.get(), transaction.map(Iterator::collect)))
        }
        _ => None,
    });
    read.collect()
}

#[test]
fn a_party_that_missed_changes_of_the_committee_reads_every_slot_in_its_epoch() {
    let stakes = vec![Stake::new(1); 4];
    let later = Plan::new(stakes, Algorithm::Fast, Ratio::new(9, 10).unwrap()).unwrap();
    let later = [later.clone(), later];
    let changing = FixedCommittees::chain(SETUP.clone(), &later, WORLD.1.iter(), EVERY).unwrap();
    let carried = BTreeMap::from([(22, dealing(EpochId::new(1), &[3; 4]))]);
    let (empty, begin) = (vec![8, 15, 29, 30], vec![30, 52]);
    let blocks = Blocks { carried, empty, begin, ..Blocks::default() };
    let added =
        adopt::adopted::<Jolteon>(&changing, &past::<Jolteon>(), blocks.header(60), &blocks);
    let read = reads(&added);
    assert!(read.iter().map(|one| one.1).eq(8..=60));
    let of = |slot: u64| read.iter().find(|one| one.1 == slot).cloned().unwrap();
    assert_eq!([of(8), of(15)], [(0, 8, None), (0, 15, None)]);
    assert_eq!(of(22), (0, 22, Some(dealing(EpochId::new(1), &[3; 4]))));
    assert_eq!([of(29), of(30)], [(0, 29, None), (1, 30, None)]);
    assert_eq!([of(51).0, of(52).0, of(60).0], [1, 2, 2]);
    // The engine of the last epoch counts from the epoch's first slot.
    let engine = added.iter().filter_map(|record| match record {
        Record::Engine(epoch, prefinal_jolteon::Record::Finalized { round, block }) => {
            Some((epoch.get(), round.get(), Value::new(block.to_bytes())))
        }
        _ => None,
    });
    assert_eq!(engine.collect::<Vec<_>>(), [(2, 9, name(60))]);
    // Each epoch's channels are finished with their own slots.
    let over = |channel| {
        let over = added.iter().filter_map(move |record| match record {
            Record::Participant(Kept::Beacon(of, epoch, record)) if *of == channel => {
                Some((epoch.get(), *record))
            }
            _ => None,
        });
        over.collect::<Vec<_>>()
    };
    let both = [(1, passed_over(30, 51)), (2, passed_over(52, 60))];
    assert_eq!(over(DEALT), [&[(0, passed_over(8, 29))][..], &both].concat());
    assert_eq!(over(CERTIFICATES), [&[(0, passed_over(0, 29))][..], &both].concat());
    // Wherever a crash cuts the records off, the next start adds the rest: each slot once.
    for count in 0..=added.len() {
        let torn = [past::<Jolteon>(), added[..count].to_vec()].concat();
        let rest = adopt::adopted::<Jolteon>(&changing, &torn, blocks.header(60), &blocks);
        let slots = [reads(&torn), reads(&rest)].concat();
        assert_eq!(slots, read, "{count}");
        let is_placed = |one: &OfParty| matches!(one, Record::Application(Executed::Adopted(_)));
        assert_eq!(rest.last().map(is_placed), (count < added.len()).then_some(true), "{count}");
    }
    // What an engine finalized behind the end of its epoch was read by nobody.
    let ended: Vec<_> = (10..=45).map(|slot| kept_ordered(0, slot)).collect();
    let begun = (30..=33).map(|slot| kept_ordered(1, slot));
    let records: Vec<_> = past::<Jolteon>().into_iter().chain(ended).chain(begun).collect();
    let rest = adopt::adopted::<Jolteon>(&changing, &records, blocks.header(60), &blocks);
    assert!(reads(&rest).iter().map(|one| one.1).eq(34..=60));
    // No state announces the epoch of the last block.
    let unannounced = Blocks { begin: vec![30, 52], is_silent: true, ..Blocks::default() };
    assert!(
        adopt::adopted::<Jolteon>(&changing, &past::<Jolteon>(), header(60), &unannounced)
            .is_empty()
    );
}

/// The slots whose blocks a DISPEL engine is shown when its party goes on behind the last one.
fn shown_to_dispel(
    past: &[OfPartyWith<Dispel>],
    last: u64,
    blocks: &impl StoredBlocks,
) -> Option<Vec<u64>> {
    let added = adopt::adopted::<Dispel>(&SETUP, past, header(last), blocks);
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
            transactions: vec![Arc::from(marked(&slot.get().to_be_bytes())), Arc::from(UNKNOWN)],
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
    assert_eq!((shown(1, 90), shown(1, 258)), (None, Some((3..=258).collect())));
    // One that is not to be read.
    let lost = Blocks { lost: Some(Height::new(50)), ..Blocks::default() };
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
