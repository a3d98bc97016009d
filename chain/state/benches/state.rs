//! Transactions a second to durable state, and where the time goes: blocks of 1000 transfers among 100 000
//! accounts, on a file, in real time.
//!
//! | row          | what happens                                                                     |
//! |--------------|----------------------------------------------------------------------------------|
//! | `block`      | a block is executed, written as optimistic and certified; the limit executes it alone |
//! | `signatures` | 1000 signatures, in batches as executing verifies them, on one thread               |
//! | `tree`       | the state's root alone: the block's changed rows put into the tree                  |
//! | `write`      | the executed block written as optimistic, durable                                  |
//! | `certify`    | its mark turned, durable                                                           |
//! | `proof`      | 1000 rows of the state, each with its proof                                        |
//!
//! `time` is processor time of the whole process, all threads together, so other programs do not matter.
//! `elapsed` and `throughput` are by the wall, waiting for the disk included. Four validators share the machine:
//! each has its own file and executes every block.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a bench that cannot be set up must not give figures"
)]
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

use ed25519_consensus::{SigningKey, VerificationKeyBytes, batch};
use prefinal_execution::{Block, BlockId, Execution, Executor, Header, Height, Store};
use prefinal_protocol::{ChainId, Slot};
use prefinal_rows::{Clock, LIMIT, Meter, OURS, Options, Sheet};
use prefinal_state::evm::{
    self, Envelope, Evm, EvmRules, SignedEnvelope, Target, U256, address_of,
};
use prefinal_state::proof::StateKey;
use prefinal_state::transfers::{
    AccountId, Action, Amount, Nonce, SignedTransfer, Transfer, Transfers, genesis_rows,
};
use prefinal_state::{Genesis, Pending, Row, StateExecutor, StateStore};

const TRANSACTIONS: u32 = 1000;
const CHAIN: ChainId = ChainId::new([7; 32]);
const RULES: EvmRules = EvmRules {
    chain: CHAIN,
    chain_number: 7,
    gas_price: 1,
    block_gas: u64::MAX,
    declared_gas: 200_000,
};

fn key(number: u64) -> SigningKey {
    let mut seed = [1; 32];
    seed.iter_mut().zip(number.to_be_bytes()).for_each(|(place, byte)| *place = byte);
    SigningKey::from(seed)
}

fn public(number: u64) -> [u8; 32] {
    key(number).verification_key().to_bytes()
}

/// How many accounts a chain has.
const ACCOUNTS: u64 = 100_000;

/// A chain that grows by a block at a time.
struct Chain<X: Executor> {
    executor: X,
    store: StateStore<X, Vec<u8>>,
    height: u64,
    sign: fn(sender: u64, receiver: u64, nonce: u64) -> X::Transaction,
    _folder: tempfile::TempDir,
}

/// The state in the beginning, in a file.
struct Origin {
    genesis: Genesis,
    folder: tempfile::TempDir,
}

impl Origin {
    fn new<X>(rows: BTreeMap<StateKey, Row>) -> Self
    where
        X: StateExecutor,
    {
        let folder = tempfile::tempdir().unwrap();
        let genesis = Genesis { block: BlockId::new([0; 32]), rows };
        let file = folder.path().join("state.redb");
        drop(StateStore::<X, Vec<u8>>::create(&file, &genesis).unwrap());
        Self { genesis, folder }
    }
}

/// What the stages of blocks took, by one clock.
#[derive(Clone, Copy, Default)]
struct Spent {
    execute: Duration,
    write: Duration,
    certify: Duration,
}

impl Spent {
    fn all(self) -> Duration {
        self.execute + self.write + self.certify
    }
}

