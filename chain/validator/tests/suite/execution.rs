//! The host of the pipeline alone: what it makes of the engine's events, and what a crash leaves of it.
//!
//! Blocks are executed by a sum that depends on the order, and stored in memory. One certificate serves for
//! all states, for the host takes what its channel has verified.
use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, Mutex};

use prefinal_beacon::stack::OneOf;
use prefinal_beacon::{CertifiedRoot, Message, Path, Reveal, StateRoot, StateSig, epochs};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::certificate::{Certificate, StateStatement};
use prefinal_crypto_core::context::EpochId;
use prefinal_engine::{Block, Quorum};
use prefinal_execution::{BlockId, Config, Header, Height, Limits, Role, Store, Switches};
use prefinal_protocol::{Instant, Output, Slot, Value, View};
use prefinal_validator::application::{ChainApplication, Effect, Input, Judged};
use prefinal_validator::execution::{
    BlockCodec, BlockEvent, PastBlocks, PipelineHost, PipelineJob, Record, Workers, marked,
};
use prefinal_validator::extra::electorate;
use prefinal_validator::setup::{Algorithm, Identity, Plan, Setup, found};
use prefinal_weighted_rounding::{Ratio, Stake};

use crate::sum::{Disk, GENESIS, JUNK, READS, Sum, add, decode, roots};

pub(crate) static WORLD: LazyLock<(Setup, Vec<Identity>)> = LazyLock::new(|| {
    let stakes = vec![Stake::new(1); 4];
    found(&Plan::new(stakes, Algorithm::Fast, Ratio::new(9, 10).unwrap()).unwrap(), 1).unwrap()
});

pub(crate) static SETUP: LazyLock<&Setup> = LazyLock::new(|| &WORLD.0);

static CERTIFICATE: LazyLock<Certificate<MinSig>> = LazyLock::new(|| {
    let sign = |one: &Identity| (one.me, one.certifier().sign(StateSig::DOMAIN, b"any state"));
    let electorate = electorate(&SETUP, Quorum::BYZANTINE).unwrap();
    let votes = WORLD.1.iter().map(sign).collect();
    Certificate::assemble(&electorate, StateSig::DOMAIN, b"any state", &votes).unwrap().into_inner()
});

/// What the host has said, jobs and records left out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// What the party signs, in the channel of an epoch.
    Signs(EpochId, StateRoot),
    /// The contract is asked again.
    Again(View),
    Shown(Party, Slot, [u8; 32]),
    Ordered(Vec<u8>),
    Executed(Height),
    Certified(Height),
    Committed(Height),
    Other(String),
}

pub(crate) struct Seat {
    host: PipelineHost<Disk>,
    workers: Workers<Disk>,
    records: Vec<Record>,
    jobs: VecDeque<PipelineJob<Sum>>,
    /// Whether jobs wait instead of being run at once.
    is_busy: bool,
    said: Vec<Said>,
}

pub(crate) const FIRST: Slot = Slot::new(3);

pub(crate) fn name(slot: u64) -> Value {
    let mut name = [9; 32];
    name[..8].copy_from_slice(&slot.to_be_bytes());
    Value::new(name)
}

pub(crate) fn block(slot: u64, addends: &[u8]) -> Block {
    let transactions = addends.iter().map(|addend| marked(&[*addend]).into()).collect();
    Block { value: name(slot), transactions }
}

fn signed(setup: &Setup, slot: u64, sum: u64) -> StateStatement {
    let (context, root) = (setup.context, roots(sum).digest());
    StateStatement { context, slot: Slot::new(slot), value: name(slot), root }
}

pub(crate) fn signs(slot: u64, sum: u64) -> Said {
    signs_in(&SETUP, slot, sum)
}

pub(crate) fn signs_in(setup: &Setup, slot: u64, sum: u64) -> Said {
    let electorate = electorate(setup, Quorum::BYZANTINE).unwrap();
    let content = StateRoot::new(&electorate, signed(setup, slot, sum));
    Said::Signs(setup.context.epoch, content)
}

/// Names epoch and first slot, in place of a row of the state.
fn announce(setup: &Setup, first: Slot) -> Vec<u8> {
    [setup.context.epoch.get(), first.get()].map(|number| u8::try_from(number).unwrap()).to_vec()
}

