//! A machine of the beacon with its outputs as Python sees them, the same for every function.
//!
//! What the machine wants checked is computed at once, so no output asks for it.
use prefinal_beacon::{
    Bls, Config, Effect, Input, LateKey, Message, Output, Paths, Random, Record, Reveal, Scheme,
    Sharing, Wvuf,
};
use prefinal_contract::{Finality, FinalityError, Path, Quorum};
use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Instant, Machine, Recipient, Slot, Value, View};
use prefinal_weighted_rounding::{Stake, Weight};
use pyo3::prelude::*;

use crate::beacon::{RawOutput, encoded};
use crate::bls::{Either, Signature};
use crate::error::{argument, refused, wrong_type};
use crate::threshold::{Committee, Signer};
use crate::wvuf::{BlindedKey, EvaluationKey, VufCommittee, VufOutput};

/// What engine and clock say, whatever the function.
pub(crate) enum Event {
    Prefinalized { slot: Slot, view: View, value: Value },
    Finalized { slot: Slot, value: Option<Value> },
    Abandoned { view: View },
    Tick,
}

/// A function whose beacons Python drives.
pub(crate) trait Drivable: Scheme + Random {
    /// A committee, and a party's secret in it; none for a party without shares.
    fn sharing(
        committee: &Bound<'_, PyAny>,
        secret: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Sharing<Self>>;

    /// Checks a key that comes after the start.
    fn late_key(
        committee: &Self::Committee,
        party: Party,
        key: &BlindedKey,
    ) -> PyResult<LateKey<Self>>;

    /// Puts the function's own form of an output beside the 32 random bytes.
    fn shown(output: &Self::Output, raw: &mut RawOutput);
}

impl Drivable for Bls {
    fn sharing(
        committee: &Bound<'_, PyAny>,
        secret: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Sharing<Self>> {
        let found = committee.cast::<Committee>();
        let found = found.map_err(|_| {
            let is_other = committee.is_instance_of::<VufCommittee>();
            let as_before = "a Committee on every path, as on the first";
            let expected = if is_other { as_before } else { "a Committee or a VufCommittee" };
            wrong_type(expected, committee)
        })?;
        let committee = found.get();
        let secret = secret.map(|signer| {
            let found = signer.cast::<Signer>().map_err(|_| wrong_type("a Signer", signer));
            found?.get().again(committee)
        });
        Ok(Sharing { secret: secret.transpose()?, committee: committee.0.clone() })
    }

    fn late_key(_: &Self::Committee, _: Party, _: &BlindedKey) -> PyResult<LateKey<Self>> {
        Err(argument("threshold BLS has all keys from the start", None))
    }

    fn shown(output: &Self::Output, raw: &mut RawOutput) {
        raw.signature = Some(Signature(Either::MinSig(*output)));
    }
}

impl Drivable for Wvuf {
    fn sharing(
        committee: &Bound<'_, PyAny>,
        secret: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Sharing<Self>> {
        let found = committee.cast::<VufCommittee>();
        let found = found
            .map_err(|_| wrong_type("a VufCommittee on every path, as on the first", committee))?;
        let secret = secret.map(|key| {
            let found = key.cast::<EvaluationKey>();
            found.map_err(|_| wrong_type("an EvaluationKey", key))?.get().again()
        });
        Ok(Sharing { secret: secret.transpose()?, committee: found.get().get().clone() })
    }

    fn late_key(
        committee: &Self::Committee,
        party: Party,
        key: &BlindedKey,
    ) -> PyResult<LateKey<Self>> {
        committee.admit(party, key.0.clone()).map_err(|error| refused(&error))
    }

    fn shown(output: &Self::Output, raw: &mut RawOutput) {
        raw.output = Some(VufOutput(*output));
    }
}

/// What more than two thirds make final, counted as the committee of a path counts.
pub(crate) fn finality<S: Scheme>(
    stakes: &[Stake],
    committee: &S::Committee,
) -> Result<Finality, FinalityError> {
    let parties = (0..).map(Party::new).take(S::parties(committee));
    let weights: Vec<u128> = parties.map(|party| S::holding(committee, party)).collect();
    if stakes.iter().map(|stake| stake.get()).eq(weights.iter().copied()) {
        return Finality::exact(stakes, Quorum::BYZANTINE);
    }
    let weights = weights.into_iter().map(|weight| u32::try_from(weight).unwrap_or(u32::MAX));
    let weights: Vec<_> = weights.map(Weight::new).collect();
    Finality::rounded(stakes, &weights, Quorum::BYZANTINE)
}

/// A beacon of some function.
pub(crate) trait Driven: Send + Sync {
    fn event(&mut self, now: Instant, event: Event) -> Vec<RawOutput>;
    fn receive(&mut self, now: Instant, from: Party, data: &[u8])
    -> Result<Vec<RawOutput>, String>;
    /// Takes in a key on a path.
    fn admit(
        &mut self,
        now: Instant,
        path: Path,
        party: Party,
        key: &BlindedKey,
    ) -> PyResult<Vec<RawOutput>>;
    fn head(&self) -> Slot;
    fn wake_at(&self) -> Option<Instant>;
}

/// A machine, and its committees as they were at the start.
struct Driver<S: Drivable> {
    machine: prefinal_beacon::Beacon<S>,
    committees: Vec<(Path, S::Committee)>,
}

/// Starts a beacon from its records.
pub(crate) fn start<S: Drivable>(
    config: Config<S>,
    records: &[Record],
) -> PyResult<Box<dyn Driven>> {
    let committees = match &config.paths {
        Paths::Slow(slow) => vec![(Path::Slow, slow.committee.clone())],
        Paths::Tight(tight) => vec![(Path::Tight, tight.committee.clone())],
        Paths::FastAndSlow { slow, fast, .. } => {
            vec![(Path::Slow, slow.committee.clone()), (Path::Fast, fast.committee.clone())]
        }
    };
    let machine = prefinal_beacon::Beacon::new(config, records);
    let machine = machine.map_err(|error| refused(&error))?;
    Ok(Box::new(Driver { machine, committees }))
}

impl<S: Drivable> Driver<S> {
    fn handle(&mut self, now: Instant, input: Input<S>) -> Vec<RawOutput> {
        self.machine.handle(now, input);
        let mut said = Vec::new();
        while let Some(output) = self.machine.poll() {
            match output {
                Output::Keep(record) => said.push(kept("keep", &record)),
                Output::Note(record) => said.push(kept("note", &record)),
                Output::Do(Effect::Check(job)) => {
                    self.machine.handle(now, Input::Checked(job.run()));
                }
                Output::Do(effect) => said.extend(wanted(effect)),
            }
        }
        said
    }
}

impl<S: Drivable> Driven for Driver<S> {
    fn event(&mut self, now: Instant, event: Event) -> Vec<RawOutput> {
        let input = match event {
            Event::Prefinalized { slot, view, value } => Input::Prefinalized { slot, view, value },
            Event::Finalized { slot, value } => Input::Finalized { slot, value },
            Event::Abandoned { view } => Input::Abandoned { view },
            Event::Tick => Input::Tick,
        };
        self.handle(now, input)
    }