impl<X> Chain<X>
where
    X: StateExecutor,
{
    /// A chain whose file begins as a copy of this one.
    fn new(executor: X, origin: &Origin, sign: fn(u64, u64, u64) -> X::Transaction) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state.redb");
        std::fs::copy(origin.folder.path().join("state.redb"), &file).unwrap();
        let store = StateStore::open(&file, &origin.genesis).unwrap();
        Self { executor, store, height: 0, sign, _folder: folder }
    }

    /// The next block: 1000 senders pay 1000 others, each once in a round of all accounts.
    fn next(&mut self) -> Block<X::Transaction> {
        let (all, each) = (ACCOUNTS / u64::from(TRANSACTIONS), u64::from(TRANSACTIONS));
        let (turn, nonce) = (self.height % all, self.height / all);
        let senders = turn * each..(turn + 1) * each;
        let all = senders.map(|sender| {
            // A stride without a common divisor: receivers are spread over all accounts.
            let receiver = (sender * 7919 + self.height * 31 + 1) % ACCOUNTS;
            (self.sign)(sender, receiver, nonce)
        });
        let transactions: Vec<X::Transaction> = all.collect();
        let parent = self.store.committed().unwrap().block;
        self.height += 1;
        let mut id = [3; 32];
        id.iter_mut().zip(self.height.to_be_bytes()).for_each(|(place, byte)| *place = byte);
        let (height, slot) = (Height::new(self.height), Slot::new(self.height));
        Block::new(Header { id: BlockId::new(id), parent, height, slot }, transactions)
    }

    fn execute(&self, block: &Block<X::Transaction>) -> Execution<X> {
        let draft = self.executor.head(&self.store.view().unwrap(), block).unwrap();
        self.executor.seal(draft, block).unwrap()
    }

    /// Takes a block to durable, certified state; says by both clocks what that took.
    fn commit(&mut self, block: &Block<X::Transaction>) -> [Spent; 2] {
        let now = || [Clock::Process, Clock::Wall].map(Clock::now);
        let start = now();
        let execution = self.execute(block);
        let executed = now();
        self.store.write_optimistic(block, &execution).unwrap();
        let written = now();
        self.store.certify(&block.header, &vec![5; 192]).unwrap();
        let certified = now();
        self.store.prune(Height::new(block.header.height.get().saturating_sub(10)), 10).unwrap();
        [0, 1].map(|clock| Spent {
            execute: executed[clock] - start[clock],
            write: written[clock] - executed[clock],
            certify: certified[clock] - written[clock],
        })
    }
}

