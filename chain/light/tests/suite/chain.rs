//! A chain with real state: committees that announce each other, blocks, and whatever a client asks for.
use std::collections::{BTreeMap, BTreeSet};

use ed25519_consensus::SigningKey;
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::bls::min_sig::{self, SecretKey};
use prefinal_crypto_core::certificate::{Certificate, Signers, StateStatement};
use prefinal_execution::{Block, BlockId, Execution, Header, Height, Roots, Store};
use prefinal_light::{
    CertifiedBlock, Claim, EpochEnding, EpochRow, Member, MemberChanges, MemberList, StakeVerifier,
    Waypoint,
};
use prefinal_protocol::{ChainId, EpochId, Slot, Value};
use prefinal_state::transfers::{
    AccountId, Action, Amount, Nonce, SignedTransfer, Transfer, Transfers, genesis_rows,
};
use prefinal_state::{Genesis, Pending, StateStore};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use redb::Builder;
use redb::backends::InMemoryBackend;

pub(crate) const CHAIN: ChainId = ChainId::new([7; 32]);
pub(crate) const EXECUTOR: Transfers = prefinal_state::transfers::Transfers::new(CHAIN);
/// Slots of an epoch.
pub(crate) const EPOCH: u64 = 10;

/// A member's secret key.
pub(crate) fn secret(number: u64) -> SecretKey {
    SecretKey::random(&mut ChaCha20Rng::seed_from_u64(number))
}

pub(crate) fn member(number: u64, stake: u128) -> Member {
    let secret = secret(number);
    Member { key: secret.public_key(), possession: secret.prove_possession(), stake }
}

pub(crate) fn signer(number: u64) -> SigningKey {
    let mut seed = [1; 32];
    seed[..8].copy_from_slice(&number.to_be_bytes());
    SigningKey::from(seed)
}

pub(crate) fn account(number: u64) -> AccountId {
    AccountId::new(signer(number).verification_key().to_bytes())
}

pub(crate) fn pay(sender: u64, nonce: u64, to: u64, amount: u64) -> SignedTransfer {
    let transfer = Transfer {
        sender: account(sender),
        nonce: Nonce::new(nonce),
        expires: Height::new(u64::MAX),
        fee: Amount::new(2),
        amount: Amount::new(amount),
        action: Action::Pay { to: account(to) },
    };
    transfer.sign(CHAIN, &signer(sender))
}

pub(crate) struct Chain {
    pub(crate) store: StateStore<Transfers, Vec<u8>>,
    /// Each member's secret key, by its number.
    pub(crate) secrets: Vec<u64>,
    pub(crate) members: MemberList,
    pub(crate) epoch: u64,
    pub(crate) first: u64,
    pub(crate) slot: u64,
    roots: Roots,
}

impl Chain {
    /// A chain whose first committee has these stakes, and so many accounts with 1000 each.
    pub(crate) fn new(stakes: &[u128], accounts: u64) -> Self {
        let secrets: Vec<u64> = (0..stakes.len() as u64).collect();
        let members = secrets.iter().zip(stakes).map(|(one, stake)| member(*one, *stake)).collect();
        let balances: BTreeMap<AccountId, Amount> =
            (0..accounts).map(|number| (account(number), Amount::new(1000))).collect();
        let genesis =
            Genesis { block: BlockId::new([0; 32]), rows: genesis_rows(&balances).unwrap() };
        let database = Builder::new().create_with_backend(InMemoryBackend::new()).unwrap();
        let store = StateStore::within(database, &genesis).unwrap();
        let roots = store.committed().unwrap().roots;
        let members = MemberList { members };
        Self { store, secrets, members, epoch: 0, first: 1, slot: 0, roots }
    }

    pub(crate) fn waypoint(&self) -> Waypoint {
        let (epoch, first) = (EpochId::new(self.epoch), Slot::new(self.first));
        Waypoint { chain: CHAIN, epoch: EpochRow::new(epoch, first, &self.members) }
    }

    /// A client that trusts this epoch.
    pub(crate) fn client(&self) -> StakeVerifier {
        StakeVerifier::new(&self.waypoint(), &self.members).unwrap()
    }

    fn header(&mut self) -> Header {
        self.slot += 1;
        let parent = self.store.committed().unwrap();
        let mut id = [9; 32];
        id[..8].copy_from_slice(&self.slot.to_be_bytes());
        let (height, slot) = (parent.height.next(), Slot::new(self.slot));
        Header { id: BlockId::new(id), parent: parent.block, height, slot }
    }

    fn commit(&mut self, block: &Block<SignedTransfer>, execution: &Execution<Transfers>) {
        self.store.write_optimistic(block, execution).unwrap();
        self.store.certify(&block.header, &vec![1; 48]).unwrap();
        self.roots = execution.roots;
    }

