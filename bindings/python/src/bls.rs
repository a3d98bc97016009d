//! Keys and signatures in both variants.
//!
//! A key or signature knows its variant by its length: 48 bytes lie in 𝔾₁, 96 in 𝔾₂. `min-sig` has
//! short signatures and is the default here as it is in Rust, `min-pk` has short keys and is Ethereum's.
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

use prefinal_crypto_core::bls::{self, min_pk, min_sig};
use prefinal_crypto_core::curve::DecodeError;
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::verified::Verified;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{argument, refused};
use crate::input::{bytes, secret};
use crate::random::generator;

/// Names and tags of domains that were asked for: they live as long as the process, so there is a
/// limit.
static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
const MOST_TEXTS: usize = 1024;

/// What a signature is for: signatures under one domain say nothing under another.
#[pyclass(frozen, eq, module = "prefinal", from_py_object)]
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Domain {
    pub(crate) domain: bls::Domain,
    text: Text,
}

/// What a domain was made of.
#[derive(Clone, Copy, PartialEq)]
enum Text {
    /// One of the library's.
    Constant,
    Name(&'static str),
    Tag(&'static str),
}

/// The same text, kept.
fn kept(text: &str) -> PyResult<&'static str> {
    let mut texts = TEXTS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    match texts.get(text) {
        Some(known) => Ok(known),
        None if texts.len() >= MOST_TEXTS => {
            let why = format!("more than {MOST_TEXTS} domains, put what varies into messages");
            Err(argument(&why, None))
        }
        None => {
            let text: &'static str = Box::leak(text.to_owned().into_boxed_str());
            texts.insert(text);
            Ok(text)
        }
    }
}

impl Domain {
    /// By a name of the caller's.
    fn named(name: &str) -> PyResult<Self> {
        bls::Domain::check_name(name).map_err(|error| refused(&error))?;
        let name = kept(name)?;
        let domain = bls::Domain::named(name).map_err(|error| refused(&error))?;
        Ok(Self { domain, text: Text::Name(name) })
    }

    /// By a whole tag.
    fn tagged(tag: &str) -> PyResult<Self> {
        bls::Domain::check_tag(tag).map_err(|error| refused(&error))?;
        let tag = kept(tag)?;
        let domain = bls::Domain::tag(tag).map_err(|error| refused(&error))?;
        Ok(Self { domain, text: Text::Tag(tag) })
    }

    /// As it was made here: a domain of a committee is one that was read before.
    pub(crate) fn known(domain: bls::Domain) -> Self {
        let texts = TEXTS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let found = texts.iter().find_map(|text| {
            if bls::Domain::named(text) == Ok(domain) {
                return Some(Text::Name(text));
            }
            (bls::Domain::tag(text) == Ok(domain)).then_some(Text::Tag(text))
        });
        Self { domain, text: found.unwrap_or(Text::Constant) }
    }

    /// A domain, the name of one, or by default Ethereum's.
    pub(crate) fn read(value: Option<&Bound<'_, PyAny>>) -> PyResult<bls::Domain> {
        match value {
            None => Ok(bls::Domain::POP),
            Some(value) => match value.extract::<Self>() {
                Ok(domain) => Ok(domain.domain),
                Err(_) => match value.extract::<String>() {
                    Ok(name) => Self::named(&name).map(|domain| domain.domain),
                    Err(_) => Err(crate::error::wrong_type("a Domain or its name", value)),
                },
            },
        }
    }
}

#[pymethods]
impl Domain {
    /// A domain of one's own, by name; or one that is defined elsewhere, by its whole ``tag``, which
    /// names the group that is hashed to.
    #[new]
    #[pyo3(signature = (name=None, *, tag=None))]
    fn new(name: Option<&str>, tag: Option<&str>) -> PyResult<Self> {
        match (name, tag) {
            (Some(name), None) => Self::named(name),
            (None, Some(tag)) => Self::tagged(tag),
            _ => Err(argument("a domain has a name or a tag", None)),
        }
    }

    /// The ciphersuite without proofs of possession, which drand signs under.
    #[classattr]
    const BASIC: Self = Self { domain: bls::Domain::BASIC, text: Text::Constant };

