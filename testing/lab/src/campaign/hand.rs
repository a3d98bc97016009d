//! The keys of a committee that were dealt before an execution begins.

use crate::priced::Priced;
use std::collections::BTreeMap;

use ::prefinal_beacon::{Path, Paths, Scheme, Sharing, Slot};
use prefinal_crypto_core::access::Party;

use super::board::Board;
use crate::committee::Subject;
use crate::failure::Failure;
use crate::global::{Exceptions, GlobalClock, Shares};
use prefinal_validator::setup::Algorithm;

/// What parties evaluate with.
pub(crate) struct Hand<S: Scheme> {
    /// Who may evaluate under which path.
    pub(crate) committees: BTreeMap<Path, S::Committee>,
    /// A party's keys, as often as it boots; `None` if it has none.
    pub(crate) paths: Box<dyn Fn(Party) -> Option<Paths<S>> + Send + Sync>,
}

impl<S: Scheme> Hand<S> {
    /// What takes note of global times, where these are the keys of parties with these stakes.
    pub(super) fn clock(&self, stakes: Vec<u128>, exceptions: Exceptions) -> GlobalClock {
        let is_tight = self.committees.contains_key(&Path::Tight);
        let late = self.committees.get(if is_tight { &Path::Tight } else { &Path::Slow });
        let parties = (0..).map(Party::new).take(stakes.len());
        let weight = |party| late.map_or(0, |late| S::holding(late, party));
        let shares = Shares {
            weights: parties.map(weight).collect(),
            late: late.map_or(0, S::threshold),
            early: self.committees.get(&Path::Fast).map(S::threshold),
            is_tight,
        };
        let fast_from = match (self.paths)(Party::new(0)) {
            Some(Paths::FastAndSlow { fast_from, .. }) => fast_from,
            _ => Slot::new(0),
        };
        GlobalClock::alone(stakes, shares, fast_from, exceptions).keyed()
    }
}

