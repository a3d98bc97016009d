//! Each law can be broken: an engine that does one thing wrong is caught, and for that very thing.
#![allow(clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod saboteur;

use std::time::Duration;

use prefinal_engine::Launch;
use prefinal_engine_suite::{MessageOf, Play, Sample, Script, Statement, Verdict, Violation, laws};
use prefinal_malachite::{
    Height, Malachite, Message, NilOrVal, PublicKey, Round, SecretKey, VoteType,
};
use prefinal_protocol::{Party, Slot, Value, View};
use prefinal_sim::{Seat, rule};

use crate::saboteur::{Broken, Wrong};

/// Malachite, of which some members or all do one thing wrong.
#[derive(Clone, Copy)]
struct Saboteurs<const GREEDY: bool = false> {
    wrong: Wrong,
    /// The member that does it; all members if none is named.
    who: Option<u32>,
    /// Whether messages are read.
    read: bool,
}

impl<const GREEDY: bool> Sample for Saboteurs<GREEDY> {
    type Engine = Broken<Malachite, GREEDY>;

    fn public_key(&self, member: Party) -> PublicKey {
        self.secret_key(member).0.public_key()
    }

    fn secret_key(&self, member: Party) -> <Self::Engine as Launch>::SecretKey {
        let key = SecretKey::from_seed([u8::try_from(member.get()).unwrap_or(0) + 1; 32]);
        let is_one = self.who.is_none_or(|who| who == member.get());
        (key, if is_one { self.wrong } else { Wrong::Nothing })
    }

    fn statement(&self, message: &MessageOf<Self>) -> Option<Statement> {
        let Message::Vote(vote) = message else { return None };
        let vote = &vote.message;
        let view = view(vote.height, vote.round);
        let value = match vote.value {
            NilOrVal::Nil => None,
            NilOrVal::Val(block) => Some(Value::new(block.to_bytes())),
        };
        self.read.then_some(match (vote.kind, value) {
            (VoteType::Prevote, value) => Statement::Votes { view, value },
            (VoteType::Precommit, Some(value)) => Statement::Prefinalizes { view, value },
            (VoteType::Precommit, None) => Statement::GivesUp { view },
        })
    }
}

fn view(height: Height, round: Round) -> View {
    View::new(Slot::new(height.get()), round.as_u32().unwrap_or(0))
}

const fn all(wrong: Wrong) -> Saboteurs {
    Saboteurs { wrong, who: None, read: true }
}

const fn one(wrong: Wrong) -> Saboteurs {
    Saboteurs { wrong, who: Some(2), read: true }
}

type Law = fn(&Saboteurs) -> Verdict;

/// The violation that a law finds.
fn found(law: impl FnOnce() -> Verdict) -> Violation {
    *law().expect_err("the law holds").violation
}

macro_rules! finds {
    ($($test:ident: $law:ident, $sample:expr => $violation:pat,)*) => {
        $(
            #[test]
            fn $test() {
                let found = found(|| laws::$law(&$sample));
                assert!(matches!(found, $violation), "{found}");
            }
        )*
    };
}

