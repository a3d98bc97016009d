//! Votes that were checked for some party of a committee.
//!
//! If each set were checked alone, a round of `n` parties would cost `n` pairing products, all of them
//! for the same `n` votes. Here each vote is checked once, together with all others of its block that
//! were seen. Then
//! - a set of valid votes has a valid sum, which takes additions only;
//! - a certificate whose signers' votes are valid is valid iff its signature is their sum.
//!
//! Verdicts are those of [`Job::run`].
use std::collections::BTreeMap;

use ::prefinal_jolteon::{BlockId, Replicas, Round, Stage};
use ::prefinal_jolteon::{Claim, Job, Message, Outcome, QuorumCertificate, Verdict, Work};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::{Signature, aggregate};
use prefinal_crypto_core::certificate::Vote;

/// Blocks that are remembered, times two stages; in-flight rounds are far fewer.
const REMEMBERED: usize = 512;

/// Votes that were seen, and those of them that were found good.
#[derive(Clone, Debug, Default)]
pub(crate) struct CheckedVotes {
    ballots: BTreeMap<(Round, BlockId, Stage), Ballot>,
}

#[derive(Clone, Debug, Default)]
struct Ballot {
    seen: BTreeMap<Party, Signature>,
    good: BTreeMap<Party, Signature>,
}

impl CheckedVotes {
    /// Takes note of a message on its way. A vote that is not one costs its sender's batch-mates
    /// nothing: culprits are told apart.
    pub(crate) fn see(&mut self, from: Party, message: &Message) {
        let (round, block, stage, signature) = match message {
            Message::Vote(vote) => (vote.round, vote.block, Stage::Vote, vote.signature),
            Message::OrderVote(vote) => {
                (vote.qc.round, vote.qc.block, Stage::Order, vote.signature)
            }
            _ => return,
        };
        self.ballot(round, block, stage).seen.entry(from).or_insert(signature);
    }

    /// As [`Job::run`], without checking again what is known.
    pub(crate) fn run(&mut self, job: &Job) -> Verdict {
        let committee = job.committee();
        let outcome = match job.work() {
            Work::Votes { stage, round, block, votes } => {
                let sum = self.sum(committee, (*stage, *round, *block), votes);
                sum.map(|sum| Outcome::Sum(Ok(sum)))
            }
            Work::Claims(claims) => {
                let fails = |claim: &Claim| match claim {
                    Claim::Quorum(qc) if self.knows(committee, qc) => false,
                    _ => !claim.holds(committee),
                };
                let failing = claims.iter().enumerate().filter(|(_, claim)| fails(claim));
                Some(Outcome::Claims(failing.map(|(position, _)| position).collect()))
            }
            Work::Timeouts { .. } | Work::Evidence { .. } => None,
        };
        match outcome {
            Some(outcome) => Verdict { job: job.fingerprint(), outcome },
            None => job.run(),
        }
    }

    fn ballot(&mut self, round: Round, block: BlockId, stage: Stage) -> &mut Ballot {
        if self.ballots.len() >= REMEMBERED {
            self.ballots.pop_first();
        }
        self.ballots.entry((round, block, stage)).or_default()
    }

    /// The sum of these votes if all are good; `None` leaves the question open.
    fn sum(
        &mut self,
        committee: &Replicas,
        (stage, round, block): (Stage, Round, BlockId),
        votes: &BTreeMap<Party, Signature>,
    ) -> Option<Signature> {
        let ballot = self.ballot(round, block, stage);
        let is_good = |good: &BTreeMap<Party, Signature>| {
            votes.iter().all(|(party, vote)| good.get(party) == Some(vote))
        };
        if !is_good(&ballot.good) {
            let mut new = ballot.seen.clone();
            new.extend(votes.iter().map(|(party, vote)| (*party, *vote)));
            new.retain(|party, vote| ballot.good.get(party) != Some(vote));
            let message = committee.statement(round, block);
            let vote = |(&party, &signature)| (party, Vote { message: &message, signature });
            let votes = new.iter().map(vote).collect();
            // A stranger among them leaves the question open.
            let bad = committee.electorate().culprits(stage.domain(), &votes).ok()?;
            new.retain(|party, _| !bad.contains(party));
            ballot.good.append(&mut new);
        }
        is_good(&ballot.good).then(|| aggregate(votes.values()).ok()).flatten()
    }

