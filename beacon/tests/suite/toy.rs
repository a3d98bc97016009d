//! A function by bookkeeping that can be broken in one place at a time: tokens are digests that anyone
//! recomputes, so nothing is secret and nothing costs anything.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::SeqCst};

use borsh::BorshSerialize;
use prefinal_beacon::laws::{DealtCommittee, Sample};
use prefinal_beacon::{
    Binding, ConfigError, Content, ContentError, ContentInput, Contents, Foresight, Function,
    KeyError, LateKeys, OtherGroupKey, OutputError, PartialsError, Path, ProvenOutput, Scheme,
    ShapeError, Sharing, Slot, Value, check_weight,
};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::Context;
use sha2::{Digest, Sha256};

/// Where it is broken.
pub(crate) struct Toy;

impl Toy {
    pub(crate) const SOUND: u8 = 0;
    pub(crate) const NOBODY_COUNTS: u8 = 1;
    pub(crate) const NO_ROUNDS: u8 = 2;
    pub(crate) const ANY_CHAIN: u8 = 3;
    pub(crate) const MOODY: u8 = 4;
    pub(crate) const BY_QUORUM: u8 = 5;
    pub(crate) const ONE_TOO_FEW: u8 = 6;
    pub(crate) const FIRST_CULPRIT: u8 = 7;
    pub(crate) const UNVERIFIED: u8 = 8;
    pub(crate) const ANY_SHAPE: u8 = 9;
    pub(crate) const SHORT_ANNOUNCEMENT: u8 = 10;
    pub(crate) const NEVER_SHOWN: u8 = 11;
    pub(crate) const SHOWN_BY_FEW: u8 = 12;
    pub(crate) const ANY_SECRET: u8 = 13;
    pub(crate) const ONE_FOR_BOTH: u8 = 14;
    pub(crate) const NO_KEYS: u8 = 15;
    pub(crate) const KEYS_TWICE: u8 = 16;
    pub(crate) const ANY_CONTENT: u8 = 17;
    pub(crate) const BLIND_TRUST: u8 = 18;
}

/// The function; `CONTENTS` says whether it needs them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tokens<const FAULT: u8, const CONTENTS: bool>;

/// Whose secret it is: of a dealing, on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize)]
pub(crate) struct Of {
    number: u8,
    path: Path,
    party: Party,
}

/// A committee; parties count from their key on.
#[derive(Clone, Debug)]
pub(crate) struct Holders {
    number: u8,
    path: Path,
    threshold: u128,
    here: BTreeSet<Party>,
}

#[derive(Debug)]
pub(crate) struct Secret {
    of: Of,
    used: AtomicU8,
}

/// What is evaluated, and what is in a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize)]
pub(crate) struct Point {
    context: Option<Context>,
    slot: Slot,
    value: Option<Value>,
    /// Which committee a content is for.
    of: Option<u8>,
}

type Token = Vec<u64>;
type TokensByParty = BTreeMap<Party, Token>;

const WEIGHTS: [u128; 5] = [2, 1, 3, 1, 0];

fn digest(of: &impl BorshSerialize) -> [u8; 32] {
    Sha256::digest(borsh::to_vec(of).unwrap()).into()
}

/// A word for each share.
fn token(of: Of, point: &Point) -> Token {
    let weight = WEIGHTS.get(of.party.index()).copied().unwrap_or(0);
    let word = |share: u128| digest(&(of, point, share))[..8].try_into().unwrap();
    (0..weight).map(|share| u64::from_le_bytes(word(share)) | 0xFF).collect()
}

impl Holders {
    fn of(&self, party: Party) -> Of {
        Of { number: self.number, path: self.path, party }
    }
}

impl<const F: u8, const C: bool> Tokens<F, C> {
    fn output(it: &Holders, point: &Point, given: &TokensByParty) -> [u8; 32] {
        let parties: Vec<_> = given.keys().filter(|_| F == Toy::BY_QUORUM).copied().collect();
        digest(&(it.number, point, parties))
    }

    fn point(context: &Context, slot: Slot, value: Option<Value>, of: Option<u8>) -> Point {
        let context = (F != Toy::ANY_CHAIN).then_some(*context);
        Point { context, slot, value, of }
    }
}

impl<const F: u8, const C: bool> Function for Tokens<F, C> {
    type Committee = Holders;
    type Input = Point;
    type Partial = Token;
    type Output = [u8; 32];
    type Proof = TokensByParty;
    type OutputMessage = TokensByParty;
    type LateKeys = Self;
    type Contents = Self;
    type Foresight = Self;

    fn id(it: &Holders) -> [u8; 32] {
        digest(&(it.number, it.path))
    }