    /// The ciphersuite with proofs of possession, which Ethereum signs under.
    #[classattr]
    const POP: Self = Self { domain: bls::Domain::POP, text: Text::Constant };

    fn __repr__(&self) -> String {
        match (self.domain, self.text) {
            (bls::Domain::BASIC, _) => "Domain.BASIC".to_owned(),
            (bls::Domain::POP, _) => "Domain.POP".to_owned(),
            (_, Text::Name(name)) => format!("Domain({name:?})"),
            (_, Text::Tag(tag)) => format!("Domain(tag={tag:?})"),
            (_, Text::Constant) => "Domain(..)".to_owned(),
        }
    }

    fn __hash__(&self) -> u64 {
        hash(self.__repr__().as_bytes())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let class = py.get_type::<Self>();
        let constant = match (self.domain, self.text) {
            (bls::Domain::BASIC, _) => "BASIC",
            (_, Text::Name(name)) => {
                return Ok((class.into_any(), (name,).into_pyobject(py)?.into_any()));
            }
            (_, Text::Tag(tag)) => {
                let make = class.getattr("_of_tag")?;
                return Ok((make, (tag,).into_pyobject(py)?.into_any()));
            }
            _ => "POP",
        };
        let getattr = py.import("builtins")?.getattr("getattr")?;
        Ok((getattr, (class, constant).into_pyobject(py)?.into_any()))
    }

    /// What pickles of a domain by its tag call.
    #[staticmethod]
    fn _of_tag(tag: &str) -> PyResult<Self> {
        Self::tagged(tag)
    }
}

/// One of the two variants.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Either<A, B> {
    MinSig(A),
    MinPk(B),
}

use Either::{MinPk as Pk, MinSig as Sig};

pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Enough to tell two apart in a log.
pub(crate) fn shown(class: &str, variant: &str, bytes: &[u8]) -> String {
    let start = bytes.get(..8).unwrap_or(bytes);
    format!("<{class} {variant} {}…>", hex(start))
}

fn is_min_sig(variant: &str) -> PyResult<bool> {
    match variant {
        "min-sig" => Ok(true),
        "min-pk" => Ok(false),
        _ => Err(argument(&format!("variant {variant:?}, expected 'min-sig' or 'min-pk'"), None)),
    }
}

pub(crate) fn other_variant() -> PyErr {
    argument("keys and signatures are of different variants", None)
}

/// A public key: 96 bytes for min-sig, 48 for min-pk.
#[pyclass(frozen, eq, module = "prefinal", from_py_object)]
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct PublicKey(pub(crate) Either<min_sig::PublicKey, min_pk::PublicKey>);

impl PublicKey {
    pub(crate) fn encoded(&self) -> Vec<u8> {
        match &self.0 {
            Sig(key) => key.to_bytes().to_vec(),
            Pk(key) => key.to_bytes().to_vec(),
        }
    }
}

#[pymethods]
impl PublicKey {
    /// Reads what `bytes` of one gives.
    #[new]
    fn new(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let data = bytes(data)?;
        let key = match data.len() {
            48 => min_pk::PublicKey::from_bytes(&data).map(Pk),
            _ => min_sig::PublicKey::from_bytes(&data).map(Sig),
        };
        key.map(Self).map_err(|error| refused(&error))
    }

