//! What happens to a beacon, and what it wants done.
//!
//! The driver carries outputs out in order; a record that is kept is durable before anything that
//! follows it leaves. The record may ride in the engine's own log entry for the vote.
use crypto_core::access::Party;
use crypto_core::drand::RoundNumber;
use protocol::{Recipient, Slot, Value, View};

use crate::job::{Job, Verdict};
use crate::schemes::{Content, ContentError, Function, KeyError, LateKey, Random, ShapeError};
use crate::switch::{Switch, SwitchError};
use crate::wire::{Message, Record};
use contract::Path;
use contract::Withheld;

/// What happens to a beacon.
#[derive(Clone, Debug)]
pub enum Input<S: Function> {
    /// This party is about to cast the vote that, cast by enough parties in this view, makes the
    /// value final. If the vote is for a descendant and only implies this slot, `view` is the
    /// descendant's. Comes before the vote leaves, so that vote and partial can share an envelope.
    Prefinalized {
        /// Whose value.
        slot: Slot,
        /// Where the vote is cast.
        view: View,
        /// The value.
        value: Value,
    },
    /// The engine knows that the slot is final; `None` if it was skipped. Slots may come in any order
    /// within the window; one beyond it is refused.
    Finalized {
        /// The slot.
        slot: Slot,
        /// Its value.
        value: Option<Value>,
    },
    /// This party is about to sign a timeout or nullify for this view. Comes before it leaves.
    Abandoned {
        /// The view.
        view: View,
    },
    /// A peer's message, over a link that authenticates the peer.
    Received {
        /// The peer.
        from: Party,
        /// What it sent.
        message: Message<S>,
    },
    /// A job ended.
    Checked(Verdict<S>),
    /// A party counts from now on: its key came after the start.
    Admitted {
        /// For which path.
        path: Path,
        /// The key.
        key: LateKey<S>,
    },
    /// The chain or the operator switches: see [`Mode`](crate::Mode) for what holds from when on.
    Switch(Switch),
    /// The chain had switched these slots off, and this party was told too late to switch: they are
    /// final here already. Those before [`Beacon::head`](crate::Beacon::head) are refused.
    WasOff {
        /// The first of them.
        first: Slot,
        /// The last.
        last: Slot,
    },
    /// What is in a slot's value, for a scheme that needs more of it than its hash. Best before it is
    /// prefinalized; after a restart the host hands over again what has no output yet.
    Content(Content<S>),
    /// [`wake_at`](protocol::Machine::wake_at) passed.
    Tick,
}

/// What a beacon wants done, in this order.
///
/// | record     | durable before           | because                           |
/// |------------|--------------------------|-----------------------------------|
/// | `Revealed` | (some time)              | losing it repeats the same output |
/// | all others | anything that follows it | the contract rests on them        |
pub type Output<S> = protocol::Output<Record, Effect<S>>;

/// What a beacon wants done, its records aside.
#[derive(Clone, Debug)]
pub enum Effect<S: Function> {
    /// Send this.
    Send {
        /// To whom.
        to: Recipient<Party>,
        /// What.
        message: Message<S>,
    },
    /// Run this anywhere and bring the verdict back.
    Check(Job<S>),
    /// A peer lacks outputs that this beacon keeps no more: send it, by
    /// [`Reveal::message`], what the archive has of these. Bounded as answers are; nothing goes wrong
    /// without an archive, other peers are asked too.
    Lookup {
        /// Whom to send it to.
        to: Party,
        /// Outputs of which slots.
        slots: Vec<Slot>,
    },
    /// The next slot's output.
    Reveal(Box<Reveal<S>>),
    /// The next slot was skipped, and without a value there is no input to evaluate.
    Skipped {
        /// The slot.
        slot: Slot,
    },
    /// The next slot has no output, for the beacon was switched off.
    Off {
        /// The slot.
        slot: Slot,
    },
    /// No output can follow: a later slot is final, and the engine has not reported this one for
    /// [`Limits::retry`](crate::Limits::retry). Said once for a slot. Report it, as skipped if it has no value.
    Stalled {
        /// The slot that is missing: the next to be revealed.
        slot: Slot,
    },
    /// A peer did wrong.
    Accuse {
        /// Who.
        party: Party,
        /// What, with the evidence.
        fault: Fault<S>,
    },
    /// An input of the engine or the driver led to nothing.
    Refused(Refusal),
}

/// A slot's output and what proves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reveal<S: Function> {
    /// The slot.
    pub slot: Slot,
    /// The number under which drand's clients know the output, if the scheme is theirs.
    pub round: Option<RoundNumber>,
    /// What it was finalized with; `None` if it was skipped.
    pub value: Option<Value>,
    /// What entered the function beside chain, epoch and slot.
    pub bound: Option<Value>,
    /// The output.
    pub output: S::Output,
    /// Which path completed first.
    pub path: Path,
    /// What shows the output to who was not there; the [`schemes`](crate::Scheme) say how.
    pub proof: S::Proof,
}

