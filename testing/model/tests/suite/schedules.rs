//! The known bad schedules of naive integrations, step by step. With the rule removed each ends in a
//! violation; with the whole contract the very same steps do not. What they do on the real beacon is in
//! its own tests of this name.
use prefinal_contract::Rule;
use prefinal_model::desk::{Omission, Terms};
use prefinal_model::dispel::{self, Dispel};
use prefinal_model::jolteon::{self, Jolteon};
use prefinal_model::properties::{Engine, NO_CONTRADICTION, NO_LEAK, ONE_OUTPUT, TERMINATION};
use prefinal_model::search;
use prefinal_model::simplex::{self, Simplex};
use prefinal_model::tendermint::{self, Tendermint};
use prefinal_model::trantor::{self, Trantor};

const A: usize = 0;
const B: usize = 1;
const C: usize = 2;

/// What became of a schedule.
struct Outcome<A> {
    /// The steps that the engine did not offer, or that changed nothing.
    refused: Vec<A>,
    /// The properties that do not hold after the others.
    violated: Vec<&'static str>,
}

/// Takes exactly these steps and passes over those that the engine does not offer.
fn play<E: Engine>(engine: &E, steps: &[E::Action]) -> Outcome<E::Action> {
    let mut state = engine.init_states().remove(0);
    let mut refused = Vec::new();
    for step in steps {
        match engine.next_steps(&state).into_iter().find(|(action, _)| action == step) {
            Some((_, next)) => state = next,
            None => {
                println!("not taken: {step}");
                refused.push(step.clone());
            }
        }
    }
    let properties = engine.properties().into_iter();
    let broken = properties.filter(|property| !(property.condition)(engine, &state));
    Outcome { refused, violated: broken.map(|property| property.name).collect() }
}

/// The steps end in these violations under the first terms, and in none under the whole contract, where
/// so many of them change nothing.
fn needed<E: Engine>(
    terms: Terms,
    engine: impl Fn(Terms) -> E,
    steps: &[E::Action],
    idle: [usize; 2],
    violations: &[&str],
) {
    let [without, whole] = [terms, Terms::WHOLE].map(|terms| play(&engine(terms), steps));
    assert_eq!(without.violated, violations, "{terms:?}");
    assert!(whole.violated.is_empty(), "{:?}", whole.violated);
    let refused = [without, whole].map(|outcome| outcome.refused.len());
    assert_eq!(refused, idle, "the model is too weak or too strong for the schedule");
}

const LEAK: [&str; 2] = [NO_LEAK, NO_CONTRADICTION];

/// See `tendermint_cross_round_leak` of the beacon.
#[test]
fn tendermint_cross_round_leak() {
    use tendermint::Action::{Precommit, Prevote};
    let (v, w) = (0, 1);
    let steps = [
        // Round 0: A precommits v.
        Prevote(A, 0, v),
        Prevote(B, 0, v),
        Precommit(A, 0, v),
        // Round 1: D gathers a polka for w and hides it.
        Prevote(B, 1, w),
        Prevote(C, 1, w),
        // Round 2: A proposes v again, only B precommits it.
        Prevote(A, 2, v),
        Prevote(B, 2, v),
        Precommit(B, 2, v),
        // Round 3: D shows the polka of round 1.
        Prevote(A, 3, w),
        Prevote(C, 3, w),
        Precommit(A, 3, w),
        Precommit(C, 3, w),
    ];
    for rule in [Rule::OneView, Rule::NoView] {
        let engine = |terms| Tendermint::new(terms, 4);
        needed(Terms::without(rule), engine, &steps, [0, 0], &LEAK);
    }
}

/// See `tendermint_split_rounds` of the beacon.
#[test]
fn tendermint_split_rounds() {
    use tendermint::Action::{Precommit, Prevote};
    let votes = |round| {
        let prevotes = [A, B, C].map(|party| Prevote(party, round, 0));
        let precommits = [A, B, C].map(|party| Precommit(party, round, 0));
        prevotes.into_iter().chain(precommits)
    };
    // A decides in round 0; B and C did not see enough, and A's vote of round 1 is not needed.
    let skipped = [Prevote(A, 1, 0), Precommit(A, 1, 0)];
    let steps: Vec<_> =
        votes(0).chain(votes(1)).filter(|action| !skipped.contains(action)).collect();
    let engine = |terms| Tendermint::new(terms, 2);
    needed(Terms::without(Rule::Input), engine, &steps, [0, 0], &[ONE_OUTPUT]);
}

