//! Laws of outputs: who gets which, when, and who believes it.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Sample;
use super::bench::{Bench, Outcome, Partials, Point, SLOT, ensure, of};
use super::partials::encoded;
use crate::schemes::{Foresight, Function, PartialsError, ProvenOutput};
use prefinal_contract::Path;

pub(super) fn quorums<T: Sample>(sample: &T) -> Outcome {
    let mut outputs = Vec::new();
    for path in [Path::Slow, Path::Fast] {
        let bench = Bench::new(sample, 0, path)?;
        let input = bench.input(&bench.point()?)?;
        let partials = bench.evaluate(&input)?;
        for set in bench.sets().0 {
            let found =
                T::Scheme::combine(&bench.committee, &input, &of::<T::Scheme>(&partials, &set));
            let found = found.map_err(|error| format!("{set:?} give nothing: {error}"))?;
            outputs.push((path, set, found.output));
        }
    }
    let [(_, _, first), rest @ ..] = outputs.as_slice() else {
        return Err("there is no quorum".to_owned());
    };
    rest.iter().try_for_each(|(path, set, output)| {
        ensure(output == first, || format!("{set:?} of the {path} path give another output"))
    })
}

pub(super) fn threshold<T: Sample>(sample: &T) -> Outcome {
    let bench = Bench::first(sample)?;
    let input = bench.input(&bench.point()?)?;
    let partials = bench.evaluate(&input)?;
    let need = T::Scheme::threshold(&bench.committee);
    for set in bench.sets().1 {
        let mut given = of::<T::Scheme>(&partials, &set);
        let found = T::Scheme::combine(&bench.committee, &input, &given).map(drop);
        let expected = PartialsError::BelowThreshold { got: bench.weight(set.iter()), need };
        ensure(found.as_ref() == Err(&expected), || {
            format!("{set:?} are too few, and combining them gives {found:?}")
        })?;
        let filler = partials.values().next().cloned();
        for (party, partial) in bench.strangers().into_iter().zip(filler.iter().cycle()) {
            given.insert(party, partial.clone());
        }
        let refused = T::Scheme::combine(&bench.committee, &input, &given).is_err();
        ensure(refused, || format!("{set:?} suffice with parties that hold nothing"))?;
    }
    Ok(())
}

/// What combining gives is the right output with a proof, or names exactly the wrong partials.
fn check_combined<T: Sample>(
    bench: &Bench<'_, T>,
    input: &<T::Scheme as Function>::Input,
    right: &<T::Scheme as Function>::Output,
    wrong: &BTreeSet<prefinal_crypto_core::access::Party>,
    found: Result<ProvenOutput<T::Scheme>, PartialsError>,
) -> Outcome {
    match found {
        Ok(combined) => {
            ensure(combined.output == *right, || format!("{wrong:?} make another output"))?;
            let shown = T::Scheme::show(&combined.output, &combined.proof);
            T::Scheme::check_shown(&bench.committee, input, &shown)
                .map(drop)
                .map_err(|error| format!("with {wrong:?} wrong an output has no proof: {error}"))
        }
        Err(PartialsError::Faulty { culprits }) => ensure(culprits == *wrong, || {
            format!("combining names {culprits:?}, wrong are {wrong:?}")
        }),
        Err(error) => Err(format!("combining fails: {error}")),
    }
}

pub(super) fn combining<T: Sample>(sample: &T) -> Outcome {
    let bench = Bench::first(sample)?;
    let point = bench.point()?;
    let input = bench.input(&point)?;
    let (right, output) = (bench.evaluate(&input)?, bench.all(&input)?.output);
    let wrong = bench.wrong(&point, &right)?;
    let all = right.keys().copied().collect();
    for set in bench.minimal().into_iter().chain([all]) {
        for (party, partial) in wrong.iter().filter(|(party, _)| set.contains(party)) {
            let mut given = of::<T::Scheme>(&right, &set);
            given.insert(*party, partial.clone());
            let found = T::Scheme::combine(&bench.committee, &input, &given);
            check_combined(&bench, &input, &output, &BTreeSet::from([*party]), found)?;
            for (other, second) in wrong.iter().filter(|(it, _)| it > party && set.contains(it)) {
                let mut given = given.clone();
                given.insert(*other, second.clone());
                let found = T::Scheme::combine(&bench.committee, &input, &given);
                let wrong = BTreeSet::from([*party, *other]);
                check_combined(&bench, &input, &output, &wrong, found)?;
            }
        }
    }
    Ok(())
}

