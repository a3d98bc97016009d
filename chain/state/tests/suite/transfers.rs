//! Transfers: what each may change, and that nothing else changes.
use prefinal_execution::{Block, Executor, Height, Part, Randomness, Transaction};
use prefinal_protocol::ChainId;
use prefinal_state::transfers::{
    Account, Action, Amount, CandidateError, Candidates, Nonce, Receipt, Rejection, SignedTransfer,
    SupplyError, Transfer, TransferError, burnt_key, genesis_rows,
};
use prefinal_state::{Delta, Genesis, View};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use redb::backends::InMemoryBackend;

use crate::chain::{
    CHAIN, EXECUTOR, GENESIS, RICH, account, commit, draw, execute, header, id, key, memory, open,
    pay, transfer,
};

fn receipts(delta: &Delta) -> Vec<Receipt> {
    delta.results().iter().map(|one| borsh::from_slice(&one.receipt).unwrap()).collect()
}

fn burnt(view: &View) -> u64 {
    view.get(&burnt_key()).unwrap().map_or(0, |row| u64::from_be_bytes((*row).try_into().unwrap()))
}

fn total(view: &View, accounts: u64) -> u64 {
    (0..accounts).map(|number| account(view, number).balance.get()).sum::<u64>() + burnt(view)
}

fn run(accounts: u64, transactions: Vec<SignedTransfer>) -> (View, Vec<Receipt>) {
    let store = memory(accounts);
    let block = Block::new(header(1, GENESIS, 1), transactions);
    let execution = execute(&EXECUTOR, &store.view().unwrap(), &block);
    (execution.view, receipts(&execution.delta))
}

#[test]
fn a_payment_moves_its_amount_and_burns_its_fee() {
    let (view, receipts) = run(3, vec![pay(0, 0, 1, 10), pay(0, 1, 9, 5), pay(1, 0, 1, 7)]);
    assert_eq!(receipts, [Receipt::Paid; 3]);
    assert_eq!(account(&view, 0).balance.get(), RICH - 10 - 5 - 4);
    assert_eq!(account(&view, 0).nonce, Nonce::new(2));
    assert_eq!(account(&view, 1).balance.get(), RICH + 10 - 2);
    assert_eq!(account(&view, 9).balance.get(), 5);
    assert_eq!(burnt(&view), 6);
}

#[test]
fn what_is_rejected_changes_nothing() {
    let for_another_chain =
        transfer(0, 0, Action::Pay { to: id(1) }, 1).sign(ChainId::new([8; 32]), &key(0));
    let by_another = transfer(0, 0, Action::Pay { to: id(1) }, 1).sign(CHAIN, &key(1));
    let mut changed = *pay(0, 0, 1, 1).bytes();
    changed[64] ^= 1;
    let changed = SignedTransfer::decode(&changed).unwrap();
    let mut late = transfer(0, 0, Action::Pay { to: id(1) }, 1);
    late.expires = Height::new(0);
    let late = late.sign(CHAIN, &key(0));
    let mut dear = transfer(0, 0, Action::Pay { to: id(1) }, 1);
    dear.fee = Amount::new(RICH + 1);
    let dear = dear.sign(CHAIN, &key(0));
    let signature = Receipt::Rejected(Rejection::Signature);
    for (one, expected) in [
        (for_another_chain, signature),
        (by_another, signature),
        (changed, signature),
        (late, Receipt::Rejected(Rejection::Expired)),
        (dear, Receipt::Rejected(Rejection::Fee { balance: Amount::new(RICH) })),
        (pay(0, 1, 1, 1), Receipt::Rejected(Rejection::Nonce { expected: Nonce::new(0) })),
    ] {
        let store = memory(3);
        let before = store.view().unwrap().state_root();
        let block = Block::new(header(1, GENESIS, 1), vec![one]);
        let execution = execute(&EXECUTOR, &store.view().unwrap(), &block);
        assert_eq!(receipts(&execution.delta), [expected]);
        assert_eq!(&execution.roots.state, before.as_bytes(), "{expected:?}");
        assert!(execution.delta.changes().is_empty());
    }
}

