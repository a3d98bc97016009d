//! A committee of processes that executes its blocks, and nodes that follow it.
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;

use ed25519_consensus::SigningKey;
use prefinal_execution::Height;
use prefinal_protocol::ChainId;
use prefinal_state::StoredTransaction;
use prefinal_state::transfers::{AccountId, Action, Amount, Nonce, Transfer};
use serde_json::Value as Json;

use crate::change;
use crate::net::{Net, prefinal, run};

const FUNDS: u64 = 1_000_000;

/// A committee whose chain begins with one account that has something.
struct Chain {
    net: Net,
    key: SigningKey,
}

impl Chain {
    /// Four validators that have executed some blocks.
    fn start(more: &[&str]) -> Self {
        Self::paced("200ms", more)
    }

    fn paced(pace: &str, more: &[&str]) -> Self {
        let key = SigningKey::from([7; 32]);
        let account = format!("{}={FUNDS}", hex::encode(key.verification_key().to_bytes()));
        let line = ["--pace", pace, "--round-timeout", "1s", "--execute", "transfers"];
        let net = Net::make(4, &[&line[..], &["--account", &account], more].concat());
        let mut chain = Self { net, key };
        (0..4).for_each(|validator| chain.net.start(validator));
        chain.advance(&[0, 1, 2, 3], 3);
        chain
    }

    fn account(&self) -> String {
        hex::encode(self.key.verification_key().to_bytes())
    }

    fn address(&self, validator: usize) -> SocketAddr {
        self.net.config(validator).http.listen.unwrap()
    }

    /// The last height whose state a validator has committed.
    fn height(&self, validator: usize) -> u64 {
        states(&self.net, validator)
    }

    /// Waits until these answer, and then until they have committed so many heights behind the furthest of them.
    fn advance(&mut self, validators: &[usize], heights: u64) {
        let what = format!("{validators:?} execute");
        self.net.wait(&what, |net| validators.iter().all(|one| states(net, *one) > 0));
        let until = validators.iter().map(|one| self.height(*one)).max().unwrap() + heights;
        let what = format!("{validators:?} come to height {until}");
        self.net.wait(&what, |net| validators.iter().all(|one| states(net, *one) >= until));
    }

    /// The account of the genesis pays to nobody's; gives the payment's name.
    fn pay(&self, by: usize, nonce: u64) -> String {
        let status = self.net.status(by).unwrap();
        let mut chain = [0; 32];
        hex::decode_to_slice(status["chain"][1].as_str().unwrap(), &mut chain).unwrap();
        let transfer = Transfer {
            sender: AccountId::new(self.key.verification_key().to_bytes()),
            nonce: Nonce::new(nonce),
            expires: Height::new(self.height(by) + 500),
            fee: Amount::new(1),
            amount: Amount::new(9),
            action: Action::Pay { to: AccountId::new([9; 32]) },
        };
        let signed = transfer.sign(ChainId::new(chain), &self.key).to_bytes();
        let mut stream = TcpStream::connect(self.address(by)).unwrap();
        let head = "POST /transactions HTTP/1.1\r\nHost: localhost\r\nConnection: close";
        write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n", signed.len()).unwrap();
        stream.write_all(&signed).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
        json(&answer)["id"].as_str().unwrap().to_owned()
    }

    /// Waits until a payment stands in a committed block of the validator that took it.
    fn wait_for(&mut self, payment: &str, by: usize) {
        let path = format!("/transactions/{payment}");
        self.net.wait("the payment is committed", |net| {
            let said = json(&net.http(by, &path));
            said["status"] == "committed" && said["outcome"] == "paid"
        });
    }

    /// What a validator says of the account of the genesis.
    fn balance(&self, validator: usize) -> Json {
        json(&self.net.http(validator, &format!("/accounts/{}", self.account())))["account"].clone()
    }

    /// Follows a validator up to where it is; gives the state there, verified.
    fn follow(&self, validator: usize, home: &str, more: &[&str]) -> (u64, String) {
        let (url, home) = (format!("http://{}", self.address(validator)), self.net.file(home));
        let to = self.height(validator).to_string();
        let mut command = prefinal();
        command.args(["follow", &url, "--home", &home, "--to", &to]).args(more);
        let done = command.stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success(), "{said}{}", String::from_utf8_lossy(&done.stderr));
        let line = said.lines().find(|line| line.contains(", verified: ")).unwrap().to_owned();
        let (_, root) = line.rsplit_once("state ").unwrap();
        let height = line.strip_prefix("height ").unwrap().split(',').next().unwrap();
        (height.parse().unwrap(), root.to_owned())
    }
}

