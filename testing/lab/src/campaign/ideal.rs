//! The ideal threshold function: no curve, and exact.
//!
//! | step     | what                                                            |
//! |----------|-----------------------------------------------------------------|
//! | evaluate | a token: whose it is, of which sharing, of which input           |
//! | verify   | the token is the party's, of this sharing and this input         |
//! | combine  | tokens of reconstruction weight, all right, give the output      |
//! | output   | the input itself: it is a secret by bookkeeping alone            |
//!
//! A token hides nothing. An output is secret only because everybody that computes one is seen:
//! [`Function::combine`] takes the tokens, and `account` knows from the messages which parties could
//! have had how many of them, and when. A real function approximates this: nothing below the threshold,
//! everything from the threshold on, for every set of parties. A faulty party may change its own tokens
//! (`shifted`), but never make another party's, because a link authenticates the sender.
//!
//! Real functions are `prefinal_beacon::Bls` and `prefinal_beacon::Wvuf`; wrong partials are in `forge`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ::prefinal_beacon::{
    Binding, ConfigError, Foresight, Function, NoContents, NoLateKeys, OtherGroupKey, OutputError,
    PartialsError, Path, Paths, ProvenOutput, Random, Scheme, ShapeError, Sharing, Slot, Value,
    check_weight,
};
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::Context;
use sha2::{Digest, Sha256};

use super::hand::Hand;
use prefinal_validator::setup::{Algorithm, Plan};

/// The function. With `AHEAD` a beacon asks for the same jobs as of a function that computes something before
/// all partials are there, so that they can be charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ideal<const AHEAD: bool = false>;

/// There is nothing to compute ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NothingAhead<const AHEAD: bool>;

/// How many shares of one sharing each party holds, and how many give an output.
#[derive(Clone, Debug)]
pub(crate) struct Holders {
    path: Path,
    weights: Arc<[u128]>,
    threshold: u128,
}

/// A party's shares of one sharing.
#[derive(Debug)]
pub(crate) struct Shares {
    party: Party,
    path: Path,
}

/// What is evaluated, and what comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub(crate) struct Point {
    slot: Slot,
    value: Option<Value>,
}

/// A party's partial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct Token {
    party: Party,
    path: Path,
    point: Point,
    /// Zero in a right one.
    shift: u64,
}

impl Token {
    /// The token with so much added to it, or taken away.
    pub(crate) const fn shifted(self, by: u64, adds: bool) -> Self {
        let shift = if adds { self.shift.wrapping_add(by) } else { self.shift.wrapping_sub(by) };
        Self { shift, ..self }
    }
}

impl Holders {
    const fn right(&self, party: Party, point: Point) -> Token {
        Token { party, path: self.path, point, shift: 0 }
    }

    fn culprits(&self, point: Point, tokens: &BTreeMap<Party, Token>) -> BTreeSet<Party> {
        let wrong = tokens.iter().filter(|(party, token)| **token != self.right(**party, point));
        wrong.map(|(party, _)| *party).collect()
    }
}

impl<const AHEAD: bool> Ideal<AHEAD> {
    /// The sharings of a plan.
    pub(crate) fn hand(plan: &Plan, algorithm: Algorithm) -> Hand<Self> {
        let from = if algorithm == Algorithm::Slow { u64::MAX } else { 0 };
        Self::hand_from(plan, algorithm, Slot::new(from))
    }

