//! For each check of a change, what passes if the check is left out.
use std::sync::LazyLock;

use prefinal_crypto_core::context::{ChainId, EpochId};
use prefinal_crypto_core::secret::Secret;
use prefinal_protocol::Value;

use super::*;
use crate::setup::{Algorithm, Identity, Plan, PlanError};

const CHAIN: ChainId = ChainId::new([3; 32]);
/// Two thirds are 60.
const STAKES: [u128; 4] = [30, 30, 20, 10];
/// The third leaves, the fifth joins.
const NEXT: [u128; 5] = [30, 30, 0, 10, 20];

fn identity(number: u32) -> Identity {
    named(number, u8::try_from(number + 1).unwrap())
}

/// The party with that number and the secrets that come from this seed.
fn named(number: u32, seed: u8) -> Identity {
    Identity::from_seed(Party::new(number), Secret::new([seed; 32]))
}

struct World {
    genesis: Setup,
    members: Vec<Identity>,
    newcomer: Identity,
    change: Change,
    /// The epoch that the change makes.
    second: Setup,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let members: Vec<_> = (0..4).map(identity).collect();
    let genesis = genesis(CHAIN, &members);
    let newcomer = identity(4);
    let change = change(&genesis, &NEXT, vec![apply(&newcomer, &genesis)]);
    let second = change.verify(&genesis).unwrap();
    World { genesis, members, newcomer, change, second }
});

fn genesis(chain: ChainId, members: &[Identity]) -> Setup {
    let registrations: Vec<_> = members.iter().map(Identity::registration).collect();
    let plan = Plan::new(stakes(&STAKES), Algorithm::Fast, Ratio::FIVE_SIXTHS).unwrap();
    let setup = Setup::new(chain, &plan, &registrations).unwrap();
    Setup { succession: Some(Arc::new(ApprovedChanges)), ..setup }
}

fn stakes(stakes: &[u128]) -> Vec<Stake> {
    stakes.iter().copied().map(Stake::new).collect()
}

fn apply(newcomer: &Identity, current: &Setup) -> Application {
    Application::new(newcomer, current.context.chain, current.context.epoch.next())
}

/// A draft that nobody has checked.
fn draft(current: &Setup, stakes: &[u128], newcomers: Vec<Application>) -> Draft {
    let context = &current.context;
    let (chain, epoch) = (context.chain, context.epoch.next());
    Draft { chain, epoch, stakes: stakes.to_vec(), newcomers }
}

/// All members consent to this draft, whatever it is, and all is merged without a check.
fn approved(draft: Draft) -> Change {
    let consents = (0..4).map(|number| draft.approve(&identity(number)));
    let (mut keys, mut approvals) = (Vec::new(), Vec::new());
    for Consent { approval, key } in consents {
        approvals.push(approval);
        keys.extend(key);
    }
    Change { draft, keys, approvals }
}

fn change(current: &Setup, stakes: &[u128], newcomers: Vec<Application>) -> Change {
    approved(draft(current, stakes, newcomers))
}

fn refusal(current: &Setup, change: &Change) -> ChangeError {
    change.verify(current).err().unwrap()
}

/// Why the change is refused after somebody has tampered with it.
fn tampered(tamper: impl FnOnce(&mut Change)) -> ChangeError {
    let mut change = WORLD.change.clone();
    tamper(&mut change);
    refusal(&WORLD.genesis, &change)
}

macro_rules! assert_refused {
    ($error:expr, $pattern:pat $(if $guard:expr)?) => {
        let error = $error;
        assert!(matches!(&error, $pattern $(if $guard)?), "{error}");
    };
}