fn changed(change: impl FnOnce(&mut Transfer)) -> SignedTransfer {
    let mut transfer = transfer(0, 1, Action::Pay { to: id(1) }, 10);
    change(&mut transfer);
    transfer.sign(CHAIN, &key(0))
}

#[test]
fn a_transfer_that_every_later_block_rejects_is_refused_at_once() {
    let mut store = memory(3);
    commit(&mut store, 1, vec![pay(0, 0, 1, 10)]);
    let (view, left) = (store.view().unwrap(), Amount::new(RICH - 12));
    let check = |one: &SignedTransfer| EXECUTOR.check(&view, Height::new(2), one).unwrap();
    assert_eq!(check(&changed(|_| {})), None);

    let by_another = transfer(0, 1, Action::Pay { to: id(1) }, 10).sign(CHAIN, &key(1));
    let elsewhere =
        transfer(0, 1, Action::Pay { to: id(1) }, 10).sign(ChainId::new([8; 32]), &key(0));
    assert_eq!(check(&by_another), Some(Rejection::Signature));
    assert_eq!(check(&elsewhere), Some(Rejection::Signature));
    let expired = changed(|one| one.expires = Height::new(1));
    assert_eq!(check(&expired), Some(Rejection::Expired));
    assert_eq!(check(&changed(|one| one.expires = Height::new(2))), None);
    let used = Rejection::Nonce { expected: Nonce::new(1) };
    assert_eq!(check(&pay(0, 0, 1, 10)), Some(used));
    let dear =
        |nonce, fee| changed(|one| (one.nonce, one.fee) = (Nonce::new(nonce), Amount::new(fee)));
    let poor = Rejection::Fee { balance: left };
    assert_eq!(check(&dear(1, left.get() + 1)), Some(poor));
    assert_eq!(check(&dear(1, left.get())), None);
    // Others of the sender may come before it, and somebody may pay the sender.
    assert_eq!(check(&dear(2, left.get() + 1)), None);
    // Without the amount, the fee is paid all the same.
    assert_eq!(check(&changed(|one| one.amount = Amount::new(RICH))), None);
    // An account that nobody has paid yet.
    assert_eq!(check(&pay(9, 0, 1, 1)), Some(Rejection::Fee { balance: Amount::new(0) }));
}

#[test]
fn a_transfer_is_valid_at_its_last_height() {
    let mut last = transfer(0, 0, Action::Pay { to: id(1) }, 1);
    last.expires = Height::new(1);
    let (_, receipts) = run(2, vec![last.sign(CHAIN, &key(0))]);
    assert_eq!(receipts, [Receipt::Paid]);
}

#[test]
fn one_who_cannot_pay_the_amount_pays_the_fee() {
    let (view, receipts) = run(2, vec![pay(0, 0, 1, RICH - 1), pay(0, 0, 1, 1), pay(0, 1, 1, 1)]);
    let replayed = Receipt::Rejected(Rejection::Nonce { expected: Nonce::new(1) });
    assert_eq!(receipts, [Receipt::Unpaid, replayed, Receipt::Paid]);
    assert_eq!(account(&view, 0).balance.get(), RICH - 2 - 3);
    assert_eq!(account(&view, 1).balance.get(), RICH + 1);
    assert_eq!(burnt(&view), 4);
}

