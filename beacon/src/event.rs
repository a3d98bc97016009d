//! Inputs and outputs of a beacon.
//!
//! The driver carries the outputs out in order. A record that is kept must be durable before anything that
//! follows it leaves. The record may ride in the engine's own log entry for the vote.
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::drand::RoundNumber;
use prefinal_protocol::{Recipient, Slot, Value, View};

use crate::job::{Job, Verdict};
use crate::schemes::{Content, ContentError, Function, KeyError, LateKey, Random, ShapeError};
use crate::switch::{Switch, SwitchError};
use crate::wire::{Message, Record};
use prefinal_contract::Path;
use prefinal_contract::Withheld;

/// Something that happens to a beacon.
#[derive(Clone, Debug)]
pub enum Input<S: Function> {
    /// This party is about to cast its vote in this view. The value is final once enough parties cast this
    /// vote in the same view. If the vote is for a descendant and only implies this slot, `view` is the
    /// descendant's view. Give this input before the vote leaves, so that vote and partial can share an
    /// envelope.
    Prefinalized {
        /// The slot that the value is for.
        slot: Slot,
        /// The view in which the vote is cast.
        view: View,
        /// The value that the vote is for.
        value: Value,
    },
    /// The engine knows that the slot is final. Slots may be reported in any order within the window; a slot
    /// beyond the window is refused.
    Finalized {
        /// The slot that is final.
        slot: Slot,
        /// Its value; `None` if the slot was skipped.
        value: Option<Value>,
    },
    /// This party is about to sign a timeout or nullify for this view. Give this input before it leaves.
    Abandoned {
        /// The view that is given up.
        view: View,
    },
    /// A peer's message, from a link that authenticates the peer.
    Received {
        /// The peer that sent it.
        from: Party,
        /// What the peer sent, decoded.
        message: Message<S>,
    },
    /// A job has ended, with this verdict.
    Checked(Verdict<S>),
    /// A party counts from now on: its key came after the start.
    Admitted {
        /// The path that the key is for.
        path: Path,
        /// The key of the party for this path, admitted by the scheme.
        key: LateKey<S>,
    },
    /// The chain or the operator changes the mode from a slot on; see [`Mode`](crate::Mode).
    Switch(Switch),
    /// The chain had switched these slots off, and this party learned it too late to use a switch: the slots
    /// are final here already. Slots before [`Beacon::head`](crate::Beacon::head) are refused.
    WasOff {
        /// The first slot that was off.
        first: Slot,
        /// The last slot that was off.
        last: Slot,
    },
    /// The host has the outputs of all slots up to this one from elsewhere, verified. Those up to the last one that is
    /// final here are finished, as after a start with [`Record::PassedOver`](crate::Record::PassedOver); nothing is handed
    /// over for them. Of later slots tell again when they are final.
    PassedOver {
        /// The last of them.
        last: Slot,
    },
    /// The content of a slot's value, for a scheme that needs more than the value's hash. It is best given
    /// before the value is prefinalized. After a restart the host gives the contents of all slots without
    /// output again.
    Content(Content<S>),
    /// The time that [`wake_at`](prefinal_protocol::Machine::wake_at) named has passed.
    Tick,
}

/// Something that a beacon wants done, in this order.
///
/// | record     | durable before           | because                           |
/// |------------|--------------------------|-----------------------------------|
/// | `Revealed` | (some time)              | losing it repeats the same output |
/// | all others | anything that follows it | the contract rests on them        |
pub type Output<S> = prefinal_protocol::Output<Record, Effect<S>>;

