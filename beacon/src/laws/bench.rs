//! A sample made ready: all keys admitted, inputs to evaluate, partials that are right and wrong.
use std::collections::{BTreeMap, BTreeSet};

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::{ChainId, Context, EpochId};

use super::Sample;
use crate::schemes::{ContentInput, Contents, Function, ProvenOutput, Scheme, Sharing, parties};
use prefinal_contract::{Binding, Path};
use prefinal_protocol::{Slot, Value};

pub(super) type Partials<S> = BTreeMap<Party, <S as Function>::Partial>;
/// A party with a partial that is not its own.
pub(super) type OneWrong<S> = (Party, <S as Function>::Partial);
pub(super) type Outcome = Result<(), String>;

/// Says what is wrong, if it is.
pub(super) fn ensure(holds: bool, what: impl FnOnce() -> String) -> Outcome {
    if holds { Ok(()) } else { Err(what()) }
}

/// A slot to evaluate; `number` tells its values and contents apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) context: Context,
    pub(super) binding: Binding,
    pub(super) slot: Slot,
    pub(super) number: u8,
}

pub(super) const CONTEXT: Context =
    Context { chain: ChainId::new([1; 32]), epoch: EpochId::new(1) };
pub(super) const SLOT: Slot = Slot::new(7);

/// One path's committee, all keys admitted.
pub(super) struct Bench<'t, T: Sample> {
    pub(super) sample: &'t T,
    pub(super) committee: <T::Scheme as Function>::Committee,
    pub(super) secrets: BTreeMap<Party, <T::Scheme as Scheme>::Secret>,
    pub(super) path: Path,
}

impl<'t, T: Sample> Bench<'t, T> {
    pub(super) fn new(sample: &'t T, number: u8, path: Path) -> Result<Self, String> {
        let dealt = sample.deal(number, path);
        let mut committee = dealt.committee;
        for key in dealt.late_keys {
            T::Scheme::admit(&mut committee, key)
                .map_err(|error| format!("a late key of the sample is refused: {error}"))?;
        }
        Ok(Self { sample, committee, secrets: dealt.secrets, path })
    }

    /// Committee number 0 on the slow path, which every scheme has.
    pub(super) fn first(sample: &'t T) -> Result<Self, String> {
        Self::new(sample, 0, Path::Slow)
    }

    /// Bindings that the committee's key is for.
    pub(super) fn bindings(&self) -> Vec<Binding> {
        let all = [Binding::Slot, Binding::Rounds { first: Slot::new(1) }, Binding::Value];
        let accepts =
            |one: &Binding| T::Scheme::check_binding(&self.committee, self.path, *one).is_ok();
        all.into_iter().filter(accepts).collect()
    }

    /// A slot with a value.
    pub(super) fn point(&self) -> Result<Point, String> {
        let binding = self.bindings().first().copied();
        let binding = binding.ok_or("no binding is accepted")?;
        Ok(Point { context: CONTEXT, binding, slot: SLOT, number: 1 })
    }

    pub(super) fn contained(
        &self,
        point: &Point,
    ) -> Result<Option<ContentInput<T::Scheme>>, String> {
        let Point { context, slot, number, .. } = *point;
        let content = self.sample.content(&self.committee, &context, slot, number);
        let contained = content.map(|content| {
            <T::Scheme as Function>::Contents::contained(&self.committee, &context, content)
        });
        contained.transpose().map_err(|error| format!("the sample's content is refused: {error}"))
    }

    pub(super) fn input(&self, point: &Point) -> Result<<T::Scheme as Function>::Input, String> {
        let Point { context, binding, slot, number } = *point;
        if <T::Scheme as Function>::Contents::NEEDED {
            let contained = self.contained(point)?;
            return Ok(contained.ok_or("the sample brings no content")?.input);
        }
        let value = (binding == Binding::Value).then_some(Value::new([number; 32]));
        T::Scheme::input(&context, binding, slot, value)
            .ok_or_else(|| format!("no input of {slot} with {binding:?}"))
    }

