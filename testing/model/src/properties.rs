//! What must hold in every reachable state, for any engine.
//!
//! | property                    | says                                                              |
//! |-----------------------------|-------------------------------------------------------------------|
//! | [`AGREEMENT`]               | a slot is final with one value                                     |
//! | [`ONE_OUTPUT`]              | parties that finalize through different views evaluate the same input |
//! | [`NO_LEAK`]                 | t_fin partials of an input are out only if its value is bound to be final: it has t_fin votes of *one* view (Definition 5), or is final |
//! | [`NO_CONTRADICTION`]        | t_fin partials of a value are out only if no other value, nor none, is final |
//! | [`TERMINATION`]             | one synchronous view later all is final and everybody has every output |
//!
//! The two about partials hold for tight and ramp thresholds: both have secrecy at t_fin or above. They
//! are checked for inputs with and without a value. Nobody has to decide anything for a value to be
//! final: it is final if the votes for it exist, for the faulty party may show them to anybody.
//!
//! Partials that leave on finalize are not counted against secrecy: they exist only once the value is
//! final. For termination they are what counts, by the real [`late`] and [`bound_value`].
use std::fmt::Display;
use std::hash::Hash;

use prefinal_contract::{Binding, Path};
use prefinal_contract::{Rule, bound_value, late};
use prefinal_protocol::Value;
use stateright::{Model, Property};

use crate::desk::{At, Call, Desk, HONEST, T_FIN, Terms, hash};

/// The name of the property that no slot is final with two values.
pub const AGREEMENT: &str = "agreement";
/// The name of the property that parties that finalize through different views evaluate one input.
pub const ONE_OUTPUT: &str = "one output";
/// The name of the property that partials leave early only for a value that is bound to be final.
pub const NO_LEAK: &str = "no leak";
/// The name of the property that partials of a value leave early only if nothing else is final.
pub const NO_CONTRADICTION: &str = "no contradiction";
/// The name of the property that every final slot gets its output.
pub const TERMINATION: &str = "termination";

/// Something that is final, whether anybody knows it or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The slot that it is about.
    pub slot: u8,
    /// `None` if it is skipped.
    pub value: Option<u8>,
    /// Whose votes made it final.
    pub view: At,
}

/// A consensus engine as the checker sees it: its states and steps.
pub trait Engine:
    Model<
        State: Clone + PartialEq + Hash + Send + Sync + 'static,
        Action: Clone + PartialEq + Display + Send + Sync,
    > + Send
    + Sync
    + 'static
{
    /// The contract that parties obey.
    fn terms(&self) -> &Terms;

    /// The honest parties' beacons.
    fn desks<'a>(&self, state: &'a Self::State) -> [&'a Desk; HONEST];

    /// Whose beacon is told what when this is done.
    fn told(&self, state: &Self::State, action: &Self::Action) -> (usize, Vec<Call>);

    /// All that is final.
    fn decisions(&self, state: &Self::State) -> Vec<Decision>;

    /// The most votes that honest parties have cast in one view to make this value final.
    fn prefinalized(&self, state: &Self::State, slot: u8, value: u8) -> usize;

    /// What becomes of this state if from now on the faulty party is silent, all messages arrive in time
    /// and an honest party leads. `None` if the engine gets stuck.
    fn stabilised(&self, state: &Self::State) -> Option<Self::State>;

    /// The last slot of which anybody has spoken.
    fn last_slot(&self, state: &Self::State) -> u8;
}

/// All properties that the checker looks at.
pub fn all<E: Engine>() -> Vec<Property<E>> {
    vec![
        Property::always(AGREEMENT, agreement),
        Property::always(ONE_OUTPUT, one_output),
        Property::always(NO_LEAK, no_leak),
        Property::always(NO_CONTRADICTION, no_contradiction),
        Property::always(TERMINATION, terminates),
    ]
}

const BINDINGS: [Binding; 2] = [Binding::Slot, Binding::Value];

fn agreement<E: Engine>(engine: &E, state: &E::State) -> bool {
    consistent(&engine.decisions(state))
}

fn consistent(decisions: &[Decision]) -> bool {
    let clash = |one: &Decision, two: &Decision| one.slot == two.slot && one.value != two.value;
    decisions.iter().all(|one| !decisions.iter().any(|two| clash(one, two)))
}

/// What the function is evaluated on when a slot is final.
fn input(terms: &Terms, binding: Binding, last: &Decision) -> (Option<Option<Value>>, Option<At>) {
    // Without rule 1 the view is part of it; without rule 8 a skipped slot has none.
    let view = (!terms.has(Rule::Input)).then_some(last.view);
    let skipped = last.value.is_none() && !terms.has(Rule::Skipped);
    let bound = if skipped { None } else { bound_value(binding, last.value.map(hash)) };
    (bound, view)
}

