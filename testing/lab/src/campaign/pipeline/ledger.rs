//! What parties execute, and the disks that it is stored on.
use std::collections::BTreeMap;
use std::sync::OnceLock;

use ed25519_consensus::SigningKey;
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::certificate::Certificate;
use prefinal_disk::{Disk, Left};
use prefinal_execution::{
    Block, BlockId, Execution, Executor, Height, Randomness, Recovered, Store, StoreJob,
    StoreVerdict,
};
use prefinal_protocol::ChainId;
use prefinal_sim::Dice;
use prefinal_state::transfers::{
    AccountId, Action, Amount, Candidates, Nonce, SignedTransfer, Transfer, TransferDraft,
    Transfers, genesis_rows,
};
use prefinal_state::{Delta, Genesis, StateError, StateStore, View};
use redb::Builder;
use sha2::{Digest, Sha256};

use crate::failure::Failure;

/// A certificate of a state.
pub(super) type Proof = Certificate<MinSig>;

/// The block before the first one.
pub(super) const GENESIS: BlockId = BlockId::new([0; 32]);

/// The chain that transfers are signed for, and one for which none is.
const CHAINS: [ChainId; 2] = [ChainId::new([0x11; 32]), ChainId::new([0x22; 32])];

/// How many accounts pay each other.
const ACCOUNTS: u8 = 64;

/// Bytes of pages that a store keeps in memory.
const CACHE_BYTES: usize = 1 << 20;

/// Transfers, or from some height on something else.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ledger {
    /// The first height that is executed wrongly.
    wrong_from: Option<Height>,
}

impl Ledger {
    /// Executes as everybody does, or wrongly from this height on.
    pub(super) const fn new(wrong_from: Option<Height>) -> Self {
        Self { wrong_from }
    }

    /// A party that is wrong takes all transfers for those of another chain.
    fn of<T>(&self, block: &Block<T>) -> Transfers {
        let [right, wrong] = CHAINS;
        let is_wrong = self.wrong_from.is_some_and(|from| block.header.height >= from);
        Transfers::new(if is_wrong { wrong } else { right })
    }
}

impl Executor for Ledger {
    type Transaction = SignedTransfer;
    type View = View;
    type Draft = TransferDraft;
    type Delta = Delta;
    type Error = StateError;

    fn head(
        &self,
        parent: &View,
        block: &Block<SignedTransfer>,
    ) -> Result<TransferDraft, StateError> {
        self.of(block).head(parent, block)
    }

    fn tail(
        &self,
        draft: TransferDraft,
        block: &Block<SignedTransfer>,
        value: Randomness,
    ) -> Result<TransferDraft, StateError> {
        self.of(block).tail(draft, block, value)
    }

    fn seal(
        &self,
        draft: TransferDraft,
        block: &Block<SignedTransfer>,
    ) -> Result<Execution<Self>, StateError> {
        let Execution { roots, view, delta } = self.of(block).seal(draft, block)?;
        Ok(Execution { roots, view, delta })
    }
}

fn keys() -> &'static [SigningKey] {
    static KEYS: OnceLock<Vec<SigningKey>> = OnceLock::new();
    KEYS.get_or_init(|| (1..=ACCOUNTS).map(|seed| SigningKey::from([seed; 32])).collect())
}

fn account(key: &SigningKey) -> AccountId {
    AccountId::new(key.verification_key().to_bytes())
}

/// A transfer that these bytes stand for. Many of them are rejected, which is a result like any other; one of
/// three is decided by the slot's value.
pub(super) fn transfer_of(bytes: &[u8]) -> Option<SignedTransfer> {
    let [who, to, nonce, kind, amount, expires, ..] = <[u8; 32]>::from(Sha256::digest(bytes));
    let of = |number: u8| keys().get(usize::from(number % ACCOUNTS));
    let (key, to) = (of(who)?, account(of(to)?));
    let action = match kind % 3 {
        0 => Action::Draw(Candidates::new(&[to, account(key)]).ok()?),
        _ => Action::Pay { to },
    };
    let transfer = Transfer {
        sender: account(key),
        nonce: Nonce::new(u64::from(nonce % 2)),
        expires: Height::new(u64::from(expires)),
        fee: Amount::new(1),
        amount: Amount::new(amount.into()),
        action,
    };
    let [right, _] = CHAINS;
    Some(transfer.sign(right, key))
}

/// What every disk holds in the beginning.
pub(super) struct Origin {
    genesis: Genesis,
    bytes: Vec<u8>,
}

impl Origin {
    pub(super) fn new() -> Result<Self, Failure> {
        let balances: BTreeMap<AccountId, Amount> =
            keys().iter().map(|key| (account(key), Amount::new(1000))).collect();
        let rows = genesis_rows(&balances).map_err(Failure::bad_input)?;
        let genesis = Genesis { block: GENESIS, rows };
        let disk = Disk::holding(Vec::new());
        drop(open(&disk, &genesis).map_err(Failure::bad_input)?);
        Ok(Self { genesis, bytes: disk.after_crash(Left::All) })
    }
}

type LedgerStore = StateStore<Ledger, Proof>;

fn open(disk: &Disk, genesis: &Genesis) -> Result<LedgerStore, String> {
    let mut builder = Builder::new();
    let database = builder.set_cache_size(CACHE_BYTES).create_with_backend(disk.clone());
    let database = database.map_err(|error| error.to_string())?;
    LedgerStore::within(database, genesis).map_err(|error| error.to_string())
}

/// A disk with the store on it. It fails as often as is drawn, at any change.
pub(super) struct StoreDisk {
    disk: Disk,
    store: Option<LedgerStore>,
    /// How often it will fail yet.
    failures: u64,
    dice: Dice,
}

impl StoreDisk {
    pub(super) fn new(origin: &Origin, failures: u64, dice: Dice) -> Self {
        Self { disk: Disk::holding(origin.bytes.clone()), store: None, failures, dice }
    }

    /// Opens what a crash left. Sometimes the disk fails in the middle of that, and it begins again.
    pub(super) fn boot(&mut self, origin: &Origin) -> Result<Recovered<Ledger>, String> {
        // Before the store closes, which a crash does not wait for.
        self.crash();
        let during = self.failures > 0 && self.dice.below(4) == 0;
        if during {
            self.arm(20);
            match self.open(origin) {
                Ok(recovered) => return Ok(recovered),
                Err(_) => self.crash(),
            }
        }
        let recovered = self.open(origin)?;
        if self.failures > 0 {
            self.arm(250);
        }
        Ok(recovered)
    }

    fn open(&mut self, origin: &Origin) -> Result<Recovered<Ledger>, String> {
        let store = self.store.insert(open(&self.disk, &origin.genesis)?);
        store.recover().map_err(|error| error.to_string())
    }

    fn arm(&mut self, most: u64) {
        self.failures -= 1;
        self.disk.fail_after_changes(usize::try_from(self.dice.below(most)).unwrap_or(0));
    }

    fn crash(&mut self) {
        let left = match self.dice.below(3) {
            0 => Left::Nothing,
            1 => Left::All,
            _ => Left::Torn(self.dice.below(u64::MAX)),
        };
        let bytes = self.disk.after_crash(left);
        self.store = None;
        self.disk = Disk::holding(bytes);
    }

    /// Makes the call. `None` if nothing is open, which no job outlives.
    pub(super) fn run(&mut self, job: &StoreJob<Ledger, Proof>) -> Option<StoreVerdict> {
        self.store.as_mut().map(|store| job.run(store))
    }
}