/// See `jolteon_union_of_order_vote_and_vote_for_a_child` of the beacon.
#[test]
fn jolteon_union_of_order_vote_and_vote_for_a_child() {
    use jolteon::Action::{Order, Timeout, Vote};
    let steps = [
        Vote(A, 1, 0, 0),
        Vote(B, 1, 0, 0),
        Timeout(B, 1),
        Timeout(C, 1),
        Order(A, 1),
        // B votes for the child, which carries the certificate of round 1.
        Vote(B, 2, 1, 0),
        // D's other block of round 2 extends the genesis.
        Vote(A, 2, 0, 0),
        Vote(C, 2, 0, 0),
        Order(A, 2),
        Order(C, 2),
    ];
    let engine = |terms| Jolteon::new(terms, 2);
    needed(Terms::without(Rule::Direct), engine, &steps, [0, 0], &LEAK);
}

/// See `jolteon_implicit_ancestors` of the beacon. The descendant is a block of round 3: if it were the
/// child, two certificates in a row would have made the ancestor final.
#[test]
fn jolteon_implicit_ancestors() {
    use jolteon::Action::{Order, Timeout, Vote};
    let steps = [
        Vote(A, 1, 0, 0),
        Vote(B, 1, 0, 0),
        Order(A, 1),
        Timeout(B, 1),
        Timeout(C, 1),
        // A branch on the genesis is certified in round 2, and D keeps the certificate.
        Vote(B, 2, 0, 0),
        Vote(C, 2, 0, 0),
        Timeout(A, 2),
        Timeout(C, 2),
        // Round 3 extends round 1 again. B casts the order vote, which implies round 1.
        Vote(A, 3, 1, 0),
        Vote(B, 3, 1, 0),
        Order(B, 3),
        Timeout(A, 3),
        Timeout(C, 3),
        // The other branch wins.
        Vote(A, 4, 2, 0),
        Vote(C, 4, 2, 0),
        Order(A, 4),
        Order(C, 4),
    ];
    let engine = |terms| Jolteon::new(terms, 4);
    needed(Terms::without(Rule::Direct), engine, &steps, [0, 0], &LEAK);
}

/// See `jolteon_certificate_after_a_timeout` of the beacon.
#[test]
fn jolteon_certificate_after_a_timeout() {
    use jolteon::Action::{Late, Order, Restart, Timeout, Vote};
    let forgets = [Terms::without(Rule::GivenUp), Terms::without(Rule::Durable)];
    for terms in forgets {
        let steps = [
            Vote(A, 1, 0, 0),
            Vote(B, 1, 0, 0),
            Order(A, 1),
            Timeout(B, 1),
            Timeout(C, 1),
            Restart(B),
            Late(B, 1),
            Vote(A, 2, 0, 0),
            Vote(C, 2, 0, 0),
            Order(A, 2),
            Order(C, 2),
        ];
        // Only without rule 5 the restart is a step.
        let idle = usize::from(terms.has(Rule::Durable));
        needed(terms, |terms| Jolteon::new(terms, 2), &steps, [idle, 2], &LEAK);
    }
}

/// As before, but the timeout is of a later round.
#[test]
fn jolteon_certificate_after_a_later_timeout() {
    use jolteon::Action::{Late, Order, Timeout, Vote};
    let steps = [
        Vote(A, 1, 0, 0),
        Vote(C, 1, 0, 0),
        Timeout(B, 2),
        Timeout(C, 2),
        Order(A, 1),
        Late(B, 1),
        // The timeouts of round 2 know of no certificate.
        Vote(A, 3, 0, 0),
        Vote(C, 3, 0, 0),
        Order(A, 3),
        Order(C, 3),
    ];
    let terms = Terms { without: Some(Omission::LaterViews), ..Terms::WHOLE };
    needed(terms, |terms| Jolteon::new(terms, 3), &steps, [0, 1], &LEAK);
}

