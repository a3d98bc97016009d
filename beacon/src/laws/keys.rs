//! Laws of keys: whose they are, on which path, from when on.
use prefinal_crypto_core::access::Party;

use super::Sample;
use super::bench::{Bench, CONTEXT, Outcome, ensure, sharing};
use crate::config_error::ConfigError;
use crate::schemes::{Contents, Function, LateKeys, Scheme, Sharing, parties};
use prefinal_contract::Path;

pub(super) fn sample<T: Sample>(sample: &T) -> Outcome {
    let bench = Bench::first(sample)?;
    let holders = parties::<T::Scheme>(&bench.committee)
        .filter(|party| T::Scheme::holding(&bench.committee, *party) > 0);
    let holders: Vec<_> = holders.collect();
    ensure((3..=6).contains(&holders.len()), || {
        format!("{} parties hold something, three to six are tried", holders.len())
    })?;
    let known: Vec<_> = bench.secrets.keys().copied().collect();
    ensure(known == holders, || format!("secrets of {known:?}, holders are {holders:?}"))?;
    let need = T::Scheme::threshold(&bench.committee);
    let alone = holders.iter().find(|party| bench.weight([**party].iter()) >= need);
    ensure(alone.is_none(), || format!("{alone:?} suffices alone"))?;
    ensure(bench.weight(holders.iter()) >= need, || "all together do not suffice".to_owned())?;
    let fresh = sample.deal(0, Path::Slow);
    ensure(
        T::Scheme::counted(&fresh.committee) == bench.weight(holders.iter())
            || !fresh.late_keys.is_empty(),
        || "parties do not count yet, and there are no late keys".to_owned(),
    )?;
    if <T::Scheme as Function>::Contents::NEEDED {
        let content = bench.contained(&bench.point()?)?;
        ensure(content.is_some(), || "the scheme needs contents".to_owned())?;
    }
    Ok(())
}

pub(super) fn secrets<T: Sample>(sample: &T) -> Outcome {
    let (bench, other) = (Bench::first(sample)?, Bench::new(sample, 1, Path::Slow)?);
    let check = |me: Party, secret| {
        T::Scheme::check_secret(&bench.committee, me, secret, bench.path, &CONTEXT)
    };
    for (party, secret) in &bench.secrets {
        check(*party, secret)
            .map_err(|error| format!("{party} may not use its own secret: {error}"))?;
        for me in bench.secrets.keys().filter(|me| *me != party) {
            ensure(check(*me, secret).is_err(), || format!("{me} may use the secret of {party}"))?;
        }
    }
    for (party, secret) in &other.secrets {
        ensure(check(*party, secret).is_err(), || {
            format!("{party} may use its secret of another committee")
        })?;
    }
    Ok(())
}

/// Whether the scheme has two paths.
fn has_two_paths<T: Sample>(sample: &T) -> Result<bool, String> {
    let bench = Bench::first(sample)?;
    let mut two = Vec::new();
    for me in bench.secrets.keys() {
        let slow = sharing(sample, 0, Path::Slow, *me)?;
        let fast = sharing(sample, 0, Path::Fast, *me)?;
        match T::Scheme::check_paths(*me, &slow, &fast, &CONTEXT) {
            Ok(()) => two.push(true),
            Err(ConfigError::OnePath) => two.push(false),
            Err(error) => return Err(format!("two paths of one secret are refused: {error}")),
        }
    }
    ensure(two.iter().all(|one| Some(one) == two.first()), || {
        "some parties have two paths, and some have one".to_owned()
    })?;
    Ok(two.first() == Some(&true))
}

pub(super) fn paths<T: Sample>(sample: &T) -> Outcome {
    has_two_paths(sample)?;
    let bench = Bench::first(sample)?;
    for me in bench.secrets.keys() {
        let known = || sharing(sample, 0, Path::Slow, *me);
        let silent = || Ok::<_, String>(Sharing { secret: None, ..known()? });
        let early = || {
            let mut dealt = sample.deal(0, Path::Slow);
            Sharing { committee: dealt.committee, secret: dealt.secrets.remove(me) }
        };
        for (what, slow, fast) in [
            ("with its secrets", known()?, known()?),
            ("by their public keys", silent()?, silent()?),
            ("before late keys are here", early(), early()),
        ] {
            let refused = T::Scheme::check_paths(*me, &slow, &fast, &CONTEXT).is_err();
            ensure(refused, || format!("{me} takes one sharing for two paths, {what}"))?;
        }
        let other = sharing(sample, 1, Path::Fast, *me)?;
        let refused = T::Scheme::check_paths(*me, &known()?, &other, &CONTEXT).is_err();
        ensure(refused, || format!("{me} takes two secrets for two paths"))?;
    }
    Ok(())
}

pub(super) fn public_keys<T: Sample>(sample: &T) -> Outcome {
    let keys = |number, path| {
        let bench = Bench::new(sample, number, path)?;
        Ok::<_, String>(T::Scheme::public_keys(&bench.committee))
    };
    let (slow, other) = (keys(0, Path::Slow)?, keys(1, Path::Slow)?);
    ensure(!slow.is_empty(), || "a committee has no public key".to_owned())?;
    ensure(slow.is_disjoint(&other), || "two secrets have one public key".to_owned())?;
    if has_two_paths(sample)? {
        let shared = !slow.is_disjoint(&keys(0, Path::Fast)?);
        ensure(shared, || "two sharings of one secret have no public key in common".to_owned())?;
    }
    let id =
        |number| Ok::<_, String>(T::Scheme::id(&Bench::new(sample, number, Path::Slow)?.committee));
    ensure(id(0)? != id(1)?, || "two committees have one digest".to_owned())
}

pub(super) fn late_keys<T: Sample>(sample: &T) -> Outcome {
    type Late<T> = <<T as Sample>::Scheme as Function>::LateKeys;
    let dealt = sample.deal(0, Path::Slow);
    let mut committee = dealt.committee;
    let others = sample.deal(1, Path::Slow).late_keys;
    for key in others {
        let refused = T::Scheme::admit(&mut committee.clone(), key).is_err();
        ensure(refused, || "a key of another committee is admitted".to_owned())?;
    }
    for key in dealt.late_keys {
        let before = T::Scheme::counted(&committee);
        T::Scheme::admit(&mut committee, key.clone())
            .map_err(|error| format!("a late key is refused: {error}"))?;
        let after = T::Scheme::counted(&committee);
        ensure(after > before, || "a party with its key does not count".to_owned())?;
        ensure(T::Scheme::admit(&mut committee, key.clone()).is_err(), || {
            "a key is admitted twice".to_owned()
        })?;
        ensure(T::Scheme::counted(&committee) == after, || "a party counts twice".to_owned())?;
        // As if the other path had the same key.
        let shared = Late::<T>::check_other(&committee, &key).is_err();
        ensure(shared, || "one late key serves two paths".to_owned())?;
    }
    for party in parties::<T::Scheme>(&committee) {
        let (got, need) =
            (T::Scheme::weight(&committee, party), T::Scheme::holding(&committee, party));
        ensure(got == need, || format!("{party} counts for {got} and holds {need}"))?;
    }
    Ok(())
}
