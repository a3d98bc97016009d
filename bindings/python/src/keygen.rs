//! One party's key generation, driven by hand: the caller is the chain that orders messages, and the disk.
//!
//! It is the machine that validators run, for field elements or for group elements. What it wants computed is
//! computed at once, so no output asks for it.
use std::sync::Arc;

use prefinal_codes::{Coded, Detail};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig;
use prefinal_protocol::{Instant, Machine as _};
use prefinal_pvss_dkg::protocol::{
    self, Abort, Collect, Effect, EpochKey, Input, Job, Keys, Output, Position, Ready, Record,
    Role, Verdict,
};
use prefinal_pvss_dkg::{Config, Dkg, field};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rand_chacha::ChaCha20Rng;

use crate::beacon::{encoded, records};
use crate::bls::SecretKey;
use crate::dealing::{DkgKey, KeyOfKind, Kind, OwnShares};
use crate::dkg::{DkgConfig, is_field};
use crate::error::{Refusal, argument, refused};
use crate::evidence::Evidence;
use crate::input::{bytes, number, party};
use crate::random::generator;
use crate::registration::RecipientKey;

/// What a key generation says or wants done; a field is there if its kind has it.
#[derive(Default, IntoPyObject)]
pub(crate) struct RawOutput {
    kind: &'static str,
    text: Option<&'static str>,
    data: Option<Vec<u8>>,
    party: Option<u32>,
    position: Option<u64>,
    error: Option<Refusal>,
    evidence: Option<Evidence>,
    key: Option<DkgKey>,
    shares: Option<OwnShares>,
}

/// The arguments of a key generation, as the class in Python passes them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Arguments<'py> {
    config: Bound<'py, DkgConfig>,
    party: Bound<'py, PyAny>,
    signer: Bound<'py, SecretKey>,
    recipient: Option<Py<RecipientKey>>,
    kind: String,
    seed: Option<Bound<'py, PyAny>>,
    records: Option<Bound<'py, PyAny>>,
}

impl Arguments<'_> {
    fn machine<C: OfKind>(&self, blank: C) -> PyResult<Machine<C>> {
        let (config, me) = (Arc::clone(&self.config.get().0), party(&self.party)?);
        let parties = config.members().len();
        if config.dealer(me).is_none() {
            return Err(argument(&format!("{me} is not one of {parties} parties"), None));
        }
        let recipient = self.recipient.as_ref().map(|_| me);
        let role = Role { dealer: Some(me), recipient };
        let records = records(self.records.as_ref())?;
        let keygen = protocol::Keygen::new(blank, role, records.unwrap_or_default());
        Ok(Machine {
            keygen: keygen.map_err(|error| refused(&error))?,
            config,
            me,
            signer: self.signer.get().0.of_one_variant(),
            recipient: self.recipient.as_ref().map(|key| key.clone_ref(self.party.py())),
            rng: generator(self.seed.as_ref())?,
        })
    }
}

/// A kind of key that Python has classes for.
trait OfKind: Collect<DealerInput = ()> {
    fn key(sum: Arc<Self::Sum>) -> KeyOfKind;
    fn shares(own: Self::Shares) -> Kind<field::Shares, prefinal_pvss_dkg::Shares>;
}

impl OfKind for Dkg<field::Dealing> {
    fn key(sum: Arc<Self::Sum>) -> KeyOfKind {
        Kind::Field(sum)
    }

    fn shares(own: Self::Shares) -> Kind<field::Shares, prefinal_pvss_dkg::Shares> {
        Kind::Field(own)
    }
}

impl OfKind for Dkg<prefinal_pvss_dkg::Dealing> {
    fn key(sum: Arc<Self::Sum>) -> KeyOfKind {
        Kind::Group(sum)
    }

    fn shares(own: Self::Shares) -> Kind<field::Shares, prefinal_pvss_dkg::Shares> {
        Kind::Group(own)
    }
}

/// The machine of one kind, with the secrets that its jobs need.
struct Machine<C: Collect> {
    keygen: protocol::Keygen<C>,
    config: Arc<Config>,
    me: Party,
    signer: min_sig::SecretKey,
    recipient: Option<Py<RecipientKey>>,
    rng: ChaCha20Rng,
}

impl<C: OfKind> Machine<C> {
    /// After a restart, what the records lead to comes first: a dealing that counts by now is not submitted again.
    fn handle(&mut self, input: Input<C>) -> Vec<RawOutput> {
        let mut said = self.outputs();
        self.keygen.handle(Instant::START, input);
        said.extend(self.outputs());
        said
    }

    fn outputs(&mut self) -> Vec<RawOutput> {
        let mut said = Vec::new();
        while let Some(output) = self.keygen.poll() {
            match output {
                Output::Keep(record) | Output::Note(record) => said.push(kept(&record)),
                Output::Do(Effect::Run(job)) => {
                    let verdict = self.run(&job);
                    self.keygen.handle(Instant::START, Input::Checked(verdict));
                }
                Output::Do(effect) => said.extend(self.wanted(effect)),
            }
        }
        said
    }

    fn run(&mut self, job: &Job<C>) -> Verdict<C> {
        let Self { signer, rng, .. } = self;
        let mut run =
            |decryption: &mut _| job.run(&mut Keys { signer, decryption, held: &() }, rng);
        match &self.recipient {
            Some(key) => key.get().lend(run),
            None => run(&mut None),
        }
    }

    fn recover(&mut self, key: &[u8], offer: &[u8]) -> Result<Vec<RawOutput>, Refusal> {
        let key = EpochKey::from_bytes(key).map_err(|error| Refusal::of(&error))?;
        Ok(self.handle(Input::Recover { key: Arc::new(key), offer: offer.into() }))
    }