#[test]
fn a_change_makes_the_next_set_up_for_everybody() {
    let World { genesis, members, newcomer, change, second } = &*WORLD;
    assert_eq!(second.context.epoch, genesis.context.epoch.next());
    let read = Change::from_transaction(&change.to_transaction()).unwrap();
    assert_eq!(&read, change);
    assert_eq!(read.verify(genesis).unwrap().keygen.digest(), second.keygen.digest());
    let held: Vec<_> = second.members.iter().map(|member| member.stake.get()).collect();
    assert_eq!(held, NEXT);
    let numbers = members.iter().chain([newcomer]);
    for one in numbers {
        assert_eq!(second.party_of(&one.signer.public_key()), Some(one.me));
        let certifier = one.certifier().public_key();
        assert_eq!(*second.certifiers[one.me.index()].key.get(), certifier);
    }
    assert_eq!((second.ed25519.len(), second.keygen.members().len()), (5, 5));
    // The committee of this epoch deals, whatever the size of the next one.
    let dealers = second.keygen.dealers().iter().map(|dealer| dealer.stake.get());
    assert!(dealers.eq(STAKES));
    assert_eq!((second.choice, second.fast_ratio), (genesis.choice, genesis.fast_ratio));
    assert!(second.succession.is_some());
}

#[test]
fn a_party_that_leaves_keeps_its_number_and_may_return_with_a_fresh_key() {
    let World { genesis, members, second, .. } = &*WORLD;
    let entry = |setup: &Setup| setup.keygen.members()[2].encryption.clone();
    assert_eq!(entry(genesis), entry(second));
    assert_eq!(genesis.members[2].key, second.members[2].key);
    assert_eq!(second.keygen.shape().access().weight(Party::new(2)), 0);
    let all: Vec<_> = (0..5).map(identity).collect();
    let draft = Draft::new(second, stakes(&[30, 30, 5, 10, 20]), Vec::new()).unwrap();
    let consents: Vec<_> = all.iter().map(|one| draft.approve(one)).collect();
    let returned = draft.clone().merge(second, consents.clone()).unwrap();
    // Its word does not count, its key does.
    assert!(!returned.approved_by().any(|party| party == members[2].me));
    assert_ne!(entry(&returned.verify(second).unwrap()), entry(second));
    let without =
        draft.merge(second, consents.into_iter().filter(|one| one.approval.party.get() != 2));
    assert_refused!(without.unwrap_err(),
        ChangeError::Plan(PlanError::Unregistered { got: 4, need: 5, missing })
        if missing.get() == 2);
}

#[test]
fn a_change_counts_for_one_chain_and_one_epoch() {
    let World { members, change, second, .. } = &*WORLD;
    let other = ChainId::new([4; 32]);
    assert_refused!(tampered(|change| change.draft.chain = other),
        ChangeError::Chain { got, .. } if *got == other);
    assert_refused!(refusal(&self::genesis(other, members), change), ChangeError::Chain { .. });
    let epoch = EpochId::new(2);
    assert_refused!(tampered(|change| change.draft.epoch = epoch),
        ChangeError::Epoch { got, .. } if *got == epoch);
    // The same one again, in the epoch that it made.
    assert_refused!(refusal(second, change), ChangeError::Epoch { got, .. } if got.get() == 1);
    let mut early = change.to_transaction();
    early[8] = 2;
    let early = Change::from_transaction(&early).unwrap_err();
    assert_refused!(early, ChangeError::Header { got, expected } if (got.get(), expected.get()) == (2, 1));
}

#[test]
fn what_is_changed_in_a_draft_is_not_what_was_approved() {
    assert_refused!(tampered(|change| change.draft.stakes[0] = 31), ChangeError::Approval { .. });
    assert_refused!(
        tampered(|change| change.draft.stakes.push(9)),
        ChangeError::Stakes { got: 6, expected: 5 }
    );
    let other = named(4, 77);
    let application = apply(&other, &WORLD.genesis);
    assert_refused!(
        tampered(|change| change.draft.newcomers[0] = application),
        ChangeError::Approval { .. }
    );
    // Two newcomers for another two.
    let World { genesis, .. } = &*WORLD;
    let two = vec![apply(&identity(4), genesis), apply(&identity(5), genesis)];
    let mut swapped = change(genesis, &[30, 30, 0, 10, 20, 20], two);
    assert!(swapped.verify(genesis).is_ok());
    swapped.draft.newcomers.reverse();
    assert_refused!(refusal(genesis, &swapped), ChangeError::Approval { .. });
}