/// How many bytes each has.
fn carry(transactions: &[Arc<[u8]>]) -> Vec<u8> {
    transactions.iter().map(|one| u8::try_from(one.len()).unwrap()).collect()
}

impl Seat {
    fn start_unjudged(disk: Disk, records: Vec<Record>, switches: Switches, window: u64) -> Self {
        let limits = Limits { window, ..Limits::default() };
        let config = Config { role: Role::Validator, switches, limits };
        let recovered = disk.clone().recover().unwrap();
        let past = PastBlocks { genesis: GENESIS, recovered, records: records.clone() };
        let codec = BlockCodec { decode, announce, carry };
        let host = PipelineHost::new(&SETUP, Quorum::BYZANTINE, config, past, codec).unwrap();
        let workers = Workers { executor: Arc::new(Sum), store: Arc::new(Mutex::new(disk)) };
        let (jobs, said) = (VecDeque::new(), Vec::new());
        let mut seat = Self { host, workers, records, jobs, is_busy: false, said };
        seat.settle();
        seat
    }

    /// On a chain whose committee stays.
    fn start(disk: Disk, records: Vec<Record>, switches: Switches, window: u64) -> Self {
        let mut seat = Self::start_unjudged(disk, records, switches, window);
        seat.give(Input::Judged(Judged::ALL));
        seat
    }

    pub(crate) fn new() -> Self {
        Self::start(Disk::new(), Vec::new(), Switches::ON, 64)
    }

    /// The process ends, and another one begins with what is on the disks.
    pub(crate) fn restart(&self) -> Self {
        let mut seat = self.restart_unjudged();
        seat.give(Input::Judged(Judged::ALL));
        seat
    }

    /// The process begins with what another party's store has, and this record of it.
    pub(crate) fn behind(&self, ahead: &Self) -> Self {
        let disk = ahead.workers.store.lock().unwrap().clone();
        let committed = disk.committed().unwrap();
        let slot = Slot::new(committed.height.get() + FIRST.get() - 1);
        let parent = BlockId::new(name(slot.get() - 1).to_bytes());
        let header = Header { id: committed.block, parent, height: committed.height, slot };
        let mut records = self.records.clone();
        records.push(Record::Adopted(header));
        Self::start(disk, records, Switches::ON, 64)
    }

    pub(crate) fn restart_unjudged(&self) -> Self {
        let disk = self.workers.store.lock().unwrap().clone();
        Self::start_unjudged(disk, self.records.clone(), Switches::ON, 64)
    }

    pub(crate) fn new_unjudged() -> Self {
        Self::start_unjudged(Disk::new(), Vec::new(), Switches::ON, 64)
    }

    pub(crate) fn give(&mut self, input: Input<PipelineHost<Disk>>) {
        self.host.handle(Instant::START, input);
        self.settle();
    }

    /// Carries out what the host wants, jobs too unless they wait.
    pub(crate) fn settle(&mut self) {
        loop {
            while let Some(output) = self.host.poll() {
                match output {
                    Output::Keep(record) | Output::Note(record) => self.records.push(record),
                    Output::Do(Effect::Run(job)) => self.jobs.push_back(job),
                    Output::Do(effect) => self.said.push(say(effect)),
                }
            }
            let Some(job) = self.jobs.pop_front_if(|_| !self.is_busy) else { return };
            let verdict = PipelineHost::<Disk>::run(job, &self.workers);
            self.host.handle(Instant::START, Input::Checked(verdict));
        }
    }

    pub(crate) fn begin(&mut self) {
        self.give(Input::Began { epoch: SETUP.context.epoch, first: FIRST });
    }

    pub(crate) fn propose(&mut self, slot: u64, addends: &[u8]) {
        let (parent, block) = (Some(name(slot - 1)), block(slot, addends));
        self.give(Input::Proposed { slot: Slot::new(slot), parent, block });
    }

    pub(crate) fn prefinalize(&mut self, slot: u64) {
        let (slot, value) = (Slot::new(slot), name(slot));
        self.give(Input::Prefinalized { slot, view: View::new(slot, 0), value });
    }

    pub(crate) fn order(&mut self, slot: u64, addends: &[u8]) {
        self.give(Input::Ordered { slot: Slot::new(slot), block: block(slot, addends) });
    }