/// The same as in Jolteon: a finalize vote implies ancestors, and some arrive after a nullify.
#[test]
fn simplex_ancestors_and_notarizations_after_a_nullify() {
    use simplex::Action::{Finalize, Late, Notarize, Nullify, Restart};
    let start =
        [Notarize(A, 1, 0, 0), Notarize(B, 1, 0, 0), Finalize(A, 1), Nullify(B, 1), Nullify(C, 1)];
    let end = [Notarize(A, 3, 0, 0), Notarize(C, 3, 0, 0), Finalize(A, 3), Finalize(C, 3)];
    let skip = [Nullify(A, 2), Nullify(C, 2)];
    let ending = |middle: &[simplex::Action]| -> Vec<_> {
        [&start, middle, &skip, &end].into_iter().flatten().copied().collect()
    };
    let late = ending(&[Late(B, 1)]);
    // B forgets its nullify; with its records a restart changes nothing.
    let forgotten = ending(&[Restart(B), Late(B, 1)]);
    // B gives view 2 up as well.
    let later = ending(&[Nullify(B, 2), Late(B, 1)]);
    let implied = ending(&[Notarize(A, 2, 1, 0), Notarize(B, 2, 1, 0), Finalize(B, 2)]);
    let later_views = Terms { without: Some(Omission::LaterViews), ..Terms::WHOLE };
    for (terms, steps, idle) in [
        (Terms::without(Rule::GivenUp), late, 1),
        (Terms::without(Rule::Durable), forgotten, 2),
        (later_views, later, 1),
        (Terms::without(Rule::Direct), implied, 0),
    ] {
        needed(terms, |terms| Simplex::new(terms, 3), &steps, [0, idle], &LEAK);
    }
}

/// Two heights are open. A commits a block at height 1; B and C ask for another view before they see that
/// it is prepared, and skip it. B then gives height 2 up as well. The certificate of height 1 reaches B.
/// Its partial would be the third, for a block that is not final: B must remember that it gave height 1
/// up, although a later height came after that.
#[test]
fn trantor_certificate_after_a_view_change() {
    use trantor::Action::{Change, Commit, Late, Prepare, Restart};
    let skip = 2;
    let start = [
        Prepare(A, 1, 0, 0),
        Prepare(B, 1, 0, 0),
        // Height 2 is open all the time, and goes its own way.
        Prepare(A, 2, 0, 0),
        Prepare(C, 2, 0, 0),
        Commit(A, 1, 0),
        Change(B, 1, 1),
        Change(C, 1, 1),
        Commit(C, 2, 0),
        Prepare(B, 1, 1, skip),
        Prepare(C, 1, 1, skip),
        Commit(B, 1, 1),
        Commit(C, 1, 1),
    ];
    let engine = |terms| Trantor::new(terms, 2, 2);
    let late: Vec<_> = start.into_iter().chain([Late(B, 1, 0)]).collect();
    needed(Terms::without(Rule::GivenUp), engine, &late, [0, 1], &LEAK);
    // Or it restarts and forgets; with its records a restart changes nothing.
    let forgotten: Vec<_> = start.into_iter().chain([Restart(B), Late(B, 1, 0)]).collect();
    needed(Terms::without(Rule::Durable), engine, &forgotten, [0, 2], &LEAK);
    let later: Vec<_> = start.into_iter().chain([Change(B, 2, 1), Late(B, 1, 0)]).collect();
    let terms = Terms { without: Some(Omission::LaterViews), ..Terms::WHOLE };
    needed(terms, engine, &later, [0, 1], &LEAK);
}

/// As Tendermint's: partials of two views add up to a quorum of neither.
#[test]
fn trantor_cross_view_leak() {
    use trantor::Action::{Change, Commit, Prepare};
    let (v, skip) = (0, 2);
    let steps = [
        // View 0: A commits v.
        Prepare(A, 1, 0, v),
        Prepare(B, 1, 0, v),
        Commit(A, 1, 0),
        // View 1: D gathers a certificate to skip, and hides it.
        Change(B, 1, 1),
        Change(C, 1, 1),
        Prepare(B, 1, 1, skip),
        Prepare(C, 1, 1, skip),
        // View 2: A names v, and it is proposed again. Only B commits it.
        Change(A, 1, 2),
        Change(C, 1, 2),
        Prepare(A, 1, 2, v),
        Prepare(C, 1, 2, v),
        Commit(B, 1, 2),
        // View 3: D shows the certificate of view 1 to A and C, which have committed nothing later.
        Change(A, 1, 3),
        Change(C, 1, 3),
        Prepare(A, 1, 3, skip),
        Prepare(C, 1, 3, skip),
        Commit(A, 1, 3),
        Commit(C, 1, 3),
    ];
    for rule in [Rule::OneView, Rule::NoView] {
        needed(Terms::without(rule), |terms| Trantor::new(terms, 1, 4), &steps, [0, 0], &LEAK);
    }
}

