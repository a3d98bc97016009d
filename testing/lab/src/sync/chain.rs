//! A chain of transfers that all nodes of an experiment share: real blocks, certificates, endings, and states.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ed25519_consensus::SigningKey;
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::{self, SecretKey};
use prefinal_crypto_core::bls::{Domain, MinSig};
use prefinal_crypto_core::certificate::{Certificate, Signers, StateStatement};
use prefinal_crypto_core::drand::RoundNumber;
use prefinal_disk::{Disk, Left};
use prefinal_execution::{
    Block, BlockId, Execution, Executor, Header, Height, Randomness, Roots, Store,
};
use prefinal_light::{
    BeaconVerifier, Binding, CertifiedBlock, EpochEnding, EpochRow, Member, MemberList,
    StakeVerifier, Waypoint,
};
use prefinal_protocol::{ChainId, EpochId, Slot, Value};
use prefinal_sim::Dice;
use prefinal_state::transfers::{
    AccountId, Action, Amount, Candidates, Nonce, SignedTransfer, Transfer, Transfers, genesis_rows,
};
use prefinal_state::{Genesis, StateStore, StoredTransaction};
use prefinal_sync::{Attestation, BlockNames, HashedNames};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use redb::Builder;

use super::trust::{Memo, SampleTrust};
use crate::failure::Failure;

pub(crate) type SampleCertificate = Certificate<MinSig>;
pub(crate) type SampleAttestation = Attestation<SampleCertificate>;
pub(crate) type SampleStore = StateStore<Transfers, SampleAttestation>;

const CHAIN: ChainId = ChainId::new([0x5c; 32]);
pub(crate) const EXECUTOR: Transfers = Transfers::new(CHAIN);

/// Slots may be empty: the block at height `h` is in slot `3h`.
const SLOTS: u64 = 3;

/// Bytes of pages that a store keeps in memory.
const CACHE_BYTES: usize = 4 << 20;

/// What a chain is made of.
#[derive(Clone, Debug)]
pub(crate) struct ChainPlan {
    pub(crate) blocks: u64,
    /// Transfers of each block.
    pub(crate) transfers: u64,
    pub(crate) accounts: u64,
    /// Members of the first committee; each one after it has one more.
    pub(crate) members: u64,
    /// Heights at which the epochs after the first begin.
    pub(crate) epochs: Vec<u64>,
    /// Heights of blocks without transactions.
    pub(crate) empty: BTreeSet<u64>,
    /// Heights of blocks of which one more transaction reads the slot's value.
    pub(crate) draws: BTreeSet<u64>,
    pub(crate) seed: u64,
}

/// A chain that was made.
pub(crate) struct SampleChain {
    pub(crate) plan: ChainPlan,
    pub(crate) store: SampleStore,
    /// By the epochs that they end.
    pub(crate) endings: BTreeMap<EpochId, EpochEnding>,
    pub(crate) beacon: BeaconVerifier,
    genesis: Genesis,
    /// A disk with the genesis.
    origin: Vec<u8>,
    trust: SampleTrust,
}

struct Keys {
    plan: ChainPlan,
    signers: Vec<SigningKey>,
    accounts: Vec<AccountId>,
    members: Vec<SecretKey>,
    beacon: SecretKey,
}

impl Keys {
    fn new(plan: &ChainPlan) -> Self {
        let mut dice = Dice::new(plan.seed);
        let mut rng = ChaCha20Rng::from_seed(dice.bytes());
        let most = plan.members + u64::try_from(plan.epochs.len()).unwrap_or(0);
        let signers: Vec<SigningKey> =
            (0..plan.accounts).map(|_| SigningKey::from(dice.bytes())).collect();
        let account = |key: &SigningKey| AccountId::new(key.verification_key().to_bytes());
        Self {
            plan: plan.clone(),
            accounts: signers.iter().map(account).collect(),
            signers,
            members: (0..most).map(|_| SecretKey::random(&mut rng)).collect(),
            beacon: SecretKey::random(&mut rng),
        }
    }

    fn committee(&self, epoch: u64) -> &[SecretKey] {
        let count = usize::try_from(self.plan.members.saturating_add(epoch)).unwrap_or(usize::MAX);
        self.members.get(..count).unwrap_or(&self.members)
    }

    fn member_list(&self, epoch: u64) -> MemberList {
        let member = |secret: &SecretKey| Member {
            key: secret.public_key(),
            possession: secret.prove_possession(),
            stake: 10,
        };
        MemberList { members: self.committee(epoch).iter().map(member).collect() }
    }

    /// What the state says of an epoch.
    fn row(&self, epoch: u64) -> EpochRow {
        let begins = epoch.checked_sub(1).and_then(|at| usize::try_from(at).ok());
        let begins = begins.and_then(|at| self.plan.epochs.get(at)).copied();
        let first = Slot::new(begins.map_or(1, |height| height.saturating_mul(SLOTS)));
        EpochRow::new(EpochId::new(epoch), first, &self.member_list(epoch))
    }