fn states(net: &Net, validator: usize) -> u64 {
    net.status(validator).and_then(|status| status["states"].as_u64()).unwrap_or(0)
}

/// The last height up to which a validator has followed its peers, as its log says.
fn followed(net: &Net, validator: usize) -> u64 {
    let log = std::fs::read_to_string(net.log(validator)).unwrap();
    let line = log.lines().rfind(|line| line.contains("followed its peers")).unwrap();
    let (_, height) = line.split_once("height=").unwrap();
    height.split_whitespace().next().unwrap().parse().unwrap()
}

fn json(answer: &str) -> Json {
    answer
        .split_once("\r\n\r\n")
        .and_then(|(_, body)| serde_json::from_str(body).ok())
        .unwrap_or_default()
}

#[test]
fn a_committee_executes_pays_and_is_followed_through_kills() {
    let mut chain = Chain::start(&[]);
    let paid = chain.pay(1, 0);
    chain.wait_for(&paid, 1);
    assert_eq!(chain.balance(1)["balance"], (FUNDS - 10).to_string());
    // Blocks are executed from their proposals on, so that states are certified when they are final.
    chain.net.wait("blocks are executed early", |net| {
        (0..4).all(|one| net.metric(one, "prefinal_executed_early_total") > 2.0)
    });
    let (height, root) = chain.follow(0, "follower", &[]);
    // One is killed and misses a payment; its peers execute on.
    chain.net.kill(3);
    let paid = chain.pay(0, 1);
    chain.wait_for(&paid, 0);
    chain.advance(&[0, 1, 2], 20);
    chain.net.start(3);
    chain.advance(&[0, 1, 2, 3], 5);
    assert_eq!(chain.balance(3)["balance"], (FUNDS - 20).to_string());
    // All are killed at once, wherever they are. What was committed stays, and they go on.
    (0..4).for_each(|validator| chain.net.kill(validator));
    (0..4).for_each(|validator| chain.net.start(validator));
    chain.advance(&[0, 1, 2, 3], 5);
    let paid = chain.pay(2, 2);
    chain.wait_for(&paid, 2);
    // The follower goes on, and another one executes everything from the genesis: both end in the same state.
    let (later, goes_on) = chain.follow(3, "follower", &[]);
    assert!(later > height && goes_on != root, "{later} after {height}");
    let (end, executed) = chain.follow(2, "other", &["--mode", "execute", "--keep-blocks", "40"]);
    assert!(end >= later);
    let (again, follows) = chain.follow(1, "follower", &[]);
    assert!(again >= end && (again > end || follows == executed), "{follows}, {executed}");
}

#[test]
fn states_that_are_lost_are_executed_again_and_what_does_not_fit_is_refused() {
    let mut chain = Chain::start(&[]);
    let paid = chain.pay(0, 0);
    chain.wait_for(&paid, 0);
    // Its records go on behind a block that a new file of states lacks.
    chain.net.kill(2);
    chain.net.start(2);
    chain.advance(&[0, 2], 3);
    chain.net.kill(2);
    chain.net.start(2);
    chain.advance(&[0, 2], 3);
    assert!(chain.net.terminate(2).success());
    let home = chain.net.home(2);
    let states = home.join("data/states.redb");
    let is_refused = |what: &str| {
        let refused = run(&["run", "--home", home.to_str().unwrap()]);
        let why = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{why}");
        assert!(why.contains(what) && why.contains("remove it and"), "{why}");
        assert!(why.contains("states.redb") && why.contains("execution.redb"), "{why}");
    };
    let whole = std::fs::read(&states).unwrap();
    std::fs::write(&states, &whole[..whole.len() / 2]).unwrap();
    is_refused("store of the state");
    std::fs::remove_file(&states).unwrap();
    is_refused("lacks blocks");
    for file in ["states.redb", "execution.redb"] {
        std::fs::remove_file(home.join("data").join(file)).unwrap();
    }
    chain.net.start(2);
    chain.advance(&[0, 1, 2, 3], 5);
    assert_eq!(chain.balance(2)["balance"], (FUNDS - 10).to_string());
}

