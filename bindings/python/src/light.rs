//! A light client: it trusts a committee or a key, and verifies what anybody sends.
use std::collections::BTreeMap;

use prefinal_crypto_core::bls::min_sig;
use prefinal_light::{
    Account, AccountId, Claim, EpochEnding, KeyProof, KeyVerifier, LightObject, MemberList,
    StakeProof, StakeVerifier, StateKey, VufFollower, VufHandover, VufKeys, VufProof, VufVerifier,
};
use prefinal_protocol::ChainId;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::bls::hex;
use crate::error::{argument, refused};
use crate::input::{array, bytes};

fn read<T: LightObject>(data: &Bound<'_, PyAny>) -> PyResult<T> {
    T::from_wire(&bytes(data)?).map_err(|error| refused(&error))
}

/// Trusts the committee of one epoch, and through the chain of epoch endings each that follows it.
#[pyclass(module = "prefinal")]
pub(crate) struct LightClient(StakeVerifier);

#[pymethods]
impl LightClient {
    /// Trusts the epoch that the waypoint names. The members may come from anybody. A hash to the curve and two
    /// pairings for each member.
    #[new]
    fn new(
        py: Python<'_>,
        waypoint: &Bound<'_, PyAny>,
        members: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let (waypoint, members): (_, MemberList) = (read(waypoint)?, read(members)?);
        let started = py.detach(|| StakeVerifier::new(&waypoint, &members));
        started.map(Self).map_err(|error| refused(&error))
    }

    /// The epoch whose certificates it verifies.
    #[getter]
    fn epoch(&self) -> u64 {
        self.0.epoch().get()
    }

    /// Where it is now: with `members` all that it takes to go on later.
    #[getter]
    fn waypoint<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.waypoint().to_wire())
    }

    /// The committee of its epoch.
    #[getter]
    fn members<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.members().to_wire())
    }

    /// Goes on to the next epoch. Raises unless a quorum of this epoch's stake has certified a state that
    /// announces it; nothing changes then. Two pairings, and two for each new key.
    fn advance(&mut self, py: Python<'_>, ending: &Bound<'_, PyAny>) -> PyResult<()> {
        let ending: EpochEnding = read(ending)?;
        py.detach(|| self.0.advance(&ending)).map_err(|error| refused(&error))
    }

    /// The block of a proof, with what the proof shows of it. Raises if anything of it is wrong; nothing changes
    /// then. Otherwise the client is in the block's epoch. Two pairings for the block, and for each ending.
    fn verify(&mut self, py: Python<'_>, proof: &Bound<'_, PyAny>) -> PyResult<VerifiedBlock> {
        let proof: StakeProof = read(proof)?;
        let verified = py.detach(|| self.0.verify_proof(&proof));
        let block = verified.map_err(|error| refused(&error))?;
        Ok(VerifiedBlock::new(block, proof.claims))
    }

    fn __repr__(&self) -> String {
        format!("<LightClient in epoch {}>", self.epoch())
    }
}

/// Trusts the key of threshold certificates, which is handed over and never changes: 96 bytes for every epoch.
#[pyclass(frozen, eq, module = "prefinal")]
#[derive(PartialEq)]
pub(crate) struct LightKey(KeyVerifier, [u8; 32], min_sig::PublicKey);

#[pymethods]
impl LightKey {
    /// Trusts this key, of 96 bytes, on this chain, of 32.
    #[new]
    fn new(chain: &Bound<'_, PyAny>, key: &Bound<'_, PyAny>) -> PyResult<Self> {
        let chain = array(chain, "chain")?;
        let key = min_sig::PublicKey::from_bytes(&bytes(key)?).map_err(|error| refused(&error))?;
        Ok(Self(KeyVerifier::new(ChainId::new(chain), key), chain, key))
    }

    /// The block of a proof, with what the proof shows of it. Raises if anything of it is wrong. Two pairings.
    fn verify(&self, py: Python<'_>, proof: &Bound<'_, PyAny>) -> PyResult<VerifiedBlock> {
        let proof: KeyProof = read(proof)?;
        let verified = py.detach(|| self.0.verify_proof(&proof));
        let block = verified.map_err(|error| refused(&error))?;
        Ok(VerifiedBlock::new(block, proof.claims))
    }

    fn __repr__(&self) -> String {
        format!("<LightKey {}>", hex(&self.2.to_bytes()))
    }

    fn __hash__(&self) -> u64 {
        crate::bls::hash(&[&self.1[..], &self.2.to_bytes()].concat())
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let fields = [PyBytes::new(py, &self.1), PyBytes::new(py, &self.2.to_bytes())];
        Ok((py.get_type::<Self>().into_any(), PyTuple::new(py, fields)?))
    }
}

/// Trusts one epoch of a weighted VUF, by the 32 bytes of its pin, and each epoch that its committee hands over to.
#[pyclass(module = "prefinal")]
pub(crate) struct LightVuf {
    follower: VufFollower,
    verifier: Option<VufVerifier>,
}

#[pymethods]
impl LightVuf {
    /// Trusts the epoch with this pin. Epoch and members may come from anybody. A hash to the curve and two pairings
    /// for each member.
    #[new]
    fn new(
        py: Python<'_>,
        pin: &Bound<'_, PyAny>,
        epoch: &Bound<'_, PyAny>,
        members: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let (pin, epoch) = (array(pin, "pin")?, read(epoch)?);
        let members: MemberList = read(members)?;
        let started = py.detach(|| VufFollower::new(&pin, &epoch, &members));
        let follower = started.map_err(|error| refused(&error))?;
        Ok(Self { follower, verifier: None })
    }