    fn beacon(&self) -> BeaconVerifier {
        let binding = Binding::Rounds { first: Slot::new(1) };
        BeaconVerifier { key: self.beacon.public_key(), binding }
    }

    fn transfer(&self, number: u64, draws: bool) -> Option<SignedTransfer> {
        let accounts = self.plan.accounts.max(1);
        let of = |number: u64| usize::try_from(number.checked_rem(accounts)?).ok();
        let sender = of(number)?;
        let other = |step: u64| self.accounts.get(of(number.wrapping_mul(7).wrapping_add(step))?);
        let to = *other(3)?;
        let action = match draws {
            true => Action::Draw(Candidates::new(&[to, *other(5)?]).ok()?),
            false => Action::Pay { to },
        };
        let transfer = Transfer {
            sender: *self.accounts.get(sender)?,
            nonce: Nonce::new(number.checked_div(accounts)?),
            expires: Height::new(u64::MAX),
            fee: Amount::new(1),
            amount: Amount::new(2),
            action,
        };
        Some(transfer.sign(CHAIN, self.signers.get(sender)?))
    }

    /// All but one member sign.
    fn certify(&self, header: &Header, roots: Roots, epoch: u64) -> Option<SampleCertificate> {
        let value = Value::new(header.id.to_bytes());
        let (id, slot) = (EpochId::new(epoch), header.slot);
        let block = CertifiedBlock { epoch: id, slot, value, roots, certificate: () };
        let message = block.statement(CHAIN).to_bytes();
        let all = self.committee(epoch);
        let signing = all.iter().skip(1);
        let signatures: Vec<min_sig::Signature> =
            signing.map(|secret| secret.sign(StateStatement::DOMAIN, &message)).collect();
        let parties: BTreeSet<Party> = (0..).map(Party::new).take(all.len()).skip(1).collect();
        let signers = Signers::new(all.len(), parties).ok()?;
        Some(Certificate { signers, signature: min_sig::aggregate(&signatures).ok()? })
    }
}

fn open(disk: &Disk, genesis: &Genesis) -> Result<SampleStore, String> {
    let mut builder = Builder::new();
    let database = builder.set_cache_size(CACHE_BYTES).create_with_backend(disk.clone());
    let database = database.map_err(|error| error.to_string())?;
    SampleStore::within(database, genesis).map_err(|error| error.to_string())
}

impl SampleChain {
    /// Makes the chain: a signature for each transfer and each member of the committee of each block.
    pub(crate) fn new(plan: &ChainPlan) -> Result<Self, Failure> {
        let keys = Keys::new(plan);
        let balances: BTreeMap<AccountId, Amount> =
            keys.accounts.iter().map(|account| (*account, Amount::new(1_000_000))).collect();
        let mut rows = genesis_rows(&balances).map_err(Failure::bad_input)?;
        for epoch in 1..=u64::try_from(plan.epochs.len()).unwrap_or(0) {
            let row = keys.row(epoch);
            rows.insert(row.key(), row.to_row().as_slice().into());
        }
        let genesis = Genesis { block: BlockId::new([0; 32]), rows };
        let disk = Disk::holding(Vec::new());
        drop(open(&disk, &genesis).map_err(Failure::bad_input)?);
        let origin = disk.after_crash(Left::All);
        let store = open(&Disk::holding(origin.clone()), &genesis).map_err(Failure::bad_input)?;
        let waypoint = Waypoint { chain: CHAIN, epoch: keys.row(0) };
        let verifier = StakeVerifier::new(&waypoint, &keys.member_list(0));
        let verifier = verifier.map_err(Failure::bad_input)?;
        let mut chain = Self {
            plan: plan.clone(),
            store,
            endings: BTreeMap::new(),
            beacon: keys.beacon(),
            genesis,
            origin,
            trust: SampleTrust::new(verifier, Arc::new(Memo::default())),
        };
        let mut transfers = 0;
        for height in 1..=plan.blocks {
            chain.commit(&keys, Height::new(height), &mut transfers)?;
        }
        Ok(chain)
    }