#[test]
fn approvals_count_for_the_member_and_the_draft_that_they_are_of() {
    let World { genesis, members, .. } = &*WORLD;
    let of = |draft: &Draft| draft.approve(&members[0]).approval;
    let draft = draft(genesis, &NEXT, vec![apply(&identity(4), genesis)]);
    let other_stakes = Draft { stakes: vec![31, 30, 0, 10, 20], ..draft.clone() };
    let other_epoch = Draft { epoch: EpochId::new(2), ..draft.clone() };
    let other_chain = Draft { chain: ChainId::new([4; 32]), ..draft.clone() };
    for other in [other_stakes, other_epoch, other_chain] {
        let approval = of(&other);
        assert_refused!(tampered(|change| change.approvals[0] = approval),
            ChangeError::Approval { party } if party.get() == 0);
    }
    assert_refused!(
        tampered(|change| change.approvals[0].signature = change.approvals[1].signature),
        ChangeError::Approval { party } if party.get() == 0);
    // The same words under another domain.
    let key = WORLD.change.keys[0].signature;
    assert_refused!(
        tampered(|change| change.approvals[0].signature = key),
        ChangeError::Approval { .. }
    );
}

#[test]
fn more_than_two_thirds_of_this_epochs_stake_approve() {
    let World { genesis, newcomer, .. } = &*WORLD;
    // The first two hold exactly two thirds.
    assert_refused!(tampered(|change| change.approvals.truncate(2)),
        ChangeError::BelowQuorum { got, exceed } if (got.get(), exceed.get()) == (60, 60));
    let mut enough = WORLD.change.clone();
    enough.approvals.remove(2);
    assert!(enough.verify(genesis).is_ok());
    // One member twice, and one behind those it is before.
    assert_refused!(
        tampered(|change| {
            change.approvals.truncate(2);
            change.approvals.push(change.approvals[1].clone());
        }),
        ChangeError::Order { what: "approvals", party } if party.get() == 1);
    assert_refused!(tampered(|change| change.approvals.swap(0, 1)), ChangeError::Order { .. });
    // The stake of the next epoch counts nothing, nor does somebody whom nobody knows.
    for stranger in [newcomer.me.get(), 9] {
        let stranger = identity(stranger);
        assert_refused!(
            tampered(|change| {
                change.approvals.truncate(2);
                change.approvals.push(change.draft.approve(&stranger).approval);
            }),
            ChangeError::Stranger { party } if *party == stranger.me);
    }
    // Somebody who has left.
    let World { second, .. } = &*WORLD;
    let mut left = change(second, &[30, 30, 0, 10, 20], Vec::new());
    let refused = refusal(second, &left);
    assert_refused!(refused, ChangeError::Stranger { party } if party.get() == 2);
    left.approvals.remove(2);
    left.keys.push(left.draft.approve(newcomer).key.unwrap());
    // Without the newcomer, it is 70 of 90.
    assert!(left.verify(second).is_ok());
}