    fn wanted(&self, effect: Effect<C>) -> Option<RawOutput> {
        let of = |kind| RawOutput { kind, ..RawOutput::default() };
        Some(match effect {
            // Run at once.
            Effect::Run(_) => return None,
            Effect::Submit(message) => RawOutput { data: Some(message.to_vec()), ..of("submit") },
            Effect::Counted { place, position } => RawOutput {
                party: Some(place.dealer.get()),
                position: Some(position.get()),
                ..of("counted")
            },
            Effect::Accuse { fault, evidence } => RawOutput {
                party: Some(fault.party.get()),
                evidence: Some(Evidence::judged(evidence, fault)),
                ..of("accuse")
            },
            Effect::Ignored(why) => RawOutput { error: Some(ignored(&why)), ..of("refused") },
            Effect::Ready(ready) => self.ready(*ready),
            Effect::Aborted(why) => RawOutput { error: Some(aborted(&why)), ..of("aborted") },
        })
    }

    /// A party without weight has no shares.
    fn ready(&self, Ready { sum, shares, .. }: Ready<C>) -> RawOutput {
        let (shares, error) = match shares {
            Some(Ok(own)) => (Some(own), None),
            Some(Err(error)) => (None, Some(Refusal::of(&error))),
            None => (None, None),
        };
        let own = shares.filter(|_| self.config.shape().access().weight(self.me) > 0);
        RawOutput {
            kind: "ready",
            key: Some(DkgKey::new(Arc::clone(&self.config), C::key(sum))),
            shares: own.map(|own| OwnShares::new(self.me, C::shares(own))),
            error,
            ..RawOutput::default()
        }
    }
}

fn kept(record: &Record) -> RawOutput {
    let (text, position) = match record {
        Record::Dealt { .. } => ("dealt", None),
        Record::Counted { position, .. } => ("counted", Some(*position)),
        Record::Accused { position, .. } => ("accused", Some(*position)),
        Record::Recovered { .. } => ("recovered", None),
    };
    let data = encoded(record);
    RawOutput { kind: "keep", text: Some(text), position, data, ..RawOutput::default() }
}

fn ignored(why: &protocol::Refusal) -> Refusal {
    let detail = match why {
        protocol::Refusal::NotCounted(error) => error.detail(),
        protocol::Refusal::Deal(error) => error.detail(),
        protocol::Refusal::Offer(error) => error.detail(),
        protocol::Refusal::Accused(party) | protocol::Refusal::Forged(party) => {
            Detail { party: Some(party.get()), ..Detail::default() }
        }
        _ => Detail::default(),
    };
    Refusal::told(Detail { code: why.code(), ..detail }, why)
}

fn aborted(why: &Abort) -> Refusal {
    let detail = match why {
        Abort::Exhausted(error) | Abort::Ended(error) | Abort::Sum(error) => error.detail(),
        Abort::Records(error) => error.detail(),
        _ => Detail::default(),
    };
    Refusal::told(Detail { code: why.code(), ..detail }, why)
}

/// One party's key generation. Each call says what happened, and returns what is wanted, in this order.
#[pyclass(module = "prefinal._core")]
pub(crate) struct Keygen(
    Kind<Machine<Dkg<field::Dealing>>, Machine<Dkg<prefinal_pvss_dkg::Dealing>>>,
);

/// Makes the same call on either kind.
macro_rules! either {
    ($self:expr, $machine:ident => $call:expr) => {
        match $self {
            Kind::Field($machine) => $call,
            Kind::Group($machine) => $call,
        }
    };
}

#[pymethods]
impl Keygen {
    #[new]
    fn new(arguments: Arguments<'_>) -> PyResult<Self> {
        let config = Arc::clone(&arguments.config.get().0);
        Ok(Self(match is_field(&arguments.kind)? {
            true => Kind::Field(arguments.machine(Dkg::new(config))?),
            false => Kind::Group(arguments.machine(Dkg::new(config))?),
        }))
    }

    fn start(&mut self, py: Python<'_>) -> Vec<RawOutput> {
        py.detach(|| either!(&mut self.0, machine => machine.handle(Input::Start)))
    }

    fn ordered(
        &mut self,
        py: Python<'_>,
        position: &Bound<'_, PyAny>,
        message: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<RawOutput>> {
        let position = Position::new(number(position, "position")?);
        let message = Arc::from(bytes(message)?);
        Ok(py.detach(
            || either!(&mut self.0, machine => machine.handle(Input::Ordered { position, message })),
        ))
    }

    fn ended(&mut self, py: Python<'_>) -> Vec<RawOutput> {
        py.detach(|| either!(&mut self.0, machine => machine.handle(Input::Ended)))
    }

    fn recover(
        &mut self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        offer: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<RawOutput>> {
        let (key, offer) = (bytes(key)?, bytes(offer)?);
        let said = py.detach(|| either!(&mut self.0, machine => machine.recover(&key, &offer)));
        said.map_err(|refusal| refusal.raise())
    }

    /// The last position that was taken.
    #[getter]
    fn last(&self) -> Option<u64> {
        either!(&self.0, machine => machine.keygen.last()).map(Position::get)
    }

    /// The key's public part, once it is fixed.
    #[getter]
    fn epoch_key<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let key = either!(&self.0, machine => machine.keygen.key().map(|key| key.to_bytes()));
        key.map(|key| PyBytes::new(py, &key))
    }

    /// What a party that was absent needs beside it.
    #[getter]
    fn offer<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let offer = either!(&self.0, machine => machine.keygen.recovery());
        offer.map(|offer| PyBytes::new(py, &offer))
    }
}