    /// The same, with partials of the fast path from a slot on.
    pub(crate) fn hand_from(plan: &Plan, algorithm: Algorithm, fast_from: Slot) -> Hand<Self> {
        let weights: Arc<[u128]> =
            plan.shape.access().weights().into_iter().map(u128::from).collect();
        let holders = |path, threshold: u32| {
            (path, Holders { path, weights: Arc::clone(&weights), threshold: threshold.into() })
        };
        let slow = plan.shape.slow().t().get();
        let late = if algorithm == Algorithm::Tight { Path::Tight } else { Path::Slow };
        let mut committees = BTreeMap::from([holders(late, slow)]);
        committees.extend(
            plan.shape
                .threshold(prefinal_pvss_dkg::SharePath::Fast)
                .map(|fast| holders(Path::Fast, fast.t().get())),
        );
        let dealt = committees.clone();
        let paths = move |me: Party| {
            let sharing = |path| {
                let committee = dealt.get(&path)?.clone();
                let holds = Self::holding(&committee, me) > 0;
                let secret = holds.then_some(Shares { party: me, path });
                Some(Sharing { committee, secret })
            };
            match (sharing(Path::Slow), sharing(Path::Fast)) {
                (Some(slow), Some(fast)) => Some(Paths::FastAndSlow { slow, fast, fast_from }),
                (Some(slow), None) => Some(Paths::Slow(slow)),
                (None, _) => sharing(Path::Tight).map(Paths::Tight),
            }
        };
        Hand { committees, paths: Box::new(paths) }
    }
}

impl<const AHEAD: bool> Function for Ideal<AHEAD> {
    type Committee = Holders;
    type Input = Point;
    type Partial = Token;
    type Output = Point;
    type Proof = ();
    type OutputMessage = Point;
    type LateKeys = NoLateKeys;
    type Contents = NoContents;
    type Foresight = NothingAhead<AHEAD>;

    fn id(committee: &Holders) -> [u8; 32] {
        let bytes = borsh::to_vec(&(committee.path, &*committee.weights, committee.threshold));
        Sha256::digest(bytes.unwrap_or_default()).into()
    }

    fn parties(committee: &Holders) -> usize {
        committee.weights.len()
    }

    fn holding(committee: &Holders, party: Party) -> u128 {
        committee.weights.get(party.index()).copied().unwrap_or(0)
    }

    fn threshold(committee: &Holders) -> u128 {
        committee.threshold
    }

    fn input(_: &Context, _: Binding, slot: Slot, value: Option<Value>) -> Option<Point> {
        Some(Point { slot, value })
    }

    fn check_shape(_: &Holders, _: Party, _: &Token) -> Result<(), ShapeError> {
        Ok(())
    }

    /// Party, path, slot, value with its tag, shift.
    fn partial_bytes(_: &Holders, _: Party) -> usize {
        4 + 1 + 8 + 33 + 8
    }

    fn verify(
        committee: &Holders,
        point: &Point,
        tokens: &BTreeMap<Party, Token>,
    ) -> Result<(), PartialsError> {
        let culprits = committee.culprits(*point, tokens);
        if culprits.is_empty() { Ok(()) } else { Err(PartialsError::Faulty { culprits }) }
    }

    fn combine(
        committee: &Holders,
        point: &Point,
        tokens: &BTreeMap<Party, Token>,
    ) -> Result<ProvenOutput<Self>, PartialsError> {
        check_weight::<Self>(committee, tokens)?;
        Self::verify(committee, point, tokens)?;
        Ok(ProvenOutput { output: *point, proof: () })
    }

    fn prove(_: &Holders, _: &Point, _: &BTreeMap<Party, Token>) -> Option<()> {
        Some(())
    }

    fn show(output: &Point, (): &()) -> Point {
        *output
    }

    /// Slot, and value with its tag.
    fn shown_bytes(_: &Holders) -> usize {
        8 + 33
    }

    fn check_shown(
        _: &Holders,
        point: &Point,
        shown: &Point,
    ) -> Result<ProvenOutput<Self>, OutputError> {
        let right = shown == point;
        right.then_some(ProvenOutput { output: *point, proof: () }).ok_or(OutputError::False)
    }

    fn check_binding(_: &Holders, _: Path, _: Binding) -> Result<(), ConfigError> {
        Ok(())
    }

    fn check_handover(_: &Holders, _: &Holders) -> Result<(), OtherGroupKey> {
        Ok(())
    }

    fn public_keys(committee: &Holders) -> BTreeSet<Vec<u8>> {
        BTreeSet::from([Self::id(committee).to_vec()])
    }
}

