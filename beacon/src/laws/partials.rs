//! Laws of one party's evaluation: what it is of, of which size, and which are wrong.
use std::collections::{BTreeMap, BTreeSet};

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::{ChainId, Context, EpochId};

use super::Sample;
use super::bench::{Bench, CONTEXT, Outcome, Partials, Point, SLOT, ensure, of};
use crate::schemes::{Contents, Function, PartialsError};
use prefinal_contract::{Binding, Path};
use prefinal_protocol::Value;

/// The longest content of a partial that is lengthened: each attempt decodes.
const LONGEST: usize = 512;

pub(super) fn bindings<T: Sample>(sample: &T) -> Outcome {
    let bench = Bench::first(sample)?;
    let point = bench.point()?;
    for binding in bench.bindings() {
        bench.evaluate(&bench.input(&Point { binding, ..point })?)?;
    }
    Ok(())
}

pub(super) fn inputs<T: Sample>(sample: &T) -> Outcome {
    let bench = Bench::first(sample)?;
    let other = Bench::new(sample, 1, Path::Slow)?;
    // Rounds of one chain have one key, which stands for the chain.
    let key_is_chain = T::Scheme::check_handover(&bench.committee, &other.committee).is_err();
    for binding in bench.bindings() {
        let point = Point { binding, ..bench.point()? };
        let partials = bench.evaluate(&bench.input(&point)?)?;
        let chain = Context { chain: ChainId::new([2; 32]), ..CONTEXT };
        let epoch = Context { epoch: EpochId::new(2), ..CONTEXT };
        let others = [
            ("slot", Point { slot: SLOT.next(), ..point }, true),
            ("value", Point { number: 2, ..point }, binding == Binding::Value),
            ("chain", Point { context: chain, ..point }, !key_is_chain),
            ("epoch", Point { context: epoch, ..point }, !key_is_chain),
        ];
        for (what, other, _) in others.into_iter().filter(|(.., bound)| *bound) {
            let input = bench.input(&other)?;
            for (party, partial) in &partials {
                let one = BTreeMap::from([(*party, partial.clone())]);
                let refused = T::Scheme::verify(&bench.committee, &input, &one).is_err();
                ensure(refused, || {
                    format!("with {binding:?} a partial of {party} counts for another {what}")
                })?;
            }
        }
    }
    Ok(())
}

pub(super) fn evaluation<T: Sample>(sample: &T) -> Outcome {
    let (bench, again) = (Bench::first(sample)?, Bench::first(sample)?);
    let point = bench.point()?;
    let first = bench.evaluate(&bench.input(&point)?)?;
    for (what, second) in [
        ("again", bench.evaluate(&bench.input(&point)?)?),
        ("with a secret that was read again", again.evaluate(&again.input(&point)?)?),
    ] {
        ensure(first == second, || format!("evaluated {what}, a partial is another one"))?;
    }
    Ok(())
}

pub(super) fn culprits<T: Sample>(sample: &T) -> Outcome {
    let bench = Bench::first(sample)?;
    let point = bench.point()?;
    let (input, right) = (bench.input(&point)?, bench.evaluate(&bench.input(&point)?)?);
    let verify = |partials: &Partials<T::Scheme>, wrong: BTreeSet<Party>| {
        let found = T::Scheme::verify(&bench.committee, &input, partials);
        let named = match &found {
            Ok(()) => BTreeSet::new(),
            Err(PartialsError::Faulty { culprits }) => culprits.clone(),
            Err(error) => return Err(format!("verifying fails: {error}")),
        };
        ensure(named == wrong && found.is_ok() == wrong.is_empty(), || {
            format!("wrong are {wrong:?}, named {named:?}")
        })
    };
    verify(&right, BTreeSet::new())?;
    for (party, partial) in &right {
        verify(&BTreeMap::from([(*party, partial.clone())]), BTreeSet::new())?;
    }
    let wrong = bench.wrong(&point, &right)?;
    for (party, partial) in &wrong {
        let mut partials = right.clone();
        partials.insert(*party, partial.clone());
        verify(&partials, BTreeSet::from([*party]))?;
        verify(&of::<T::Scheme>(&partials, &BTreeSet::from([*party])), BTreeSet::from([*party]))?;
        // Two at once: among them two that change places.
        for (other, second) in wrong.iter().filter(|(other, _)| other > party) {
            let mut partials = partials.clone();
            partials.insert(*other, second.clone());
            verify(&partials, BTreeSet::from([*party, *other]))?;
        }
    }
    Ok(())
}

