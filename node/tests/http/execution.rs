//! A committee that executes its blocks, and a wallet in front of it.
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use prefinal_execution::Height;
use prefinal_light::{Claim, LightObject, StakeProof, StakeVerifier, StateKey};
use prefinal_node::execution::Accounts;
use prefinal_protocol::{ChainId, Slot};
use prefinal_registry::light;
use prefinal_state::transfers::{
    Account, AccountId, Action, Amount, Nonce, Receipt, SignedTransfer, Transfer,
};
use prefinal_validator::setup::{self, Algorithm, Plan};
use prefinal_weighted_rounding::{Ratio, Stake};
use serde_json::{Value, json};

use crate::client::{Reply, connect, get, say_on};
use crate::devnet::Devnet;

const PATIENCE: Duration = Duration::from_secs(60);

/// What a wallet knows of the chain: who certifies, from stakes and seed of [`Devnet`].
pub(crate) struct Wallet {
    pub(crate) address: SocketAddr,
    pub(crate) chain: ChainId,
    pub(crate) client: StakeVerifier,
    pub(crate) accounts: Accounts,
}

impl Wallet {
    pub(crate) fn of(devnet: &Devnet) -> Self {
        let stakes = [310, 240, 150, 110].map(Stake::new).to_vec();
        let plan = Plan::new(stakes, Algorithm::Fast, Ratio::FIVE_SIXTHS).unwrap();
        let (setup, _) = setup::found(&plan, 7).unwrap();
        let (waypoint, members) = (light::waypoint(&setup, Slot::new(0)), light::members(&setup));
        let shown: Value = serde_json::from_str(&get(devnet.address, "/waypoint").body).unwrap();
        let known = [waypoint.to_wire(), members.to_wire()].map(hex::encode);
        assert_eq!(shown, json!({ "waypoint": known[0], "members": known[1] }));
        Self {
            address: devnet.address,
            chain: setup.context.chain,
            client: StakeVerifier::new(&waypoint, &members).unwrap(),
            accounts: Accounts::new(7, None),
        }
    }

    pub(crate) fn id(&self, account: usize) -> AccountId {
        AccountId::new(self.accounts.keys()[account].verification_key().to_bytes())
    }

    fn pay(&self, from: usize, nonce: u64, amount: u64) -> SignedTransfer {
        let transfer = Transfer {
            sender: self.id(from),
            nonce: Nonce::new(nonce),
            expires: Height::new(100_000),
            fee: Amount::new(1),
            amount: Amount::new(amount),
            action: Action::Pay { to: self.id(0) },
        };
        transfer.sign(self.chain, &self.accounts.keys()[from])
    }

    fn submit(&self, body: &[u8]) -> Reply {
        let mut stream = connect(self.address);
        let length = body.len();
        let head = "POST /transactions HTTP/1.1\r\nHost: relay\r\nConnection: close";
        write!(stream, "{head}\r\nContent-Length: {length}\r\n\r\n").unwrap();
        stream.write_all(body).unwrap();
        say_on(stream, "")
    }

    /// Submits as soon as the committee has its key.
    pub(crate) fn submit_in_time(&self, transaction: &[u8]) -> Value {
        let began = Instant::now();
        loop {
            let reply = self.submit(transaction);
            let said: Value = serde_json::from_str(&reply.body).unwrap();
            match reply.status {
                202 => return said,
                503 if began.elapsed() < PATIENCE => {
                    assert_eq!(reply.headers["retry-after"], "1");
                    assert_eq!(said["code"], "no-keys-yet");
                    std::thread::sleep(Duration::from_millis(100));
                }
                _ => panic!("{reply:?}"),
            }
        }
    }