/// A block is final by the votes of its own view, and again by those of the next. Some parties know it from these, some
/// from those: for their outputs to be one, the input must not name the view (rule 1).
#[test]
fn final_in_two_views() {
    let without = Terms::without(Rule::Input);
    {
        use jolteon::Action::{Order, Vote};
        let steps = [
            Vote(A, 1, 0, 0),
            Vote(B, 1, 0, 0),
            // Final by order votes.
            Order(A, 1),
            Order(C, 1),
            // Final by certificates in two consecutive rounds.
            Vote(B, 2, 1, 0),
            Vote(C, 2, 1, 0),
        ];
        needed(without, |terms| Jolteon::new(terms, 2), &steps, [0, 0], &[ONE_OUTPUT]);
    }
    {
        use simplex::Action::{Finalize, Notarize};
        let steps = [
            Notarize(A, 1, 0, 0),
            Notarize(B, 1, 0, 0),
            Finalize(A, 1),
            Finalize(B, 1),
            // Final as the parent of a block that is.
            Notarize(A, 2, 1, 0),
            Notarize(C, 2, 1, 0),
            Finalize(B, 2),
            Finalize(C, 2),
        ];
        needed(without, |terms| Simplex::new(terms, 2), &steps, [0, 0], &[ONE_OUTPUT]);
    }
    {
        use trantor::Action::{Change, Commit, Prepare};
        let steps = [
            Prepare(A, 1, 0, 0),
            Prepare(B, 1, 0, 0),
            Commit(B, 1, 0),
            Commit(C, 1, 0),
            // A and C do not hear of it in time. C names the certificate.
            Change(A, 1, 1),
            Change(C, 1, 1),
            Prepare(A, 1, 1, 0),
            Prepare(C, 1, 1, 0),
            Commit(A, 1, 1),
            Commit(C, 1, 1),
        ];
        needed(without, |terms| Trantor::new(terms, 1, 2), &steps, [0, 0], &[ONE_OUTPUT]);
    }
}

/// The first `once` steps bring one partial out. With the faulty party's it is one too few, unless that one counts
/// twice (rule 9). After all steps all three are out. The faulty party's gives the output to one of them by the fast
/// path, and the others need its slow partial (rule 6).
fn counted<E: Engine>(engine: fn(Terms) -> E, steps: &[E::Action], once: usize) {
    needed(Terms::without(Rule::Once), engine, &steps[..once], [0, 0], &[NO_LEAK]);
    needed(Terms::without(Rule::Always), engine, steps, [0, 0], &[TERMINATION]);
}

#[test]
fn one_partial_that_counts_twice_and_one_that_is_kept_back() {
    {
        use tendermint::Action::{Precommit, Prevote};
        let precommits = [A, B, C].map(|party| Precommit(party, 0, 0));
        let steps = [&[Prevote(A, 0, 0), Prevote(B, 0, 0)], precommits.as_slice()].concat();
        counted(|terms| Tendermint::new(terms, 2), &steps, 3);
    }
    {
        use jolteon::Action::{Order, Vote};
        let steps = [Vote(A, 1, 0, 0), Vote(B, 1, 0, 0), Order(A, 1), Order(B, 1), Order(C, 1)];
        counted(|terms| Jolteon::new(terms, 2), &steps, 3);
    }
    {
        use simplex::Action::{Finalize, Notarize};
        let finalized = [A, B, C].map(|party| Finalize(party, 1));
        let steps = [&[Notarize(A, 1, 0, 0), Notarize(B, 1, 0, 0)], finalized.as_slice()].concat();
        counted(|terms| Simplex::new(terms, 2), &steps, 3);
    }
    {
        use trantor::Action::{Commit, Prepare};
        let commits = [A, B, C].map(|party| Commit(party, 1, 0));
        let steps = [&[Prepare(A, 1, 0, 0), Prepare(B, 1, 0, 0)], commits.as_slice()].concat();
        counted(|terms| Trantor::new(terms, 1, 2), &steps, 3);
    }
    {
        use dispel::Action::{Propose, Release, Vote};
        let first = [Propose(A, 1), Propose(B, 1), Vote(A, 1, ONE), Release(A, 1)];
        let rest = [Propose(C, 1), Vote(B, 1, ONE), Vote(C, 1, ONE), Release(B, 1), Release(C, 1)];
        counted(|terms| Dispel::new(terms, 2), &[&first[..], &rest[..]].concat(), 4);
    }
}

