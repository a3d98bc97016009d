//! A committee that executes the EVM, and a wallet that calls its contract.
use prefinal_execution::Height;
use prefinal_state::evm::{
    Address, Bytes, Envelope, EvmAccount, EvmReceipt, SignedEnvelope, Target, U256, account_key,
    address_of,
};
use prefinal_state::transfers::Nonce;
use serde_json::Value;

use crate::client::get;
use crate::devnet::Devnet;
use crate::execution::Wallet;
use crate::follow::Follow;

/// The devnet's contract, which stores the slot's value under its caller.
const CONTRACT: Address = Address::new([0xc0; 20]);

fn address(wallet: &Wallet, account: usize) -> Address {
    address_of(&wallet.accounts.keys()[account].verification_key().to_bytes())
}

fn call(wallet: &Wallet, account: usize, change: impl FnOnce(&mut Envelope)) -> SignedEnvelope {
    let key = &wallet.accounts.keys()[account];
    let mut envelope = Envelope {
        declares: true,
        key: key.verification_key().to_bytes(),
        nonce: Nonce::new(0),
        expires: Height::new(100_000),
        gas_limit: 100_000,
        most_gas_price: 1,
        value: U256::ZERO,
        target: Target::Call(CONTRACT),
        input: Bytes::new(),
    };
    change(&mut envelope);
    envelope.sign(wallet.chain, key).unwrap()
}

/// One committee for all of it, for its key takes longest.
#[test]
fn a_wallet_calls_a_contract_and_verifies_what_became_of_it() {
    let devnet = Devnet::start(&["--execute", "evm"]);
    let wallet = Wallet::of(&devnet);
    let declared = call(&wallet, 15, |_| {});
    let id = wallet.submit_in_time(declared.bytes())["id"].as_str().unwrap().to_owned();
    assert_eq!(id, hex::encode(declared.hash()));
    // The same call, without the declaration, and a payment.
    let undeclared = call(&wallet, 14, |envelope| envelope.declares = false);
    let payment = call(&wallet, 13, |envelope| {
        envelope.declares = false;
        envelope.target = Target::Call(address(&wallet, 0));
        envelope.value = U256::from(5);
    });
    let ids = [&undeclared, &payment].map(|one| wallet.submit_in_time(one.bytes()));
    let said = wallet.committed(&id);
    let receipt = proven(&wallet, &said, &declared);
    assert!(matches!(receipt, EvmReceipt::Succeeded { .. }), "{receipt:?}");
    // A node that executes the call needs the slot's value, and verifies it.
    let (url, folder) = (format!("http://{}", devnet.address), tempfile::tempdir().unwrap());
    let to = said["height"].to_string();
    let more = ["--mode", "execute", "--to", &to];
    Follow::start(&url, folder.path(), &more).arrives(devnet.address);
    let said = ids.map(|id| wallet.committed(id["id"].as_str().unwrap()));
    let receipt = proven(&wallet, &said[0], &undeclared);
    assert_eq!(receipt, EvmReceipt::Forbidden { gas: 100_000 });
    assert_eq!(said[0]["outcome"], "it reads the value where it may not: 100000 gas");
    let receipt = proven(&wallet, &said[1], &payment);
    assert!(matches!(receipt, EvmReceipt::Succeeded { gas: 21_000, .. }), "{receipt:?}");
    assert_eq!(said[1]["outcome"], "succeeded: 21000 gas");
    accounts_are_proven(&wallet);
    bad_transactions_are_refused(&wallet, &payment);
}

/// The receipt, whose proof a client verifies with the committee's keys alone.
fn proven(wallet: &Wallet, said: &Value, transaction: &SignedEnvelope) -> EvmReceipt {
    borsh::from_slice(&wallet.receipt(said, &transaction.hash())).unwrap()
}

fn accounts_are_proven(wallet: &Wallet) {
    let address = address(wallet, 13);
    let reply = get(wallet.address, &format!("/accounts/{}", hex::encode(address)));
    assert_eq!(reply.status, 200, "{reply:?}");
    let said: Value = serde_json::from_str(&reply.body).unwrap();
    let row = wallet.row(&said, account_key(&address));
    let account = EvmAccount::from_row(row.as_deref()).unwrap().unwrap();
    assert_eq!(account.nonce, 1);
    assert_eq!(account.balance, U256::from(1_000_000_000_000_000_000_u64 - 21_000 - 5));
    assert_eq!(said["account"]["balance"], account.balance.to_string());
}

fn bad_transactions_are_refused(wallet: &Wallet, done: &SignedEnvelope) {
    wallet.refuses(b"hello", 400, "not a transaction");
    wallet.refuses(&vec![0; (128 << 10) + 1], 413, "at most 131072 bytes");
    wallet.refuses(done.bytes(), 400, "next nonce is");
    let mut altered = call(wallet, 12, |_| {}).bytes().to_vec();
    altered[60] ^= 1;
    wallet.refuses(&altered, 400, "signature");
    let refused = |change: fn(&mut Envelope), words| {
        wallet.refuses(call(wallet, 12, change).bytes(), 400, words);
    };
    refused(|envelope| envelope.expires = Height::new(0), "higher than the transaction allows");
    refused(|envelope| envelope.most_gas_price = 0, "price of gas");
    refused(|envelope| envelope.gas_limit = 99_999, "less gas than such a transaction must");
    refused(|envelope| envelope.gas_limit = u64::MAX, "more gas than a block has left");
    refused(|envelope| envelope.value = U256::MAX, "too little for the gas");
}
