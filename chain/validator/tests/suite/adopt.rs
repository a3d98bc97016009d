//! Parties that go on behind a block that their store has from peers: which may, and from where.
use std::num::NonZeroU64;

use prefinal_beacon::stack::Channel;
use prefinal_beacon::{Bls, Record as Released, Wvuf};
use prefinal_execution::{BlockId, Header, Height};
use prefinal_jolteon::Jolteon;
use prefinal_protocol::{Slot, Value};
use prefinal_validator::adopt::{adopted, is_possible};
use prefinal_validator::execution::{MarkedBlock, Record as Executed};
use prefinal_validator::fixed::FixedCommittees;
use prefinal_validator::participant::Record as Kept;
use prefinal_validator::setup::{Algorithm, Plan};
use prefinal_validator::{Record, RecordOf};
use prefinal_weighted_rounding::{Ratio, Stake};

use crate::execution::{SETUP, Said, Seat, WORLD, name, signs};
use crate::sum::{Disk, add};

const EVERY: NonZeroU64 = NonZeroU64::new(20).unwrap();

const DEALT: Channel = Channel::new(0);
const CERTIFICATES: Channel = Channel::new(1);

type OfParty = RecordOf<Jolteon, prefinal_validator::execution::PipelineHost<Disk>>;

fn header(slot: u64) -> Header {
    let id = |slot| BlockId::new(name(slot).to_bytes());
    let (height, parent) = (Height::new(slot - 2), id(slot - 1));
    Header { id: id(slot), parent, height, slot: Slot::new(slot) }
}

fn ordered(slot: u64) -> OfParty {
    let block = MarkedBlock { value: name(slot), transactions: Vec::new(), deals: false };
    Record::Application(Executed::Ordered { slot: Slot::new(slot), block })
}

/// It has its keys, and a beacon that has noted a slot.
fn past() -> Vec<OfParty> {
    let revealed = Released::Revealed { slot: Slot::new(7) };
    let kept = Kept::Beacon(DEALT, SETUP.context.epoch, revealed);
    vec![Record::Participant(kept), ordered(9)]
}

const fn passed_over(first: u64, last: u64) -> Released {
    Released::PassedOver { first: Slot::new(first), last: Slot::new(last) }
}

#[test]
fn a_party_with_keys_is_placed_behind_the_block_once() {
    let mut records = past();
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
    records.push(ordered(95));
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
    let ahead = [past(), vec![ordered(95)]].concat();
    assert!(only_certificates(&ahead));
    // Its keys are made by blocks that it has not read.
    assert!(only_certificates(&[]) && only_certificates(&[ordered(9)]));
    // An ordinary restart: the beacon handed over the certificate before the store had it.
    let revealed = Released::Revealed { slot: Slot::new(90) };
    let kept = Kept::Beacon(CERTIFICATES, SETUP.context.epoch, revealed);
    let ordinary = [ahead, vec![Record::Participant(kept)]].concat();
    assert!(adopted::<Bls, Jolteon>(&SETUP, &ordinary, header(90)).is_empty());
    let genesis = Header { height: Height::GENESIS, ..header(90) };
    assert!(adopted::<Bls, Jolteon>(&SETUP, &past(), genesis).is_empty());
}

#[test]
fn a_party_that_has_to_read_every_block_reads_every_block() {
    assert_eq!(adopted::<Bls, Jolteon>(&SETUP, &past(), header(90)).len(), 4);
    // Others count by what stands in blocks.
    assert!(is_possible::<Bls, Jolteon>(&SETUP) && !is_possible::<Wvuf, Jolteon>(&SETUP));
    assert!(adopted::<Wvuf, Jolteon>(&SETUP, &past(), header(90)).is_empty());
    // Blocks decide on the next committee.
    let stakes = vec![Stake::new(1); 4];
    let later = Plan::new(stakes, Algorithm::Fast, Ratio::new(9, 10).unwrap()).unwrap();
    let changing = FixedCommittees::chain(SETUP.clone(), &[later], WORLD.1.iter(), EVERY).unwrap();
    assert!(!is_possible::<Bls, Jolteon>(&changing));
    assert!(adopted::<Bls, Jolteon>(&changing, &past(), header(90)).is_empty());
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