    /// The channel has a certificate of this sum.
    pub(crate) fn certify(&mut self, slot: u64, sum: u64) {
        let reveal = Reveal {
            slot: Slot::new(slot),
            round: None,
            value: Some(name(slot)),
            bound: Some(name(slot)),
            output: signed(&SETUP, slot, sum),
            path: Path::Tight,
            proof: CERTIFICATE.clone(),
        };
        self.beside(prefinal_beacon::Effect::Reveal(Box::new(reveal)));
    }

    fn lookup(&mut self, slots: impl Iterator<Item = u64>) -> Vec<Said> {
        self.said.clear();
        let (to, slots) = (Party::new(2), slots.map(Slot::new).collect());
        self.beside(prefinal_beacon::Effect::Lookup { to, slots });
        std::mem::take(&mut self.said)
    }

    pub(crate) fn beside(&mut self, effect: prefinal_beacon::Effect<StateSig>) {
        let epoch = SETUP.context.epoch;
        self.give(Input::Beside(OneOf::First(epochs::Effect::Of { epoch, effect })));
    }

    /// Blocks of one addend in every slot from the first one on, each certified. The last sum.
    pub(crate) fn grow(&mut self, to: u64) -> u64 {
        self.order(2, &[]);
        self.begin();
        (3..=to).fold(0, |sum, slot| {
            let sum = add(sum, 1);
            self.order(slot, &[1]);
            self.certify(slot, sum);
            sum
        })
    }

    pub(crate) fn committed(&self) -> u64 {
        self.host.committed().height.get()
    }

    pub(crate) fn took(&mut self) -> Vec<Said> {
        std::mem::take(&mut self.said)
    }
}

fn say(effect: Effect<PipelineHost<Disk>>) -> Said {
    match effect {
        Effect::Beside(OneOf::First(epochs::Input::Content { epoch, content })) => {
            Said::Signs(epoch, content)
        }
        Effect::Beside(OneOf::First(epochs::Input::Prefinalized { view, .. })) => Said::Again(view),
        Effect::Show { to, message: OneOf::First(Message::Output { slot, shown, .. }), .. } => {
            let CertifiedRoot { root, certificate } = shown;
            assert_eq!(certificate, *CERTIFICATE);
            Said::Shown(to, slot, root)
        }
        Effect::Tell(BlockEvent::Ordered(block)) => {
            let system = block.system_transactions().iter().flat_map(|one| one.to_vec());
            Said::Ordered(block.transactions().iter().map(|one| one.0).chain(system).collect())
        }
        Effect::Tell(BlockEvent::Executed(height)) => Said::Executed(height),
        Effect::Tell(BlockEvent::Certified(height)) => Said::Certified(height),
        Effect::Tell(BlockEvent::Committed(committed)) => Said::Committed(committed.height),
        Effect::Tell(BlockEvent::Refused(refusal)) => Said::Other(refusal.to_string()),
        Effect::Tell(BlockEvent::Stopped(stop)) => Said::Other(stop.to_string()),
        _ => Said::Other("something else".to_owned()),
    }
}

pub(crate) const ONE: Height = Height::new(1);

#[test]
fn a_block_is_signed_with_its_vote_if_it_is_executed_by_then_and_the_contract_asked_once() {
    let mut seat = Seat::new();
    seat.order(2, &[]);
    seat.begin();
    seat.propose(3, &[5]);
    assert_eq!(seat.took(), [], "nothing is signed before the vote");
    // The channel is told of the vote by the validator, behind this.
    seat.prefinalize(3);
    assert_eq!(seat.took(), [Said::Executed(ONE), signs(3, 5)]);
    seat.order(3, &[5]);
    seat.certify(3, 5);
    let ends = [Said::Ordered(vec![5]), Said::Certified(ONE), Said::Committed(ONE)];
    assert_eq!(seat.took(), ends);
}

#[test]
fn the_contract_is_asked_again_if_the_block_is_executed_behind_the_vote() {
    let mut seat = Seat::new();
    seat.order(2, &[]);
    seat.begin();
    seat.is_busy = true;
    seat.propose(3, &[5]);
    seat.prefinalize(3);
    assert_eq!(seat.took(), []);
    seat.is_busy = false;
    seat.settle();
    let view = View::new(FIRST, 0);
    assert_eq!(seat.took(), [Said::Executed(ONE), signs(3, 5), Said::Again(view)]);
}

