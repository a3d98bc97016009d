//! The adversaries. Each has one idea, and all that the rules give it for that.
use std::collections::{BTreeMap, BTreeSet};

use prefinal_beacon::{Function, Path, Scheme, Slot, check_weight};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::{ChainId, Context, EpochId};

use super::challenger::{
    Beacons, Challenger, Claim, Corruption, Illegal, Message, Part, Partials, Sharings, TARGET,
    Terms,
};

type Found<D> = Result<Claim<<D as Sharings>::Scheme>, Illegal>;

/// The slot behind it.
const NEXT: Message = Message { slot: Slot::new(8), ..TARGET };

/// Messages that differ from the target in one part each.
pub(super) fn neighbours() -> [(Part, Message); 4] {
    let context = |chain, epoch| Context { chain, epoch };
    let Context { chain, epoch } = TARGET.context;
    [
        (Part::Chain, Message { context: context(ChainId::new([8; 32]), epoch), ..TARGET }),
        (Part::Epoch, Message { context: context(chain, EpochId::new(2)), ..TARGET }),
        (Part::Slot, NEXT),
        (Part::Value, Message { number: 2, ..TARGET }),
    ]
}

/// One who plays either game.
pub(super) trait Adversary<D: Sharings> {
    /// Whom it corrupts and asks, before there are any keys.
    fn corrupt(&self, terms: &Terms, sharings: &D) -> Corruption;

    /// What it makes of it.
    ///
    /// # Errors
    /// If it breaks the rules.
    fn play(&self, game: &mut Challenger<D>) -> Found<D>;
}

/// All parties that hold something on a path.
fn holders<D: Sharings>(committee: &<D::Scheme as Function>::Committee) -> BTreeSet<Party> {
    let parties = u32::try_from(D::Scheme::parties(committee)).unwrap();
    let all = (0..parties).map(Party::new);
    all.filter(|party| D::Scheme::holding(committee, *party) > 0).collect()
}

/// Of all sets of parties whose stake is below the limit, the one that weighs most on the path.
fn heaviest<D: Sharings>(
    committee: &<D::Scheme as Function>::Committee,
    terms: &Terms,
    limit: u128,
) -> BTreeSet<Party> {
    let mut sets = vec![BTreeSet::new()];
    for party in holders::<D>(committee) {
        let with: Vec<BTreeSet<Party>> =
            sets.iter().map(|set| set.iter().copied().chain([party]).collect()).collect();
        sets.extend(with);
    }
    let weight = |set: &BTreeSet<Party>| {
        set.iter().map(|party| D::Scheme::holding(committee, *party)).sum::<u128>()
    };
    sets.into_iter().filter(|set| terms.of(set) < limit).max_by_key(weight).unwrap()
}

/// Corrupts one party, and names the others that it may ask on this path.
fn set_up<D: Sharings>(path: Path, terms: &Terms, sharings: &D) -> Corruption {
    let mut all = heaviest::<D>(&sharings.committee(path), terms, terms.secrecy[&path]);
    let corrupt = all.pop_first().into_iter().collect();
    Corruption { corrupt, queried: BTreeMap::from([(path, all)]) }
}

/// Every partial on the message that the rules give for these parties, corrupt or not.
fn gather<D: Sharings>(
    game: &mut Challenger<D>,
    path: Path,
    parties: &BTreeSet<Party>,
    message: &Message,
) -> Result<Partials<D>, Illegal> {
    let mut partials = BTreeMap::new();
    for party in parties {
        let partial = match game.secret(path, *party) {
            Ok(secret) => {
                let input = game.input(message);
                secret.and_then(|secret| D::Scheme::evaluate(&secret, &input))
            }
            Err(_) => game.partial(path, *party, message)?,
        };
        partials.extend(partial.map(|partial| (*party, partial)));
    }
    Ok(partials)
}

/// The output that partials give, if they do.
fn combined<D: Sharings>(
    game: &Challenger<D>,
    path: Path,
    message: &Message,
    partials: &Partials<D>,
) -> Option<prefinal_beacon::ProvenOutput<D::Scheme>> {
    D::Scheme::combine(&game.committee(path), &game.input(message), partials).ok()
}