#[test]
fn one_that_is_far_behind_follows_its_peers_and_signs_again() {
    let mut chain = Chain::paced("20ms", &[]);
    let paid = chain.pay(0, 0);
    chain.wait_for(&paid, 0);
    // Its engine and its beacon have all of it, and its states are lost.
    chain.advance(&[0, 1, 2, 3], 200);
    assert!(chain.net.terminate(3).success());
    for file in ["states.redb", "execution.redb"] {
        std::fs::remove_file(chain.net.home(3).join("data").join(file)).unwrap();
    }
    chain.net.start(3);
    chain.advance(&[0, 1, 2, 3], 5);
    assert!(followed(&chain.net, 3) > 100);
    assert_eq!(chain.balance(3)["balance"], (FUNDS - 10).to_string());
    // Without its signature no state is certified any more.
    chain.net.kill(2);
    let paid = chain.pay(3, 1);
    chain.wait_for(&paid, 3);
    chain.advance(&[0, 1, 3], 5);
}

#[test]
fn states_lead_over_a_change_of_the_committee() {
    let mut chain = Chain::start(&["--spare", "1"]);
    change::replace(&mut chain.net, 3, 4, &[0, 1, 2]);
    chain.advance(&[0, 1, 2], 10);
    // One that begins again is led by what its store has, and comes to the same states.
    assert!(chain.net.terminate(1).success());
    chain.net.start(1);
    chain.advance(&[0, 1, 2], 5);
    let paid = chain.pay(1, 0);
    chain.wait_for(&paid, 1);
    // From the first committee to this one, by validators that were there and by one that has begun again.
    let (height, root) = chain.follow(0, "follower", &[]);
    let (again, other) = chain.follow(1, "other", &[]);
    assert!(again > height || other == root);
    // The newcomer has followed its peers up to its first slot, and executes on. It shows all of the chain.
    assert!(followed(&chain.net, 4) > 0);
    chain.advance(&[0, 1, 2, 4], 5);
    assert_eq!(chain.balance(4)["balance"], (FUNDS - 10).to_string());
    let (further, _) = chain.follow(4, "third", &[]);
    assert!(further > again);
    // Without its signature no state is certified any more.
    chain.net.kill(2);
    let paid = chain.pay(4, 1);
    chain.wait_for(&paid, 4);
    chain.advance(&[0, 1, 4], 5);
    // It begins again as any other.
    chain.net.kill(4);
    chain.net.start(4);
    chain.advance(&[0, 1, 4], 5);
}

/// Peers answer for epochs that they have forgotten themselves, from what they keep of values and states.
#[test]
fn values_and_states_that_are_lost_come_from_peers_over_three_committees() {
    let mut chain = Chain::start(&["--spare", "3"]);
    let paid = chain.pay(3, 0);
    chain.wait_for(&paid, 3);
    for (old, new) in [(2, 4), (4, 5), (5, 6)] {
        change::replace(&mut chain.net, old, new, &[0, 1, 3]);
        chain.net.kill(old);
        chain.advance(&[0, 1, 3, new], 3);
    }
    assert!(chain.net.terminate(3).success());
    for file in ["values.redb", "states.redb", "execution.redb"] {
        std::fs::remove_file(chain.net.home(3).join("data").join(file)).unwrap();
    }
    chain.net.start(3);
    chain.net.advance(&[0, 1, 3, 6], 5);
    chain.net.agree(&[0, 1, 3]);
    chain.advance(&[0, 1, 3, 6], 5);
    // It is needed now.
    chain.net.kill(1);
    let paid = chain.pay(3, 1);
    chain.wait_for(&paid, 3);
    assert_eq!(chain.balance(3)["balance"], (FUNDS - 20).to_string());
    chain.advance(&[0, 3, 6], 5);
}

#[test]
#[cfg(target_os = "linux")]
fn one_whose_disk_is_full_ends_with_words_and_goes_on_when_there_is_room() {
    let mut chain = Chain::paced("20ms", &[]);
    let paid = chain.pay(3, 0);
    chain.wait_for(&paid, 3);
    assert!(chain.net.terminate(3).success());
    for limit in [300_000, 450_000] {
        let (ended, said) = chain.net.run_confined(3, limit);
        assert_eq!(ended.code(), Some(2), "{said}");
        let last = said.lines().rfind(|line| line.starts_with("error: "));
        assert!(last.is_some_and(|line| line.contains("File too large")), "{said}");
    }
    chain.net.start(3);
    chain.advance(&[0, 1, 2, 3], 5);
    chain.net.agree(&[0, 1, 2, 3]);
}
