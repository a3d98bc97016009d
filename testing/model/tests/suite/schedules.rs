//! The known bad schedules of naive integrations, step by step. With the rule removed each ends in a
//! violation; with the whole contract the very same steps do not. What they do on the real beacon is in
//! its own tests of this name.
use prefinal_contract::Rule;
use prefinal_model::desk::{Omission, Terms};
use prefinal_model::dispel::{self, Dispel};
use prefinal_model::jolteon::{self, Jolteon};
use prefinal_model::properties::{Engine, NO_CONTRADICTION, NO_LEAK, ONE_OUTPUT};
use prefinal_model::simplex::{self, Simplex};
use prefinal_model::tendermint::{self, Tendermint};
use prefinal_model::trantor::{self, Trantor};

const A: usize = 0;
const B: usize = 1;
const C: usize = 2;

/// Takes exactly these steps, each of which the engine must offer, and names what is violated then.
/// Steps that change nothing are passed over if they may be.
fn violated<E: Engine>(engine: &E, steps: &[E::Action], idle: usize) -> Vec<&'static str> {
    let mut state = engine.init_states().remove(0);
    let mut passed = 0;
    for step in steps {
        match engine.next_steps(&state).into_iter().find(|(action, _)| action == step) {
            Some((_, next)) => state = next,
            None => {
                println!("not taken: {step}");
                passed += 1;
            }
        }
    }
    assert_eq!(passed, idle, "the model is too weak for the schedule");
    let properties = engine.properties().into_iter();
    let broken = properties.filter(|property| !(property.condition)(engine, &state));
    broken.map(|property| property.name).collect()
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
    let [without, whole] = idle;
    assert_eq!(violated(&engine(terms), steps, without), violations, "{terms:?}");
    let left = violated(&engine(Terms::WHOLE), steps, whole);
    assert!(left.is_empty(), "{left:?}");
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
    use simplex::Action::{Finalize, Late, Notarize, Nullify};
    let start =
        [Notarize(A, 1, 0, 0), Notarize(B, 1, 0, 0), Finalize(A, 1), Nullify(B, 1), Nullify(C, 1)];
    let end = [Notarize(A, 3, 0, 0), Notarize(C, 3, 0, 0), Finalize(A, 3), Finalize(C, 3)];
    let skip = [Nullify(A, 2), Nullify(C, 2)];
    let late: Vec<_> = start.into_iter().chain([Late(B, 1)]).chain(skip).chain(end).collect();
    let child = [Notarize(A, 2, 1, 0), Notarize(B, 2, 1, 0), Finalize(B, 2)];
    let implied: Vec<_> = start.into_iter().chain(child).chain(skip).chain(end).collect();
    for (rule, steps, idle) in [(Rule::GivenUp, late, 1), (Rule::Direct, implied, 0)] {
        let engine = |terms| Simplex::new(terms, 3);
        needed(Terms::without(rule), engine, &steps, [0, idle], &LEAK);
    }
}

/// Two heights are open. A commits a block at height 1; B and C ask for another view before they see that
/// it is prepared, and skip it. B then gives height 2 up as well. The certificate of height 1 reaches B.
/// Its partial would be the third, for a block that is not final: B must remember that it gave height 1
/// up, although a later height came after that.
#[test]
fn trantor_certificate_after_a_view_change() {
    use trantor::Action::{Change, Commit, Late, Prepare};
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

/// The last votes of a proposer's bit alone: A has voted for one where one can be decided, B for zero where zero can.
/// Partials on the slot add up, and nothing is final. See `last_votes_for_both_bits_release_for_one_at_most` of the
/// engine.
#[test]
fn dispel_last_votes_for_both_bits() {
    use dispel::Action::{Move, Propose, Release, Vote};
    let (zero, one) = (1, 2);
    let steps = [
        Propose(A, 1),
        Propose(B, 0),
        Propose(C, 0),
        // The faulty party has both bits: B passes its one on to A, and A hears of no zero.
        Vote(A, 1, one),
        Vote(B, 1, zero),
        Vote(C, 1, zero),
        Release(A, 1),
        // B goes on with B's, C's and the faulty party's sets.
        Move(B, 2, 0),
        Vote(B, 2, zero),
        Release(B, 0),
    ];
    let engine = |bug| Dispel { bug, ..Dispel::new(Terms::WHOLE, 2) };
    let weaker = engine(Some(dispel::Bug::VoteAlone));
    assert_eq!(violated(&weaker, &steps, 0), [NO_LEAK]);
    assert_eq!(violated(&engine(None), &steps, 1), [""; 0], "A saw no quorum propose one");
}