/// The claim to have the target's output; where everybody knows it, to have what shows it.
fn claimed<D: Sharings>(
    path: Path,
    found: Option<prefinal_beacon::ProvenOutput<D::Scheme>>,
) -> Claim<D::Scheme> {
    let Some(found) = found else { return Claim::Nothing };
    if D::PREDICTABLE {
        let shown = D::Scheme::show(&found.output, &found.proof);
        return Claim::Shown { path, message: TARGET, shown };
    }
    Claim::Output { message: TARGET, output: found.output }
}

/// Everything of others that it may have on the target, after it has seen everybody's partials on another
/// message. Wins where fewer shares suffice than the scheme promises.
#[derive(Clone, Copy, Debug)]
pub(super) struct Combiner(pub(super) Path);

impl Combiner {
    /// The output, if it is to be had.
    pub(super) fn output<D: Sharings>(
        self,
        game: &mut Challenger<D>,
    ) -> Result<Option<prefinal_beacon::ProvenOutput<D::Scheme>>, Illegal> {
        let all = holders::<D>(&game.committee(self.0));
        gather(game, self.0, &all, &NEXT)?;
        let mine: BTreeSet<Party> =
            all.into_iter().filter(|party| game.may_ask(self.0, *party)).collect();
        let partials = gather(game, self.0, &mine, &TARGET)?;
        Ok(combined(game, self.0, &TARGET, &partials))
    }
}

impl<D: Sharings> Adversary<D> for Combiner {
    fn corrupt(&self, terms: &Terms, sharings: &D) -> Corruption {
        set_up(self.0, terms, sharings)
    }

    fn play(&self, game: &mut Challenger<D>) -> Found<D> {
        Ok(claimed::<D>(self.0, self.output(game)?))
    }
}

/// Shows everybody's output of a neighbour as that of the target. Wins where the two are one input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Replayer(pub(super) Path, pub(super) Message);

impl<D: Sharings> Adversary<D> for Replayer {
    fn corrupt(&self, terms: &Terms, sharings: &D) -> Corruption {
        set_up(self.0, terms, sharings)
    }

    fn play(&self, game: &mut Challenger<D>) -> Found<D> {
        let all = holders::<D>(&game.committee(self.0));
        let partials = gather(game, self.0, &all, &self.1)?;
        let found = combined(game, self.0, &self.1, &partials).unwrap();
        let shown = D::Scheme::show(&found.output, &found.proof);
        Ok(Claim::Shown { path: self.0, message: TARGET, shown })
    }
}

/// Makes an output with another committee, whose secrets it knows. Wins where nobody verifies what is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fabricator<'o, D>(pub(super) Path, pub(super) &'o D);

impl<D: Sharings> Adversary<D> for Fabricator<'_, D> {
    fn corrupt(&self, terms: &Terms, sharings: &D) -> Corruption {
        set_up(self.0, terms, sharings)
    }

    fn play(&self, _: &mut Challenger<D>) -> Found<D> {
        let own = self.1.committee(self.0);
        let input = self.1.input(&TARGET);
        let partials = holders::<D>(&own).into_iter().filter_map(|party| {
            let secret = self.1.secret(self.0, party)?;
            Some((party, D::Scheme::evaluate(&secret, &input)?))
        });
        let found = D::Scheme::combine(&own, &input, &partials.collect()).unwrap();
        let shown = D::Scheme::show(&found.output, &found.proof);
        Ok(Claim::Shown { path: self.0, message: TARGET, shown })
    }
}

/// Takes fast partials for slow ones. Wins where one sharing serves both paths: the fast path may give out
/// more than the slow one keeps secret.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathMixer;

impl<D: Sharings> Adversary<D> for PathMixer {
    fn corrupt(&self, terms: &Terms, sharings: &D) -> Corruption {
        set_up(Path::Fast, terms, sharings)
    }