fn one_output<E: Engine>(engine: &E, state: &E::State) -> bool {
    let decisions = engine.decisions(state);
    let terms = engine.terms();
    BINDINGS.into_iter().all(|binding| {
        decisions.iter().all(|one| {
            let same = |two: &&Decision| one.slot == two.slot && one.value == two.value;
            let input_of_one = input(terms, binding, one);
            decisions.iter().filter(same).all(|two| input(terms, binding, two) == input_of_one)
        })
    })
}

/// The values whose partials the adversary can combine: honest ones that are out, and its own.
fn qualified<E: Engine>(
    engine: &E,
    state: &E::State,
    slot: u8,
    binding: Binding,
) -> impl Iterator<Item = u8> {
    let out = engine.desks(state).map(|desk| desk.out(slot));
    // Rule 9: once, whatever it sends.
    let own = if engine.terms().has(Rule::Once) { 1 } else { 2 };
    let any = out.iter().fold(0, |any, out| any | out);
    let values = (0..16).filter(move |value| any >> value & 1 == 1);
    values.filter(move |value| {
        let honest = out.iter().filter(|out| **out & fellows(binding, *value, any) != 0);
        honest.count() + own >= T_FIN
    })
}

/// The values among these that have the same input as this one, one bit each.
fn fellows(binding: Binding, value: u8, among: u16) -> u16 {
    let bound = |value| bound_value(binding, Some(hash(value)));
    let same = (0..16).filter(|other| among >> other & 1 == 1 && bound(*other) == bound(value));
    same.fold(0, |fellows, other| fellows | 1 << other)
}

fn no_leak<E: Engine>(engine: &E, state: &E::State) -> bool {
    let slots = 1..=engine.last_slot(state);
    let mut cases = slots.flat_map(|slot| BINDINGS.map(|binding| (slot, binding)));
    cases.all(|(slot, binding)| {
        qualified(engine, state, slot, binding).all(|value| {
            let fellows = fellows(binding, value, u16::MAX);
            let mut fellows = (0..16).filter(|other| fellows >> other & 1 == 1);
            fellows.any(|value| bound_to_be_final(engine, state, slot, value))
        })
    })
}

fn bound_to_be_final<E: Engine>(engine: &E, state: &E::State, slot: u8, value: u8) -> bool {
    let is = |last: &Decision| last.slot == slot && last.value == Some(value);
    engine.prefinalized(state, slot, value) + 1 >= T_FIN || engine.decisions(state).iter().any(is)
}

fn no_contradiction<E: Engine>(engine: &E, state: &E::State) -> bool {
    engine.decisions(state).iter().all(|last| {
        let mut qualified = qualified(engine, state, last.slot, Binding::Value);
        qualified.all(|value| last.value == Some(value))
    })
}

fn terminates<E: Engine>(engine: &E, state: &E::State) -> bool {
    let Some(end) = engine.stabilised(state) else { return false };
    let decisions = engine.decisions(&end);
    // Whatever the end makes final was not contradicted before.
    consistent(&decisions)
        && (1..=engine.last_slot(&end)).all(|slot| {
            let of_slot = decisions.iter().find(|last| last.slot == slot);
            of_slot.is_some_and(|last| {
                BINDINGS.into_iter().all(|binding| delivered(engine, &end, last, binding))
            })
        })
}

/// Whether all honest parties, who know of this decision, get the output from each other alone.
fn delivered<E: Engine>(engine: &E, end: &E::State, last: &Decision, binding: Binding) -> bool {
    let terms = engine.terms();
    let Some(bound) = input(terms, binding, last).0 else {
        // Reported, unless this is one of the outputs that every slot must have.
        return binding == Binding::Value;
    };
    let early = engine.desks(end).map(|desk| {
        let mut out = (0..16).filter(|value| desk.out(last.slot) >> value & 1 == 1);
        out.any(|value| bound_value(binding, Some(hash(value))) == Some(bound))
    });
    let tight = early.iter().filter(|sent| **sent || late(Path::Tight, **sent)).count();
    let slow = early.iter().filter(|sent| late(Path::Slow, **sent)).count();
    // The fast path takes all four. If the faulty party completes it for one honest party, does that one
    // still help the others?
    let kept_back = usize::from(early == [true; HONEST] && !terms.has(Rule::Always));
    tight >= HONEST && slow - kept_back >= HONEST
}