finds! {
    another_block: where_all_is_well, one(Wrong::OtherBlock) => Violation::Disagreement { .. },
    another_content: where_all_is_well, one(Wrong::OtherContents) => Violation::Contents { .. },
    a_slot_left_out: where_all_is_well, one(Wrong::SkipsSlot) => Violation::Order { .. },
    a_slot_twice: where_all_is_well, one(Wrong::RepeatsSlot) => Violation::Order { .. },
    a_transaction_twice: where_all_is_well, all(Wrong::RepeatsTransaction) => Violation::Repeated { .. },
    transactions_lost: where_all_is_well, all(Wrong::LosesTransactions) => Violation::Unordered { .. },
    a_leak: noise_changes_nothing, all(Wrong::FinalizesOther) => Violation::Leaked { .. },
    final_before_its_quorum: where_all_is_well,
        Saboteurs { read: false, ..all(Wrong::AnnouncesNothing) } => Violation::Early { .. },
    a_vote_unannounced: where_all_is_well, one(Wrong::AnnouncesNothing) => Violation::Unannounced { .. },
    a_vote_before_its_announcement: where_all_is_well,
        one(Wrong::AnnouncesLate) => Violation::Unannounced { .. },
    a_vote_before_its_record: a_crash_anywhere_breaks_no_promise,
        all(Wrong::KeepsLate) => Violation::Forgotten { .. } | Violation::Equivocated { .. },
    a_timeout_unannounced: a_party_that_starts_late_catches_up,
        all(Wrong::GivesUpUnsaid) => Violation::Unabandoned { .. },
    a_vote_after_giving_up: a_party_that_starts_late_catches_up,
        all(Wrong::PrefinalizesAfterwards) => Violation::Abandoned { .. },
    two_values_in_a_fast_attempt: where_all_is_well,
        one(Wrong::PrefinalizesTwo) => Violation::TwoValues { .. },
    a_value_in_two_slots: slots_that_are_open_at_once_do_not_mix,
        one(Wrong::MixesSlots) => Violation::Mixed { .. },
    records_forgotten: a_crash_anywhere_breaks_no_promise,
        all(Wrong::ForgetsRecords) => Violation::Forgotten { .. } | Violation::Equivocated { .. },
    a_past_untold: all_may_crash_at_once, all(Wrong::ForgetsPast) => Violation::Untold { .. },
    a_past_invented: all_may_crash_at_once, all(Wrong::InventsPast) => Violation::Invented { .. },
    two_pasts: all_may_crash_at_once, all(Wrong::ChangesPast) => Violation::TwoPasts { .. },
    what_came_is_kept_back: where_all_is_well,
        one(Wrong::SwallowsCarried) => Violation::Lost { .. },
    what_came_is_changed: where_all_is_well,
        one(Wrong::ChangesCarried) => Violation::Foreign { .. },
    what_was_offered_is_dropped: where_all_is_well,
        one(Wrong::DropsOffered) => Violation::Lost { .. },
    what_was_offered_comes_back_changed: where_all_is_well,
        one(Wrong::ReturnsOther) => Violation::Altered { .. },
    the_honest_are_accused: where_all_is_well, one(Wrong::Slanders) => Violation::Slander { .. },
    an_honest_driver_is_refused: where_all_is_well, one(Wrong::Refuses) => Violation::Refused { .. },
    a_view_is_given_up_for_nothing: where_all_is_well,
        one(Wrong::GivesUpSoon) => Violation::Impatient { .. },
    heads_are_counted: the_declared_quorum_is_counted,
        all(Wrong::CountsHeads) => Violation::Outvoted { .. } | Violation::Stalled { .. },
    heads_decide: stake_decides_and_heads_do_not,
        all(Wrong::CountsHeads) => Violation::Stalled { .. },
    a_party_stops_when_links_fail: it_goes_on_when_links_heal,
        one(Wrong::StopsAfterTimeout) => Violation::Stalled { .. },
    a_party_never_catches_up: a_party_that_starts_late_catches_up,
        all(Wrong::DeafWhenLate) => Violation::Stalled { .. },
    strangers_are_believed: strangers_are_not_believed,
        all(Wrong::BelievesAll) => Violation::Believed { .. },
    more_may_be_faulty_than_is_left: the_declared_quorum_is_counted,
        Saboteurs::<true> { wrong: Wrong::Nothing, who: None, read: true }
            => Violation::Unreachable { .. },
}

/// The wrapper alone breaks nothing.
#[test]
fn an_engine_that_does_nothing_wrong_keeps_every_law() {
    let laws: [Law; 6] = [
        laws::where_all_is_well,
        laws::slots_that_are_open_at_once_do_not_mix,
        laws::a_party_that_starts_late_catches_up,
        laws::all_may_crash_at_once,
        laws::it_goes_on_when_links_heal,
        laws::a_party_with_two_faces_splits_nobody,
    ];
    for law in laws {
        assert_eq!(law(&all(Wrong::Nothing)), Ok(()));
    }
}

/// One party with two faces splits nobody. Two of four do, so it is the engine that keeps the law, and
/// not the play that is too easy.
#[test]
fn two_of_four_with_two_faces_split_the_others() {
    let twins = [0, 1].map(Party::new);
    let honest = [2, 3].map(Party::new);
    let faulty = twins.into_iter().collect();
    let script = Script { faulty, twins: twins.to_vec(), ..Script::new(&[1; 4]) };
    let sample = all(Wrong::Nothing);
    let mut play = Play::new(&sample, script);
    for camp in [[0, 1, 2], [4, 5, 3]] {
        let camp = camp.map(Seat::new);
        for seat in camp.into_iter().take(2) {
            play.corrupt(seat, rule::drop_when(move |_, letter| !camp.contains(&letter.to)));
        }
    }
    play.submit_to_twin(twins[1], b"what the other face wants".to_vec());
    let found = play.reach(&honest, Slot::new(5), Duration::from_secs(60)).expect_err("a split");
    assert!(matches!(found, Violation::Disagreement { .. } | Violation::Leaked { .. }), "{found}");
}