#[test]
fn fresh_keys_are_of_their_owner_for_this_epoch_and_chain() {
    let World { genesis, second, .. } = &*WORLD;
    let key = |draft: Draft| approved(draft).keys[0].clone();
    let draft = draft(genesis, &NEXT, vec![apply(&identity(4), genesis)]);
    let other_chain = key(Draft { chain: ChainId::new([4; 32]), ..draft.clone() });
    let other_epoch = key(Draft { epoch: EpochId::new(2), ..draft });
    for key in [other_chain, other_epoch] {
        assert_refused!(tampered(|change| change.keys[0] = key),
            ChangeError::FreshKey { party } if party.get() == 0);
    }
    // The registration of an earlier epoch, which the party's signing key has signed as well.
    let used = identity(0).register(EpochId::new(0));
    assert_refused!(
        tampered(|change| change.keys[0].registration = used),
        ChangeError::FreshKey { .. }
    );
    assert_refused!(
        tampered(|change| change.keys[0].signature = change.keys[1].signature),
        ChangeError::FreshKey { .. }
    );
    // The party's key for another number.
    let other_number =
        FreshKey::sign(&named(1, 1), &WORLD.change.draft, identity(0).register(EpochId::new(1)));
    assert_refused!(
        tampered(|change| change.keys[0] = FreshKey { party: Party::new(0), ..other_number }),
        ChangeError::FreshKey { .. }
    );
    // Another party's key.
    assert_refused!(
        tampered(|change| {
            let other = change.keys[1].clone();
            (change.keys[0].registration, change.keys[0].signature) = (other.registration, other.signature);
        }),
        ChangeError::FreshKey { party } if party.get() == 0);
    // The party itself replays the key of this epoch.
    let replay = |current: &Setup, epoch| {
        let mut change = change(current, &[30, 30, 0, 10, 20], Vec::new());
        change.approvals.remove(2);
        change.keys.push(change.draft.approve(&identity(4)).key.unwrap());
        change.keys[0] =
            FreshKey::sign(&identity(0), &change.draft, identity(0).register(EpochId::new(epoch)));
        change.verify(current)
    };
    assert!(replay(second, 2).is_ok());
    let replayed = replay(second, 1).err().unwrap();
    assert_refused!(replayed, ChangeError::Plan(PlanError::UsedKey { party }) if party.get() == 0);
}

#[test]
fn exactly_those_that_stay_give_a_key() {
    assert_refused!(tampered(|change| change.keys.retain(|key| key.party.get() != 1)),
        ChangeError::Plan(PlanError::Unregistered { got: 2, need: 3, missing }) if missing.get() == 1);
    // A party that leaves, a newcomer, somebody whom nobody knows.
    let needless = [2, 4, 9].map(|number| {
        let draft = Draft { stakes: vec![1; 10], ..WORLD.change.draft.clone() };
        FreshKey::sign(&identity(number), &draft, identity(number).register(EpochId::new(1)))
    });
    for key in needless {
        let party = key.party;
        assert_refused!(
            tampered(|change| {
                change.keys.push(key);
                change.keys.sort_by_key(|key| key.party);
            }),
            ChangeError::NeedlessKey { party: named } if *named == party);
    }
    assert_refused!(
        tampered(|change| change.keys.swap(0, 1)),
        ChangeError::Order { what: "keys", .. }
    );
    assert_refused!(
        tampered(|change| change.keys.push(change.keys[2].clone())),
        ChangeError::Order { what: "keys", .. }
    );
}

#[test]
fn newcomers_own_their_keys_and_apply_for_this_epoch_and_chain() {
    let World { genesis, newcomer, .. } = &*WORLD;
    let with = |application| refusal(genesis, &change(genesis, &NEXT, vec![application]));
    let other_epoch = Application::new(newcomer, CHAIN, EpochId::new(2));
    let other_chain = Application::new(newcomer, ChainId::new([4; 32]), EpochId::new(1));
    let mut other_keys = apply(newcomer, genesis);
    other_keys.registration = newcomer.registration();
    let mut signed_by_other = apply(newcomer, genesis);
    signed_by_other.signature = apply(&identity(7), genesis).signature;
    for application in [other_epoch, other_chain, other_keys, signed_by_other] {
        assert_refused!(with(application), ChangeError::Application { party } if *party == newcomer.me);
    }
    // A party that is there already, one that has left included, and one newcomer twice.
    let again = with(apply(&named(4, 1), genesis));
    assert_refused!(again, ChangeError::Plan(PlanError::SameKey { what: "signing", first, second })
        if (first.get(), second.get()) == (0, 4));
    let World { second, .. } = &*WORLD;
    let mut left = change(second, &[30, 30, 0, 10, 20, 20], vec![apply(&named(5, 3), second)]);
    left.approvals.remove(2);
    left.keys.push(left.draft.approve(&identity(4)).key.unwrap());
    assert_refused!(refusal(second, &left),
        ChangeError::Plan(PlanError::SameKey { first, .. }) if first.get() == 2);
    let twice = vec![apply(newcomer, genesis); 2];
    let twice = refusal(genesis, &change(genesis, &[30, 30, 0, 10, 20, 20], twice));
    assert_refused!(twice, ChangeError::Plan(PlanError::SameKey { .. }));
}