/// No genesis with a sum that one account could hold leads here.
#[test]
fn who_cannot_hold_more_gets_nothing_and_the_sender_keeps_it() {
    let full = Account { balance: Amount::new(u64::MAX), nonce: Nonce::new(0) }.to_row();
    let rows = [0, 1].map(|number| (id(number).key(), full.clone())).into();
    let store = open(InMemoryBackend::new(), &Genesis { block: GENESIS, rows });
    let block = Block::new(header(1, GENESIS, 1), vec![pay(0, 0, 1, 10)]);
    let execution = execute(&EXECUTOR, &store.view().unwrap(), &block);
    assert_eq!(receipts(&execution.delta), [Receipt::Unpaid]);
    assert_eq!(account(&execution.view, 0).balance.get(), u64::MAX - 2);
    assert_eq!(account(&execution.view, 1).balance.get(), u64::MAX);
}

#[test]
fn draws_run_behind_all_payments_and_read_the_value() {
    // In block order the draw comes first; it is executed last, so its nonce is the second.
    let transactions = vec![draw(0, 1, &[1, 2, 3], 100), pay(0, 0, 4, 1)];
    assert_eq!(transactions[0].part(), Part::Tail);
    assert_eq!(transactions[1].part(), Part::Head);
    let store = memory(5);
    let view = store.view().unwrap();
    let block = Block::new(header(1, GENESIS, 1), transactions);
    let mut winners = [0; 4];
    for value in 0..60 {
        let draft = EXECUTOR.head(&view, &block).unwrap();
        let draft = EXECUTOR.tail(draft, &block, Randomness::new([value; 32])).unwrap();
        let execution = EXECUTOR.seal(draft, &block).unwrap();
        let receipts = receipts(&execution.delta);
        let Receipt::Drawn { winner } = receipts[0] else { panic!("{receipts:?}") };
        assert_eq!(receipts[1], Receipt::Paid);
        let number = (1..4).find(|number| id(*number) == winner).unwrap();
        winners[number as usize] += 1;
        assert_eq!(account(&execution.view, number).balance.get(), RICH + 100);
        assert_eq!(total(&execution.view, 5), 5 * RICH);
    }
    assert!(winners[1..].iter().all(|times| *times > 8), "{winners:?}");
}

/// A client that sees one draw's outcome knows nothing of another's.
#[test]
fn draws_of_one_block_are_independent() {
    let store = memory(8);
    let draws = vec![draw(0, 0, &[4, 5], 1), draw(1, 0, &[4, 5], 1)];
    let block = Block::new(header(1, GENESIS, 1), draws);
    let view = store.view().unwrap();
    let differ = |value: &u8| {
        let draft = EXECUTOR.head(&view, &block).unwrap();
        let draft = EXECUTOR.tail(draft, &block, Randomness::new([*value; 32])).unwrap();
        let receipts = receipts(&EXECUTOR.seal(draft, &block).unwrap().delta);
        receipts[0] != receipts[1]
    };
    let count = (0..40).filter(differ).count();
    assert!((8..32).contains(&count), "{count} of 40 pairs differ");
}

#[test]
fn a_genesis_has_no_more_than_one_account_could_hold() {
    let of = |second| [(id(0), Amount::new(u64::MAX)), (id(1), Amount::new(second))].into();
    assert_eq!(genesis_rows(&of(1)), Err(SupplyError));
    assert_eq!(genesis_rows(&of(0)).unwrap().len(), 2);
}

#[test]
fn a_block_is_not_sealed_before_its_tail() {
    let store = memory(5);
    let block = Block::new(header(1, GENESIS, 1), vec![draw(0, 0, &[1], 1)]);
    let draft = EXECUTOR.head(&store.view().unwrap(), &block).unwrap();
    assert!(EXECUTOR.seal(draft, &block).is_err());
}

#[test]
fn the_root_does_not_tell_how_the_block_was_cut() {
    // The same changes, once as one part and once as two, leave the same state.
    let (one, _) = run(6, vec![pay(0, 0, 1, 10), pay(2, 0, 3, 10)]);
    let (two, _) = run(6, vec![pay(0, 0, 1, 10), draw(2, 0, &[3], 10)]);
    assert_eq!(one.state_root(), two.state_root());
}