    fn parties(_: &Holders) -> usize {
        WEIGHTS.len()
    }

    fn holding(_: &Holders, party: Party) -> u128 {
        WEIGHTS.get(party.index()).copied().unwrap_or(0)
    }

    fn threshold(it: &Holders) -> u128 {
        it.threshold
    }

    fn input(
        context: &Context,
        binding: Binding,
        slot: Slot,
        value: Option<Value>,
    ) -> Option<Point> {
        let lacks = F == Toy::NO_ROUNDS && matches!(binding, Binding::Rounds { .. });
        (!C && !lacks).then(|| Self::point(context, slot, value, None))
    }

    fn check_shape(it: &Holders, party: Party, token: &Token) -> Result<(), ShapeError> {
        let (got, need) = (token.len(), u32::try_from(Self::holding(it, party)).unwrap());
        let fits = u32::try_from(got) == Ok(need) || F == Toy::ANY_SHAPE;
        if fits { Ok(()) } else { Err(ShapeError::Points { got, need }) }
    }

    fn partial_bytes(it: &Holders, party: Party) -> usize {
        let bytes = 4 + 8 * usize::try_from(Self::holding(it, party)).unwrap();
        if F == Toy::SHORT_ANNOUNCEMENT { bytes - 1 } else { bytes }
    }

    fn verify(it: &Holders, point: &Point, given: &TokensByParty) -> Result<(), PartialsError> {
        let mood = if F == Toy::MOODY { 0xFF } else { 0 };
        let same = |one: &Token, other: &Token| {
            one.iter().map(|word| word | mood).eq(other.iter().map(|word| word | mood))
        };
        let right = |party: Party, one: &Token| {
            it.here.contains(&party) && same(one, &token(it.of(party), point))
        };
        let mut wrong = given.iter().filter(|(party, one)| !right(**party, one));
        let most = if F == Toy::FIRST_CULPRIT { 1 } else { usize::MAX };
        let culprits: BTreeSet<_> = wrong.by_ref().take(most).map(|(party, _)| *party).collect();
        if culprits.is_empty() { Ok(()) } else { Err(PartialsError::Faulty { culprits }) }
    }

    fn combine(
        it: &Holders,
        point: &Point,
        given: &TokensByParty,
    ) -> Result<ProvenOutput<Self>, PartialsError> {
        let mut enough = it.clone();
        enough.threshold -= u128::from(F == Toy::ONE_TOO_FEW);
        check_weight::<Self>(&enough, given)?;
        let mut output = Self::output(it, point, given);
        match Self::verify(it, point, given) {
            Err(_) if F == Toy::UNVERIFIED => output = digest(given),
            verified => verified?,
        }
        Ok(ProvenOutput { output, proof: given.clone() })
    }

    fn prove(_: &Holders, _: &Point, given: &TokensByParty) -> Option<TokensByParty> {
        Some(given.clone())
    }

    fn show(_: &[u8; 32], proof: &TokensByParty) -> TokensByParty {
        proof.clone()
    }

    fn shown_bytes(it: &Holders) -> usize {
        let parties = (0..).map(Party::new).take(WEIGHTS.len());
        4 + parties
            .map(|party| 4 + 4 + 8 * usize::try_from(Self::holding(it, party)).unwrap())
            .sum::<usize>()
    }

    fn check_shown(
        it: &Holders,
        point: &Point,
        shown: &TokensByParty,
    ) -> Result<ProvenOutput<Self>, OutputError> {
        if F == Toy::SHOWN_BY_FEW {
            Self::verify(it, point, shown).map_err(|_| OutputError::False)?;
            let output = Self::output(it, point, shown);
            return Ok(ProvenOutput { output, proof: shown.clone() });
        }
        let combined = Self::combine(it, point, shown).ok();
        combined.filter(|_| F != Toy::NEVER_SHOWN).ok_or(OutputError::False)
    }

    fn check_binding(_: &Holders, _: Path, binding: Binding) -> Result<(), ConfigError> {
        if C && binding != Binding::Value { Err(ConfigError::Unbound) } else { Ok(()) }
    }

    fn check_handover(_: &Holders, _: &Holders) -> Result<(), OtherGroupKey> {
        Ok(())
    }

    fn public_keys(it: &Holders) -> BTreeSet<Vec<u8>> {
        let group = digest(&it.number).to_vec();
        [group].into_iter().filter(|_| F != Toy::NO_KEYS).collect()
    }
}

impl<const F: u8, const C: bool> Scheme for Tokens<F, C> {
    type Secret = Secret;

    fn evaluate(secret: &Secret, point: &Point) -> Option<Token> {
        let mut token = token(secret.of, point);
        let used = secret.used.fetch_add(u8::from(F == Toy::MOODY), SeqCst);
        if let Some(first) = token.first_mut() {
            *first ^= u64::from(used);
        }
        Some(token)
    }

