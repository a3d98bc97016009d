//! Where the time of a block goes: 1000 transfers among 100 000 accounts, on a file.
//!
//! | row          | what happens                                                              |
//! |--------------|---------------------------------------------------------------------------|
//! | `signatures` | 1000 signatures, in batches as executing verifies them, on one thread      |
//! | `execute`    | the block's head and seal: signatures, accounts, payments, the state's root |
//! | `tree`       | the state's root alone: the block's changed rows put into the tree         |
//! | `write`      | the executed block written as optimistic, durable                         |
//! | `certify`    | its mark turned, durable                                                  |
//! | `block`      | all of it                                                                 |
//! | `proof`      | 1000 rows of the state, each with its proof                               |
//!
//! And the same `execute`, `write` and `block` for EVM transfers. All rows are
//! processor time of the whole process, so other programs and the disk do not matter. On standard error: bytes,
//! syncs and time by the wall of a write and of a mark.
#![expect(clippy::unwrap_used, reason = "a bench that cannot be set up must not give figures")]
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{Criterion, Throughput};
use ed25519_consensus::{SigningKey, VerificationKeyBytes, batch};
use prefinal_execution::{Block, BlockId, Execution, Executor, Header, Height, Store};
use prefinal_protocol::{ChainId, Slot};
use prefinal_rows::Clock;
use prefinal_state::evm::{
    self, Envelope, Evm, EvmRules, SignedEnvelope, Target, U256, address_of,
};
use prefinal_state::transfers::{
    AccountId, Action, Amount, Nonce, SignedTransfer, Transfer, Transfers, genesis_rows,
};
use prefinal_state::{Delta, Genesis, Pending, StateStore, StoredTransaction, View};
use redb::backends::FileBackend;
use redb::{Builder, StorageBackend};

const ACCOUNTS: u64 = 100_000;
const TRANSACTIONS: u64 = 1000;
const CHAIN: ChainId = ChainId::new([7; 32]);
const RULES: EvmRules = EvmRules {
    chain: CHAIN,
    chain_number: 7,
    gas_price: 1,
    block_gas: u64::MAX,
    declared_gas: 200_000,
};

/// Bytes and syncs that reached the file.
#[derive(Debug, Default)]
struct Counts {
    bytes: AtomicU64,
    syncs: AtomicU64,
}

#[derive(Debug)]
struct Counting(FileBackend, Arc<Counts>);

impl StorageBackend for Counting {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }
    fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.1.syncs.fetch_add(1, Ordering::Relaxed);
        self.0.sync_data()
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let bytes = u64::try_from(data.len()).unwrap();
        self.1.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.0.write(offset, data)
    }
}

fn key(number: u64) -> SigningKey {
    let mut seed = [1; 32];
    seed.iter_mut().zip(number.to_be_bytes()).for_each(|(place, byte)| *place = byte);
    SigningKey::from(seed)
}

fn public(number: u64) -> [u8; 32] {
    key(number).verification_key().to_bytes()
}

/// A chain that grows by a block at a time.
struct Chain<X: Executor> {
    executor: X,
    store: StateStore<X, Vec<u8>>,
    counts: Arc<Counts>,
    height: u64,
    sign: fn(sender: u64, receiver: u64, nonce: u64) -> X::Transaction,
    _folder: tempfile::TempDir,
}

