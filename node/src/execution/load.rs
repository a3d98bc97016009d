//! Transactions at a rate, between accounts that the genesis has given money.
//!
//! An account has one transaction on its way at a time, so its nonces never depend on the order in which parties
//! hear of them. If all accounts have one, or the door is busy, what is due is left out: the table says how many
//! were executed.
use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_state::StoredTransaction;
use tokio::time::{Instant as Clock, MissedTickBehavior, interval};

use super::door::Door;
use super::executor::{Accounts, NamedExecutor, Order};

/// Between two portions of the load.
const TICK: Duration = Duration::from_millis(20);

/// Submits until the task is dropped.
pub(super) async fn submit<X: NamedExecutor>(
    door: Arc<Door<X>>,
    accounts: Arc<Accounts>,
    rate: NonZeroU32,
) {
    let mut nonces: Vec<Option<u64>> = vec![None; accounts.count()];
    let mut free: VecDeque<usize> = accounts.of_load().collect();
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut before = Clock::now();
    // In transactions times nanoseconds; the rest stays for the next portion.
    let mut due = 0_u128;
    loop {
        ticks.tick().await;
        let now = Clock::now();
        due += u128::from(rate.get()) * now.duration_since(before).as_nanos();
        before = now;
        for one in door.take_free() {
            if let Some(nonce) = nonces.get_mut(one.account) {
                *nonce = nonce.map(|nonce| nonce.saturating_add(1)).filter(|_| one.is_executed);
            }
            free.push_back(one.account);
        }
        let portion = due / 1_000_000_000;
        due %= 1_000_000_000;
        for _ in 0..portion {
            let Some(account) = free.pop_front() else { break };
            if let Err(Left) = one::<X>(&door, &accounts, account, &mut nonces) {
                free.push_back(account);
            }
        }
    }
}

/// The transaction was left out.
struct Left;

fn one<X: NamedExecutor>(
    door: &Door<X>,
    accounts: &Accounts,
    account: usize,
    nonces: &mut [Option<u64>],
) -> Result<(), Left> {
    let known = nonces.get(account).copied().flatten();
    let read = || X::nonce(accounts, account, &door.view().ok()?).ok();
    let nonce = known.or_else(read).ok_or(Left)?;
    let order = Order { chain: door.chain(), account, nonce, height: door.height() };
    let transaction = X::make(accounts, order).ok_or(Left)?;
    let party = account.checked_rem(door.parties()).and_then(|party| u32::try_from(party).ok());
    let party = Party::new(party.ok_or(Left)?);
    door.enter(&transaction, &transaction.to_bytes(), party, Some(account)).map_err(|_| Left)?;
    if let Some(place) = nonces.get_mut(account) {
        *place = Some(nonce);
    }
    Ok(())
}