#[test]
fn what_is_not_marked_or_does_not_decode_is_carried_and_blocks_before_the_first_are_left_out() {
    let mut seat = Seat::new();
    seat.order(2, &[7]);
    let mut mixed = block(3, &[4, JUNK, 6]);
    mixed.transactions.push([1].as_slice().into());
    seat.give(Input::Ordered { slot: FIRST, block: mixed });
    assert_eq!(seat.took(), [], "which slot is the first is not known yet");
    seat.begin();
    // Of what is carried this executor counts the bytes: of the one with a mark, then of the one without.
    let sum = [4, 6, 2, 1].into_iter().fold(0, add);
    let ordered = Said::Ordered(vec![4, 6, 2, 1]);
    assert_eq!(seat.took(), [ordered, Said::Executed(ONE), signs(3, sum)]);
    // It is reported once more.
    seat.order(3, &[9]);
    seat.begin();
    assert_eq!(seat.took(), []);
    // Nobody certifies the block before the first.
    seat.certify(2, 0);
    assert_eq!(seat.lookup(0..9), []);
}

#[test]
fn a_proposal_before_the_first_slot_is_not_executed() {
    let mut seat = Seat::new();
    seat.order(1, &[]);
    seat.propose(2, &[1]);
    seat.begin();
    seat.prefinalize(2);
    assert_eq!(seat.took(), []);
}

#[test]
fn a_proposal_on_a_committed_block_is_executed_and_certificates_of_older_ones_are_no_news() {
    let mut seat = Seat::new();
    let sum = seat.grow(6);
    seat.took();
    let records = seat.records.len();
    seat.certify(3, 1);
    assert_eq!((seat.took(), seat.records.len()), (vec![], records));
    seat.propose(7, &[1]);
    seat.prefinalize(7);
    assert_eq!(seat.took(), [Said::Executed(Height::new(5)), signs(7, add(sum, 1))]);
}

#[test]
fn ordered_blocks_behind_the_window_wait_and_none_is_refused() {
    let mut seat = Seat::start(Disk::new(), Vec::new(), Switches::ON, 2);
    seat.order(2, &[]);
    seat.begin();
    let reader = READS + 1;
    for slot in 3..=8 {
        seat.order(slot, &[1, reader]);
    }
    let mut sum = 0;
    let mut certify = |seat: &mut Seat, slot| {
        sum = add(add(sum, 1), 3);
        seat.give(Input::Value { slot: Slot::new(slot), value: [3; 32] });
        seat.certify(slot, sum);
    };
    for slot in 3..=5 {
        certify(&mut seat, slot);
        assert_eq!(seat.committed(), slot - 2);
    }
    // All that is missing comes while one block is executed.
    seat.is_busy = true;
    for slot in 6..=8 {
        certify(&mut seat, slot);
    }
    seat.is_busy = false;
    seat.settle();
    assert_eq!(seat.committed(), 6);
    assert!(!seat.took().iter().any(|said| matches!(said, Said::Other(_))));
}

#[test]
fn a_restarted_party_goes_on_without_hearing_anything_again() {
    let mut seat = Seat::new();
    seat.order(2, &[]);
    seat.begin();
    // Nothing is executed in this life; order, value and certificate are on record all the same.
    seat.is_busy = true;
    let (reader, sum) = (READS + 1, add(add(0, 5), 3));
    seat.order(3, &[5, reader]);
    seat.give(Input::Value { slot: FIRST, value: [3; 32] });
    // Nobody reads this one.
    seat.order(4, &[1]);
    seat.give(Input::Value { slot: Slot::new(4), value: [4; 32] });
    seat.certify(3, sum);
    assert_eq!(seat.committed(), 0);
    let values = seat.records.iter().filter(|one| matches!(one, Record::Value { .. }));
    assert_eq!(values.count(), 1);

    let mut seat = seat.restart();
    assert_eq!(seat.took(), []);
    seat.begin();
    assert_eq!(seat.committed(), 1);
    let said = seat.took();
    assert!(said.contains(&signs(4, add(sum, 1))), "{said:?}");
    // The engine may report a slot once more.
    seat.order(4, &[8]);
    assert_eq!(seat.took(), []);
    seat.certify(4, add(sum, 1));
    assert_eq!(seat.committed(), 2);
}