fn shown<S: Function>(combined: &ProvenOutput<S>) -> Result<(S::OutputMessage, Vec<u8>), String> {
    let shown = S::show(&combined.output, &combined.proof);
    let bytes = borsh::to_vec(&shown).map_err(|error| format!("not encoded: {error}"))?;
    Ok((shown, bytes))
}

pub(super) fn encodings<T: Sample>(sample: &T) -> Outcome {
    let bench = Bench::first(sample)?;
    let input = bench.input(&bench.point()?)?;
    for (party, partial) in bench.evaluate(&input)? {
        let bytes = encoded::<T::Scheme>(&partial)?;
        let again = borsh::from_slice::<<T::Scheme as Function>::Partial>(&bytes);
        ensure(again.ok() == Some(partial), || format!("{party}: a partial reads differently"))?;
        let (got, need) = (bytes.len(), T::Scheme::partial_bytes(&bench.committee, party));
        ensure(got == need, || format!("{party} sends {got} bytes, {need} are announced"))?;
    }
    let (shown, bytes) = shown(&bench.all(&input)?)?;
    let again = borsh::from_slice::<<T::Scheme as Function>::OutputMessage>(&bytes);
    ensure(again.ok() == Some(shown), || "what is shown reads differently".to_owned())?;
    let (got, most) = (bytes.len(), T::Scheme::shown_bytes(&bench.committee));
    ensure(got <= most, || format!("{got} bytes are shown, {most} are announced"))?;
    // One element of a list or map more or less.
    ensure(most <= 2 * got + 256, || format!("{most} bytes are announced, {got} are shown"))
}

pub(super) fn showing<T: Sample>(sample: &T) -> Outcome {
    let (bench, other) = (Bench::first(sample)?, Bench::new(sample, 1, Path::Slow)?);
    let point = bench.point()?;
    let (input, next) = (bench.input(&point)?, bench.input(&Point { slot: SLOT.next(), ..point })?);
    let partials = bench.evaluate(&input)?;
    for set in bench.minimal() {
        let found = T::Scheme::combine(&bench.committee, &input, &of::<T::Scheme>(&partials, &set));
        let combined = found.map_err(|error| format!("{set:?} give nothing: {error}"))?;
        let (shown, _) = shown(&combined)?;
        let seen = T::Scheme::check_shown(&bench.committee, &input, &shown);
        let seen = seen.map_err(|error| format!("the output of {set:?} is refused: {error}"))?;
        ensure(seen.output == combined.output, || format!("{set:?} show another output"))?;
        let again = T::Scheme::show(&seen.output, &seen.proof);
        ensure(again == shown, || "what was shown is shown differently".to_owned())?;
        let late = T::Scheme::check_shown(&bench.committee, &next, &shown);
        ensure(late.is_err(), || "an output is shown for another slot".to_owned())?;
        let foreign = T::Scheme::check_shown(&other.committee, &other.input(&point)?, &shown);
        ensure(foreign.is_err(), || "an output is shown by another committee".to_owned())?;
    }
    Ok(())
}

pub(super) fn forgeries<T: Sample>(sample: &T) -> Outcome {
    let bench = Bench::first(sample)?;
    let input = bench.input(&bench.point()?)?;
    let partials = bench.evaluate(&input)?;
    let believes = |shown: &<T::Scheme as Function>::OutputMessage| {
        T::Scheme::check_shown(&bench.committee, &input, shown).is_ok()
    };
    for set in bench.minimal() {
        let found = T::Scheme::combine(&bench.committee, &input, &of::<T::Scheme>(&partials, &set));
        let combined = found.map_err(|error| format!("{set:?} give nothing: {error}"))?;
        let (shown, bytes) = shown(&combined)?;
        for (position, changed) in changed(&bytes) {
            let forged = borsh::from_slice::<<T::Scheme as Function>::OutputMessage>(&changed).ok();
            let forged = forged.filter(|forged| *forged != shown);
            ensure(forged.is_none_or(|forged| !believes(&forged)), || {
                format!("what {set:?} have shown is believed with a change at byte {position}")
            })?;
        }
    }
    // What rests on fewer partials, where what is shown rests on partials at all.
    for set in bench.sets().1 {
        let few = of::<T::Scheme>(&partials, &set);
        let full = T::Scheme::prove(&bench.committee, &input, &partials);
        let proof = T::Scheme::prove(&bench.committee, &input, &few);
        if let Some(proof) = proof.filter(|proof| Some(proof) != full.as_ref()) {
            let shown = T::Scheme::show(&bench.all(&input)?.output, &proof);
            ensure(!believes(&shown), || format!("{set:?} are too few and are believed"))?;
        }
    }
    Ok(())
}