    fn receive(
        &mut self,
        now: Instant,
        from: Party,
        data: &[u8],
    ) -> Result<Vec<RawOutput>, String> {
        let (got, most) = (data.len(), self.machine.longest_message(from));
        if got > most {
            return Err(format!("a message of {got} bytes, expected {most} at most"));
        }
        let message = borsh::from_slice(data).map_err(|error| error.to_string())?;
        Ok(self.handle(now, Input::Received { from, message }))
    }

    fn admit(
        &mut self,
        now: Instant,
        path: Path,
        party: Party,
        key: &BlindedKey,
    ) -> PyResult<Vec<RawOutput>> {
        let found = self.committees.iter().find(|(of, _)| *of == path);
        let (_, committee) =
            found.ok_or_else(|| argument(&format!("this beacon has no {path} path"), None))?;
        let key = S::late_key(committee, party, key)?;
        Ok(self.handle(now, Input::Admitted { path, key }))
    }

    fn head(&self) -> Slot {
        self.machine.head()
    }

    fn wake_at(&self) -> Option<Instant> {
        self.machine.wake_at()
    }
}

fn kept(kind: &'static str, record: &Record) -> RawOutput {
    let (slot, text) = match record {
        Record::Released { slot, .. } => (*slot, "released"),
        Record::Finalized { slot, .. } => (*slot, "finalized"),
        Record::Abandoned { view } => (view.slot, "abandoned"),
        Record::Revealed { slot } => (*slot, "revealed"),
        Record::Switched(switch) => (switch.from, "switched"),
        Record::WasOff { first, .. } => (*first, "was-off"),
        Record::PassedOver { first, .. } => (*first, "passed-over"),
    };
    let (slot, text) = (Some(slot.get()), Some(text.to_owned()));
    RawOutput { kind, slot, text, data: encoded(record), ..RawOutput::default() }
}

fn wanted<S: Drivable>(effect: Effect<S>) -> Option<RawOutput> {
    let of = |kind, slot: Slot| RawOutput { kind, slot: Some(slot.get()), ..RawOutput::default() };
    Some(match effect {
        Effect::Check(_) => return None,
        Effect::Send { to, message } => sent(to, &message),
        Effect::Lookup { to, slots } => RawOutput {
            kind: "lookup",
            slot: slots.first().map(|slot| slot.get()),
            party: Some(to.get()),
            ..RawOutput::default()
        },
        Effect::Reveal(reveal) => revealed(&reveal),
        Effect::Skipped { slot } => of("skipped", slot),
        Effect::Off { slot } => of("off", slot),
        Effect::Stalled { slot } => of("stalled", slot),
        Effect::Accuse { party, fault } => RawOutput {
            kind: "accuse",
            party: Some(party.get()),
            code: Some(fault.code()),
            text: Some(fault.to_string()),
            ..RawOutput::default()
        },
        Effect::Refused(refusal) => RawOutput {
            kind: "refused",
            code: Some(refusal.code()),
            text: Some(refusal.to_string()),
            ..RawOutput::default()
        },
    })
}

fn sent<S: Drivable>(to: Recipient<Party>, message: &Message<S>) -> RawOutput {
    let (path, text) = match message {
        Message::Partial { path, .. } => (Some(path.to_string()), "partial"),
        Message::Request { .. } => (None, "request"),
        Message::Show { .. } => (None, "show"),
        Message::Output { path, .. } => (Some(path.to_string()), "output"),
        Message::AskHead { .. } => (None, "ask-head"),
        Message::Head { .. } => (None, "head"),
    };
    RawOutput {
        kind: "send",
        slot: message.slot().map(Slot::get),
        path,
        party: match to {
            Recipient::All => None,
            Recipient::One(party) => Some(party.get()),
        },
        data: encoded(message),
        text: Some(text.to_owned()),
        ..RawOutput::default()
    }
}

fn revealed<S: Drivable>(reveal: &Reveal<S>) -> RawOutput {
    let mut raw = RawOutput {
        kind: "reveal",
        slot: Some(reveal.slot.get()),
        path: Some(reveal.path.to_string()),
        data: Some(reveal.randomness().to_vec()),
        ..RawOutput::default()
    };
    S::shown(&reveal.output, &mut raw);
    raw
}