    /// `min-sig`, with signatures in 𝔾₁, or `min-pk`, with keys in 𝔾₁.
    #[getter]
    fn variant(&self) -> &'static str {
        if matches!(self.0, Sig(_)) { "min-sig" } else { "min-pk" }
    }

    /// Raises unless this is the key's signature on the message. Two pairings.
    #[pyo3(signature = (signature, message, *, domain=None))]
    fn verify(
        &self,
        py: Python<'_>,
        signature: &Signature,
        message: &Bound<'_, PyAny>,
        domain: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (message, domain) = (bytes(message)?, Domain::read(domain)?);
        let checked = py.detach(|| match (&self.0, &signature.0) {
            (Sig(key), Sig(signature)) => Some(signature.verify(key, domain, &message)),
            (Pk(key), Pk(signature)) => Some(signature.verify(key, domain, &message)),
            _ => None,
        });
        checked.ok_or_else(other_variant)?.map_err(|error| refused(&error))
    }

    /// The key as one whose owner is known to have its secret; raises unless the proof shows it.
    /// `standard` takes the proofs of the BLS draft, as Ethereum has them.
    #[pyo3(signature = (proof, *, standard=false))]
    fn prove(&self, py: Python<'_>, proof: &Possession, standard: bool) -> PyResult<ProvenKey> {
        let proven = py.detach(|| {
            Some(match (self.0, &proof.0) {
                (Sig(key), Sig(proof)) if standard => {
                    key.verify_standard_possession(proof).map(Sig)
                }
                (Sig(key), Sig(proof)) => key.verify_possession(proof).map(Sig),
                (Pk(key), Pk(proof)) if standard => key.verify_standard_possession(proof).map(Pk),
                (Pk(key), Pk(proof)) => key.verify_possession(proof).map(Pk),
                _ => return None,
            })
        });
        let proven = proven.ok_or_else(other_variant)?;
        proven.map(ProvenKey).map_err(|error| refused(&error))
    }

    fn __bytes__(&self) -> Vec<u8> {
        self.encoded()
    }

    /// Its bytes in hexadecimal digits.
    fn hex(&self) -> String {
        hex(&self.encoded())
    }

    fn __repr__(&self) -> String {
        shown("PublicKey", self.variant(), &self.encoded())
    }

    fn __hash__(&self) -> u64 {
        hash(&self.encoded())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyAny>, (Bound<'py, PyBytes>,)) {
        (py.get_type::<Self>().into_any(), (PyBytes::new(py, &self.encoded()),))
    }
}

/// A public key whose owner has shown to know its secret. Only `PublicKey.prove` makes one, so it is
/// not pickled.
#[pyclass(frozen, eq, module = "prefinal", from_py_object)]
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct ProvenKey(
    pub(crate) Either<Verified<min_sig::PublicKey>, Verified<min_pk::PublicKey>>,
);

#[pymethods]
impl ProvenKey {
    /// The key without the knowledge.
    #[getter]
    fn key(&self) -> PublicKey {
        PublicKey(match self.0 {
            Sig(key) => Sig(*key.get()),
            Pk(key) => Pk(*key.get()),
        })
    }

    fn __repr__(&self) -> String {
        shown("ProvenKey", self.key().variant(), &self.key().encoded())
    }

    fn __hash__(&self) -> u64 {
        self.key().__hash__()
    }
}

macro_rules! signature_object {
    ($name:ident, $inner:ident, $doc:literal) => {
        #[doc = $doc]
        #[pyclass(frozen, eq, module = "prefinal", from_py_object)]
        #[derive(Clone, Copy, PartialEq)]
        pub(crate) struct $name(pub(crate) Either<min_sig::$inner, min_pk::$inner>);

        impl $name {
            pub(crate) fn encoded(&self) -> Vec<u8> {
                match &self.0 {
                    Sig(signature) => signature.to_bytes().to_vec(),
                    Pk(signature) => signature.to_bytes().to_vec(),
                }
            }
        }

        #[pymethods]
        impl $name {
            /// Reads what `bytes` of one gives.
            #[new]
            fn new(data: &Bound<'_, PyAny>) -> PyResult<Self> {
                let data = bytes(data)?;
                let read = match data.len() {
                    96 => min_pk::$inner::from_bytes(&data).map(Pk),
                    _ => min_sig::$inner::from_bytes(&data).map(Sig),
                };
                read.map(Self).map_err(|error| refused(&error))
            }

            /// `min-sig`, with signatures in 𝔾₁, or `min-pk`, with keys in 𝔾₁.
            #[getter]
            fn variant(&self) -> &'static str {
                if matches!(self.0, Sig(_)) { "min-sig" } else { "min-pk" }
            }

            fn __bytes__(&self) -> Vec<u8> {
                self.encoded()
            }

            /// Its bytes in hexadecimal digits.
            fn hex(&self) -> String {
                hex(&self.encoded())
            }

            fn __repr__(&self) -> String {
                shown(stringify!($name), self.variant(), &self.encoded())
            }

            fn __hash__(&self) -> u64 {
                hash(&self.encoded())
            }

            fn __reduce__<'py>(
                &self,
                py: Python<'py>,
            ) -> (Bound<'py, PyAny>, (Bound<'py, PyBytes>,)) {
                (py.get_type::<Self>().into_any(), (PyBytes::new(py, &self.encoded()),))
            }
        }
    };
}

