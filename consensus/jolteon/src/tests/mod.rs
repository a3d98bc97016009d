//! The engine under a tiny scheduler (`net`), and alone with peers that a test
//! makes up (`bench`).
//!
//! Geography and large committees are tested in `sim`.

mod adopts;
mod bench;
mod claims;
mod lives;
mod net;
mod runs;
mod supplies;
mod votes;

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::{Domain, PublicKey, SecretKey, Signature, aggregate};
use prefinal_crypto_core::context::{ChainId, Context, EpochId};
use prefinal_crypto_core::verified::Verified;
use prefinal_protocol::Instant;
use prefinal_weighted_rounding::Stake;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::block::{Block, BlockId, Round};
use crate::certificate::{
    MultiSignature, QuorumCertificate, Stage, TIMEOUT, TimeoutCertificate, timeout_statement,
};
use crate::config::{Config, Member, Replicas};
use crate::job::group;
use crate::message::{Message, OrderVote, Proposal, Timeout, Vote};

pub(crate) fn context(chain: u8) -> Context {
    Context { chain: ChainId::new([chain; 32]), epoch: EpochId::new(1) }
}

pub(crate) fn secret(party: u32) -> SecretKey {
    SecretKey::random(&mut ChaCha20Rng::seed_from_u64(u64::from(party)))
}

pub(crate) fn members(stakes: &[u128]) -> Vec<Member> {
    // Proofs of possession are dear, and always the same.
    static KEYS: OnceLock<Vec<Verified<PublicKey>>> = OnceLock::new();
    let key = |party| {
        let secret = secret(party);
        let proof = secret.prove_possession();
        secret.public_key().verify_possession(&proof).unwrap()
    };
    let keys = KEYS.get_or_init(|| (0..10).map(key).collect());
    assert!(stakes.len() <= keys.len());
    keys.iter().zip(stakes).map(|(&key, &stake)| Member { key, stake: Stake::new(stake) }).collect()
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(millis: u64) -> Instant {
    Instant::at(ms(millis))
}

fn round(number: u64) -> Round {
    Round::new(number)
}

fn config(stakes: &[u128], me: u32) -> Config {
    Config {
        timeout: ms(500),
        fetch_after: ms(20),
        max_block_bytes: 1000,
        ..Config::new(context(0), Party::new(me), members(stakes))
    }
}

/// Says anything in anybody's name.
struct Forger {
    committee: Replicas,
}

impl Forger {
    fn new(stakes: &[u128]) -> Self {
        Self { committee: Replicas::new(&context(0), members(stakes)).unwrap() }
    }

    fn on_chain(chain: u8, stakes: &[u128]) -> Self {
        Self { committee: Replicas::new(&context(chain), members(stakes)).unwrap() }
    }

    fn sign(&self, stage: Stage, party: u32, number: u64, block: BlockId) -> Signature {
        self.sign_in(stage.domain(), party, number, block)
    }

    fn sign_in(&self, domain: Domain, party: u32, number: u64, block: BlockId) -> Signature {
        secret(party).sign(domain, &self.committee.statement(round(number), block))
    }

    fn genesis(&self) -> QuorumCertificate {
        QuorumCertificate::genesis(&self.committee)
    }

    fn qc(&self, number: u64, block: BlockId, parties: &[u32]) -> QuorumCertificate {
        let signed: Vec<_> =
            parties.iter().map(|&party| self.sign(Stage::Vote, party, number, block)).collect();
        let signers = self.committee.signers(parties.iter().copied().map(Party::new));
        let votes = Some(MultiSignature { signers, signature: aggregate(&signed).unwrap() });
        QuorumCertificate { round: round(number), block, votes }
    }

    fn tc(&self, number: u64, parties: &[(u32, u64)]) -> TimeoutCertificate {
        let signed = |&(party, qc): &(u32, u64)| {
            let message = timeout_statement(&self.committee, round(number), round(qc));
            (Party::new(party), (round(qc), secret(party).sign(TIMEOUT, &message)))
        };
        let votes: BTreeMap<_, _> = parties.iter().map(signed).collect();
        let signature = aggregate(votes.values().map(|(_, signature)| signature)).unwrap();
        TimeoutCertificate {
            round: round(number),
            timeouts: group(&self.committee, &votes),
            signature,
        }
    }

    fn leader(&self, number: u64) -> u32 {
        self.committee.leader(round(number)).unwrap().get()
    }

    fn block(&self, number: u64, parent: &QuorumCertificate, payload: &[&[u8]]) -> Block {
        let payload = payload.iter().map(|bytes| crate::Transaction::new(bytes.to_vec())).collect();
        let author = Party::new(self.leader(number));
        Block::new(round(number), (parent.round, parent.block), author, payload)
    }

    fn id(&self, block: &Block) -> BlockId {
        block.id(self.committee.context())
    }

    fn proposal(
        &self,
        block: &Block,
        qc: &QuorumCertificate,
        tc: Option<&TimeoutCertificate>,
    ) -> Message {
        let (number, author) = (block.round().get(), block.author().get());
        let signature = self.sign(Stage::Proposal, author, number, self.id(block));
        let (block, qc, tc) = (block.clone(), qc.clone(), tc.cloned());
        Message::Proposal(Box::new(Proposal { block, qc, tc, signature }))
    }

    fn vote(&self, party: u32, number: u64, block: BlockId) -> Message {
        let signature = self.sign(Stage::Vote, party, number, block);
        Message::Vote(Vote { round: round(number), block, signature })
    }

    fn order_vote(&self, party: u32, qc: &QuorumCertificate) -> Message {
        let signature = self.sign(Stage::Order, party, qc.round.get(), qc.block);
        Message::OrderVote(Box::new(OrderVote { qc: qc.clone(), signature }))
    }

    fn timeout(
        &self,
        party: u32,
        number: u64,
        qc: &QuorumCertificate,
        tc: Option<&TimeoutCertificate>,
    ) -> Message {
        let message = timeout_statement(&self.committee, round(number), qc.round);
        let signature = secret(party).sign(TIMEOUT, &message);
        let (qc, tc) = (qc.clone(), tc.cloned());
        Message::Timeout(Box::new(Timeout { round: round(number), qc, tc, signature }))
    }
}
