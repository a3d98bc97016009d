//! An engine that wraps another one and does one thing wrong.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prefinal_engine::{
    Block, Config, Effect, Engine, Input, Launch, Member, Output, PastVotes, Quorum,
};
use prefinal_protocol::{Instant, Party, Slot, Value, View};
use prefinal_weighted_rounding::{Ratio, Stake};

/// The thing that it does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    Nothing,
    OtherBlock,
    OtherContents,
    SkipsSlot,
    RepeatsSlot,
    RepeatsTransaction,
    LosesTransactions,
    FinalizesOther,
    AnnouncesNothing,
    AnnouncesLate,
    KeepsLate,
    GivesUpUnsaid,
    PrefinalizesAfterwards,
    PrefinalizesTwo,
    MixesSlots,
    ForgetsRecords,
    ForgetsPast,
    InventsPast,
    ChangesPast,
    SwallowsCarried,
    ChangesCarried,
    DropsOffered,
    ReturnsOther,
    Slanders,
    Refuses,
    GivesUpSoon,
    CountsHeads,
    StopsAfterTimeout,
    DeafWhenLate,
    BelievesAll,
}

pub(crate) struct Broken<E: Launch, const GREEDY: bool = false> {
    inner: E,
    me: Party,
    wrong: Wrong,
    ready: VecDeque<Output<Self>>,
    held: VecDeque<Output<Self>>,
    /// The transactions that were ordered first.
    first: Option<Vec<std::sync::Arc<[u8]>>>,
    deaf: bool,
    done: bool,
}

type EngineOutput<E, const GREEDY: bool> = Output<Broken<E, GREEDY>>;

/// The same effect in the wrapper's types.
fn translated<E: Launch, const G: bool>(effect: Effect<E>) -> Effect<Broken<E, G>> {
    match effect {
        Effect::Send { to, message } => Effect::Send { to, message },
        Effect::Run(job) => Effect::Run(job),
        Effect::Proposed { slot, parent, block } => Effect::Proposed { slot, parent, block },
        Effect::Prefinalized { slot, view, value } => Effect::Prefinalized { slot, view, value },
        Effect::Carried { from, partial } => Effect::Carried { from, partial },
        Effect::Finalized { slot, block } => Effect::Finalized { slot, block },
        Effect::Abandoned { view } => Effect::Abandoned { view },
        Effect::Accused { party, fault } => Effect::Accused { party, fault },
        Effect::Refused(why) => Effect::Refused(why),
    }
}

const fn other(value: Value) -> Value {
    let mut bytes = value.to_bytes();
    bytes[0] ^= 1;
    Value::new(bytes)
}

impl<E: Launch, const G: bool> Broken<E, G> {
    /// Replaces this output by what the saboteur says instead.
    fn twist(&mut self, output: EngineOutput<E, G>) {
        let Output::Do(effect) = output else { return self.ready.push_back(output) };
        match effect {
            Effect::Finalized { slot, block } => self.twist_final(slot, block),
            Effect::Prefinalized { slot, view, value } => self.twist_vote(slot, view, value),
            Effect::Carried { from, partial } => match self.wrong {
                Wrong::SwallowsCarried => {}
                Wrong::ChangesCarried => self.say(Effect::Carried { from, partial: vec![7] }),
                _ => self.say(Effect::Carried { from, partial }),
            },
            Effect::Abandoned { view } => {
                self.deaf |= self.wrong == Wrong::StopsAfterTimeout;
                if self.wrong != Wrong::GivesUpUnsaid {
                    self.say(Effect::Abandoned { view });
                }
                if self.wrong == Wrong::PrefinalizesAfterwards {
                    let value = Value::new([9; 32]);
                    self.say(Effect::Prefinalized { slot: view.slot, view, value });
                }
            }
            effect => self.say(effect),
        }
    }

    fn twist_final(&mut self, slot: Slot, block: Option<Block>) {
        let mut changed = block.clone();
        let said = slot == Slot::new(3);
        if let Some(block) = &mut changed {
            match self.wrong {
                Wrong::OtherBlock if said => block.value = other(block.value),
                Wrong::FinalizesOther => block.value = other(block.value),
                Wrong::OtherContents if said => block.transactions.push(vec![1].into()),
                Wrong::LosesTransactions => block.transactions.clear(),
                Wrong::RepeatsTransaction => {
                    if !block.transactions.is_empty() && self.first.is_none() {
                        self.first = Some(block.transactions.clone());
                    } else if let Some(first) = &self.first {
                        block.transactions.extend(first.iter().cloned());
                    }
                }
                _ => {}
            }
        }
        match self.wrong {
            Wrong::SkipsSlot if said => {}
            Wrong::RepeatsSlot if said => {
                self.say(Effect::Finalized { slot, block: changed.clone() });
                self.say(Effect::Finalized { slot, block: changed });
            }
            _ => self.say(Effect::Finalized { slot, block: changed }),
        }
    }