    /// Whether a certificate of known votes is good; `false` leaves the question open.
    fn knows(&self, committee: &Replicas, qc: &QuorumCertificate) -> bool {
        let Some(votes) = &qc.votes else { return false };
        let Some(ballot) = self.ballots.get(&(qc.round, qc.block, Stage::Vote)) else {
            return false;
        };
        let signatures: Option<Vec<&Signature>> =
            votes.signers.iter().map(|party| ballot.good.get(&party)).collect();
        qc.round != Round::GENESIS
            && committee.electorate().check_quorum([&votes.signers]).is_ok()
            && signatures.is_some_and(|signatures| aggregate(signatures) == Ok(votes.signature))
    }
}

#[cfg(test)]
mod tests {
    use ::prefinal_jolteon::{Config, Effect, Input, Jolteon, Member, Records, Status};
    use prefinal_crypto_core::bls::min_sig::SecretKey;
    use prefinal_crypto_core::certificate::{Certificate, Signers};
    use prefinal_crypto_core::context::{ChainId, Context, EpochId};
    use prefinal_crypto_core::curve::{G1Affine, G1Projective};
    use prefinal_protocol::{Instant, Machine, Output};
    use prefinal_weighted_rounding::Stake;
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    use super::*;

    const CONTEXT: Context = Context { chain: ChainId::new([0; 32]), epoch: EpochId::new(1) };
    const BLOCK: BlockId = BlockId::new([5; 32]);

    fn secret(party: u32) -> SecretKey {
        SecretKey::random(&mut ChaCha20Rng::seed_from_u64(u64::from(party)))
    }

    /// Four equal members, of whom three are a quorum.
    fn members() -> Vec<Member> {
        let member = |party| {
            let (key, proof) = (secret(party).public_key(), secret(party).prove_possession());
            Member { key: key.verify_possession(&proof).unwrap(), stake: Stake::new(1) }
        };
        (0..4).map(member).collect()
    }

    /// A party's vote in a round, or that vote moved by an error.
    fn vote(round: u64, party: u32, error: Option<bool>) -> Signature {
        let committee = Replicas::new(&CONTEXT, members()).unwrap();
        let message = committee.statement(Round::new(round), BLOCK);
        let good = secret(party).sign(Stage::Vote.domain(), &message);
        let Some(up) = error else { return good };
        let point = G1Projective::from(G1Affine::from_bytes(&good.to_bytes()).unwrap());
        let by = G1Projective::generator();
        let moved = G1Affine::from(point + if up { by } else { -by });
        Signature::from_bytes(&moved.to_bytes()).unwrap()
    }

    fn voted(round: u64, signature: Signature) -> Message {
        let round = Round::new(round);
        Message::Vote(::prefinal_jolteon::Vote { round, block: BLOCK, signature })
    }

    fn certificate(parties: [u32; 3], signature: Signature) -> Message {
        let signers = Signers::new(4, parties.map(Party::new)).unwrap();
        let votes = Some(Certificate { signers, signature });
        let qc = QuorumCertificate { round: Round::new(1), block: BLOCK, votes };
        Message::Status(Box::new(Status { qc, tc: None }))
    }

    /// What party `me` wants to have checked when it hears this.
    fn jobs(me: u32, heard: Vec<(u32, Message)>) -> Vec<Job> {
        let config = Config::new(CONTEXT, Party::new(me), members());
        let mut engine = Jolteon::new(config, secret(me), Records::default()).unwrap();
        engine.handle(Instant::START, Input::Start);
        let mut jobs = Vec::new();
        for (from, message) in heard {
            let from = Party::new(from);
            engine.handle(Instant::START, Input::Received { from, message });
            while let Some(output) = engine.poll() {
                if let Output::Do(Effect::Check(job)) = output {
                    jobs.push(job);
                }
            }
        }
        jobs
    }

    /// The only job that these votes give.
    fn sum(me: u32, round: u64, votes: [(u32, Signature); 3]) -> Job {
        let heard = votes.map(|(from, signature)| (from, voted(round, signature))).to_vec();
        let mut jobs = jobs(me, heard);
        assert_eq!(jobs.len(), 1);
        jobs.remove(0)
    }