/// A slot without a block is final, and what does not depend on values has an output for it all the same (rule 8).
#[test]
fn skipped_slots_have_outputs() {
    let without = Terms::without(Rule::Skipped);
    {
        use jolteon::Action::{Order, Timeout, Vote};
        let skip = [Timeout(B, 1), Timeout(C, 1)];
        let next = [Vote(A, 2, 0, 0), Vote(B, 2, 0, 0), Order(A, 2), Order(B, 2)];
        let steps = [&skip[..], &next[..]].concat();
        needed(without, |terms| Jolteon::new(terms, 2), &steps, [0, 0], &[TERMINATION]);
    }
    {
        use simplex::Action::{Finalize, Notarize, Nullify};
        let skip = [Nullify(B, 1), Nullify(C, 1)];
        let next = [Notarize(A, 2, 0, 0), Notarize(B, 2, 0, 0), Finalize(A, 2), Finalize(B, 2)];
        let steps = [&skip[..], &next[..]].concat();
        needed(without, |terms| Simplex::new(terms, 2), &steps, [0, 0], &[TERMINATION]);
    }
    {
        use trantor::Action::{Change, Commit, Prepare};
        let skip = 2;
        let steps = [
            Change(B, 1, 1),
            Change(C, 1, 1),
            Prepare(B, 1, 1, skip),
            Prepare(C, 1, 1, skip),
            Commit(B, 1, 1),
            Commit(C, 1, 1),
        ];
        needed(without, |terms| Trantor::new(terms, 1, 2), &steps, [0, 0], &[TERMINATION]);
    }
}

/// Sets of a vote in DISPEL: zero alone, and one alone.
const ZERO: u8 = 1;
const ONE: u8 = 2;

/// The rule that takes the vote alone, and the one that takes an honest party's proposal as well. They release alike, for
/// every bit that honest parties vote for was proposed by one of them.
const PROPOSED_BY_ONE: [dispel::Bug; 2] = [dispel::Bug::VoteAlone, dispel::Bug::WeakProposals];

fn weaker(bug: dispel::Bug, rounds: u8) -> Dispel {
    Dispel { bug: Some(bug), ..Dispel::new(Terms::WHOLE, rounds) }
}

/// The engine with the weaker rule takes all steps and ends in these violations. With the right rule it takes all but
/// these releases, and nothing is violated.
fn released_early(
    weaker: Dispel,
    steps: &[dispel::Action],
    refused: &[dispel::Action],
    violations: &[&str],
) {
    let outcome = play(&weaker, steps);
    assert!(outcome.refused.is_empty(), "{weaker:?}");
    assert_eq!(outcome.violated, violations, "{weaker:?}");
    let outcome = play(&Dispel { bug: None, ..weaker }, steps);
    assert_eq!(outcome.refused, refused, "{weaker:?}");
    assert!(outcome.violated.is_empty(), "{weaker:?}: {:?}", outcome.violated);
}

/// No schedule of fewer steps breaks the property.
fn shortest(weaker: Dispel, steps: &[dispel::Action], property: &'static str) {
    let shorter = search::within(weaker, &[property], steps.len() - 1);
    assert!(shorter.path(property).is_none(), "{weaker:?}: {shorter}");
}

/// The last votes of a proposer's bit alone: A has voted for one where one can be decided, B for zero where zero can.
/// Partials on the slot add up, and nothing is final: this breaks *no leak*. See
/// `last_votes_for_both_bits_release_for_one_at_most` of the engine.
#[test]
fn dispel_last_votes_for_both_bits() {
    use dispel::Action::{Move, Propose, Release, Vote};
    let steps = [
        Propose(A, 1),
        Propose(B, 0),
        Propose(C, 0),
        // The faulty party has both bits: B passes its one on to A, and A hears of no zero.
        Vote(A, 1, ONE),
        Vote(B, 1, ZERO),
        Vote(C, 1, ZERO),
        // Refused: A and the faulty party are no quorum that proposed one.
        Release(A, 1),
        // B goes on with B's, C's and the faulty party's sets.
        Move(B, 2, 0),
        Vote(B, 2, ZERO),
        Release(B, 0),
    ];
    for bug in PROPOSED_BY_ONE {
        let weaker = weaker(bug, 2);
        released_early(weaker, &steps, &[Release(A, 1)], &[NO_LEAK]);
        shortest(weaker, &steps, NO_LEAK);
    }
}