impl<X> Chain<X>
where
    X: Executor<View = View, Delta = Delta>,
    X::Transaction: StoredTransaction,
{
    fn new(executor: X, genesis: &Genesis, sign: fn(u64, u64, u64) -> X::Transaction) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.redb");
        let options =
            OpenOptions::new().read(true).write(true).create_new(true).open(path).unwrap();
        let counts = Arc::new(Counts::default());
        let backend = Counting(FileBackend::new(options).unwrap(), Arc::clone(&counts));
        let database = Builder::new().create_with_backend(backend).unwrap();
        let store = StateStore::within(database, genesis).unwrap();
        Self { executor, store, counts, height: 0, sign, _folder: folder }
    }

    /// The next block: 1000 senders pay 1000 others. Every account sends once in 100 blocks.
    fn next(&mut self) -> Block<X::Transaction> {
        let turn = self.height % (ACCOUNTS / TRANSACTIONS);
        let nonce = self.height / (ACCOUNTS / TRANSACTIONS);
        let senders = turn * TRANSACTIONS..(turn + 1) * TRANSACTIONS;
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

    fn commit(&mut self, block: &Block<X::Transaction>, execution: &Execution<X>) {
        self.store.write_optimistic(block, execution).unwrap();
        self.certify(block);
    }

    fn certify(&mut self, block: &Block<X::Transaction>) {
        self.store.certify(&block.header, &vec![5; 192]).unwrap();
        self.store.prune(Height::new(self.height.saturating_sub(10)), 10).unwrap();
    }

    fn rows(&mut self, criterion: &mut Bench, name: &str) {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(TRANSACTIONS)).sample_size(20);
        group.bench_function("execute", |bencher| {
            let block = self.next();
            bencher.iter(|| self.execute(&block));
            let execution = self.execute(&block);
            self.commit(&block, &execution);
        });
        group.bench_function("write", |bencher| {
            bencher.iter_custom(|times| {
                self.timed(times, |chain, block, execution| {
                    chain.store.write_optimistic(block, execution).unwrap();
                })
            });
        });
        group.bench_function("block", |bencher| {
            bencher.iter_custom(|times| {
                let mut spent = Duration::ZERO;
                for _ in 0..times {
                    let block = self.next();
                    let start = ProcessorTime.start();
                    let execution = self.execute(&block);
                    self.store.write_optimistic(&block, &execution).unwrap();
                    self.store.certify(&block.header, &vec![5; 192]).unwrap();
                    spent += ProcessorTime.end(start);
                    let to = Height::new(self.height.saturating_sub(10));
                    self.store.prune(to, 10).unwrap();
                }
                spent
            });
        });
        group.finish();
    }

    fn timed(
        &mut self,
        times: u64,
        act: impl Fn(&mut Self, &Block<X::Transaction>, &Execution<X>),
    ) -> Duration {
        let mut spent = Duration::ZERO;
        for _ in 0..times {
            let block = self.next();
            let execution = self.execute(&block);
            let start = ProcessorTime.start();
            act(self, &block, &execution);
            spent += ProcessorTime.end(start);
            self.certify(&block);
        }
        spent
    }
}

/// A clock of the process's own computing time, all threads together.
#[derive(Clone, Copy, Debug)]
struct ProcessorTime;

type Bench = Criterion<ProcessorTime>;

impl Measurement for ProcessorTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        Clock::Process.now()
    }

    fn end(&self, start: Duration) -> Duration {
        self.start() - start
    }

    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    #[expect(clippy::cast_precision_loss, clippy::as_conversions, reason = "a bench rounds")]
    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
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

fn transfers(criterion: &mut Bench) {
    let balances: BTreeMap<AccountId, Amount> = (0..ACCOUNTS)
        .map(|number| (AccountId::new(public(number)), Amount::new(1_000_000)))
        .collect();
    let block = BlockId::new([0; 32]);
    let genesis = Genesis { block, rows: genesis_rows(&balances).unwrap() };
    let mut chain = Chain::new(Transfers::new(CHAIN), &genesis, transfer);
    chain.rows(criterion, "transfers");
    signatures(criterion);
    parts(criterion, &mut chain);
    report(&mut chain, "transfers");
}

fn signatures(criterion: &mut Bench) {
    let mut group = criterion.benchmark_group("transfers");
    group.throughput(Throughput::Elements(TRANSACTIONS)).sample_size(20);
    group.bench_function("signatures", |bencher| {
        let signed: Vec<_> = (0..TRANSACTIONS)
            .map(|number| {
                let digest = [u8::try_from(number % 251).unwrap(); 32];
                let key = key(number);
                (VerificationKeyBytes::from(public(number)), key.sign(&digest), digest)
            })
            .collect();
        bencher.iter(|| {
            for part in signed.chunks(64) {
                let mut verifier = batch::Verifier::new();
                part.iter().for_each(|(key, signature, digest)| {
                    verifier.queue((*key, *signature, digest));
                });
                verifier.verify(Counter(0)).unwrap();
            }
        });
    });
    group.finish();
}