/// Encodings with a bit changed, and with an element less.
fn changed(bytes: &[u8]) -> Vec<(usize, Vec<u8>)> {
    let flipped = (0..bytes.len()).map(|position| {
        let mut changed = bytes.to_vec();
        if let Some(byte) = changed.get_mut(position) {
            *byte ^= 1 << (position % 8);
        }
        (position, changed)
    });
    let fewer = (1..bytes.len()).filter_map(|less| {
        let (count, elements) = bytes.split_first_chunk::<4>()?;
        let count = u32::from_le_bytes(*count).checked_sub(1)?;
        let kept = elements.get(..elements.len().checked_sub(less)?)?;
        Some((0, [&count.to_le_bytes()[..], kept].concat()))
    });
    flipped.chain(fewer).collect()
}

pub(super) fn foresight<T: Sample>(sample: &T) -> Outcome {
    let bench = Bench::first(sample)?;
    let point = bench.point()?;
    let input = bench.input(&point)?;
    let right = bench.evaluate(&input)?;
    let wrong = bench.wrong(&point, &right)?;
    for set in bench.sets().1 {
        let foreseen = <T::Scheme as Function>::Foresight::foresee(&bench.committee, &set);
        ensure(foreseen.is_none(), || format!("{set:?} are too few and are foreseen"))?;
    }
    for set in bench.minimal() {
        let foreseen = <T::Scheme as Function>::Foresight::foresee(&bench.committee, &set);
        let used = <T::Scheme as Function>::Foresight::USED;
        ensure(foreseen.is_some() == used, || format!("{set:?}: foresight does not fit USED"))?;
        let Some(foreseen) = foreseen.map(Arc::new) else { continue };
        let good = of::<T::Scheme>(&right, &set);
        check_ahead(&bench, &foreseen, &input, [&good, &good])?;
        for (party, partial) in wrong.iter().filter(|(party, _)| set.contains(party)) {
            let mut bad = good.clone();
            bad.insert(*party, partial.clone());
            for pair in [[&bad, &bad], [&bad, &good], [&good, &bad]] {
                check_ahead(&bench, &foreseen, &input, pair)?;
            }
        }
    }
    Ok(())
}

/// Takes in the first ones ahead, one and two and all of them, and finishes with the last ones.
fn check_ahead<T: Sample>(
    bench: &Bench<'_, T>,
    foreseen: &Arc<crate::schemes::Preparation<T::Scheme>>,
    input: &<T::Scheme as Function>::Input,
    [first, last]: [&Partials<T::Scheme>; 2],
) -> Outcome {
    type RunningCombination<T> = <<T as Sample>::Scheme as Function>::Foresight;
    let direct = T::Scheme::combine(&bench.committee, input, last);
    let mut ahead = RunningCombination::<T>::begin(foreseen, input);
    for (party, partial) in first {
        let finished = RunningCombination::<T>::finish(&ahead, &bench.committee, input, last);
        ensure(finished == direct, || format!("finished, it is {finished:?} and not {direct:?}"))?;
        let one = BTreeMap::from([(*party, partial.clone())]);
        RunningCombination::<T>::add(&mut ahead, &bench.committee, &one);
    }
    let finished = RunningCombination::<T>::finish(&ahead, &bench.committee, input, last);
    ensure(finished == direct, || format!("finished, it is {finished:?} and not {direct:?}"))
}