#[test]
fn there_is_one_encoding_of_a_transfer() {
    let draws = draw(3, 4, &[1, 2, 1], 17);
    let again = SignedTransfer::decode(draws.bytes()).unwrap();
    assert_eq!(again, draws);
    let mut bytes = *draws.bytes();
    bytes[65] = 0;
    assert_eq!(SignedTransfer::decode(&bytes), Err(TransferError::Padding));
    bytes[66..236].fill(0);
    let none = TransferError::Candidates(CandidateError { got: 0 });
    assert_eq!(SignedTransfer::decode(&bytes), Err(none));
    bytes[65] = 6;
    let six = TransferError::Candidates(CandidateError { got: 6 });
    assert_eq!(SignedTransfer::decode(&bytes), Err(six));
    bytes[0] = 2;
    assert_eq!(SignedTransfer::decode(&bytes), Err(TransferError::Kind { got: 2 }));
    let short = SignedTransfer::decode(&bytes[..299]);
    assert_eq!(short, Err(TransferError::Length { got: 299 }));
    assert_eq!(Candidates::new(&[id(0); 6]), Err(CandidateError { got: 6 }));
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(23), ..ProptestConfig::default() }
}

/// Transfers of 8 accounts with nonces that mostly fit, amounts that mostly do, and some draws.
fn any_block() -> impl Strategy<Value = Vec<SignedTransfer>> {
    let one = (0..8_u64, 0..12_u64, 0..RICH / 2, 0..10_u8, any::<bool>());
    prop::collection::vec(one, 1..40).prop_map(|all| {
        let mut nonces = [0; 8];
        all.into_iter()
            .map(|(sender, to, amount, luck, is_draw)| {
                let nonce = &mut nonces[sender as usize];
                let used = if luck == 0 { *nonce + 1 } else { *nonce };
                *nonce += u64::from(luck != 0);
                if is_draw && luck < 4 {
                    draw(sender, used, &[to, (to + 1) % 12], amount)
                } else {
                    pay(sender, used, to, amount)
                }
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn money_is_conserved(transactions in any_block()) {
        let (view, _) = run(8, transactions);
        prop_assert_eq!(total(&view, 12), 8 * RICH);
    }

    #[test]
    fn the_number_of_threads_changes_nothing(transactions in any_block()) {
        let block = Block::new(header(1, GENESIS, 1), transactions);
        let view = memory(8).view().unwrap();
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| execute(&EXECUTOR, &view, &block).roots)
        };
        prop_assert_eq!(with(1), with(4));
    }

    /// Payments of different senders that can all be paid may stand in any order.
    #[test]
    fn the_order_of_independent_payments_does_not_change_the_state(
        payments in prop::collection::vec((0..20_u64, 1..1000_u64), 20),
        order in Just((0..20_usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let all: Vec<_> = payments
            .iter()
            .enumerate()
            .map(|(sender, (to, amount))| pay(sender as u64, 0, *to, *amount))
            .collect();
        let (sorted, _) = run(20, all.clone());
        let (shuffled, _) = run(20, order.iter().map(|at| all[*at].clone()).collect());
        prop_assert_eq!(sorted.state_root(), shuffled.state_root());
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        if let Ok(transfer) = SignedTransfer::decode(&bytes) {
            prop_assert_eq!(transfer.bytes().as_slice(), bytes.as_slice());
        }
    }

    #[test]
    fn a_changed_byte_is_refused_or_breaks_the_signature(at in 0..300_usize, bit in 0..8_u8) {
        let mut bytes = *draw(0, 0, &[1, 2], 5).bytes();
        bytes[at] ^= 1 << bit;
        if let Ok(changed) = SignedTransfer::decode(&bytes) {
            let (view, receipts) = run(4, vec![changed]);
            prop_assert_eq!(receipts, vec![Receipt::Rejected(Rejection::Signature)]);
            prop_assert_eq!(total(&view, 4), 4 * RICH);
        }
    }
}
