//! Bracha's reliable broadcast as a machine: one sender, `n` seats, `f` faulty, `n > 3f`.
//!
//! The sender says `Init(v)`; a seat echoes the first one, is ready on `q` echoes or `f + 1` readys,
//! and delivers on `2f + 1` readys. What it has echoed is on disk before the echo leaves, and is
//! echoed again after a restart.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use prefinal_protocol::{Instant, Machine, Output, Recipient};
use prefinal_sim::{Host, Seat, Step};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Message {
    Init(u32),
    Echo(u32),
    Ready(u32),
}

#[derive(Clone, Debug)]
pub(crate) enum Input {
    Broadcast(u32),
    Resume,
    Received(Seat, Message),
}

#[derive(Clone, Debug)]
pub(crate) enum Effect {
    Send(Message),
    Deliver(u32),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Quorums {
    pub(crate) echo: usize,
    pub(crate) amplify: usize,
    pub(crate) deliver: usize,
}

impl Quorums {
    pub(crate) const fn of(n: usize, f: usize) -> Self {
        Self { echo: (n + f) / 2 + 1, amplify: f + 1, deliver: 2 * f + 1 }
    }
}

#[derive(Debug)]
pub(crate) struct Bracha {
    me: Seat,
    sender: Seat,
    quorums: Quorums,
    echoed: Option<u32>,
    ready: Option<u32>,
    delivered: Option<u32>,
    heard: BTreeMap<Message, BTreeSet<Seat>>,
    outputs: VecDeque<Output<Message, Effect>>,
}

impl Bracha {
    fn say(&mut self, message: Message) {
        self.outputs.push_back(Output::Keep(message));
        self.outputs.push_back(Output::Do(Effect::Send(message)));
        self.hear(self.me, message);
    }

    fn hear(&mut self, from: Seat, message: Message) {
        let voices = self.heard.entry(message).or_default();
        voices.insert(from);
        let count = voices.len();
        let (Message::Init(value) | Message::Echo(value) | Message::Ready(value)) = message;
        let Quorums { echo, amplify, deliver } = self.quorums;
        match message {
            Message::Init(_) if from == self.sender && self.echoed.is_none() => {
                self.echoed = Some(value);
                self.say(Message::Echo(value));
            }
            Message::Echo(_) if count >= echo && self.ready.is_none() => {
                self.ready = Some(value);
                self.say(Message::Ready(value));
            }
            Message::Ready(_) => {
                if count >= amplify && self.ready.is_none() {
                    self.ready = Some(value);
                    return self.say(message);
                }
                if count >= deliver && self.delivered.is_none() {
                    self.delivered = Some(value);
                    self.outputs.push_back(Output::Do(Effect::Deliver(value)));
                }
            }
            _ => {}
        }
    }
}

impl Machine for Bracha {
    type Input = Input;
    type Record = Message;
    type Effect = Effect;

    fn handle(&mut self, _: Instant, input: Input) {
        match input {
            Input::Broadcast(value) => self.say(Message::Init(value)),
            Input::Received(from, message) => self.hear(from, message),
            Input::Resume => {
                let said = self.heard.iter().filter(|(_, voices)| voices.contains(&self.me));
                self.outputs.extend(said.map(|(message, _)| Output::Do(Effect::Send(*message))));
            }
        }
    }

    fn poll(&mut self) -> Option<Output<Message, Effect>> {
        self.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Instant> {
        None
    }
}

#[derive(Debug)]
pub(crate) struct Broadcast {
    pub(crate) sender: Seat,
    pub(crate) quorums: Quorums,
}

impl Host for Broadcast {
    type Machine = Bracha;
    type Message = Message;
    type Job = ();
    type Verdict = ();
    type Event = u32;

    fn boot(&mut self, me: Seat, records: &[Message]) -> Bracha {
        let (mut echoed, mut ready, mut heard) = (None, None, BTreeMap::new());
        for &record in records {
            match record {
                Message::Init(_) => {}
                Message::Echo(value) => echoed = Some(value),
                Message::Ready(value) => ready = Some(value),
            }
            heard.insert(record, BTreeSet::from([me]));
        }
        let (sender, quorums, outputs) = (self.sender, self.quorums, VecDeque::new());
        Bracha { me, sender, quorums, echoed, ready, delivered: None, heard, outputs }
    }

    fn first_input(&mut self, _: Seat) -> Option<Input> {
        Some(Input::Resume)
    }

    fn received(&mut self, _: Seat, from: Seat, message: &Message) -> Input {
        Input::Received(from, *message)
    }

    fn checked(&mut self, _: Seat, (): ()) -> Input {
        Input::Resume
    }

    fn tick(&mut self, _: Seat) -> Input {
        Input::Resume
    }

    fn carry_out(&mut self, effect: Effect, step: &mut Step<'_, Self>) {
        match effect {
            Effect::Send(message) => step.send(Recipient::All, message),
            Effect::Deliver(value) => step.note(value),
        }
    }

    fn run(&mut self, _: Seat, (): ()) -> ((), Duration) {
        ((), Duration::ZERO)
    }
}
