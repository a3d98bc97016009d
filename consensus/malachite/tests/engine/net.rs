//! Engines on a small network: every message takes ten milliseconds, logs are kept, a rule may stop or
//! change what is sent, a party may die in the middle of a step.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use prefinal_engine::Pace;
use prefinal_malachite::{
    BlockId, Config, Effect, Input, LinearTimeouts, Log, Malachite, Member, Message, Output,
    Proposal, Record, SecretKey, Signature, Validators, Vote,
};
use prefinal_protocol::{ChainId, Context, EpochId, Instant, Party, Recipient};
use prefinal_sim::{Table, addressees};
use prefinal_weighted_rounding::Stake;

pub(crate) const DELAY: Duration = Duration::from_millis(10);

/// What a party noted, in its order.
#[derive(Clone, Debug)]
pub(crate) enum Observation {
    Prefinalized(u64, u32, BlockId),
    Carried(u32, Vec<u8>),
    Finalized(u64, BlockId, Vec<Vec<u8>>),
    Abandoned(u64, u32),
    Accused(u32, String),
    Sent(Message),
    Kept,
    Halted(String),
}

/// What becomes of a message from one to another.
pub(crate) type Rule = Box<dyn FnMut(Party, Party, Message) -> Option<Message>>;
/// What a party gives its precommit to carry.
pub(crate) type Partial = Box<dyn FnMut(Party, u64, BlockId) -> Option<Vec<u8>>>;
/// Whether a party dies instead of doing this.
pub(crate) type Death = Box<dyn FnMut(Party, &Output) -> bool>;

pub(crate) struct Net {
    stakes: Vec<u128>,
    pub(crate) pace: Pace,
    pub(crate) table: Table<Malachite>,
    pub(crate) logs: Vec<Vec<Record>>,
    pub(crate) seen: Vec<Vec<(Instant, Observation)>>,
    pub(crate) rule: Rule,
    pub(crate) partial: Partial,
    pub(crate) death: Death,
}

pub(crate) fn secret(party: u32) -> SecretKey {
    SecretKey::from_seed([u8::try_from(party).unwrap() + 1; 32])
}

pub(crate) fn config(stakes: &[u128], me: u32) -> Config {
    let member = |(party, stake): (u32, &u128)| Member {
        key: secret(party).public_key(),
        stake: Stake::new(*stake),
    };
    let span = Duration::from_millis(200);
    Config {
        context: Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(0) },
        me: Party::new(me),
        members: (0..).zip(stakes).map(member).collect(),
        timeouts: LinearTimeouts {
            propose: span,
            propose_delta: span,
            prevote: span,
            prevote_delta: span,
            precommit: span,
            precommit_delta: span,
            rebroadcast: span * 2,
            max_timeout: span * 100,
        },
        pace: Pace::NONE,
        max_block_bytes: 1000,
        catch_up_after: Duration::from_millis(100),
    }
}

fn committee(stakes: &[u128]) -> Validators {
    let config = config(stakes, 0);
    Validators::new(&config.context, &config.members).unwrap()
}

pub(crate) fn resign_vote(stakes: &[u128], party: Party, vote: &Vote) -> Signature {
    secret(party.get()).sign_vote(&committee(stakes), vote)
}

pub(crate) fn resign_proposal(stakes: &[u128], party: Party, proposal: &Proposal) -> Signature {
    secret(party.get()).sign_proposal(&committee(stakes), proposal)
}

/// What an honest party's precommit carries in these tests.
pub(crate) fn partial(party: Party, height: u64, block: BlockId) -> Vec<u8> {
    let mut bytes = format!("{party} at {height} for ").into_bytes();
    bytes.extend(block.to_bytes());
    bytes
}

impl Net {
    pub(crate) fn new(stakes: &[u128]) -> Self {
        let count = stakes.len();
        Self {
            stakes: stakes.to_vec(),
            pace: Pace::NONE,
            table: Table::new(|| Input::Tick),
            logs: vec![Vec::new(); count],
            seen: vec![Vec::new(); count],
            rule: Box::new(|_, _, message| Some(message)),
            partial: Box::new(|party, height, block| Some(partial(party, height, block))),
            death: Box::new(|_, _| false),
        }
    }

    pub(crate) fn all(stakes: &[u128]) -> Self {
        let mut net = Self::new(stakes);
        (0..u32::try_from(stakes.len()).unwrap()).for_each(|party| net.boot(party));
        net
    }

    /// Starts a party from its log.
    pub(crate) fn boot(&mut self, party: u32) {
        let mut log = Log::default();
        let index = usize::try_from(party).unwrap();
        self.logs[index].iter().cloned().for_each(|record| log.apply(record));
        let config = Config { pace: self.pace, ..config(&self.stakes, party) };
        let engine = Malachite::new(config, secret(party), log).unwrap();
        self.table.seat(Party::new(party), engine);
        self.handle(party, Input::Start);
    }