fn parts(criterion: &mut Bench, chain: &mut Chain<Transfers>) {
    let mut group = criterion.benchmark_group("transfers");
    group.throughput(Throughput::Elements(TRANSACTIONS)).sample_size(20);
    group.bench_function("tree", |bencher| {
        let block = chain.next();
        let execution = chain.execute(&block);
        let view = chain.store.view().unwrap();
        bencher.iter(|| {
            let mut pending = Pending::new(&view, &block.header);
            pending.apply(execution.delta.changes().clone()).unwrap();
            pending
        });
        chain.commit(&block, &execution);
    });
    group.bench_function("certify", |bencher| {
        bencher.iter_custom(|times| {
            let mut spent = Duration::ZERO;
            for _ in 0..times {
                let block = chain.next();
                let execution = chain.execute(&block);
                chain.store.write_optimistic(&block, &execution).unwrap();
                let start = ProcessorTime.start();
                chain.store.certify(&block.header, &vec![5; 192]).unwrap();
                spent += ProcessorTime.end(start);
                let to = Height::new(chain.height.saturating_sub(10));
                chain.store.prune(to, 10).unwrap();
            }
            spent
        });
    });
    group.bench_function("proof", |bencher| {
        let view = chain.store.view().unwrap();
        let keys: Vec<_> =
            (0..TRANSACTIONS).map(|number| AccountId::new(public(number)).key()).collect();
        bencher.iter(|| {
            for key in &keys {
                black_box(view.prove(key).unwrap());
            }
        });
    });
    group.finish();
}

fn report<X>(chain: &mut Chain<X>, name: &str)
where
    X: Executor<View = View, Delta = Delta>,
    X::Transaction: StoredTransaction,
{
    let counts = Arc::clone(&chain.counts);
    let count = || (counts.bytes.load(Ordering::Relaxed), counts.syncs.load(Ordering::Relaxed));
    let (mut writes, mut marks) = (Vec::new(), Vec::new());
    for _ in 0..20 {
        let block = chain.next();
        let execution = chain.execute(&block);
        let before = (count(), Clock::Wall.now());
        chain.store.write_optimistic(&block, &execution).unwrap();
        let written = (count(), Clock::Wall.now());
        chain.store.certify(&block.header, &vec![5; 192]).unwrap();
        let marked = (count(), Clock::Wall.now());
        for (rows, from, to) in [(&mut writes, before, written), (&mut marks, written, marked)] {
            rows.push((to.1 - from.1, to.0.0 - from.0.0, to.0.1 - from.0.1));
        }
    }
    for (what, rows) in [("write", &mut writes), ("mark", &mut marks)] {
        rows.sort_unstable();
        let (least, middle) = (rows.first().unwrap(), rows.get(10).unwrap());
        eprintln!(
            "{name}: a {what} takes {} bytes, {} syncs, {:?} at least and {:?} in the middle",
            middle.1, middle.2, least.0, middle.0,
        );
    }
}

fn evm_transfers(criterion: &mut Bench) {
    let balances: BTreeMap<_, _> = (0..ACCOUNTS)
        .map(|number| (address_of(&public(number)), U256::from(1_000_000_000_u64)))
        .collect();
    let genesis = Genesis { block: BlockId::new([0; 32]), rows: evm::genesis_rows(&balances) };
    let mut chain = Chain::new(Evm::new(RULES), &genesis, envelope);
    chain.rows(criterion, "evm");
    report(&mut chain, "evm");
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
    let mut criterion = Criterion::default().with_measurement(ProcessorTime).configure_from_args();
    transfers(&mut criterion);
    evm_transfers(&mut criterion);
    criterion.final_summary();
}
