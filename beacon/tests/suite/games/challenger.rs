//! Who plays: the challenger with our code behind it, and what an adversary may ask of it.
use std::collections::{BTreeMap, BTreeSet};

use prefinal_beacon::{Function, Path, Scheme, Slot};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::Context;

type Of<D> = <D as Sharings>::Scheme;
pub(super) type PartialOf<D> = <Of<D> as Function>::Partial;
pub(super) type Partials<D> = BTreeMap<Party, PartialOf<D>>;

/// What the function is evaluated on: the paper's `m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) context: Context,
    pub(super) slot: Slot,
    /// Tells values and contents of one slot apart.
    pub(super) number: u8,
}

/// The message on which an output is forged.
pub(super) const TARGET: Message =
    Message { context: crate::fixture::CONTEXT, slot: Slot::new(7), number: 1 };

/// One secret of a scheme, shared on each of its paths.
pub(super) trait Sharings {
    type Scheme: Scheme;
    /// Whether everybody knows outputs in advance, so that only what shows them can be forged.
    const PREDICTABLE: bool = false;

    fn committee(&self, path: Path) -> <Self::Scheme as Function>::Committee;
    /// `None` for a party without shares.
    fn secret(&self, path: Path, party: Party) -> Option<<Self::Scheme as Scheme>::Secret>;
    fn input(&self, message: &Message) -> <Self::Scheme as Function>::Input;
    /// `Eval(s, m)`: from the secret itself, not from shares.
    fn eval(&self, message: &Message) -> <Self::Scheme as Function>::Output;
}

/// A part of a message, without which two messages are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Chain,
    Epoch,
    Slot,
    Value,
}

/// When a party gives out the partial that leaves early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Release {
    /// As the release contract has it: when it prefinalizes.
    Contract,
    /// On every proposal, as if it had voted for it.
    Proposal,
}

/// Parties that run beacons, which say by themselves what leaves when.
pub(super) trait Beacons: Sharings {
    /// The partials that a party's beacon sends when the party prefinalizes this message.
    fn prefinalize(&self, party: Party, message: &Message) -> Vec<(Path, PartialOf<Self>)>;
}

/// Against what an adversary plays; everything but [`REAL`] is broken on purpose.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// This is left out of the input: all messages that differ in nothing else have one.
    pub(super) without: Option<Part>,
    /// Partials and shown outputs are verified.
    pub(super) verified: bool,
    pub(super) release: Release,
}

pub(super) const REAL: Rules = Rules { without: None, verified: true, release: Release::Contract };

/// What is agreed on before the game: who counts how much, and what an adversary may have of it.
#[derive(Clone, Debug)]
pub(super) struct Terms {
    /// Equal to weights, or what they were rounded from.
    pub(super) stakes: Vec<u128>,
    /// The most that is corrupt in the game of robustness.
    pub(super) faulty: u128,
    /// What corrupt and queried parties stay below on each path, in the game of unpredictability.
    pub(super) secrecy: BTreeMap<Path, u128>,
}

impl Terms {
    pub(super) fn of(&self, parties: &BTreeSet<Party>) -> u128 {
        parties.iter().map(|party| self.stakes[party.index()]).sum()
    }
}

/// The set-up: the paper's `C`, and its `Q` on each path. All others are honest and not asked about the
/// forged message.
#[derive(Clone, Debug, Default)]
pub(super) struct Corruption {
    pub(super) corrupt: BTreeSet<Party>,
    pub(super) queried: BTreeMap<Path, BTreeSet<Party>>,
}

/// With what an adversary means to win.
pub(super) enum Claim<S: Scheme> {
    /// Game 3.1, case 1: an honest partial is refused.
    Refused { path: Path, party: Party, message: Message },
    /// Game 3.1, case 2: valid partials combine to something else.
    Combined { path: Path, message: Message, partials: BTreeMap<Party, S::Partial> },
    /// Game 3.2: the output.
    Output { message: Message, output: S::Output },
    /// The same in the form in which a beacon believes it.
    Shown { path: Path, message: Message, shown: S::OutputMessage },
    /// The adversary gives up.
    Nothing,
}

