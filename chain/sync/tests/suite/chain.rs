//! A chain of transfers with three epochs, made once: blocks, certificates, endings.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use ed25519_consensus::SigningKey;
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::{self, SecretKey};
use prefinal_crypto_core::bls::{Domain, MinSig};
use prefinal_crypto_core::certificate::{Certificate, Signers, StateStatement};
use prefinal_crypto_core::drand::RoundNumber;
use prefinal_execution::{
    Block, BlockId, Execution, Executor, Header, Height, Part, Randomness, Roots, Store,
};
use prefinal_light::{
    BeaconVerifier, Binding, CertifiedBlock, EpochEnding, EpochRow, Member, MemberList,
    StakeVerifier, Waypoint,
};
use prefinal_protocol::{ChainId, EpochId, Slot, Value};
use prefinal_state::transfers::{
    AccountId, Action, Amount, Candidates, Nonce, SignedTransfer, Transfer, Transfers, genesis_rows,
};
use prefinal_state::{Genesis, ProvenPlace, StateStore, StoredTransaction};
use prefinal_sync::{Attestation, BlockNames, HashedNames};
use redb::backends::InMemoryBackend;
use redb::{Builder, StorageBackend};

pub(crate) type Cert = Certificate<MinSig>;
pub(crate) type TestStore = StateStore<Transfers, Attestation<Cert>>;

pub(crate) const CHAIN: ChainId = ChainId::new([7; 32]);
pub(crate) const EXECUTOR: Transfers = Transfers::new(CHAIN);
/// The height of the last block that the chain has.
pub(crate) const TIP: u64 = 24;
/// The height of a block without transactions.
pub(crate) const EMPTY: u64 = 3;
/// A transaction of this block reads the slot's value.
pub(crate) const DRAW: u64 = 5;
/// Heights at which epochs 1 and 2 begin.
pub(crate) const EPOCHS: [u64; 2] = [9, 17];
const ACCOUNTS: u64 = 40;
/// Slots may be empty: the block at height `h` is in slot `3h`.
const SLOTS: u64 = 3;

pub(crate) struct Chain {
    pub(crate) store: TestStore,
    pub(crate) endings: BTreeMap<EpochId, EpochEnding>,
    /// The places of the blocks, from the first one on.
    pub(crate) places: Vec<ProvenPlace>,
    /// Of the first epoch.
    trust: StakeVerifier,
    pub(crate) genesis: Genesis,
}

fn secret(number: u64) -> SecretKey {
    let mut seed = [3; 32];
    seed[..8].copy_from_slice(&number.to_be_bytes());
    let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::from_seed(seed);
    SecretKey::random(&mut rng)
}

/// The key that signs the values of slots.
fn beacon_key() -> SecretKey {
    secret(1000)
}

pub(crate) fn beacon() -> BeaconVerifier {
    let binding = Binding::Rounds { first: Slot::new(1) };
    BeaconVerifier { key: beacon_key().public_key(), binding }
}

/// Members by their numbers. Each epoch has another one.
fn committee(epoch: u64) -> Vec<u64> {
    (0..4 + epoch).collect()
}

fn members(epoch: u64) -> MemberList {
    let member = |number: &u64| {
        let secret = secret(*number);
        Member { key: secret.public_key(), possession: secret.prove_possession(), stake: 10 }
    };
    MemberList { members: committee(epoch).iter().map(member).collect() }
}

fn signer(number: u64) -> SigningKey {
    let mut seed = [1; 32];
    seed[..8].copy_from_slice(&number.to_be_bytes());
    SigningKey::from(seed)
}

fn account(number: u64) -> AccountId {
    AccountId::new(signer(number).verification_key().to_bytes())
}

fn transfer(sender: u64, nonce: u64, action: Action) -> SignedTransfer {
    let transfer = Transfer {
        sender: account(sender),
        nonce: Nonce::new(nonce),
        expires: Height::new(u64::MAX),
        fee: Amount::new(2),
        amount: Amount::new(nonce + 1),
        action,
    };
    transfer.sign(CHAIN, &signer(sender))
}

fn transactions(height: u64) -> Vec<SignedTransfer> {
    if height == EMPTY {
        return Vec::new();
    }
    let nonce = height - 1 - u64::from(height > EMPTY);
    let mut all: Vec<SignedTransfer> = (0..3)
        .map(|sender| {
            let to = account(ACCOUNTS + 3 * height + sender);
            transfer(sender, nonce, Action::Pay { to })
        })
        .collect();
    if height == DRAW {
        let candidates = [account(20), account(21), account(99)];
        all.push(transfer(10, 0, Action::Draw(Candidates::new(&candidates).unwrap())));
    }
    all
}

pub(crate) fn epoch(height: u64) -> u64 {
    EPOCHS.iter().filter(|first| height >= **first).count() as u64
}