    fn play(&self, game: &mut Challenger<D>) -> Found<D> {
        let all = holders::<D>(&game.committee(Path::Fast));
        let mine: BTreeSet<Party> =
            all.into_iter().filter(|party| game.may_ask(Path::Fast, *party)).collect();
        let partials = gather(game, Path::Fast, &mine, &TARGET)?;
        let found = combined(game, Path::Slow, &TARGET, &partials);
        let output = found.map(|found| found.output);
        Ok(output.map_or(Claim::Nothing, |output| Claim::Output { message: TARGET, output }))
    }
}

/// Looks for an honest partial that is refused. Wins where shares were not checked when they came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Framer(pub(super) Path);

impl<D: Sharings> Adversary<D> for Framer {
    fn corrupt(&self, terms: &Terms, sharings: &D) -> Corruption {
        let corrupt = heaviest::<D>(&sharings.committee(self.0), terms, terms.faulty + 1);
        Corruption { corrupt, queried: BTreeMap::new() }
    }

    fn play(&self, game: &mut Challenger<D>) -> Found<D> {
        let committee = game.committee(self.0);
        for party in holders::<D>(&committee) {
            if game.secret(self.0, party).is_ok() {
                continue;
            }
            for message in [TARGET, NEXT] {
                let Some(partial) = game.partial(self.0, party, &message)? else { continue };
                let partials = BTreeMap::from([(party, partial)]);
                if D::Scheme::verify(&committee, &game.input(&message), &partials).is_err() {
                    return Ok(Claim::Refused { path: self.0, party, message });
                }
            }
        }
        Ok(Claim::Nothing)
    }
}

/// Sends, in the place of a corrupt party's partial, another party's, and its own on another message. Wins
/// where partials are not verified.
#[derive(Clone, Copy, Debug)]
pub(super) struct Poisoner(pub(super) Path);

impl<D: Sharings> Adversary<D> for Poisoner {
    fn corrupt(&self, terms: &Terms, sharings: &D) -> Corruption {
        Framer(self.0).corrupt(terms, sharings)
    }

    fn play(&self, game: &mut Challenger<D>) -> Found<D> {
        let all = holders::<D>(&game.committee(self.0));
        let corrupt: BTreeSet<Party> =
            all.iter().copied().filter(|party| game.secret(self.0, *party).is_ok()).collect();
        let right = gather(game, self.0, &all, &TARGET)?;
        let other = gather(game, self.0, &corrupt, &NEXT)?;
        let committee = game.committee(self.0);
        for party in corrupt {
            let foreign = right.iter().find(|(of, _)| **of != party).map(|(_, partial)| partial);
            for wrong in foreign.into_iter().chain(other.get(&party)) {
                // No more than suffice, so that none is left out.
                let mut partials = BTreeMap::from([(party, wrong.clone())]);
                let mut rest = right.iter().filter(|(of, _)| **of != party);
                while check_weight::<D::Scheme>(&committee, &partials).is_err() {
                    let (of, partial) = rest.next().unwrap();
                    partials.insert(*of, partial.clone());
                }
                let claim = || Claim::Combined {
                    path: self.0,
                    message: TARGET,
                    partials: partials.clone(),
                };
                if game.breaks_robustness(claim()) == Ok(true) {
                    return Ok(claim());
                }
            }
        }
        Ok(Claim::Nothing)
    }
}

/// Proposes a value to all, has as many prefinalize it as leave it open, and combines what it gets. Wins where
/// partials leave on the proposal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rusher(pub(super) Path);

impl<D: Beacons> Adversary<D> for Rusher {
    fn corrupt(&self, terms: &Terms, sharings: &D) -> Corruption {
        set_up(self.0, terms, sharings)
    }

    fn play(&self, game: &mut Challenger<D>) -> Found<D> {
        let all = holders::<D>(&game.committee(self.0));
        let (corrupt, honest): (BTreeSet<Party>, BTreeSet<Party>) =
            all.into_iter().partition(|party| game.secret(self.0, *party).is_ok());
        let mut partials = gather(game, self.0, &corrupt, &TARGET)?;
        for party in honest {
            let said = game.propose(party, &TARGET)?.into_iter();
            partials.extend(said.filter(|(path, _)| *path == self.0).map(|(_, own)| (party, own)));
        }
        Ok(claimed::<D>(self.0, combined(game, self.0, &TARGET, &partials)))
    }
}