/// A win that would be trivial, or a move that the game does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Illegal {
    /// More is corrupt or queried than the scheme stands for.
    TooMuch { got: u128, limit: u128 },
    /// The party is corrupt and queried, or not in the committee.
    Party(Party),
    /// Secrets of honest parties are not given out.
    Honest(Party),
    /// A corrupt party's secret is known, so it is not asked.
    Corrupt(Party),
    /// The party was asked about the forged message without being named for it.
    Asked(Party),
    /// Everybody knows this function's outputs.
    Predictable,
    /// Too few partials to combine, or one that does not verify.
    Unusable,
    /// The claim belongs to the other game.
    OtherGame,
}

/// Answers the adversary's queries in one game, notes them, and judges its claim.
pub(super) struct Challenger<'d, D: Sharings> {
    sharings: &'d D,
    rules: Rules,
    corruption: Corruption,
    asked: Vec<(Path, Party, Message)>,
}

impl<'d, D: Sharings> Challenger<'d, D> {
    /// The game of robustness, with as much corrupt as may be faulty.
    pub(super) fn robustness(
        sharings: &'d D,
        terms: &Terms,
        rules: Rules,
        corruption: Corruption,
    ) -> Result<Self, Illegal> {
        let (got, limit) = (terms.of(&corruption.corrupt), terms.faulty + 1);
        if got >= limit {
            return Err(Illegal::TooMuch { got, limit });
        }
        Self::new(sharings, rules, corruption)
    }

    /// The game of unpredictability, with less corrupt and queried than the secrecy threshold of each path.
    pub(super) fn unpredictability(
        sharings: &'d D,
        terms: &Terms,
        rules: Rules,
        corruption: Corruption,
    ) -> Result<Self, Illegal> {
        for (path, limit) in &terms.secrecy {
            let queried = corruption.queried.get(path).cloned().unwrap_or_default();
            let (got, limit) = (terms.of(&(&corruption.corrupt | &queried)), *limit);
            if got >= limit {
                return Err(Illegal::TooMuch { got, limit });
            }
        }
        Self::new(sharings, rules, corruption)
    }

    fn new(sharings: &'d D, rules: Rules, corruption: Corruption) -> Result<Self, Illegal> {
        let both = |party: &&Party| corruption.corrupt.contains(party);
        if let Some(party) = corruption.queried.values().flatten().find(both) {
            return Err(Illegal::Party(*party));
        }
        Ok(Self { sharings, rules, corruption, asked: Vec::new() })
    }

    pub(super) fn committee(&self, path: Path) -> <Of<D> as Function>::Committee {
        self.sharings.committee(path)
    }

    /// What is evaluated for a message.
    pub(super) fn input(&self, message: &Message) -> <Of<D> as Function>::Input {
        self.sharings.input(&self.reduced(message))
    }

    /// The message, where the part that is left out is always the same.
    fn reduced(&self, message: &Message) -> Message {
        let Context { chain, epoch } = TARGET.context;
        let context = message.context;
        match self.rules.without {
            None => *message,
            Some(Part::Chain) => Message { context: Context { chain, ..context }, ..*message },
            Some(Part::Epoch) => Message { context: Context { epoch, ..context }, ..*message },
            Some(Part::Slot) => Message { slot: TARGET.slot, ..*message },
            Some(Part::Value) => Message { number: TARGET.number, ..*message },
        }
    }

    /// The secret of a corrupt party.
    pub(super) fn secret(
        &self,
        path: Path,
        party: Party,
    ) -> Result<Option<<Of<D> as Scheme>::Secret>, Illegal> {
        if !self.corruption.corrupt.contains(&party) {
            return Err(Illegal::Honest(party));
        }
        Ok(self.sharings.secret(path, party))
    }

    /// Whether the party's partial on the forged message is the adversary's to have: corrupt, or named.
    pub(super) fn may_ask(&self, path: Path, party: Party) -> bool {
        let named = self.corruption.queried.get(&path);
        self.corruption.corrupt.contains(&party)
            || named.is_some_and(|named| named.contains(&party))
    }