/// Something that a beacon wants done, other than storing a record.
#[derive(Clone, Debug)]
pub enum Effect<S: Function> {
    /// Send this message to peers, over links that authenticate this party.
    Send {
        /// The recipient: one party, or all.
        to: Recipient<Party>,
        /// The message to encode and send.
        message: Message<S>,
    },
    /// Run this job anywhere, and give its verdict back as [`Input::Checked`].
    Check(Job<S>),
    /// A peer lacks outputs that this beacon no longer keeps. Send it the outputs of these slots that the
    /// archive has, made by [`Reveal::message`]. The number of lookups is bounded as answers are. Without an
    /// archive nothing goes wrong: the peer asks others too.
    Lookup {
        /// The peer that lacks the outputs.
        to: Party,
        /// The slots whose outputs it lacks.
        slots: Vec<Slot>,
    },
    /// The output of the next slot.
    Reveal(Box<Reveal<S>>),
    /// The next slot was skipped. Inputs contain the value, so there is nothing to evaluate.
    Skipped {
        /// The slot that the engine finalized as empty.
        slot: Slot,
    },
    /// The next slot has no output, because the beacon was switched off.
    Off {
        /// The slot without output.
        slot: Slot,
    },
    /// No output can follow: a later slot is final, and the engine has not reported this one for
    /// [`Limits::retry`](crate::Limits::retry). Said once for a slot. Report it, as skipped if it has no value.
    Stalled {
        /// The slot that is missing: the next to be revealed.
        slot: Slot,
    },
    /// A peer broke the protocol.
    Accuse {
        /// The peer that is at fault.
        party: Party,
        /// What it did, with the evidence.
        fault: Fault<S>,
    },
    /// An input of the engine or the driver had no effect.
    Refused(Refusal),
}

/// A slot's output and the proof for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reveal<S: Function> {
    /// The slot of the output.
    pub slot: Slot,
    /// The round number under which clients of drand know the output, if they can verify this scheme.
    pub round: Option<RoundNumber>,
    /// The value that the slot was finalized with; `None` if it was skipped.
    pub value: Option<Value>,
    /// The value that entered the function beside the slot; `None` if none did.
    pub bound: Option<Value>,
    /// The output of the function.
    pub output: S::Output,
    /// The path that completed first.
    pub path: Path,
    /// Proves the output to a party that did not collect the partials; see [`Scheme`](crate::Scheme).
    pub proof: S::Proof,
}

impl<S: Function> Reveal<S> {
    /// The message that shows the output to a peer that missed it.
    #[must_use]
    pub fn message(&self) -> Message<S> {
        let shown = S::show(&self.output, &self.proof);
        Message::Output { slot: self.slot, path: self.path, shown }
    }
}

impl<S: Random> Reveal<S> {
    /// The output as 32 random bytes that nobody could predict.
    #[must_use]
    pub fn randomness(&self) -> [u8; 32] {
        S::randomness(&self.output)
    }
}

/// What a peer did wrong. The evidence convinces this party only. To convince others, keep the signed
/// envelope in which the message came; the driver has it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault<S: Function> {
    /// The committee has no party with this number.
    #[error("not a member of the committee")]
    NotMember,
    /// The peer sent a partial for a path that is not in use at the slot.
    #[error("partial of the {path} path, which is not in use at {slot}")]
    UnusedPath {
        /// The path that the partial names.
        path: Path,
        /// The slot that the partial is for.
        slot: Slot,
    },
    /// The peer sent a partial, but holds no shares on this path.
    #[error("partial of the {path} path from a party without shares in it")]
    NoShares {
        /// The path in which the peer holds no shares.
        path: Path,
    },
    /// The peer sent a partial whose size does not fit the party's weight.
    #[error("partial of the {path} path: {error}")]
    Shape {
        /// The path that the partial names.
        path: Path,
        /// The size that it has, and the size that it should have.
        error: ShapeError,
    },
    /// The peer sent a partial with a value although outputs do not depend on it, or without one although
    /// they do.
    #[error("partial {} a value, outputs {} on it", if *present { "with" } else { "without" }, if *present { "do not depend" } else { "depend" })]
    ValueShape {
        /// Whether the partial came with a value.
        present: bool,
    },
    /// The peer sent a second, different partial of one slot and path.
    #[error("second partial of {slot} on the {path} path, different from the first")]
    Equivocation {
        /// The slot of both partials.
        slot: Slot,
        /// The path of both partials.
        path: Path,
        /// The second partial, with its value.
        second: (Option<Value>, Box<S::Partial>),
    },
    /// The peer showed an output that is not the slot's. It is not asked for outputs again.
    #[error("output of {slot}, shown by the {path} path, is false")]
    FalseOutput {
        /// The slot that the output was shown for.
        slot: Slot,
        /// The path that it was said to come from.
        path: Path,
        /// The output as it was shown.
        shown: Box<S::OutputMessage>,
    },
    /// The peer sent a partial that is not its evaluation.
    #[error("partial of {slot} on the {path} path is not the party's evaluation")]
    FalsePartial {
        /// The slot that the partial was for.
        slot: Slot,
        /// The path that the partial was for.
        path: Path,
        /// The value that entered the function, if one did.
        value: Option<Value>,
        /// The partial as the peer sent it.
        partial: Box<S::Partial>,
    },
}