    /// The epoch that it has come to.
    #[getter]
    fn epoch(&self) -> u64 {
        self.follower.epoch().waypoint.epoch.epoch.get()
    }

    /// The pin of this epoch, from which one can begin later.
    #[getter]
    fn pin<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.follower.epoch().id())
    }

    /// Goes on to the next epoch, whose keys are others. Raises unless a quorum of this epoch's stake has signed it;
    /// nothing changes then. Two pairings, and two for each new member.
    fn advance(&mut self, py: Python<'_>, handover: &Bound<'_, PyAny>) -> PyResult<()> {
        let handover: VufHandover = read(handover)?;
        let advanced = py.detach(|| self.follower.advance(&handover));
        advanced.map_err(|error| refused(&error))?;
        self.verifier = None;
        Ok(())
    }

    /// Takes the keys of this epoch; later again, with those of parties that were late. Raises unless the epoch's key
    /// is theirs, and each blinded key its party's; nothing changes then. A pairing for each blinded key.
    fn admit(&mut self, py: Python<'_>, keys: &Bound<'_, PyAny>) -> PyResult<()> {
        let keys: VufKeys = read(keys)?;
        let verifier = py.detach(|| VufVerifier::new(&self.follower.epoch(), &keys));
        self.verifier = Some(verifier.map_err(|error| refused(&error))?);
        Ok(())
    }

    /// The slot of a proof, and the 32 bytes of its value. Raises if anything of it is wrong. Two pairings for each
    /// partial.
    fn verify<'py>(
        &self,
        py: Python<'py>,
        proof: &Bound<'_, PyAny>,
    ) -> PyResult<(u64, Bound<'py, PyBytes>)> {
        let proof: VufProof = read(proof)?;
        let Some(verifier) = &self.verifier else {
            return Err(argument("no keys of this epoch: call admit first", None));
        };
        let output = py.detach(|| verifier.verify(&proof)).map_err(|error| refused(&error))?;
        Ok((proof.slot.get(), PyBytes::new(py, &output.randomness())))
    }

    fn __repr__(&self) -> String {
        format!("<LightVuf in epoch {}>", self.epoch())
    }
}

/// A block whose certificate was verified, with the rows and transactions that were shown of it.
#[pyclass(frozen, module = "prefinal")]
pub(crate) struct VerifiedBlock {
    block: prefinal_light::VerifiedBlock,
    rows: BTreeMap<StateKey, Option<Vec<u8>>>,
    transactions: Vec<Transaction>,
}

/// A transaction's position in its block, its hash, and its receipt.
struct Transaction {
    position: u32,
    hash: [u8; 32],
    receipt: Vec<u8>,
}

impl VerifiedBlock {
    /// Only of claims that were verified under this block.
    fn new(block: prefinal_light::VerifiedBlock, claims: Vec<Claim>) -> Self {
        let (mut rows, mut transactions) = (BTreeMap::new(), Vec::new());
        for claim in claims {
            match claim {
                Claim::Row { key, value, .. } => drop(rows.insert(key, value)),
                Claim::Transaction { result, proof } => transactions.push(Transaction {
                    position: proof.index,
                    hash: result.transaction,
                    receipt: result.receipt,
                }),
            }
        }
        Self { block, rows, transactions }
    }
}

#[pymethods]
impl VerifiedBlock {
    /// The epoch whose committee certified it.
    #[getter]
    fn epoch(&self) -> u64 {
        self.block.context().epoch.get()
    }

    /// The engine's slot of the block.
    #[getter]
    fn slot(&self) -> u64 {
        self.block.slot().get()
    }

    /// The value of the slot, which names the block; 32 bytes.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.block.value().to_bytes())
    }

    /// The root of the state that the block leaves.
    #[getter]
    fn state_root<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.block.state_root().as_bytes())
    }

    /// The root of what became of the block's transactions.
    #[getter]
    fn receipts_root<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.block.receipts_root().as_bytes())
    }

    /// The rows that were shown, by key; `None` where it was shown that there is no such row.
    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rows = PyDict::new(py);
        for (key, value) in &self.rows {
            let value = value.as_ref().map(|value| PyBytes::new(py, value));
            rows.set_item(PyBytes::new(py, key.as_bytes()), value)?;
        }
        Ok(rows)
    }

    /// The transactions that were shown: position in the block, hash, receipt.
    #[getter]
    fn transactions<'py>(
        &self,
        py: Python<'py>,
    ) -> Vec<(u32, Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let shown = self
            .transactions
            .iter()
            .map(|one| (one.position, PyBytes::new(py, &one.hash), PyBytes::new(py, &one.receipt)));
        shown.collect()
    }

    /// Balance and nonce of the account with this Ed25519 key. Raises if the proof does not show its row.
    fn account(&self, key: &Bound<'_, PyAny>) -> PyResult<(u64, u64)> {
        let account = AccountId::new(array(key, "account")?);
        let Some(row) = self.rows.get(&account.key()) else {
            return Err(argument("the proof shows nothing of this account", None));
        };
        let Account { balance, nonce } =
            Account::from_row(row.as_deref()).map_err(|error| refused(&error))?;
        Ok((balance.get(), nonce.get()))
    }

    fn __repr__(&self) -> String {
        let (epoch, slot) = (self.epoch(), self.slot());
        let root = hex(self.block.state_root().as_bytes());
        format!("<VerifiedBlock of epoch {epoch}, slot {slot}, state {root}>")
    }
}