    fn commit(&mut self, keys: &Keys, height: Height, made: &mut u64) -> Result<(), Failure> {
        let committed = self.store.committed().map_err(Failure::bad_input)?;
        let (parent, number) = (committed.block, height.get());
        let slot = Slot::new(number.saturating_mul(SLOTS));
        let mut header = Header { id: parent, parent, height, slot };
        let draws = u64::from(self.plan.draws.contains(&number));
        let count = if self.plan.empty.contains(&number) { 0 } else { self.plan.transfers };
        let numbers = (0..count.saturating_add(draws)).map(|at| (made.saturating_add(at), at));
        let signed = numbers.map(|(number, at)| keys.transfer(number, at >= count));
        let signed: Option<Vec<SignedTransfer>> = signed.collect();
        let signed = signed.ok_or_else(|| Failure::bad_input("a chain without accounts"))?;
        *made = made.saturating_add(count).saturating_add(draws);
        let encoded: Vec<Vec<u8>> = signed.iter().map(StoredTransaction::to_bytes).collect();
        let content = HashedNames.content(&encoded);
        header.id = HashedNames.name(&header, &content);
        let block = Block::new(header, signed);
        let (execution, randomness) = self.execute(keys, &block)?;
        let epochs = self.plan.epochs.iter().filter(|first| number >= **first);
        let epoch = u64::try_from(epochs.count()).unwrap_or(0);
        let certificate = keys.certify(&header, execution.roots, epoch);
        let missing = || Failure::bad_input("a committee that is too small");
        let certificate = certificate.ok_or_else(missing)?;
        let epoch_id = EpochId::new(epoch);
        let roots = execution.roots;
        let attestation =
            Attestation { epoch: epoch_id, certificate, content, place: None, randomness };
        self.store.write_certified(&block, &execution, &attestation).map_err(Failure::bad_input)?;
        let is_known = usize::try_from(epoch).is_ok_and(|epoch| epoch < self.plan.epochs.len());
        if is_known && !self.endings.contains_key(&epoch_id) {
            let (here, next) = (keys.member_list(epoch), keys.row(epoch.saturating_add(1)));
            let changes = here.changes_to(&keys.member_list(epoch.saturating_add(1)));
            let proof = self.store.prove(&next.key()).map_err(Failure::bad_input)?.proof;
            let value = Value::new(header.id.to_bytes());
            let certificate = attestation.certificate;
            let block = CertifiedBlock { epoch: epoch_id, slot, value, roots, certificate };
            let changes = changes.ok_or_else(missing)?;
            let ending = EpochEnding { block, first: next.first, changes, proof };
            self.endings.insert(epoch_id, ending);
        }
        Ok(())
    }

    fn execute(
        &self,
        keys: &Keys,
        block: &Block<SignedTransfer>,
    ) -> Result<(Execution<Transfers>, Option<min_sig::Signature>), Failure> {
        let view = self.store.view().map_err(Failure::bad_input)?;
        let mut draft = EXECUTOR.head(&view, block).map_err(Failure::bad_input)?;
        let mut randomness = None;
        if block.has_tail() {
            let slot = block.header.slot;
            let round = RoundNumber::new(slot.get());
            let round = round.ok_or_else(|| Failure::bad_input("a slot without a round"))?;
            let signature = keys.beacon.sign(Domain::BASIC, &round.message());
            let value = self.beacon.verify(slot, &signature).map_err(Failure::bad_input)?;
            let value = Randomness::new(*value.as_bytes());
            draft = EXECUTOR.tail(draft, block, value).map_err(Failure::bad_input)?;
            randomness = Some(signature);
        }
        let execution = EXECUTOR.seal(draft, block).map_err(Failure::bad_input)?;
        Ok((execution, randomness))
    }

    /// What a node trusts from the start: the committee of the first epoch.
    pub(crate) fn trust(&self) -> SampleTrust {
        self.trust.clone()
    }

    /// A disk with the genesis, on which a node begins.
    pub(crate) fn disk(&self) -> Disk {
        Disk::holding(self.origin.clone())
    }

    /// Opens what is on a disk.
    pub(crate) fn open(&self, disk: &Disk) -> Result<SampleStore, String> {
        open(disk, &self.genesis)
    }

    /// Verifies the certificate of this height on the curve, whatever is remembered.
    pub(crate) fn verify_afresh(&self, height: Height) -> Result<(), Failure> {
        let block = self.store.block(height).map_err(Failure::bad_input)?;
        let certificate = self.store.certificate(height).map_err(Failure::bad_input)?;
        let missing = || Failure::bad_input("a block without a certificate");
        let Attestation { epoch, certificate, .. } = certificate.ok_or_else(missing)?;
        let (slot, value) = (block.header.slot, Value::new(block.header.id.to_bytes()));
        let block = CertifiedBlock { epoch, slot, value, roots: block.roots, certificate };
        self.trust.verify_afresh(&block).map_err(Failure::bad_input)
    }

    /// The height of the last block of the whole chain.
    pub(crate) const fn tip(&self) -> Height {
        Height::new(self.plan.blocks)
    }

    /// Whether the attestation is the true one of this height, with the slot's value or without.
    pub(crate) fn attests(&self, height: Height, stored: &SampleAttestation) -> bool {
        let Ok(Some(truth)) = self.store.certificate(height) else { return false };
        let bare = Attestation { randomness: None, ..truth.clone() };
        *stored == truth || *stored == bare
    }
}