    #[test]
    fn what_was_checked_before_changes_no_verdict() {
        let good = |party| (party, vote(1, party, None));
        let bad = |party, up| (party, vote(1, party, Some(up)));
        let cases = [
            (3, [good(0), good(1), good(2)]),
            (0, [good(1), good(2), good(3)]),
            (3, [good(0), bad(1, true), good(2)]),
            (3, [bad(0, false), bad(1, true), good(2)]),
            (2, [good(0), good(1), bad(3, true)]),
        ];
        let mut checked = CheckedVotes::default();
        for (me, votes) in cases {
            let job = sum(me, 1, votes);
            assert_eq!(checked.run(&job), job.run());
        }
        // Certificates: of known votes, with another sum.
        let signature = aggregate(&[0, 1, 2].map(|party| vote(1, party, None))).unwrap();
        for (signature, fails) in [(signature, false), (good(0).1, true)] {
            let jobs = jobs(3, vec![(1, certificate([0, 1, 2], signature))]);
            let [job] = &jobs[..] else { panic!("{jobs:?}") };
            let Outcome::Claims(failing) = job.run().outcome else { panic!("{job:?}") };
            assert_eq!(failing.is_empty(), !fails);
            assert_eq!(checked.run(job), job.run());
            // Also if none of the votes is known.
            assert_eq!(CheckedVotes::default().run(job), job.run());
        }
        // The same votes in another round are other votes.
        let job = sum(3, 2, [good(0), good(1), good(2)]);
        assert_eq!(checked.run(&job), job.run());
        assert!(matches!(job.run().outcome, Outcome::Sum(Err(culprits)) if culprits.len() == 3));
    }

    /// Ideal sums are other signatures; whether there is one, and whose votes are bad, is the same.
    fn same_but_for_sums(ideal: &Verdict, real: &Verdict) {
        assert_eq!(ideal.job, real.job);
        match (&ideal.outcome, &real.outcome) {
            (Outcome::Sum(Ok(_)), Outcome::Sum(Ok(_))) => {}
            (ideal, real) => assert_eq!(ideal, real),
        }
    }

    #[test]
    fn ideal_votes_are_judged_as_on_the_curve() {
        let good = |party| (party, vote(1, party, None));
        let bad = |party, up| (party, vote(1, party, Some(up)));
        let cases = [
            [good(0), good(1), good(2)],
            [good(1), good(2), good(3)],
            [good(0), bad(1, true), good(2)],
            [bad(0, false), bad(1, true), good(2)],
        ];
        let mut ideal = super::super::IdealVotes::default();
        for votes in cases {
            let me = (0..4).find(|me| votes.iter().all(|(party, _)| party != me)).unwrap();
            let job = sum(me, 1, votes);
            // Nothing was seen, or less than that: the curve decides.
            same_but_for_sums(&super::super::IdealVotes::default().run(&job), &job.run());
            same_but_for_sums(&ideal.run(&job), &job.run());
            for (party, signature) in votes {
                if signature == good(party).1 {
                    ideal.see(Party::new(party), &voted(1, signature));
                }
            }
            same_but_for_sums(&ideal.run(&job), &job.run());
        }
        let holds = |ideal: &mut super::super::IdealVotes, parties, signature| {
            let jobs = jobs(3, vec![(1, certificate(parties, signature))]);
            let [job] = &jobs[..] else { panic!("{jobs:?}") };
            let Outcome::Claims(failing) = ideal.run(job).outcome else { panic!("{job:?}") };
            failing.is_empty()
        };
        // What stands for the sum makes a certificate of these signers, and nothing else does.
        let (first, second) = (good(0).1, good(1).1);
        assert!(holds(&mut ideal, [0, 1, 2], first) && !holds(&mut ideal, [0, 1, 2], second));
        assert!(holds(&mut ideal, [1, 2, 3], second) && !holds(&mut ideal, [1, 2, 3], first));
        // A real sum is no less valid.
        let real = aggregate(&[0, 1, 2].map(|party| vote(1, party, None))).unwrap();
        assert!(holds(&mut ideal, [0, 1, 2], real));
        // Nobody is in a certificate who was not seen to vote.
        let mut ideal = super::super::IdealVotes::default();
        for (party, signature) in [good(0), good(1)] {
            ideal.see(Party::new(party), &voted(1, signature));
        }
        assert!(!holds(&mut ideal, [0, 1, 2], first));
        // Votes of another round are other votes.
        let job = sum(3, 2, [good(0), good(1), good(2)]);
        same_but_for_sums(&ideal.run(&job), &job.run());
    }

    #[test]
    fn a_vote_that_was_seen_to_be_bad_spoils_nobody_elses() {
        let mut checked = CheckedVotes::default();
        checked.see(Party::new(0), &voted(3, vote(3, 0, Some(true))));
        let job = sum(0, 3, [1, 2, 3].map(|party| (party, vote(3, party, None))));
        assert_eq!(checked.run(&job), job.run());
        assert!(matches!(job.run().outcome, Outcome::Sum(Ok(_))));
    }
}
