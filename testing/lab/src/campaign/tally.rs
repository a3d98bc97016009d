//! Numbers of what was done to the executions of a campaign.

use std::collections::BTreeMap;
use std::fmt;

/// What can be done to an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A party in two places.
    Twins,
    /// Two partials for one slot.
    TwoFaced,
    /// Partials that are not the party's evaluation.
    Wrong,
    /// Wrong partials whose sum is right.
    Cancel,
    /// Letters withheld from some.
    Withhold,
    /// Letters withheld from all.
    Mute,
    /// Letters delayed to the bound.
    Delay,
    /// Letters of a flood: partials and requests for slots near and far, and junk transactions.
    Flood,
    /// Old letters sent again.
    Replay,
    /// A crash that loses the disk, of a faulty party.
    Forget,
    /// A crash that keeps the disk.
    Crash,
    /// A crash right behind a record.
    CrashAtRecord,
    /// A crash in the middle of a write of the store.
    CrashAtWrite,
    /// A partition that heals.
    Partition,
    /// Letters lost on the way.
    Loss,
    /// A clock that jumps ahead or back.
    Leap,
    /// Two blocks for one height or two batches for one place, or votes for both.
    Equivocation,
    /// A certificate that proves nothing.
    False(Certificate, Flaw),
    /// A leader's block that some do not see, so that the faulty parties alone see it prepared.
    Concealed,
    /// A view change or a new view that hides what was prepared.
    Hidden,
    /// A vote or an acknowledgement whose signature is on something else.
    BadSignature,
    /// Batches kept from all but those that certify them.
    BatchWithheld,
    /// Requests for blocks, batches or decisions that get no answer.
    AnswerWithheld,
    /// Answers with something else than what was asked for.
    FalseAnswer,
    /// Proposals that leave as late as possible.
    LateProposal,
    /// A vote on a bit that is another one for some, or for nobody what the party holds.
    WrongBit,
    /// A stage that is begun at will, far ahead.
    StageBegun,
    /// A vote, request or outcome that nothing gives occasion to.
    MadeUp,
    /// An honest party that is down until the network heals.
    Sleep,
    /// A change of the committee that the application is asked for.
    Change,
    /// A vote for a state that is not the party's.
    FalseState,
    /// A piece of a state that is none.
    FalsePiece,
    /// A checkpoint that no quorum has certified.
    FalseCheckpoint,
    /// A party whose executor computes something else.
    OtherExecutor,
    /// A signature on the state of a block that is not ordered.
    EagerSignature,
    /// A proposal, order, value or certificate that reaches the pipeline late.
    Late,
    /// An answer of which one thing is altered.
    Fabricated,
    /// A message that is cut, or an answer with fewer blocks.
    Cut,
    /// Blocks or rows in another order.
    Reordered,
    /// A summary of what a peer does not have, or of less than it has.
    FalseSummary,
    /// A message that is too long, or says that it is.
    Oversized,
    /// An answer at a byte a second.
    Drip,
    /// An answer that says that there is none.
    Denied,
    /// A message that means nothing.
    Junk,
    /// A link that is lost, and comes back.
    LinkLost,
    /// A start on a store that holds blocks which are not committed.
    Optimistic,
    /// A state that an honest party has taken from others.
    Restored,
    /// A view that an honest party has given up.
    GaveUp,
    /// A party that has the keys of a next committee.
    Handover,
    /// A faulty party that honest ones have two contradicting statements of.
    FoundContradiction,
    /// A faulty party that honest ones have caught with a false certificate.
    FoundForgery,
    /// A faulty party that honest ones have caught with a bad signature.
    FoundSignature,
    /// A faulty party whose messages are malformed: too little stake, something hidden, another block.
    FoundMalformed,
    /// A faulty party that has voted for another state than a quorum.
    FoundState,
    /// A faulty party that has sent pieces which are none.
    FoundPiece,
    /// A peer that is banned for what it has said.
    Banned,
    /// A party that has stopped because its state is not the certified one.
    FoundDivergence,
}

/// What a false certificate claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certificate {
    /// That a batch is available.
    Availability,
    /// That a value is prepared in a view.
    Prepared,
    /// That a quorum asks for a view.
    Change,
    /// That a value is decided.
    Committed,
}

/// What is wrong with a false certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flaw {
    /// It names everybody as signers, and the signature is one party's.
    Signature,
    /// It is signed by all that it names, and their stake does not suffice.
    Stake,
    /// A quorum has signed, but another statement.
    Statement,
}

impl Kind {
    /// Whether it is not done to an execution, but found out by honest parties.
    #[must_use]
    pub const fn is_finding(self) -> bool {
        self.finding().is_some()
    }