/// Proposals of a weak quorum beside the vote: both bits can have one. A releases for zero, which it proposed with the
/// faulty party alone, and C for one. Partials on the slot add up, and nothing is final: this breaks *no leak*.
#[test]
fn dispel_proposals_of_a_weak_quorum() {
    use dispel::Action::{Move, Propose, Release, Vote};
    let steps = [
        Propose(A, 0),
        Propose(B, 1),
        Propose(C, 1),
        // The faulty party has both bits. A and B hear of the zeros first, C of the ones.
        Vote(A, 1, ZERO),
        Vote(B, 1, ZERO),
        Vote(C, 1, ONE),
        // A goes on with A's, B's and the faulty party's sets.
        Move(A, 2, 0),
        Vote(A, 2, ZERO),
        // Refused: A and the faulty party are a weak quorum that proposed zero, and no strong one.
        Release(A, 0),
        Release(C, 1),
    ];
    for bug in PROPOSED_BY_ONE {
        let weaker = weaker(bug, 2);
        released_early(weaker, &steps, &[Release(A, 0)], &[NO_LEAK]);
        shortest(weaker, &steps, NO_LEAK);
    }
}

/// Proposals of a quorum without the vote: they bind nobody. Partials for zero are out, and one is decided: this breaks
/// *no contradiction*.
#[test]
fn dispel_proposals_without_a_vote() {
    use dispel::Action::{Propose, Release, Vote};
    let steps = [
        Propose(A, 0),
        Propose(B, 0),
        Propose(C, 1),
        // The faulty party passes C's one on, so all do. A hears of it before it hears of B's zero.
        Vote(A, 1, ONE),
        // With the faulty party's zero a quorum. Refused: neither has voted for zero in round 2, which can decide it.
        Release(A, 0),
        Release(B, 0),
        // With A's and the faulty party's sets a quorum: one is decided.
        Vote(C, 1, ONE),
    ];
    let weaker = weaker(dispel::Bug::ProposalsAlone, 1);
    released_early(weaker, &steps, &[Release(A, 0), Release(B, 0)], &LEAK);
    shortest(weaker, &steps, NO_CONTRADICTION);
}

/// Votes of any round, beside the proposals of a quorum: A has voted for one in round 1, B in round 3, and no round has a
/// quorum for one. Partials for one are out, and nothing is final: this breaks *no leak*. Then round 4 decides zero,
/// which breaks *no contradiction*.
#[test]
fn dispel_votes_of_two_rounds() {
    use dispel::Action::{Move, Propose, Release, Vote};
    let leaks = [
        // One has a quorum, with the faulty party's proposal.
        Propose(A, 1),
        Propose(B, 1),
        Propose(C, 0),
        // B hears of the zeros first.
        Vote(A, 1, ONE),
        Vote(B, 1, ZERO),
        // Both go on with the union of A's and B's sets, which leads to the round's bit.
        Move(A, 2, 1),
        Move(B, 2, 1),
        Vote(A, 2, ONE),
        Vote(B, 2, ONE),
        // B goes on with A's, B's and the faulty party's sets of round 2.
        Move(B, 3, 1),
        Vote(B, 3, ONE),
        Release(A, 1),
        // Refused: in round 1, where A voted for one, B voted for zero.
        Release(B, 1),
    ];
    let decides_zero = [
        Vote(C, 1, ZERO),
        // C goes on with B's, C's and the faulty party's sets.
        Move(C, 2, 0),
        Vote(C, 2, ZERO),
        // Both go on with the union of A's and C's sets, which leads to the round's bit.
        Move(A, 3, 0),
        Move(C, 3, 0),
        Vote(A, 3, ZERO),
        Vote(C, 3, ZERO),
        // Both go on with A's, C's and the faulty party's sets, without B's, and zero is decided.
        Move(A, 4, 0),
        Move(C, 4, 0),
        Vote(A, 4, ZERO),
        Vote(C, 4, ZERO),
    ];
    let weaker = weaker(dispel::Bug::AnyRound, 4);
    released_early(weaker, &leaks, &[Release(B, 1)], &[NO_LEAK]);
    shortest(weaker, &leaks, NO_LEAK);
    let steps = [&leaks[..], &decides_zero[..]].concat();
    released_early(weaker, &steps, &[Release(B, 1)], &LEAK);
}