impl<S: Priced> Hand<S> {
    /// The keys that a board's key generation gave, with everybody admitted.
    pub(crate) fn of_board<E: Subject>(board: &Board<S, E>) -> Result<Self, Failure> {
        let (ground, key) = (&board.ground, &board.key);
        let mut known = key.committees.clone();
        let access = ground.setup().keygen.shape().access();
        let holders = ground.identities().iter().filter(|one| access.weight(one.me) > 0);
        for identity in holders {
            let opened = ground.open(ground.setup(), identity, key).map_err(Failure::bad_input)?;
            let Some(transaction) = opened.transaction else { continue };
            for admitted in S::admit_all(ground.setup(), &[transaction.into()], key) {
                let admitted = admitted.map_err(Failure::bad_input)?;
                let keys = admitted.keys.clone();
                S::admit(&mut known.slow, keys.slow).map_err(Failure::bad_input)?;
                if let (Some(fast), Some(key)) = (&mut known.fast, keys.fast) {
                    S::admit(fast, key).map_err(Failure::bad_input)?;
                }
            }
        }
        let late = if board.algorithm == Algorithm::Tight { Path::Tight } else { Path::Slow };
        let mut committees = BTreeMap::from([(late, known.slow.clone())]);
        committees.extend(known.fast.clone().map(|fast| (Path::Fast, fast)));
        let (ground, key, algorithm) = (ground.clone(), key.clone(), board.algorithm);
        let paths = move |me: Party| {
            let identity = ground.identities().get(me.index())?;
            // A party without shares has nothing to open.
            let own = ground.open(ground.setup(), identity, &key).ok().map(|opened| opened.keys);
            let (own_slow, own_fast) = own.map(|own| (own.slow, own.fast)).unzip();
            let slow = Sharing { committee: known.slow.clone(), secret: own_slow };
            Some(match known.fast.clone() {
                Some(committee) => {
                    let fast = Sharing { committee, secret: own_fast.flatten() };
                    let off = algorithm == Algorithm::Slow;
                    let fast_from = Slot::new(if off { u64::MAX } else { 0 });
                    Paths::FastAndSlow { slow, fast, fast_from }
                }
                None if algorithm == Algorithm::Tight => Paths::Tight(slow),
                None => Paths::Slow(slow),
            })
        };
        Ok(Self { committees, paths: Box::new(paths) })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ::prefinal_beacon::{
        Beacon, Binding, Bls, Config, Effect, Input, Job, Life, Limits, Message, Value,
    };
    use ::prefinal_beacon::{Finding, Output, Work, Wvuf};
    use prefinal_engine::Engine;
    use prefinal_jolteon::Jolteon;
    use prefinal_protocol::{Instant, Machine};
    use prefinal_weighted_rounding::{Ratio, Stake};

    use super::super::board::Layout;
    use super::super::forge::Forge;
    use super::*;
    use crate::known::CheckedPartials;

    const SLOT: Slot = Slot::new(1);

    /// What a beacon of party `me` wants to have checked when the slot is final and it hears this.
    fn jobs<S: Forge + Priced>(
        board: &Board<S>,
        me: Party,
        heard: &[(Party, Message<S>)],
    ) -> Vec<Job<S>> {
        let setup = board.ground.setup();
        let config = Config {
            context: setup.context,
            me,
            paths: (Hand::of_board(board).unwrap().paths)(me).unwrap(),
            binding: Binding::Slot,
            fast_attempt: None,
            finality: setup.finality(Jolteon::QUORUM).unwrap(),
            first: SLOT,
            life: Life::First,
            limits: Limits::default(),
        };
        let mut beacon = Beacon::new(config, &[]).unwrap();
        let value = Some(Value::new([7; 32]));
        let heard = heard.iter().cloned();
        let heard = heard.map(|(from, message)| Input::Received { from, message });
        let mut jobs = Vec::new();
        for input in [Input::Finalized { slot: SLOT, value }].into_iter().chain(heard) {
            beacon.handle(Instant::START, input);
            while let Some(output) = beacon.poll() {
                if let Output::Do(Effect::Check(job)) = output {
                    jobs.push(job);
                }
            }
        }
        jobs
    }

    fn what_was_checked_before_changes_no_verdict<S: Forge + Priced>() {
        let stakes = vec![Stake::new(1); 4];
        let layout = Layout::new(stakes, Algorithm::Slow, Ratio::FIVE_SIXTHS).unwrap();
        let board = Board::<S>::new(&layout).unwrap();
        let hand = Hand::of_board(&board).unwrap();
        let partial = |party: Party| {
            let Some(Paths::FastAndSlow { slow, .. }) = (hand.paths)(party) else { panic!() };
            let context = &board.ground.setup().context;
            let input = S::input(context, Binding::Slot, SLOT, None).unwrap();
            S::evaluate(&slow.secret.unwrap(), &input).unwrap()
        };
        let said =
            |partial| Message::Partial { path: Path::Slow, slot: SLOT, value: None, partial };
        let [a, b, c, d] = [0, 1, 2, 3].map(Party::new);
        let mut checked = CheckedPartials::<S>::default();
        let mut found = [0; 2];
        for (me, peers, wrong) in [
            (a, [b, c], None),
            (a, [b, c], Some(c)),
            (d, [c, b], None),
            (b, [d, a], Some(d)),
            (c, [a, d], None),
        ] {
            let heard = peers.map(|peer| {
                let good = partial(peer);
                let is_wrong = wrong == Some(peer);
                (peer, said(if is_wrong { S::shifted(&good, 3, true) } else { good }))
            });
            heard.iter().for_each(|(from, message)| checked.see(*from, message));
            for job in jobs(&board, me, &heard) {
                assert!(matches!(job.work(), Work::Combine(_)), "nothing is expected in slot 1");
                let verdict = checked.run(&job);
                assert_eq!(verdict, job.run());
                assert_eq!(verdict.faulty.keys().collect::<BTreeSet<_>>(), wrong.iter().collect());
                found[usize::from(matches!(verdict.finding, Finding::Combined(Ok(_))))] += 1;
            }
        }
        assert!(found.iter().all(|count| *count > 0), "too little to see: {found:?}");
    }

    #[test]
    fn what_was_checked_before_changes_no_verdict_on_threshold_bls() {
        what_was_checked_before_changes_no_verdict::<Bls>();
    }

    #[test]
    fn what_was_checked_before_changes_no_verdict_on_the_weighted_vuf() {
        what_was_checked_before_changes_no_verdict::<Wvuf>();
    }
}