pub(super) fn shapes<T: Sample>(sample: &T) -> Outcome {
    let bench = Bench::first(sample)?;
    let right = bench.evaluate(&bench.input(&bench.point()?)?)?;
    for (party, partial) in &right {
        let announced = T::Scheme::partial_bytes(&bench.committee, *party);
        T::Scheme::check_shape(&bench.committee, *party, partial)
            .map_err(|error| format!("the right partial of {party} is refused: {error}"))?;
        for other in right.values().cloned().chain(longer::<T::Scheme>(partial)?) {
            let got = encoded::<T::Scheme>(&other)?.len();
            let refused = T::Scheme::check_shape(&bench.committee, *party, &other).is_err();
            ensure(got <= announced || refused, || {
                format!("{party} may send {got} bytes where {announced} are announced")
            })?;
        }
    }
    Ok(())
}

/// Encodings with one element more that decode: whatever counts its elements in four bytes can be made
/// longer.
fn longer<S: Function>(partial: &S::Partial) -> Result<Vec<S::Partial>, String> {
    let bytes = encoded::<S>(partial)?;
    let mut found = Vec::new();
    for (position, count) in bytes.windows(4).enumerate() {
        let count = <[u8; 4]>::try_from(count).map_or(0, u32::from_le_bytes);
        if !(1..=u32::from(u8::MAX)).contains(&count) {
            continue;
        }
        for more in 1..=bytes.len().min(LONGEST) {
            let mut longer = bytes.clone();
            longer.extend(bytes.iter().skip(bytes.len() - more));
            let places = longer.iter_mut().skip(position);
            for (place, byte) in places.zip((count + 1).to_le_bytes()) {
                *place = byte;
            }
            found.extend(borsh::from_slice(&longer).ok());
        }
    }
    Ok(found)
}

pub(super) fn encoded<S: Function>(partial: &S::Partial) -> Result<Vec<u8>, String> {
    borsh::to_vec(partial).map_err(|error| format!("a partial is not encoded: {error}"))
}

pub(super) fn contents<T: Sample>(sample: &T) -> Outcome {
    if !<T::Scheme as Function>::Contents::NEEDED {
        return Ok(());
    }
    let (bench, other) = (Bench::first(sample)?, Bench::new(sample, 1, Path::Slow)?);
    let point = bench.point()?;
    for binding in bench.bindings() {
        let value = (binding == Binding::Value).then_some(Value::new([1; 32]));
        let input = T::Scheme::input(&CONTEXT, binding, SLOT, value);
        ensure(input.is_none(), || "there is an input without a content".to_owned())?;
    }
    let lacks = || "the sample brings no content".to_owned();
    let one = bench.contained(&point)?.ok_or_else(lacks)?;
    let two = bench.contained(&Point { number: 2, ..point })?.ok_or_else(lacks)?;
    ensure(one.slot == SLOT && two.slot == SLOT, || "a content is of another slot".to_owned())?;
    ensure(one.value != two.value, || "two contents are of one value".to_owned())?;
    let content = || sample.content(&bench.committee, &CONTEXT, SLOT, 1).ok_or_else(lacks);
    let chain = Context { chain: ChainId::new([2; 32]), ..CONTEXT };
    let epoch = Context { epoch: EpochId::new(2), ..CONTEXT };
    for (what, committee, context) in [
        ("chain", &bench.committee, chain),
        ("epoch", &bench.committee, epoch),
        ("committee", &other.committee, CONTEXT),
    ] {
        let found = <T::Scheme as Function>::Contents::contained(committee, &context, content()?);
        ensure(found.is_err(), || format!("the content of another {what} is evaluated"))?;
    }
    Ok(())
}
