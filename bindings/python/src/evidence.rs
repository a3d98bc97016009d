//! What a dealer did wrong, in a form that convinces everybody who knows the configuration.
use std::sync::Arc;

use prefinal_pvss_dkg::protocol::{self, Collect, EvidenceError, Fault};
use prefinal_pvss_dkg::{DecodeError, Dkg, field};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bls::hash;
use crate::dkg::{DkgConfig, is_field};
use crate::error::refused;
use crate::input::bytes;

/// Evidence against one dealer, verified.
#[pyclass(frozen, module = "prefinal")]
pub(crate) struct Evidence {
    proof: Arc<protocol::Evidence>,
    fault: Fault,
}

impl Evidence {
    /// Of a machine, which has judged what the evidence is about.
    pub(crate) const fn judged(proof: Arc<protocol::Evidence>, fault: Fault) -> Self {
        Self { proof, fault }
    }
}

enum Wrong {
    Bytes(DecodeError),
    Claim(EvidenceError),
}

fn read<C: Collect>(blank: &C, data: &[u8]) -> Result<Evidence, Wrong> {
    let proof =
        protocol::Evidence::from_bytes(blank.dealing_bytes(), data).map_err(Wrong::Bytes)?;
    let fault = proof.verify(blank).map_err(Wrong::Claim)?;
    Ok(Evidence { proof: Arc::new(proof), fault })
}

#[pymethods]
impl Evidence {
    /// Reads what ``bytes`` of one gives, and verifies it: raises unless it shows that the party did wrong in this
    /// session.
    #[new]
    #[pyo3(signature = (config, data, *, kind="field"))]
    fn new(
        py: Python<'_>,
        config: &DkgConfig,
        data: &Bound<'_, PyAny>,
        kind: &str,
    ) -> PyResult<Self> {
        let (data, is_field, config) = (bytes(data)?, is_field(kind)?, Arc::clone(&config.0));
        let evidence = py.detach(|| match is_field {
            true => read(&Dkg::<field::Dealing>::new(config), &data),
            false => read(&Dkg::<prefinal_pvss_dkg::Dealing>::new(config), &data),
        });
        evidence.map_err(|wrong| match wrong {
            Wrong::Bytes(error) => refused(&error),
            Wrong::Claim(error) => refused(&error),
        })
    }

    /// Whom it accuses, by position.
    #[getter]
    fn party(&self) -> u32 {
        self.fault.party.get()
    }

    /// The check that failed, as one of ``prefinal.CODES``.
    #[getter]
    fn code(&self) -> &'static str {
        self.fault.code()
    }

    /// The same in words.
    #[getter]
    fn text(&self) -> String {
        self.fault.misdeed.to_string()
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.proof.to_bytes())
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.proof == other.proof
    }

    fn __hash__(&self) -> u64 {
        hash(&self.proof.to_bytes())
    }

    fn __repr__(&self) -> String {
        format!("<Evidence against {}: {}>", self.fault.party, self.fault.misdeed)
    }
}