    fn twist_vote(&mut self, slot: Slot, view: View, value: Value) {
        let announcement = Effect::Prefinalized { slot, view, value };
        match self.wrong {
            Wrong::AnnouncesNothing => {}
            Wrong::AnnouncesLate => self.held.push_back(Output::Do(announcement)),
            _ => self.say(announcement),
        }
        match self.wrong {
            Wrong::PrefinalizesTwo => {
                self.say(Effect::Prefinalized { slot, view, value: other(value) });
            }
            Wrong::MixesSlots => {
                let view = View::new(slot.next(), 0);
                self.say(Effect::Prefinalized { slot: view.slot, view, value });
            }
            Wrong::Slanders => {
                self.say(Effect::Accused { party: Party::new(0), fault: "looks odd".to_owned() });
            }
            Wrong::Refuses => self.say(Effect::Refused("no".to_owned())),
            Wrong::GivesUpSoon => self.say(Effect::Abandoned { view: View::new(slot, 0) }),
            _ => {}
        }
    }

    /// Whether a stranger's message is treated as a peer's message.
    fn takes_for_peers(&self, from: Party) -> bool {
        self.wrong == Wrong::BelievesAll && (from.get() > 3 || from == self.me)
    }

    fn say(&mut self, effect: Effect<Self>) {
        self.ready.push_back(Output::Do(effect));
    }
}

impl<E: Launch, const G: bool> Engine for Broken<E, G> {
    type Message = E::Message;
    type Record = E::Record;
    type Job = E::Job;
    type Verdict = E::Verdict;

    const FAST_ATTEMPT: Option<u32> = E::FAST_ATTEMPT;
    const QUORUM: Quorum =
        if G { Quorum::new(Ratio::TWO_THIRDS, Ratio::TWO_THIRDS) } else { E::QUORUM };

    fn handle(&mut self, now: Instant, input: Input<Self>) {
        let late = now >= Instant::at(Duration::from_millis(100));
        self.deaf |= self.wrong == Wrong::DeafWhenLate && late && !self.done;
        self.done = true;
        if self.deaf {
            return;
        }
        let input = match input {
            Input::Start => Input::Start,
            Input::Received { from, message } if self.takes_for_peers(from) => {
                for from in (1..4).map(Party::new) {
                    let message = message.clone();
                    self.inner.handle(now, Input::Received { from, message });
                }
                Input::Received { from, message }
            }
            Input::Received { from, message } => Input::Received { from, message },
            Input::Submit(bytes) => Input::Submit(bytes),
            Input::Checked(verdict) => Input::Checked(verdict),
            Input::Tick => Input::Tick,
        };
        self.inner.handle(now, input);
    }

    fn poll(&mut self) -> Option<Output<Self>> {
        loop {
            if let Some(output) = self.ready.pop_front() {
                let sent = matches!(output, Output::Do(Effect::Send { .. }));
                if sent {
                    self.ready.extend(self.held.drain(..));
                }
                return Some(output);
            }
            let Some(output) = self.inner.poll() else { return self.held.pop_front() };
            match (self.wrong, output.map(|record| record, translated)) {
                (Wrong::KeepsLate, Output::Keep(record)) => {
                    self.held.push_back(Output::Keep(record));
                }
                (_, output) => self.twist(output),
            }
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        self.inner.wake_at().filter(|_| !self.deaf)
    }

    fn carry(&mut self, partial: Vec<u8>) -> Result<(), Vec<u8>> {
        match self.wrong {
            Wrong::ForgetsRecords => Err(partial),
            Wrong::DropsOffered => Ok(()),
            Wrong::ReturnsOther => Err(Vec::new()),
            _ => self.inner.carry(partial),
        }
    }
}

impl<E: Launch, const G: bool> Launch for Broken<E, G> {
    type PublicKey = E::PublicKey;
    type SecretKey = (E::SecretKey, Wrong);
    type StartError = E::StartError;

    fn start(
        mut config: Config<E::PublicKey>,
        (key, wrong): Self::SecretKey,
        mut records: Vec<E::Record>,
    ) -> Result<(Self, PastVotes), E::StartError> {
        static STARTS: AtomicU64 = AtomicU64::new(0);
        if wrong == Wrong::CountsHeads {
            let equal = |member: Member<_>| Member { stake: Stake::new(1), ..member };
            config.members = config.members.into_iter().map(equal).collect();
        }
        if wrong == Wrong::ForgetsRecords {
            records.clear();
        }
        let me = config.me;
        let (inner, mut past) = E::start(config, key, records)?;
        match wrong {
            Wrong::ForgetsPast => past.released.clear(),
            Wrong::InventsPast => past.released.push((Slot::new(99), Value::new([9; 32]))),
            Wrong::ChangesPast => {
                let slot = Slot::new(STARTS.fetch_add(1, Ordering::Relaxed));
                past.abandoned = Some(View::new(slot, 0));
            }
            _ => {}
        }
        let (ready, held) = (VecDeque::new(), VecDeque::new());
        let engine = Self { inner, me, wrong, ready, held, first: None, deaf: false, done: false };
        Ok((engine, past))
    }
}