#[test]
fn certificates_are_shown_to_peers_that_ask_also_those_of_an_earlier_life() {
    let mut seat = Seat::new();
    seat.grow(6);
    let shown =
        |slot: u64, sum: u64| Said::Shown(Party::new(2), Slot::new(slot), roots(sum).digest());
    let all = [shown(3, 1), shown(4, 3), shown(5, 7), shown(6, 15)];
    assert_eq!(seat.lookup(0..9), all);
    let mut seat = seat.restart();
    assert_eq!(seat.lookup(0..9), all, "before the first slot is known too");
    seat.begin();
    assert_eq!(seat.lookup(0..9), all);
    assert_eq!(seat.lookup(6..9), [shown(6, 15)]);
}

#[test]
fn contents_of_certified_slots_are_given_again_once_after_a_restart() {
    let mut seat = Seat::new();
    seat.grow(5);
    let mut seat = seat.restart();
    assert_eq!(seat.took(), []);
    seat.begin();
    assert_eq!(seat.took(), [signs(3, 1), signs(4, 3), signs(5, 7)]);
}

#[test]
fn the_last_256_certificates_are_kept_and_older_ones_forgotten() {
    const LAST: u64 = 262;
    let mut seat = Seat::new();
    seat.grow(LAST);
    let slots = |said: Vec<Said>| -> Vec<u64> {
        let slot = |said: &Said| match said {
            Said::Shown(_, slot, _) => slot.get(),
            other => panic!("{other:?}"),
        };
        said.iter().map(slot).collect()
    };
    let kept: Vec<u64> = (LAST - 255..=LAST).collect();
    assert_eq!(slots(seat.lookup(0..=LAST)), kept);
    let mut seat = seat.restart();
    assert_eq!(slots(seat.lookup(0..=LAST)), kept);
    seat.begin();
    let given = seat.took().into_iter().filter(|said| matches!(said, Said::Signs(..)));
    assert_eq!(given.count(), kept.len());
}

#[test]
fn a_restarted_party_signs_what_it_signed_or_nothing() {
    let mut seat = Seat::new();
    seat.order(2, &[]);
    seat.begin();
    seat.propose(3, &[5]);
    seat.prefinalize(3);
    assert_eq!(seat.took(), [Said::Executed(ONE), signs(3, 5)]);
    // The block is not written in this life: it is executed again, by something else.
    let mut records = seat.records.clone();
    records.push(Record::Ordered { slot: FIRST, block: block(3, &[6]).into() });
    let mut seat = Seat::start(Disk::new(), records, Switches::ON, 64);
    seat.begin();
    let said = seat.took();
    assert!(!said.contains(&signs(3, 6)), "{said:?}");
    assert!(matches!(said.last(), Some(Said::Other(_))), "{said:?}");
}

#[test]
fn proposals_of_unknown_parents_are_kept_up_to_64_and_executed_when_their_parents_have_places() {
    let mut seat = Seat::start(Disk::new(), Vec::new(), Switches::ON, 1000);
    seat.order(2, &[]);
    seat.begin();
    // Slot 3 is missing, so that none of these has a place.
    for slot in 4..4 + 70 {
        seat.propose(slot, &[1]);
    }
    seat.propose(3, &[1]);
    for slot in 3..4 + 70 {
        seat.prefinalize(slot);
    }
    // The last ones, and that of slot 3 itself, found no room.
    assert_eq!(seat.took(), []);
    seat.order(3, &[1]);
    for slot in 4..4 + 70 {
        seat.prefinalize(slot);
    }
    let executed = seat.took().into_iter().filter(|said| matches!(said, Said::Executed(_)));
    assert_eq!(executed.count(), 64 + 1);
}

#[test]
fn proposals_that_cannot_be_ordered_any_more_take_no_room() {
    let mut seat = Seat::new();
    seat.order(2, &[]);
    seat.begin();
    let lost = |seat: &mut Seat, slot: u64, count: u64| {
        for fork in 0..count {
            let block = Block { value: name(1000 + 100 * slot + fork), transactions: Vec::new() };
            let parent = Some(name(999));
            seat.give(Input::Proposed { slot: Slot::new(slot), parent, block });
        }
    };
    lost(&mut seat, 3, 64);
    seat.order(3, &[1]);
    lost(&mut seat, 3, 64);
    seat.propose(5, &[1]);
    seat.order(4, &[1]);
    seat.prefinalize(5);
    let said = seat.took();
    assert!(said.contains(&Said::Executed(Height::new(3))), "{said:?}");
}