#[test]
fn stakes_that_make_no_committee_are_refused_with_both_numbers() {
    let World { genesis, newcomer, .. } = &*WORLD;
    let with = |stakes: &[u128]| {
        let newcomers = vec![apply(newcomer, genesis); stakes.len().saturating_sub(4)];
        refusal(genesis, &change(genesis, stakes, newcomers))
    };
    assert_refused!(with(&[30, 30, 30, 0]), ChangeError::TooFew { got: 3, need: 4 });
    assert_refused!(with(&[30, 30, 30, 10, 0]), ChangeError::NoStake { party } if party.get() == 4);
    assert_refused!(
        with(&vec![1; MAX_PARTIES + 1]),
        ChangeError::TooMany { got: 1025, most: 1024 }
    );
    assert_refused!(with(&[u128::MAX, 30, 30, 1]), ChangeError::Plan(PlanError::Rounding(_)));
    let draft = Draft::new(genesis, stakes(&[30, 30, 30]), Vec::new()).unwrap_err();
    assert_refused!(draft, ChangeError::Stakes { got: 3, expected: 4 });
    // What is drafted is checked as far as it can be.
    let stale = Application::new(newcomer, CHAIN, EpochId::new(2));
    let draft = Draft::new(genesis, stakes(&NEXT), vec![stale]).unwrap_err();
    assert_refused!(draft, ChangeError::Application { .. });
    let draft = Draft::new(genesis, stakes(&[u128::MAX, 30, 30, 1]), Vec::new()).unwrap_err();
    assert_refused!(draft, ChangeError::Plan(_));
}

#[test]
fn consents_are_merged_in_any_order_and_say_what_is_missing() {
    let World { genesis, members, change, .. } = &*WORLD;
    let draft = change.draft().clone();
    let mut consents: Vec<_> = members.iter().map(|one| draft.approve(one)).collect();
    assert_eq!(consents[2].key, None);
    consents.reverse();
    consents.push(consents[0].clone());
    assert_eq!(&draft.clone().merge(genesis, consents).unwrap(), change);
    let few = members[..2].iter().map(|one| draft.approve(one));
    let few = draft.clone().merge(genesis, few).unwrap_err();
    assert_refused!(few, ChangeError::BelowQuorum { .. });
    // A newcomer has its key in the draft and approves nothing.
    let stranger = draft.approve(&WORLD.newcomer);
    assert_eq!(stranger.key, None);
    let all = members.iter().map(|one| draft.approve(one)).chain([stranger]);
    assert_refused!(draft.clone().merge(genesis, all).unwrap_err(), ChangeError::Stranger { .. });
}