/// The certificate of a block of this epoch's committee, of three quarters of the stake at least.
pub(crate) fn certify(header: &Header, roots: Roots, epoch: u64) -> Cert {
    let value = Value::new(header.id.to_bytes());
    let (id, slot) = (EpochId::new(epoch), header.slot);
    let block = CertifiedBlock { epoch: id, slot, value, roots, certificate: () };
    let message = block.statement(CHAIN).to_bytes();
    let all = committee(epoch);
    let signing = &all[1..];
    let signatures: Vec<min_sig::Signature> = signing
        .iter()
        .map(|number| secret(*number).sign(StateStatement::DOMAIN, &message))
        .collect();
    let parties: BTreeSet<Party> = signing.iter().map(|at| Party::new(*at as u32)).collect();
    let signers = Signers::new(all.len(), parties).unwrap();
    Certificate { signers, signature: min_sig::aggregate(&signatures).unwrap() }
}

pub(crate) fn open(backend: impl StorageBackend, genesis: &Genesis) -> TestStore {
    let database = Builder::new().create_with_backend(backend).unwrap();
    TestStore::within(database, genesis).unwrap()
}

pub(crate) fn chain() -> &'static Chain {
    static CHAIN: OnceLock<Chain> = OnceLock::new();
    CHAIN.get_or_init(make)
}

fn make() -> Chain {
    let balances: BTreeMap<AccountId, Amount> =
        (0..ACCOUNTS).map(|number| (account(number), Amount::new(1_000_000))).collect();
    let mut rows = genesis_rows(&balances).unwrap();
    let row = |epoch: u64| {
        let first = epoch.checked_sub(1).map_or(1, |at| SLOTS * EPOCHS[at as usize]);
        EpochRow::new(EpochId::new(epoch), Slot::new(first), &members(epoch))
    };
    for epoch in [1, 2] {
        rows.insert(row(epoch).key(), row(epoch).to_row().as_slice().into());
    }
    let genesis = Genesis { block: BlockId::new([0; 32]), rows };
    let mut store = open(InMemoryBackend::new(), &genesis);
    let (mut endings, mut places) = (BTreeMap::new(), Vec::new());
    for height in 1..=TIP {
        let (attested, place) = commit(&mut store, height);
        places.push(place);
        // The next committee was announced long before the epoch ends.
        let (here, next) = (epoch(height), epoch(height) + 1);
        if next <= 2 && !endings.contains_key(&EpochId::new(here)) {
            let proof = store.prove(&row(next).key()).unwrap().proof;
            let changes = members(here).changes_to(&members(next)).unwrap();
            let ending = EpochEnding { block: attested, first: row(next).first, changes, proof };
            endings.insert(EpochId::new(here), ending);
        }
    }
    let waypoint = Waypoint { chain: CHAIN, epoch: row(0) };
    let trust = StakeVerifier::new(&waypoint, &members(0)).unwrap();
    Chain { store, endings, places, trust, genesis }
}

fn commit(store: &mut TestStore, height: u64) -> (CertifiedBlock<Cert>, ProvenPlace) {
    let parent = store.committed().unwrap().block;
    let slot = Slot::new(SLOTS * height);
    let mut header = Header { id: parent, parent, height: Height::new(height), slot };
    let signed = transactions(height);
    let encoded: Vec<Vec<u8>> = signed.iter().map(StoredTransaction::to_bytes).collect();
    let content = HashedNames.content(&encoded);
    header.id = HashedNames.name(&header, &content);
    let block = Block::new(header, signed);
    let mut draft = EXECUTOR.head(&store.view().unwrap(), &block).unwrap();
    let mut randomness = None;
    if block.part(Part::Tail).next().is_some() {
        let round = RoundNumber::new(slot.get()).unwrap();
        let signature = beacon_key().sign(Domain::BASIC, &round.message());
        let value = beacon().verify(slot, &signature).unwrap();
        draft = EXECUTOR.tail(draft, &block, Randomness::new(*value.as_bytes())).unwrap();
        randomness = Some(signature);
    }
    let execution: Execution<Transfers> = EXECUTOR.seal(draft, &block).unwrap();
    let (roots, epoch) = (execution.roots, EpochId::new(epoch(height)));
    let certificate = certify(&header, roots, epoch.get());
    let attestation = Attestation { epoch, certificate, content, place: None, randomness };
    store.write_certified(&block, &execution, &attestation).unwrap();
    let value = Value::new(header.id.to_bytes());
    let certificate = attestation.certificate;
    let certified = CertifiedBlock { epoch, slot, value, roots, certificate };
    (certified, execution.delta.place().unwrap())
}

impl Chain {
    pub(crate) fn trust(&self) -> StakeVerifier {
        self.trust.clone()
    }
}