    fn check_secret(
        it: &Holders,
        me: Party,
        secret: &Secret,
        path: Path,
        _: &Context,
    ) -> Result<(), ConfigError> {
        let own = secret.of == it.of(me) || F == Toy::ANY_SECRET;
        if own { Ok(()) } else { Err(ConfigError::WrongKey { path }) }
    }

    fn check_paths(
        me: Party,
        slow: &Sharing<Self>,
        fast: &Sharing<Self>,
        _: &Context,
    ) -> Result<(), ConfigError> {
        if slow.committee.number != fast.committee.number {
            return Err(ConfigError::GroupKeys);
        }
        let same = slow.committee.path == fast.committee.path;
        let same = same && F != Toy::ONE_FOR_BOTH;
        if same { Err(ConfigError::SharedShare { party: me }) } else { Ok(()) }
    }
}

impl<const F: u8, const C: bool> LateKeys<Self> for Tokens<F, C> {
    type Key = Of;

    fn has_key(it: &Holders, party: Party) -> bool {
        it.here.contains(&party)
    }

    fn insert(it: &mut Holders, key: Of) -> Result<(), KeyError> {
        let party = key.party;
        if key != it.of(party) {
            return Err(KeyError::OtherCommittee { party });
        }
        let new = it.here.insert(party) || F == Toy::KEYS_TWICE;
        if new { Ok(()) } else { Err(KeyError::Duplicate { party }) }
    }

    fn check_other(other: &Holders, key: &Of) -> Result<(), KeyError> {
        let party = key.party;
        if *key == other.of(party) { Err(KeyError::SharedBlinding { party }) } else { Ok(()) }
    }
}

impl<const F: u8, const C: bool> Contents<Self> for Tokens<F, C> {
    type Content = Point;

    const NEEDED: bool = C;

    fn contained(
        it: &Holders,
        context: &Context,
        content: Point,
    ) -> Result<ContentInput<Self>, ContentError> {
        let (slot, value) = (content.slot, content.value.unwrap());
        let own = content.context == Some(*context) && content.of == Some(it.number);
        if !own && F != Toy::ANY_CONTENT {
            return Err(ContentError::Elsewhere { slot });
        }
        Ok(ContentInput { slot, value, input: content })
    }
}

impl<const F: u8, const C: bool> Foresight<Self> for Tokens<F, C> {
    type Preparation = BTreeSet<Party>;
    type RunningCombination = TokensByParty;

    const USED: bool = true;

    fn foresee(it: &Holders, parties: &BTreeSet<Party>) -> Option<BTreeSet<Party>> {
        let weight: u128 = parties.iter().map(|party| Self::weight(it, *party)).sum();
        (weight >= it.threshold).then(|| parties.clone())
    }

    fn begin(_: &Arc<BTreeSet<Party>>, _: &Point) -> TokensByParty {
        TokensByParty::new()
    }

    fn add(ahead: &mut TokensByParty, _: &Holders, given: &TokensByParty) {
        ahead.extend(given.clone());
    }

    fn finish(
        ahead: &TokensByParty,
        it: &Holders,
        point: &Point,
        given: &TokensByParty,
    ) -> Result<ProvenOutput<Self>, PartialsError> {
        if F == Toy::BLIND_TRUST && ahead.len() == given.len() {
            return Self::combine(it, point, ahead);
        }
        Self::combine(it, point, given)
    }
}

/// Deals committees whose partials are tokens: the sample that the laws are tried on.
pub(crate) struct Dealer<const F: u8, const C: bool>;

impl<const F: u8, const C: bool> Sample for Dealer<F, C> {
    type Scheme = Tokens<F, C>;

    fn deal(&self, number: u8, path: Path) -> DealtCommittee<Tokens<F, C>> {
        let holders = (0..4).map(|party| Of { number, path, party: Party::new(party) });
        let secret = |of: Of| (of.party, Secret { of, used: AtomicU8::new(0) });
        let threshold = if path == Path::Slow { 4 } else { 6 };
        DealtCommittee {
            committee: Holders { number, path, threshold, here: BTreeSet::new() },
            secrets: holders.clone().map(secret).collect(),
            late_keys: holders.filter(|_| F != Toy::NOBODY_COUNTS).collect(),
        }
    }

    fn content(
        &self,
        it: &Holders,
        context: &Context,
        slot: Slot,
        number: u8,
    ) -> Option<Content<Tokens<F, C>>> {
        let value = Some(Value::new([number; 32]));
        Some(Tokens::<F, C>::point(context, slot, value, Some(it.number)))
    }
}