/// One validator: means of all blocks.
fn alone<X>(chain: &mut Chain<X>, sheet: &mut Sheet, name: &str, blocks: u32)
where
    X: StateExecutor,
{
    let mut sums = [Spent::default(); 2];
    for _ in 0..blocks {
        let block = chain.next();
        for (sum, spent) in sums.iter_mut().zip(chain.commit(&block)) {
            sum.execute += spent.execute;
            sum.write += spent.write;
            sum.certify += spent.certify;
        }
    }
    let [processor, wall] = sums;
    let case = format!("{name}, 1 validator");
    sheet
        .of("state::block", &case)
        .time(OURS, processor.all() / blocks)
        .time(LIMIT, processor.execute / blocks)
        .put(OURS, "elapsed", milliseconds(wall.all() / blocks), "ms")
        .put(LIMIT, "elapsed", milliseconds(wall.execute / blocks), "ms")
        .put(OURS, "throughput", per_second(wall.all(), blocks), "1/s")
        .put(LIMIT, "throughput", per_second(wall.execute, blocks), "1/s");
    for (operation, processor, wall) in [
        ("state::write", processor.write, wall.write),
        ("state::certify", processor.certify, wall.certify),
    ] {
        let elapsed = milliseconds(wall / blocks);
        let rows = sheet.of(operation, &case).time(OURS, processor / blocks);
        rows.put(OURS, "elapsed", elapsed, "ms");
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn per_second(spent: Duration, blocks: u32) -> f64 {
    f64::from(TRANSACTIONS * blocks) / spent.as_secs_f64()
}

/// Four validators with a file each, which all execute every block at once.
fn together<X>(chains: &mut [Chain<X>], sheet: &mut Sheet, name: &str, blocks: u32)
where
    X: StateExecutor,
{
    let (mut wall, mut processor) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..blocks {
        let next: Vec<_> = chains.iter_mut().map(Chain::next).collect();
        let start = [Clock::Process, Clock::Wall].map(Clock::now);
        std::thread::scope(|scope| {
            for (chain, block) in chains.iter_mut().zip(&next) {
                scope.spawn(move || chain.commit(block));
            }
        });
        processor += Clock::Process.now() - start[0];
        wall += Clock::Wall.now() - start[1];
    }
    let case = format!("{name}, {} validators", chains.len());
    sheet
        .of("state::block", &case)
        .time(OURS, processor / blocks)
        .put(OURS, "elapsed", milliseconds(wall / blocks), "ms")
        .put(OURS, "throughput", per_second(wall, blocks), "1/s");
}

fn transfer(sender: u64, receiver: u64, nonce: u64) -> SignedTransfer {
    let transfer = Transfer {
        sender: AccountId::new(public(sender)),
        nonce: Nonce::new(nonce),
        expires: Height::new(u64::MAX),
        fee: Amount::new(1),
        amount: Amount::new(10),
        action: Action::Pay { to: AccountId::new(public(receiver)) },
    };
    transfer.sign(CHAIN, &key(sender))
}

fn envelope(from: u64, to: u64, nonce: u64) -> SignedEnvelope {
    let envelope = Envelope {
        declares: false,
        key: public(from),
        nonce: Nonce::new(nonce),
        expires: Height::new(u64::MAX),
        gas_limit: 21_000,
        most_gas_price: 1,
        value: U256::from(10),
        target: Target::Call(address_of(&public(to))),
        input: evm::Bytes::new(),
    };
    envelope.sign(CHAIN, &key(from)).unwrap()
}

const VALIDATORS: usize = 4;

fn transfers(sheet: &mut Sheet, meter: &Meter, blocks: u32) {
    let balances: BTreeMap<AccountId, Amount> = (0..ACCOUNTS)
        .map(|number| (AccountId::new(public(number)), Amount::new(1_000_000)))
        .collect();
    let origin = Origin::new::<Transfers>(genesis_rows(&balances).unwrap());
    let chain = || Chain::new(Transfers::new(CHAIN), &origin, transfer);
    let mut one = chain();
    alone(&mut one, sheet, "transfers", blocks);
    signatures(sheet, meter);
    tree(&mut one, sheet, meter, "transfers");
    proofs(&one, sheet, meter);
    drop(one);
    let mut all: Vec<_> = std::iter::repeat_with(chain).take(VALIDATORS).collect();
    together(&mut all, sheet, "transfers", blocks);
}

fn evm_transfers(sheet: &mut Sheet, meter: &Meter, blocks: u32) {
    let balances: BTreeMap<_, _> = (0..ACCOUNTS)
        .map(|number| (address_of(&public(number)), U256::from(1_000_000_000_u64)))
        .collect();
    let origin = Origin::new::<Evm>(evm::genesis_rows(&balances));
    let chain = || Chain::new(Evm::new(RULES), &origin, envelope);
    let mut one = chain();
    alone(&mut one, sheet, "evm", blocks);
    tree(&mut one, sheet, meter, "evm");
    drop(one);
    let mut all: Vec<_> = std::iter::repeat_with(chain).take(VALIDATORS).collect();
    together(&mut all, sheet, "evm", blocks);
}

/// The signatures of a block, without anything else.
fn signatures(sheet: &mut Sheet, meter: &Meter) {
    let signed: Vec<_> = (0..TRANSACTIONS)
        .map(|number| {
            let digest = [u8::try_from(number % 251).unwrap(); 32];
            let number = number.into();
            (VerificationKeyBytes::from(public(number)), key(number).sign(&digest), digest)
        })
        .collect();
    let signatures = meter.least(|| {
        for part in signed.chunks(64) {
            let mut verifier = batch::Verifier::new();
            part.iter().for_each(|(key, signature, digest)| {
                verifier.queue((*key, *signature, digest));
            });
            verifier.verify(Counter(0)).unwrap();
        }
    });
    sheet.of("state::signatures", "1 validator").time(OURS, signatures);
}

/// The root of the next block's state.
fn tree<X>(chain: &mut Chain<X>, sheet: &mut Sheet, meter: &Meter, name: &str)
where
    X: StateExecutor,
{
    let block = chain.next();
    let execution = chain.execute(&block);
    let view = chain.store.view().unwrap();
    let tree = meter.least(|| {
        let mut pending = Pending::new(&view, &block.header);
        pending.apply(execution.delta.changes().clone()).unwrap();
        pending
    });
    sheet.of("state::tree", &format!("{name}, 1 validator")).time(OURS, tree);
}

fn proofs(chain: &Chain<Transfers>, sheet: &mut Sheet, meter: &Meter) {
    let view = chain.store.view().unwrap();
    let keys: Vec<_> =
        (0..TRANSACTIONS).map(|number| AccountId::new(public(number.into())).key()).collect();
    let proofs = meter.least(|| {
        for key in &keys {
            black_box(view.prove(key).unwrap());
        }
    });
    sheet.of("state::proof", "transfers, 1 validator").time(OURS, proofs);
}

/// Weights of a batch, as good as any for measuring.
struct Counter(u64);

impl rand_core_for_ed25519::RngCore for Counter {
    fn next_u32(&mut self) -> u32 {
        u32::try_from(self.next_u64() >> 32).unwrap()
    }
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        self.0
    }
    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        for part in bytes.chunks_mut(8) {
            for (byte, drawn) in part.iter_mut().zip(self.next_u64().to_be_bytes()) {
                *byte = drawn;
            }
        }
    }
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), rand_core_for_ed25519::Error> {
        self.fill_bytes(bytes);
        Ok(())
    }
}

impl rand_core_for_ed25519::CryptoRng for Counter {}

fn main() {
    let options = Options::from_command_line();
    let blocks = if options.quick { 5 } else { 50 };
    let command = "cargo bench -p prefinal-state --features evm --bench state";
    let mut sheet = Sheet::new("state", command);
    let meter = Meter::new(&options, Clock::Process);
    transfers(&mut sheet, &meter, blocks);
    evm_transfers(&mut sheet, &meter, blocks);
    sheet.finish(&options).unwrap();
}