signature_object!(Signature, Signature, "A signature: 48 bytes for min-sig, 96 for min-pk.");
signature_object!(
    Possession,
    ProofOfPossession,
    "The proof that a key's owner knows its secret: 48 bytes for min-sig, 96 for min-pk."
);

/// A secret key. It is wiped when it goes, never printed and not pickled.
#[pyclass(frozen, module = "prefinal")]
pub(crate) struct SecretKey(pub(crate) bls::SecretKey);

#[pymethods]
impl SecretKey {
    /// From its 32 bytes, big-endian.
    #[new]
    fn new(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let data = secret(data)?;
        let array: Result<[u8; 32], _> = data.expose().as_slice().try_into();
        let length = DecodeError::Length { expected: 32, got: data.expose().len() };
        let array = Secret::new(array.map_err(|_| refused(&length))?);
        let key = bls::SecretKey::from_secret_bytes(&array);
        key.map(Self).map_err(|error| refused(&error))
    }

    /// A key from the system's randomness.
    #[staticmethod]
    fn generate() -> PyResult<Self> {
        Ok(Self(bls::SecretKey::random(&mut generator(None)?)))
    }

    /// The master key of a seed of 32 bytes or more (EIP-2333).
    #[staticmethod]
    fn from_seed(seed: &Bound<'_, PyAny>) -> PyResult<Self> {
        let key = bls::SecretKey::derive_master(&secret(seed)?);
        key.map(Self).map_err(|error| refused(&error))
    }

    /// The key at a path such as `m/12381/3600/0/0` below this one (EIP-2334).
    fn derive(&self, path: &str) -> PyResult<Self> {
        let path: bls::KeyPath = path.parse().map_err(|error| refused(&error))?;
        Ok(Self(self.0.derive_path(&path)))
    }

    /// The key's 32 bytes. Python does not wipe them.
    fn secret_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.to_secret_bytes().expose())
    }

    /// The public key, which is of one variant.
    #[pyo3(signature = (*, variant="min-sig"))]
    fn public_key(&self, variant: &str) -> PyResult<PublicKey> {
        let min_sig = is_min_sig(variant)?;
        Ok(PublicKey(if min_sig { Sig(self.0.public_key()) } else { Pk(self.0.public_key()) }))
    }

    /// Signs a message under a domain. The same message gives the same signature.
    #[pyo3(signature = (message, *, domain=None, variant="min-sig"))]
    fn sign(
        &self,
        py: Python<'_>,
        message: &Bound<'_, PyAny>,
        domain: Option<&Bound<'_, PyAny>>,
        variant: &str,
    ) -> PyResult<Signature> {
        let (message, domain) = (bytes(message)?, Domain::read(domain)?);
        let min_sig = is_min_sig(variant)?;
        Ok(py.detach(|| {
            Signature(match min_sig {
                true => Sig(self.0.sign(domain, &message)),
                false => Pk(self.0.sign(domain, &message)),
            })
        }))
    }

    /// Shows that the key's owner knows it. `standard` makes the proof of the BLS draft.
    #[pyo3(signature = (*, variant="min-sig", standard=false))]
    fn prove_possession(&self, variant: &str, standard: bool) -> PyResult<Possession> {
        Ok(Possession(match (is_min_sig(variant)?, standard) {
            (true, false) => Sig(self.0.prove_possession()),
            (true, true) => Sig(self.0.prove_standard_possession()),
            (false, false) => Pk(self.0.prove_possession()),
            (false, true) => Pk(self.0.prove_standard_possession()),
        }))
    }

    fn __repr__(&self) -> &'static str {
        "<SecretKey>"
    }
}

/// An argument of one of our classes.
pub(crate) fn item<'py, T>(value: &Bound<'py, PyAny>, what: &str) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    value.extract().map_err(|_| crate::error::wrong_type(what, value))
}