impl<S: Function> Reveal<S> {
    /// The output for a peer that missed it.
    #[must_use]
    pub fn message(&self) -> Message<S> {
        let shown = S::show(&self.output, &self.proof);
        Message::Shown { slot: self.slot, path: self.path, shown }
    }
}

impl<S: Random> Reveal<S> {
    /// The output as 32 bytes that nobody could foresee.
    #[must_use]
    pub fn randomness(&self) -> [u8; 32] {
        S::randomness(&self.output)
    }
}

/// What a peer did wrong. The evidence convinces this party; convincing others takes the signed
/// envelope it came in, which is the driver's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault<S: Function> {
    /// The committee has no such party.
    #[error("not a member of the committee")]
    NotMember,
    /// A partial under a path that is not in use at the slot.
    #[error("partial of the {path} path, which is not in use at {slot}")]
    UnusedPath {
        /// The path.
        path: Path,
        /// The slot.
        slot: Slot,
    },
    /// A partial of a party that holds no shares.
    #[error("partial of the {path} path from a party without shares in it")]
    NoShares {
        /// The path.
        path: Path,
    },
    /// A partial of another size than the party's weight gives.
    #[error("partial of the {path} path: {error}")]
    Shape {
        /// The path.
        path: Path,
        /// Which size, and which it should have.
        error: ShapeError,
    },
    /// A partial with a value though outputs do not depend on it, or the other way round.
    #[error("partial {} a value, outputs {} on it", if *present { "with" } else { "without" }, if *present { "do not depend" } else { "depend" })]
    ValueShape {
        /// Whether the partial came with a value.
        present: bool,
    },
    /// A second, different partial of one slot and path.
    #[error("second partial of {slot} on the {path} path, different from the first")]
    Equivocation {
        /// The slot.
        slot: Slot,
        /// The path.
        path: Path,
        /// What came later.
        second: (Option<Value>, Box<S::Partial>),
    },
    /// An output that is not the slot's. The party is not asked for outputs again.
    #[error("output of {slot}, shown by the {path} path, is false")]
    FalseOutput {
        /// The slot.
        slot: Slot,
        /// The path.
        path: Path,
        /// What was shown.
        shown: Box<S::Shown>,
    },
    /// A partial that is not the party's evaluation.
    #[error("partial of {slot} on the {path} path is not the party's evaluation")]
    FalsePartial {
        /// The slot.
        slot: Slot,
        /// The path.
        path: Path,
        /// What entered the function.
        value: Option<Value>,
        /// The partial.
        partial: Box<S::Partial>,
    },
}

/// Why an input of the engine or the driver led to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A prefinalize released nothing.
    #[error("no partial released: {0}")]
    Withheld(#[from] Withheld),
    /// The engine finalized a slot twice, differently. Its agreement is broken; the first stands.
    #[error("{slot} was final as {}, now as {}", named(first), named(second))]
    SecondFinal {
        /// The slot.
        slot: Slot,
        /// What stands.
        first: Option<Value>,
        /// What is ignored.
        second: Option<Value>,
    },
    /// This beacon's committee has no slot before its first.
    #[error("{slot} is before {first}, the first slot of this committee")]
    BeforeFirst {
        /// The slot.
        slot: Slot,
        /// The first slot of the configuration.
        first: Slot,
    },
    /// A final slot beyond the window. Nothing of it is kept: report the slots before it, then this one again.
    #[error("{slot} is final, but {last} is the last slot within the window")]
    Beyond {
        /// The slot.
        slot: Slot,
        /// The last slot that can be reported now: [`Limits::window`](crate::Limits::window) behind the slot
        /// after the highest final one.
        last: Slot,
    },
    /// Slots end with the last number, which has no slot after it and no output.
    #[error("{slot} is the last number there is and has no output")]
    LastSlot {
        /// The slot.
        slot: Slot,
    },
    /// A switch that changes nothing.
    #[error("not switched: {0}")]
    Switch(#[from] SwitchError),
    /// A content that is not the slot's, or not kept.
    #[error("content refused: {0}")]
    Content(#[from] ContentError),
    /// This party's own partial failed its check: its secret is not the one of its key. It evaluates no
    /// more under this path.
    #[error("own secret of the {path} path does not fit its key")]
    OwnSecret {
        /// Which path.
        path: Path,
    },
    /// A late key that does not enter its committee.
    #[error("key refused: {0}")]
    Key(#[from] KeyError),
}

fn named(value: &Option<Value>) -> String {
    value.map_or_else(|| "skipped".to_owned(), |value| value.to_string())
}