impl<const AHEAD: bool> Scheme for Ideal<AHEAD> {
    type Secret = Shares;

    fn evaluate(shares: &Shares, point: &Point) -> Option<Token> {
        Some(Token { party: shares.party, path: shares.path, point: *point, shift: 0 })
    }

    fn check_secret(
        committee: &Holders,
        me: Party,
        shares: &Shares,
        path: Path,
        _: &Context,
    ) -> Result<(), ConfigError> {
        let fits = shares.party == me && shares.path == path && committee.path == path;
        if fits { Ok(()) } else { Err(ConfigError::WrongKey { path }) }
    }

    /// Tokens name their sharing, so those of one say nothing about the other.
    fn check_paths(
        _: Party,
        slow: &Sharing<Self>,
        fast: &Sharing<Self>,
        _: &Context,
    ) -> Result<(), ConfigError> {
        let same = slow.committee.path == fast.committee.path;
        if same { Err(ConfigError::GroupKeys) } else { Ok(()) }
    }
}

impl<const AHEAD: bool> Foresight<Ideal<AHEAD>> for NothingAhead<AHEAD> {
    type Preparation = ();
    type RunningCombination = ();

    const USED: bool = AHEAD;

    fn foresee(committee: &Holders, parties: &BTreeSet<Party>) -> Option<()> {
        let weight: u128 = parties.iter().map(|one| Ideal::<AHEAD>::weight(committee, *one)).sum();
        (weight >= committee.threshold).then_some(())
    }

    fn begin(_: &Arc<()>, _: &Point) {}

    fn add((): &mut (), _: &Holders, _: &BTreeMap<Party, Token>) {}

    fn finish(
        (): &(),
        committee: &Holders,
        point: &Point,
        tokens: &BTreeMap<Party, Token>,
    ) -> Result<ProvenOutput<Ideal<AHEAD>>, PartialsError> {
        Ideal::combine(committee, point, tokens)
    }
}

impl<const AHEAD: bool> Random for Ideal<AHEAD> {
    fn randomness(point: &Point) -> [u8; 32] {
        Sha256::digest(borsh::to_vec(point).unwrap_or_default()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holders() -> Holders {
        Holders { path: Path::Fast, weights: Arc::from([2, 1, 1]), threshold: 3 }
    }

    fn tokens(parties: &[u32], point: Point) -> BTreeMap<Party, Token> {
        let token = |party| (party, holders().right(party, point));
        parties.iter().map(|party| token(Party::new(*party))).collect()
    }

    #[test]
    fn below_the_threshold_there_is_nothing_and_a_wrong_token_is_named() {
        let point = Point { slot: Slot::new(7), value: None };
        let combine = |tokens| <Ideal>::combine(&holders(), &point, &tokens).map(|one| one.output);
        let below = PartialsError::BelowThreshold { got: 2, need: 3 };
        assert_eq!(combine(tokens(&[1, 2], point)), Err(below));
        assert_eq!(combine(tokens(&[0, 2], point)), Ok(point));
        let mut wrong = tokens(&[0, 1, 2], point);
        let other = Point { slot: Slot::new(8), ..point };
        wrong.extend(tokens(&[1], other));
        // What cancels out in a sum is told apart all the same.
        for (party, adds) in [(0, true), (2, false)] {
            let token = wrong.get_mut(&Party::new(party)).unwrap();
            *token = token.shifted(5, adds);
        }
        let culprits = [0, 1, 2].map(Party::new).into();
        assert_eq!(combine(wrong), Err(PartialsError::Faulty { culprits }));
    }

    #[test]
    fn a_token_is_as_long_as_it_says() {
        let point = Point { slot: Slot::new(7), value: Some(Value::new([1; 32])) };
        let token = holders().right(Party::new(0), point);
        let length = borsh::to_vec(&token).unwrap().len();
        assert_eq!(length, <Ideal>::partial_bytes(&holders(), Party::new(0)));
        assert_eq!(borsh::to_vec(&point).unwrap().len(), <Ideal>::shown_bytes(&holders()));
    }
}