    pub(crate) fn submit(&mut self, party: u32, transaction: &[u8]) {
        self.handle(party, Input::Submit(Arc::from(transaction)));
    }

    pub(crate) fn handle(&mut self, party: u32, input: Input) {
        let (index, me) = (usize::try_from(party).unwrap(), Party::new(party));
        self.table.handle(me, input);
        while let Some(output) = self.table.poll(me) {
            if (self.death)(me, &output) {
                return self.table.clear(me);
            }
            let seen = match output {
                Output::Keep(record) | Output::Note(record) => {
                    self.logs[index].push(record);
                    Observation::Kept
                }
                Output::Do(Effect::Send { to, message }) => {
                    self.send(me, to, &message);
                    Observation::Sent(message)
                }
                Output::Do(Effect::Prefinalized { height, round, block }) => {
                    if let Some(bytes) = (self.partial)(me, height.get(), block) {
                        let engine = self.table.machine_mut(me).unwrap();
                        assert_eq!(engine.carry(bytes).is_ok(), round == 0);
                    }
                    Observation::Prefinalized(height.get(), round, block)
                }
                Output::Do(Effect::Carried { from, partial }) => {
                    Observation::Carried(from.get(), partial)
                }
                Output::Do(Effect::Finalized { block }) => {
                    let transactions = block.transactions().iter().map(|one| one.to_vec());
                    Observation::Finalized(block.height().get(), block.id(), transactions.collect())
                }
                Output::Do(Effect::Abandoned { height, round }) => {
                    Observation::Abandoned(height.get(), round)
                }
                Output::Do(Effect::Accuse { party, fault }) => {
                    Observation::Accused(party.get(), fault)
                }
                Output::Do(Effect::Refused(why)) => panic!("{me} refuses: {why}"),
                Output::Do(Effect::Halted(why)) => Observation::Halted(why),
            };
            self.seen[index].push((self.table.now(), seen));
        }
    }

    fn send(&mut self, from: Party, recipient: Recipient<Party>, message: &Message) {
        let members = u32::try_from(self.stakes.len()).unwrap();
        for to in addressees(recipient, from, members) {
            // Through bytes, as over any link.
            let bytes = borsh::to_vec(message).unwrap();
            let message: Message = borsh::from_slice(&bytes).unwrap();
            if let Some(message) = (self.rule)(from, to, message) {
                self.post(from, to, message);
            }
        }
    }

    /// Puts a message on its way.
    pub(crate) fn post(&mut self, from: Party, to: Party, message: Message) {
        self.table.plan(self.now() + DELAY, to, Input::Received { from, message });
    }

    pub(crate) fn now(&self) -> Instant {
        self.table.now()
    }

    /// Nothing happens for so long.
    pub(crate) fn pass(&mut self, span: Duration) {
        self.table.advance_to(self.table.now() + span);
    }

    /// The next thing that happens, whether a message or a deadline.
    pub(crate) fn step(&mut self) {
        let next = self.table.next(Instant::at(Duration::MAX));
        let (party, input) = next.unwrap();
        self.handle(party.get(), input);
    }

    /// Runs until these parties have decided a height.
    pub(crate) fn run_until(&mut self, parties: &[u32], height: u64) {
        let end = self.now() + Duration::from_secs(60);
        while !parties.iter().all(|party| self.decided(*party) >= height) {
            self.step();
            assert!(self.now() < end, "{parties:?} do not decide height {height}");
        }
    }

    /// The last height that a party decided.
    pub(crate) fn decided(&self, party: u32) -> u64 {
        let decided = self.of(party).iter().filter_map(|(_, seen)| match seen {
            Observation::Finalized(height, ..) => Some(*height),
            _ => None,
        });
        decided.max().unwrap_or(0)
    }

    pub(crate) fn of(&self, party: u32) -> &[(Instant, Observation)] {
        &self.seen[usize::try_from(party).unwrap()]
    }

    /// Height to block, checked to be the same at all parties and in order at each.
    pub(crate) fn blocks(&self) -> BTreeMap<u64, BlockId> {
        let mut blocks = BTreeMap::new();
        for seen in &self.seen {
            let mut last = 0;
            for (_, seen) in seen {
                let Observation::Finalized(height, block, _) = seen else { continue };
                assert!(*height == last + 1 || *height == last, "heights in order");
                last = *height;
                assert_eq!(blocks.entry(*height).or_insert(*block), block, "agreement");
            }
        }
        blocks
    }
}