    pub(crate) fn committed(&self, id: &str) -> Value {
        let began = Instant::now();
        loop {
            let reply = get(self.address, &format!("/transactions/{id}"));
            assert_eq!(reply.status, 200, "{reply:?}");
            let said: Value = serde_json::from_str(&reply.body).unwrap();
            if said["status"] == "committed" {
                return said;
            }
            assert_eq!(said, json!({ "id": id, "status": "waiting" }));
            assert!(began.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// What the proof of an answer shows, once it is verified.
    fn claim(&self, said: &Value) -> Claim {
        let proof = hex::decode(said["proof"].as_str().unwrap()).unwrap();
        let mut proof = StakeProof::from_wire(&proof).unwrap();
        self.client.clone().verify_proof(&proof).unwrap();
        assert_eq!(proof.claims.len(), 1);
        let claim = proof.claims.pop().unwrap();
        // What is not certified is not shown.
        proof.block.roots.state[0] ^= 1;
        self.client.clone().verify_proof(&proof).unwrap_err();
        claim
    }

    /// The receipt of a transaction, at the position that the answer names.
    pub(crate) fn receipt(&self, said: &Value, hash: &[u8; 32]) -> Vec<u8> {
        let Claim::Transaction { result, proof } = self.claim(said) else { panic!("{said}") };
        assert_eq!((&result.transaction, &said["position"]), (hash, &json!(proof.index)));
        result.receipt
    }

    /// The row of an account.
    pub(crate) fn row(&self, said: &Value, wanted: StateKey) -> Option<Vec<u8>> {
        let Claim::Row { key, value, .. } = self.claim(said) else { panic!("{said}") };
        assert_eq!(key, wanted);
        value
    }

    pub(crate) fn refuses(&self, body: &[u8], status: u16, words: &str) {
        let reply = self.submit(body);
        assert_eq!(reply.status, status, "{reply:?}");
        assert!(reply.body.contains(words), "{words}: {}", reply.body);
    }
}

/// One committee for all of it, for its key takes longest.
#[test]
fn a_wallet_submits_and_verifies_what_became_of_it() {
    let devnet = Devnet::start(&["--execute", "transfers", "--load", "50"]);
    let wallet = Wallet::of(&devnet);
    // The load leaves the first accounts to wallets.
    let transfer = wallet.pay(15, 0, 5);
    let id = wallet.submit_in_time(transfer.bytes())["id"].as_str().unwrap().to_owned();
    assert_eq!(id, hex::encode(transfer.hash()));
    let said = wallet.committed(&id);
    assert_eq!(said["outcome"], "paid");
    let receipt: Receipt = borsh::from_slice(&wallet.receipt(&said, &transfer.hash())).unwrap();
    assert_eq!(receipt, Receipt::Paid);
    accounts_are_proven(&wallet);
    bad_transactions_are_refused(&wallet, &transfer);
    a_flood_is_answered(&wallet);
}

/// Values and states are shown by different keys, so a wallet needs no others with the weighted VUF.
#[test]
fn a_wallet_of_a_chain_with_the_weighted_vuf_is_served_and_a_follower_is_not() {
    let devnet = Devnet::start(&["--scheme", "wvuf", "--execute", "transfers"]);
    let wallet = Wallet::of(&devnet);
    let transfer = wallet.pay(15, 0, 5);
    let id = wallet.submit_in_time(transfer.bytes())["id"].as_str().unwrap().to_owned();
    let said = wallet.committed(&id);
    assert_eq!(said["outcome"], "paid");
    wallet.receipt(&said, &transfer.hash());
    assert_eq!(get(wallet.address, "/vuf/values/latest").status, 200);
    assert_eq!(get(wallet.address, "/genesis").status, 404);
}

fn accounts_are_proven(wallet: &Wallet) {
    let account = wallet.id(15);
    let name = hex::encode(account.as_bytes());
    let reply = get(wallet.address, &format!("/accounts/{name}"));
    assert_eq!(reply.status, 200, "{reply:?}");
    let said: Value = serde_json::from_str(&reply.body).unwrap();
    let row = wallet.row(&said, account.key());
    let account = Account::from_row(row.as_deref()).unwrap();
    assert_eq!(account.nonce, Nonce::new(1));
    assert_eq!(said["account"]["nonce"], 1);
    assert_eq!(get(wallet.address, "/accounts/07").status, 404);
    assert_eq!(get(wallet.address, "/accounts/x").status, 400);
}

fn bad_transactions_are_refused(wallet: &Wallet, done: &SignedTransfer) {
    wallet.refuses(b"hello", 400, "5 bytes, a transfer has 300");
    wallet.refuses(&[0; 301], 413, "at most 300 bytes");
    let mut altered = *wallet.pay(13, 0, 1).bytes();
    altered[60] ^= 1;
    wallet.refuses(&altered, 400, "signature");
    wallet.refuses(done.bytes(), 400, "next nonce is");
    let broke = Transfer { fee: Amount::new(u64::MAX), ..wallet.pay(12, 0, 1).transfer().clone() };
    let broke = broke.sign(wallet.chain, &wallet.accounts.keys()[12]);
    wallet.refuses(broke.bytes(), 400, "too little for the fee");
    let late = Transfer { expires: Height::new(0), ..wallet.pay(12, 0, 1).transfer().clone() };
    let late = late.sign(wallet.chain, &wallet.accounts.keys()[12]);
    wallet.refuses(late.bytes(), 400, "higher than the transfer allows");
    assert_eq!(get(wallet.address, &format!("/transactions/{}", "00".repeat(32))).status, 404);
    assert_eq!(get(wallet.address, "/transactions/00").status, 400);
    // Other paths take no body of any method, and these no other method.
    assert_eq!(get(wallet.address, "/transactions").status, 405);
}

/// Many requests on one connection: each is answered, and none hangs. How many are told to wait is a matter of
/// time; bounds of the pool and of the rate are tested elsewhere.
fn a_flood_is_answered(wallet: &Wallet) {
    let mut stream = connect(wallet.address);
    let mut flood = Vec::new();
    for nonce in 0..300 {
        // Far ahead, so that they wait.
        let transfer = wallet.pay(11, 1_000_000 + nonce, 1);
        let last = if nonce == 299 { "Connection: close\r\n" } else { "" };
        let head = format!("POST /transactions HTTP/1.1\r\nHost: relay\r\n{last}");
        flood.extend(format!("{head}Content-Length: 300\r\n\r\n").into_bytes());
        flood.extend(transfer.bytes());
    }
    let mut writer = stream.try_clone().unwrap();
    let said = std::thread::spawn(move || drop(writer.write_all(&flood)));
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    said.join().unwrap();
    let count = |status: &str| answers.matches(&format!("HTTP/1.1 {status} ")).count();
    let (taken, busy) = (count("202"), count("429"));
    assert!(taken >= 1 && taken + busy == 300, "{taken} taken, {busy} told to wait");
}