    pub(super) fn evaluate(
        &self,
        input: &<T::Scheme as Function>::Input,
    ) -> Result<Partials<T::Scheme>, String> {
        let evaluate = |(party, secret): (&Party, &_)| {
            let partial = T::Scheme::evaluate(secret, input);
            Ok((*party, partial.ok_or_else(|| format!("{party} evaluates nothing"))?))
        };
        self.secrets.iter().map(evaluate).collect()
    }

    pub(super) fn weight<'p>(&self, parties: impl Iterator<Item = &'p Party>) -> u128 {
        parties.map(|party| T::Scheme::weight(&self.committee, *party)).sum()
    }

    /// All sets of holders, those that suffice apart from those that do not.
    pub(super) fn sets(&self) -> (Vec<BTreeSet<Party>>, Vec<BTreeSet<Party>>) {
        let mut sets = vec![BTreeSet::new()];
        for party in self.secrets.keys() {
            let with = sets.iter().map(|set| set.iter().copied().chain([*party]).collect());
            let with: Vec<BTreeSet<Party>> = with.collect();
            sets.extend(with);
        }
        let need = T::Scheme::threshold(&self.committee);
        sets.into_iter().partition(|set| self.weight(set.iter()) >= need)
    }

    /// Sets that suffice, and would not without any one of them.
    pub(super) fn minimal(&self) -> Vec<BTreeSet<Party>> {
        let need = T::Scheme::threshold(&self.committee);
        let (enough, _) = self.sets();
        let minimal = |set: &BTreeSet<Party>| {
            set.iter().all(|one| self.weight(set.iter().filter(|other| *other != one)) < need)
        };
        enough.into_iter().filter(minimal).collect()
    }

    /// Someone without a say: of no committee, or holding nothing.
    pub(super) fn strangers(&self) -> Vec<Party> {
        let last = u32::try_from(T::Scheme::parties(&self.committee)).unwrap_or(u32::MAX);
        let idle = parties::<T::Scheme>(&self.committee)
            .filter(|party| T::Scheme::holding(&self.committee, *party) == 0);
        idle.chain([Party::new(last), Party::new(u32::MAX)]).collect()
    }

    /// Everything of one wrong partial each: of another slot, of another secret, of another party.
    pub(super) fn wrong(
        &self,
        point: &Point,
        right: &Partials<T::Scheme>,
    ) -> Result<Vec<OneWrong<T::Scheme>>, String> {
        let other_slot = self.input(&Point { slot: point.slot.next(), ..*point })?;
        let other_deal = Self::new(self.sample, 1, self.path)?;
        let input = self.input(point)?;
        let mut wrong: Vec<_> = self.evaluate(&other_slot)?.into_iter().collect();
        let others = other_deal.secrets.iter();
        wrong
            .extend(others.filter_map(|(party, secret)| {
                Some((*party, T::Scheme::evaluate(secret, &input)?))
            }));
        for party in self.secrets.keys() {
            wrong.extend(
                right
                    .iter()
                    .filter(|(other, _)| *other != party)
                    .map(|(_, partial)| (*party, partial.clone())),
            );
        }
        wrong.retain(|(party, partial)| {
            right.get(party) != Some(partial)
                && T::Scheme::check_shape(&self.committee, *party, partial).is_ok()
        });
        Ok(wrong)
    }

    /// The output of everyone.
    pub(super) fn all(
        &self,
        input: &<T::Scheme as Function>::Input,
    ) -> Result<ProvenOutput<T::Scheme>, String> {
        T::Scheme::combine(&self.committee, input, &self.evaluate(input)?)
            .map_err(|error| format!("everybody's partials give nothing: {error}"))
    }
}

/// Those of the partials.
pub(super) fn of<S: Function>(partials: &Partials<S>, set: &BTreeSet<Party>) -> Partials<S> {
    let own = partials.iter().filter(|(party, _)| set.contains(party));
    own.map(|(party, partial)| (*party, partial.clone())).collect()
}

/// What a party has of one path.
pub(super) fn sharing<T: Sample>(
    sample: &T,
    number: u8,
    path: Path,
    me: Party,
) -> Result<Sharing<T::Scheme>, String> {
    let Bench { committee, mut secrets, .. } = Bench::new(sample, number, path)?;
    Ok(Sharing { committee, secret: secrets.remove(&me) })
}