    /// A block of transfers.
    pub(crate) fn transfers(&mut self, transfers: Vec<SignedTransfer>) {
        use prefinal_execution::Executor;
        let block = Block::new(self.header(), transfers);
        let draft = EXECUTOR.head(&self.store.view().unwrap(), &block).unwrap();
        let execution = EXECUTOR.seal(draft, &block).unwrap();
        self.commit(&block, &execution);
    }

    /// A block that writes this row, as a chain's own rule would.
    pub(crate) fn write(&mut self, row: &EpochRow) {
        let block = Block::new(self.header(), Vec::new());
        let mut pending = Pending::new(&self.store.view().unwrap(), &block.header);
        pending.apply([(row.key(), Some(row.to_row().as_slice().into()))].into()).unwrap();
        let done = pending.finish(&block.header, Vec::new()).unwrap();
        let execution = Execution { roots: done.roots, view: done.view, delta: done.delta };
        self.commit(&block, &execution);
    }

    pub(crate) fn value(&self) -> Value {
        Value::new(self.store.committed().unwrap().block.to_bytes())
    }

    /// What a certificate of the last block signs.
    pub(crate) fn unsigned(&self) -> CertifiedBlock<()> {
        let (epoch, slot) = (EpochId::new(self.epoch), Slot::new(self.slot));
        CertifiedBlock { epoch, slot, value: self.value(), roots: self.roots, certificate: () }
    }

    /// The last block, with the signatures of these members.
    pub(crate) fn certified_by(&self, signers: &[usize]) -> CertifiedBlock<Certificate<MinSig>> {
        let block = self.unsigned();
        let certificate = self.sign(&block.statement(CHAIN).to_bytes(), signers);
        with(&block, certificate)
    }

    /// The last block, with the signatures of all members that have stake.
    pub(crate) fn certified(&self) -> CertifiedBlock<Certificate<MinSig>> {
        let all = self.members.members.iter().enumerate();
        let signers: Vec<usize> = all.filter(|(_, one)| one.stake > 0).map(|(at, _)| at).collect();
        self.certified_by(&signers)
    }

    /// Signatures on any message, added up.
    pub(crate) fn sign(&self, message: &[u8], signers: &[usize]) -> Certificate<MinSig> {
        let signatures: Vec<min_sig::Signature> = signers
            .iter()
            .map(|at| secret(self.secrets[*at]).sign(StateStatement::DOMAIN, message))
            .collect();
        let parties: BTreeSet<Party> = signers.iter().map(|at| Party::new(*at as u32)).collect();
        let signers = Signers::new(self.secrets.len(), parties).unwrap();
        Certificate { signers, signature: min_sig::aggregate(&signatures).unwrap() }
    }

    /// Announces the next committee, with the places of this one, and shows it. The epoch goes on.
    pub(crate) fn ending(&mut self, next: &MemberList) -> EpochEnding {
        let first = self.first + EPOCH;
        let row = EpochRow::new(EpochId::new(self.epoch + 1), Slot::new(first), next);
        self.write(&row);
        let proof = self.store.prove(&row.key()).unwrap().proof;
        let changes: MemberChanges = self.members.changes_to(next).unwrap();
        EpochEnding { block: self.certified(), first: Slot::new(first), changes, proof }
    }

    /// The next epoch begins, with this committee and the keys behind it.
    pub(crate) fn enter(&mut self, next: MemberList, secrets: Vec<u64>) {
        (self.epoch, self.first) = (self.epoch + 1, self.first + EPOCH);
        self.slot = self.first - 1;
        (self.members, self.secrets) = (next, secrets);
    }

    /// From one epoch to the next with the same committee.
    pub(crate) fn turn(&mut self) -> EpochEnding {
        let (members, secrets) = (self.members.clone(), self.secrets.clone());
        let ending = self.ending(&members);
        self.enter(members, secrets);
        ending
    }

    pub(crate) fn claim_account(&self, number: u64) -> Claim {
        let key = account(number).key();
        let shown = self.store.prove(&key).unwrap();
        Claim::Row { key, value: shown.value.map(|row| row.to_vec()), proof: shown.proof }
    }

    pub(crate) fn claim_transaction(&self, position: u32) -> Claim {
        let height = self.store.committed().unwrap().height;
        let shown = self.store.result(height, position).unwrap().unwrap();
        Claim::Transaction { result: shown.result, proof: shown.proof }
    }
}

/// The block with another certificate.
pub(crate) fn with<C, D>(block: &CertifiedBlock<C>, certificate: D) -> CertifiedBlock<D> {
    let CertifiedBlock { epoch, slot, value, roots, .. } = *block;
    CertifiedBlock { epoch, slot, value, roots, certificate }
}