impl<S: Function> Fault<S> {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotMember => "not-a-member",
            Self::UnusedPath { .. } => "unused-path",
            Self::NoShares { .. } => "holds-no-shares",
            Self::Shape { error, .. } => error.code(),
            Self::ValueShape { .. } => "value-shape",
            Self::Equivocation { .. } => "equivocation",
            Self::FalseOutput { .. } => "output-mismatch",
            Self::FalsePartial { .. } => "partial-mismatch",
        }
    }
}

/// Why an input of the engine or the driver had no effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A prefinalize released no partial.
    #[error("no partial released: {0}")]
    Withheld(#[from] Withheld),
    /// The engine finalized a slot twice, with different values. Its agreement is broken. The first value
    /// stands.
    #[error("{slot} was final as {}, now as {}", named(first), named(second))]
    SecondFinal {
        /// The slot that the engine finalized twice.
        slot: Slot,
        /// The value that stands.
        first: Option<Value>,
        /// The value that is ignored.
        second: Option<Value>,
    },
    /// This beacon's committee has no slot before its first.
    #[error("{slot} is before {first}, the first slot of this committee")]
    BeforeFirst {
        /// The slot that was reported.
        slot: Slot,
        /// The first slot of the configuration.
        first: Slot,
    },
    /// A final slot beyond the window. Nothing of it is kept: report the slots before it, then this one again.
    #[error(
        "{slot} is final, but nothing from {next} on was reported, and {last} is the last slot within the window"
    )]
    Beyond {
        /// The slot that was reported.
        slot: Slot,
        /// The slot after the highest that was reported: go on here.
        next: Slot,
        /// The last slot that can be reported now: [`Limits::window`](crate::Limits::window) behind the slot
        /// after the highest final one.
        last: Slot,
    },
    /// The last slot number has no output, because no slot comes after it.
    #[error("{slot} is the last number there is and has no output")]
    LastSlot {
        /// The slot that was reported.
        slot: Slot,
    },
    /// The switch is refused and changes nothing.
    #[error("not switched: {0}")]
    Switch(#[from] SwitchError),
    /// The content is not the slot's, or it is not kept.
    #[error("content refused: {0}")]
    Content(#[from] ContentError),
    /// This party's own partial failed its check: its secret does not fit its public key. The party
    /// evaluates nothing more on this path.
    #[error("own secret of the {path} path does not fit its key")]
    OwnSecret {
        /// The path with the wrong secret.
        path: Path,
    },
    /// A late key that cannot be added to its committee.
    #[error("key refused: {0}")]
    Key(#[from] KeyError),
}

impl Refusal {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Withheld(error) => error.code(),
            Self::SecondFinal { .. } => "final-twice",
            Self::BeforeFirst { .. } => "before-first-slot",
            Self::Beyond { .. } => "slot-too-far",
            Self::LastSlot { .. } => "last-slot",
            Self::Switch(error) => error.code(),
            Self::Content(error) => error.code(),
            Self::OwnSecret { .. } => "share-mismatch",
            Self::Key(error) => error.code(),
        }
    }
}

fn named(value: &Option<Value>) -> String {
    value.map_or_else(|| "skipped".to_owned(), |value| value.to_string())
}