#[test]
fn any_bytes_are_read_or_refused() {
    let transaction = WORLD.change.to_transaction();
    let is_refused = |bytes: &[u8]| match Change::from_transaction(bytes) {
        Ok(change) => change.verify(&WORLD.genesis).is_err(),
        Err(_) => true,
    };
    for length in 0..transaction.len() {
        assert!(Change::from_transaction(&transaction[..length]).is_err(), "{length}");
    }
    for at in (0..transaction.len()).step_by(13) {
        let mut flipped = transaction.clone();
        flipped[at] ^= 1;
        assert!(is_refused(&flipped), "{at}");
    }
    let longer = [&transaction[..], &[0]].concat();
    assert_refused!(Change::from_transaction(&longer).unwrap_err(), ChangeError::Undecodable(_));
    // A count that would take all memory.
    let mut many = transaction.clone();
    many[9 + 40..9 + 44].copy_from_slice(&[0xFF; 4]);
    assert_refused!(Change::from_transaction(&many).unwrap_err(), ChangeError::Undecodable(_));
    let long = [&transaction[..9], &vec![0; MAX_BYTES + 1]].concat();
    assert_refused!(Change::from_transaction(&long).unwrap_err(), ChangeError::Length { .. });
    let keys = Kind::Keys.head(EpochId::new(1), &transaction[9..]);
    assert_refused!(Change::from_transaction(&keys).unwrap_err(), ChangeError::OtherKind);
}

#[test]
fn parts_are_stored_as_text() {
    let World { genesis, members, newcomer, change, .. } = &*WORLD;
    let application = apply(newcomer, genesis);
    let (draft, consent) = (change.draft().clone(), change.draft().approve(&members[0]));
    assert_eq!(Application::from_text(&application.to_text()), Ok(application));
    assert_eq!(Draft::from_text(&draft.to_text()), Ok(draft.clone()));
    assert_eq!(Consent::from_text(&consent.to_text()), Ok(consent));
    assert_eq!(Change::from_text(&change.to_text()), Ok(change.clone()));
    let text = draft.to_text();
    let broken = format!("\n{} \n", text.replace("00", "0\r\n0"));
    assert_eq!(Draft::from_text(&broken), Ok(draft));
    assert!(matches!(Consent::from_text(&text), Err(TextError::Label { .. })));
    assert!(matches!(Draft::from_text(&text.replace(':', ":g")), Err(TextError::Hex(_))));
    assert!(matches!(Draft::from_text(text[..text.len() - 2].trim()), Err(TextError::Hex(_))));
    assert!(matches!(
        Draft::from_text(text[..text.len() - 3].trim()),
        Err(TextError::Undecodable(_))
    ));
    let long = format!("{}{}", text.trim(), "00".repeat(MAX_BYTES));
    assert!(matches!(Draft::from_text(&long), Err(TextError::Length { .. })));
    let longer = " ".repeat(3 * MAX_BYTES + 1);
    assert!(matches!(Draft::from_text(&longer), Err(TextError::Length { .. })));
}

#[test]
fn the_first_valid_change_of_a_block_counts() {
    let World { genesis, change: first, second, .. } = &*WORLD;
    let other = change(genesis, &[30, 30, 20, 20], Vec::new());
    let mut few = other.clone();
    few.approvals.truncate(1);
    let decide = |current: &Setup, changes: &[&Change]| {
        let own = std::iter::once(vec![7; 20]);
        let transactions = own.chain(changes.iter().map(|one| one.to_transaction()));
        let transactions = transactions.map(Into::into).collect();
        let block = Block { value: Value::new([1; 32]), transactions };
        let decision = ApprovedChanges.next(current, Slot::new(5), &block);
        let refused = decision.refused.iter().map(|one| (one.position, one.error.code()));
        (decision.next.map(|next| *next.keygen.digest()), refused.collect::<Vec<_>>())
    };
    let digest = |change: &Change| Some(*change.verify(genesis).unwrap().keygen.digest());
    assert_eq!(decide(genesis, &[]), (None, vec![]));
    assert_eq!(decide(genesis, &[&few]), (None, vec![(1, "below-quorum")]));
    assert_eq!(decide(genesis, &[&few, first, &other]), (digest(first), vec![(1, "below-quorum")]));
    assert_eq!(decide(genesis, &[&other, first]), (digest(&other), vec![]));
    assert_eq!(
        decide(second, &[first, &other]),
        (None, vec![(1, "other-epoch"), (2, "other-epoch")])
    );
}