    /// The evaluation oracle: `PEval(skᵢ, m)` of an honest party. `None` if it holds nothing.
    pub(super) fn partial(
        &mut self,
        path: Path,
        party: Party,
        message: &Message,
    ) -> Result<Option<<Of<D> as Function>::Partial>, Illegal> {
        if self.corruption.corrupt.contains(&party) {
            return Err(Illegal::Corrupt(party));
        }
        self.asked.push((path, party, *message));
        Ok(self.evaluate(path, party, message))
    }

    fn evaluate(
        &self,
        path: Path,
        party: Party,
        message: &Message,
    ) -> Option<<Of<D> as Function>::Partial> {
        let secret = self.sharings.secret(path, party)?;
        Of::<D>::evaluate(&secret, &self.input(message))
    }

    /// The paper's output of game 3.1.
    pub(super) fn breaks_robustness(&self, claim: Claim<Of<D>>) -> Result<bool, Illegal> {
        match claim {
            Claim::Refused { path, party, message } => {
                let partial = self.evaluate(path, party, &message).ok_or(Illegal::Party(party))?;
                Ok(!self.verifies(path, &message, &BTreeMap::from([(party, partial)])))
            }
            Claim::Combined { path, message, partials } => {
                let committee = self.committee(path);
                let enough = prefinal_beacon::check_weight::<Of<D>>(&committee, &partials).is_ok();
                if !enough || !self.verifies(path, &message, &partials) {
                    return Err(Illegal::Unusable);
                }
                let found = Of::<D>::combine(&committee, &self.input(&message), &partials);
                let right = self.sharings.eval(&self.reduced(&message));
                Ok(found.map(|found| found.output) != Ok(right))
            }
            Claim::Nothing => Ok(false),
            Claim::Output { .. } | Claim::Shown { .. } => Err(Illegal::OtherGame),
        }
    }

    fn verifies(&self, path: Path, message: &Message, partials: &Partials<D>) -> bool {
        let (committee, input) = (self.committee(path), self.input(message));
        !self.rules.verified || Of::<D>::verify(&committee, &input, partials).is_ok()
    }

    /// The paper's output of game 3.2, but that a trivial win is an error and not a loss.
    pub(super) fn is_forged(&self, claim: Claim<Of<D>>) -> Result<bool, Illegal> {
        let message = match &claim {
            Claim::Output { message, .. } | Claim::Shown { message, .. } => *message,
            Claim::Nothing => return Ok(false),
            Claim::Refused { .. } | Claim::Combined { .. } => return Err(Illegal::OtherGame),
        };
        for (path, party, asked) in &self.asked {
            let named = self.corruption.queried.get(path);
            if *asked == message && !named.is_some_and(|named| named.contains(party)) {
                return Err(Illegal::Asked(*party));
            }
        }
        match claim {
            Claim::Output { .. } if D::PREDICTABLE => Err(Illegal::Predictable),
            Claim::Output { output, .. } => {
                Ok(output == self.sharings.eval(&self.reduced(&message)))
            }
            Claim::Shown { path, shown, .. } => {
                let (committee, input) = (self.committee(path), self.input(&message));
                let found = Of::<D>::check_shown(&committee, &input, &shown);
                Ok(!self.rules.verified || found.is_ok())
            }
            _ => Ok(false),
        }
    }
}

impl<D: Beacons> Challenger<'_, D> {
    /// Proposes the message to an honest party, and returns what the party sends. Those that are named for a path
    /// prefinalize it; they and the corrupt are too few to make it final.
    pub(super) fn propose(
        &self,
        party: Party,
        message: &Message,
    ) -> Result<Vec<(Path, PartialOf<D>)>, Illegal> {
        if self.corruption.corrupt.contains(&party) {
            return Err(Illegal::Corrupt(party));
        }
        let votes = self.corruption.queried.values().any(|named| named.contains(&party));
        let speaks = votes || self.rules.release == Release::Proposal;
        Ok(if speaks { self.sharings.prefinalize(party, message) } else { Vec::new() })
    }
}