    const fn finding(self) -> Option<&'static str> {
        Some(match self {
            Self::Optimistic => "seen: starts with blocks that are not committed",
            Self::Restored => "seen: states taken from others",
            Self::GaveUp => "seen: views given up",
            Self::Handover => "seen: parties with keys of a next committee",
            Self::FoundContradiction => "found: contradictions",
            Self::FoundForgery => "found: false certificates",
            Self::FoundSignature => "found: bad signatures",
            Self::FoundMalformed => "found: malformed messages",
            Self::FoundState => "found: votes for wrong states, with evidence",
            Self::FoundPiece => "found: wrong pieces of states",
            Self::Banned => "found: peers to ban, with evidence",
            Self::FoundDivergence => "found: states that are not the certified ones",
            _ => return None,
        })
    }

    /// What an accusation shows of a faulty party, from its text.
    pub(super) fn found(fault: &str) -> Option<Self> {
        if fault.starts_with("contradiction") || fault.starts_with("contradicts itself") {
            Some(Self::FoundContradiction)
        } else if fault.starts_with("forged certificate") {
            Some(Self::FoundForgery)
        } else if fault.starts_with("bad signature") || fault.starts_with("invalid vote") {
            Some(Self::FoundSignature)
        } else if ["malformed message", "sent a message", "sent a batch"]
            .iter()
            .any(|one| fault.starts_with(one))
        {
            Some(Self::FoundMalformed)
        } else if fault.starts_with("wrong state") {
            Some(Self::FoundState)
        } else if fault.starts_with("checkpoint of epoch") {
            Some(Self::FoundPiece)
        } else {
            None
        }
    }
}

/// How often each was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<Kind, Count>);

/// How often something was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Executions in which it was done.
    pub executions: u64,
    /// How often, taken together.
    pub times: u64,
}

impl Tally {
    /// It was done so often in this execution.
    pub fn add(&mut self, kind: Kind, times: u64) {
        if times > 0 {
            let count = self.0.entry(kind).or_default();
            count.executions = 1;
            count.times = count.times.saturating_add(times);
        }
    }

    /// Adds what was done in others.
    pub fn merge(&mut self, other: &Self) {
        for (kind, count) in &other.0 {
            let sum = self.0.entry(*kind).or_default();
            sum.executions = sum.executions.saturating_add(count.executions);
            sum.times = sum.times.saturating_add(count.times);
        }
    }

    /// Every kind that was done, in order, with its count.
    pub fn rows(&self) -> impl Iterator<Item = (Kind, Count)> {
        self.0.iter().map(|(kind, count)| (*kind, *count))
    }

    /// How often it was done.
    #[must_use]
    pub fn count(&self, kind: Kind) -> Count {
        self.0.get(&kind).copied().unwrap_or_default()
    }

    /// How often anything was done.
    #[must_use]
    pub fn total(&self) -> u64 {
        let done = self.0.iter().filter(|(kind, _)| !kind.is_finding());
        done.map(|(_, count)| count.times).fold(0, u64::saturating_add)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Twins => "twins: letters kept from the other half",
            Self::TwoFaced => "two partials for one slot",
            Self::Wrong => "wrong partials",
            Self::Cancel => "wrong partials that cancel each other",
            Self::Withhold => "letters withheld from some",
            Self::Mute => "letters withheld from all",
            Self::Delay => "letters delayed to the bound",
            Self::Flood => "letters of floods",
            Self::Replay => "old letters sent again",
            Self::Forget => "crashes, disk lost (faulty)",
            Self::Crash => "crashes, disk kept",
            Self::CrashAtRecord => "crashes right behind a record",
            Self::CrashAtWrite => "crashes in the middle of a write",
            Self::Partition => "partitions, healed",
            Self::Loss => "letters lost on the way",
            Self::Leap => "clocks set",
            Self::Equivocation => "second blocks or batches for one place, and votes for them",
            Self::False(certificate, flaw) => {
                return write!(f, "false {certificate} certificates: {flaw}");
            }
            Self::Concealed => "blocks kept from some, so that nobody sees them prepared",
            Self::Hidden => "view changes that hide what was prepared",
            Self::BadSignature => "votes and acknowledgements signed wrongly",
            Self::BatchWithheld => "batches kept from all but their signers",
            Self::AnswerWithheld => "requests left unanswered",
            Self::FalseAnswer => "requests answered with something else",
            Self::LateProposal => "proposals as late as possible",
            Self::WrongBit => "votes on bits that are not the party's",
            Self::StageBegun => "stages begun at will",
            Self::MadeUp => "votes, requests and outcomes made up",
            Self::Sleep => "honest parties down until the network heals",
            Self::Change => "changes of the committee by the application",
            Self::FalseState => "votes for other states",
            Self::FalsePiece => "pieces of states that are none",
            Self::FalseCheckpoint => "checkpoints that nobody has certified",
            Self::OtherExecutor => "parties with another executor",
            Self::EagerSignature => "states signed before they are ordered",
            Self::Late => "inputs that reach the pipeline late",
            Self::Fabricated => "answers that are altered",
            Self::Cut => "messages cut, and answers with fewer blocks",
            Self::Reordered => "blocks and rows in another order",
            Self::FalseSummary => "summaries of less or of more than there is",
            Self::Oversized => "messages that are too long, or say so",
            Self::Drip => "answers at a byte a second",
            Self::Denied => "answers that there is nothing",
            Self::Junk => "messages that mean nothing",
            Self::LinkLost => "links lost for a while",
            other => return f.write_str(other.finding().unwrap_or_default()),
        })
    }
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Availability => "availability",
            Self::Prepared => "prepared",
            Self::Change => "view-change",
            Self::Committed => "commit",
        })
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Signature => "wrong signature",
            Self::Stake => "too little stake",
            Self::Statement => "another statement",
        })
    }
}
