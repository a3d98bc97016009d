//! The handling of events, except for what leaves a step (`post`): envelopes arrive, steps begin and end, jobs end, seats crash and boot.

use prefinal_protocol::{Machine, Output};

use crate::host::{Effect, Host, InputOf, Seat, Step};
use crate::post::{Broadcast, Envelope, Shared};
use crate::reader::Reading;
use crate::simulation::{Disk, Note, Simulation};
use crate::station::{Item, Lane};
use crate::time::{ClockJump, instant, nanos};
use crate::traffic::{Parcel, Piece};

/// Kept small, because the heap moves it around.
pub(crate) enum Event<H: Host> {
    Deliver {
        to: Seat,
        envelope: Shared<H>,
    },
    /// The next delivery of a broadcast.
    DeliverNext {
        broadcast: Box<Broadcast<Shared<H>>>,
    },
    /// A partition or a rule holds the parcel back until now.
    Depart {
        parcel: Box<Parcel<Shared<H>>>,
    },
    Serve {
        seat: Seat,
    },
    Take {
        piece: Box<Piece<Shared<H>>>,
    },
    StepEnd {
        seat: Seat,
        life: u32,
    },
    JobEnd {
        seat: Seat,
        life: u32,
        lane: Lane,
        verdict: Box<H::Verdict>,
    },
    /// An envelope is decoded.
    Read {
        seat: Seat,
        life: u32,
        lane: Lane,
        from: Seat,
        inputs: Vec<InputOf<H>>,
    },
    Tick {
        seat: Seat,
    },
    WakeRules {
        seat: Seat,
    },
    Input {
        seat: Seat,
        input: Box<InputOf<H>>,
    },
    Crash {
        seat: Seat,
    },
    Boot {
        seat: Seat,
        disk: Disk,
    },
    Leap {
        seat: Seat,
        leap: ClockJump,
    },
}

impl<H: Host> Event<H> {
    /// The kind and the seats, as one word.
    pub(crate) fn trace(&self) -> u64 {
        let (kind, seat, other) = match self {
            // However a message is scheduled, it is the same event.
            Self::Deliver { to, envelope } => (0, to, envelope.from.get()),
            Self::DeliverNext { broadcast } => (0, broadcast.next(), broadcast.envelope.from.get()),
            Self::StepEnd { seat, life } => (1, seat, *life),
            Self::JobEnd { seat, life, .. } => (2, seat, *life),
            Self::Tick { seat } => (3, seat, 0),
            Self::WakeRules { seat } => (4, seat, 0),
            Self::Input { seat, .. } => (5, seat, 0),
            Self::Crash { seat } => (6, seat, 0),
            Self::Boot { seat, .. } => (7, seat, 0),
            Self::Leap { seat, .. } => (8, seat, 0),
            Self::Depart { parcel } => (9, &parcel.from, parcel.to.get()),
            Self::Serve { seat } => (10, seat, 0),
            Self::Take { piece } => (11, &piece.to, piece.from.get()),
            Self::Read { seat, from, .. } => (12, seat, from.get()),
        };
        // Seats are at most 2¹⁶, so the three do not overlap.
        kind << 56 | u64::from(seat.get()) << 32 | u64::from(other)
    }
}

impl<H: Host> Simulation<H> {
    pub(crate) fn happen(&mut self, event: Event<H>) {
        match event {
            Event::Deliver { to, envelope } => self.deliver(to, &envelope),
            Event::DeliverNext { broadcast } => self.deliver_next(broadcast),
            Event::StepEnd { seat, life } => {
                if self.is_alive(seat, life) {
                    self.free(seat, Lane::Zero);
                    self.finish(seat, self.now);
                    self.pump(seat);
                }
            }
            Event::JobEnd { seat, life, lane, verdict } => {
                if self.is_alive(seat, life) {
                    self.free(seat, lane);
                    let input = self.host.checked(seat, *verdict);
                    self.arrive(seat, input);
                }
            }
            Event::Read { seat, life, lane, from, inputs } => {
                if self.is_alive(seat, life) {
                    self.free(seat, lane);
                    self.was_read(seat, from, inputs);
                }
            }
            Event::Tick { seat } => self.tick(seat),
            Event::WakeRules { seat } => self.wake_rules(seat),
            Event::Input { seat, input } => self.arrive(seat, *input),
            Event::Crash { seat } => self.crash_now(seat),
            Event::Boot { seat, disk } => self.boot(seat, disk),
            Event::Leap { seat, leap } => self.leap_now(seat, leap),
            Event::Depart { parcel } => self.depart(*parcel),
            Event::Serve { seat } => self.serve(seat),
            Event::Take { piece } => self.take(*piece),
        }
    }

    fn is_alive(&self, seat: Seat, life: u32) -> bool {
        self.stations
            .get(seat.index())
            .is_some_and(|station| station.machine.is_some() && station.life == life)
    }

    fn free(&mut self, seat: Seat, lane: Lane) {
        if let Some(station) = self.stations.get_mut(seat.index()) {
            station.lanes.free(lane);
        }
    }

    pub(crate) fn deliver(&mut self, to: Seat, envelope: &Envelope<H::Message>) {
        let Some(station) = self.stations.get_mut(to.index()) else { return };
        if station.machine.is_none() {
            self.counters.down += 1;
            return;
        }
        self.counters.arrived += 1;
        let mut cost: u64 = 0;
        for message in &envelope.messages {
            self.counters.delivered += 1;
            let now = instant(self.now);
            let event = self.host.arrives(now, to, envelope.from, message);
            let note = event.map(|event| Note { at: now, left: now, seat: to, event });
            self.notes.extend(note);
            cost = cost.saturating_add(nanos(self.host.decoding_cost(to, message)));
        }
        let inputs = envelope.messages.iter();
        let inputs = inputs.map(|message| self.host.received(to, envelope.from, message));
        if cost == 0 && station.readers.is_idle(envelope.from) {
            station.inbox.extend(inputs.map(Item::Input));
        } else {
            let inputs = inputs.collect();
            station.readers.push(envelope.from, Reading { inputs, cost });
        }
        self.pump(to);
    }

    /// An envelope of this link was decoded.
    fn was_read(&mut self, seat: Seat, from: Seat, inputs: Vec<InputOf<H>>) {
        if let Some(station) = self.stations.get_mut(seat.index()) {
            station.readers.done(from);
            station.inbox.extend(inputs.into_iter().map(Item::Input));
        }
        self.pump(seat);
    }

    fn arrive(&mut self, seat: Seat, input: InputOf<H>) {
        let Some(station) = self.stations.get_mut(seat.index()) else { return };
        if station.machine.is_some() {
            station.inbox.push_back(Item::Input(input));
            self.pump(seat);
        }
    }

    fn tick(&mut self, seat: Seat) {
        let Some(station) = self.stations.get_mut(seat.index()) else { return };
        if station.tick(self.now) {
            self.pump(seat);
        } else {
            self.arm(seat);
        }
    }

    fn boot(&mut self, seat: Seat, disk: Disk) {
        self.crash_now(seat);
        let first = self.host.first_input(seat);
        let Some(station) = self.stations.get_mut(seat.index()) else { return };
        if disk == Disk::Lost {
            station.disk.clear();
        }
        station.machine = Some(self.host.boot(seat, &station.disk));
        station.inbox.extend(first.map(Item::Input));
        self.arm(seat);
        self.pump(seat);
    }

    fn crash_now(&mut self, seat: Seat) {
        self.finish(seat, self.now);
        if let Some(station) = self.stations.get_mut(seat.index()) {
            station.stop();
        }
    }

    fn leap_now(&mut self, seat: Seat, leap: ClockJump) {
        if let Some(station) = self.stations.get_mut(seat.index()) {
            station.clock.leap(leap);
        }
        self.arm(seat);
    }

    fn arm(&mut self, seat: Seat) {
        let Some(station) = self.stations.get_mut(seat.index()) else { return };
        if let Some(at) = station.arm(self.now) {
            self.schedule.push(at, Event::Tick { seat });
        }
    }

    /// Lets lane 0 work until it is busy or the inbox is empty, then starts jobs, then decodes what has come.
    fn pump(&mut self, seat: Seat) {
        while let Some(item) =
            self.stations.get_mut(seat.index()).and_then(|station| station.next_item())
        {
            self.step(seat, item);
        }
        while let Some(station) = self.stations.get_mut(seat.index()) {
            let Some((job, lane)) = station.next_job() else { break };
            let (verdict, cost) = self.host.run(seat, job);
            let cost = nanos(cost);
            station.busy = station.busy.saturating_add(cost);
            self.counters.jobs += 1;
            let (life, verdict) = (station.life, Box::new(verdict));
            let end = self.now.saturating_add(cost);
            self.schedule.push(end, Event::JobEnd { seat, life, lane, verdict });
        }
        while let Some(station) = self.stations.get_mut(seat.index()) {
            let Some((from, Reading { inputs, cost }, lane)) = station.next_reading() else {
                break;
            };
            station.busy = station.busy.saturating_add(cost);
            let life = station.life;
            let end = self.now.saturating_add(cost);
            self.schedule.push(end, Event::Read { seat, life, lane, from, inputs });
        }
    }

    fn step(&mut self, seat: Seat, item: Item<H>) {
        let Some(station) = self.stations.get_mut(seat.index()) else { return };
        let Some(machine) = station.machine.as_mut() else { return };
        let (input, ticked) = match item {
            Item::Input(input) => (input, false),
            Item::Tick => (self.host.tick(seat), true),
        };
        let mut step = Step::begin(seat, self.now, &mut station.pending);
        step.spend(self.host.input_cost(seat, &input));
        machine.handle(instant(station.clock.read(self.now)), input);
        while let Some(output) = machine.poll() {
            match output {
                Output::Keep(record) | Output::Note(record) => {
                    self.host.writes(&record, &mut step);
                    step.persist(record);
                }
                Output::Do(effect) => self.host.carry_out(effect, &mut step),
            }
        }
        let spent = step.spent();
        self.counters.steps += 1;
        station.busy = station.busy.saturating_add(spent);
        if spent > 0 {
            station.lanes.take_zero();
            let end = self.now.saturating_add(spent);
            self.schedule.push(end, Event::StepEnd { seat, life: station.life });
        } else {
            if ticked && station.spins(self.now) {
                self.spinning = Some(seat);
            }
            self.finish(seat, self.now);
        }
        self.arm(seat);
    }

    /// Carries out the effects of the current step that count by `until`.
    fn finish(&mut self, seat: Seat, until: u64) {
        let Some(station) = self.stations.get_mut(seat.index()) else { return };
        if station.pending.is_empty() {
            return;
        }
        let mut mail = std::mem::take(&mut self.mail);
        let mut pending = std::mem::take(&mut station.pending);
        let mut crashes = false;
        for timed in pending.drain(..).take_while(|timed| timed.at <= until) {
            let is_record = matches!(timed.effect, Effect::Persist(_));
            match timed.effect {
                Effect::Send(to, message) => mail.push((to, message)),
                Effect::Run(job) => station.jobs.push_back(job),
                Effect::Note(event) => {
                    let (at, left) = (instant(timed.at), instant(self.now));
                    self.notes.push(Note { at, left, seat, event });
                }
                Effect::Persist(record) => station.disk.push(record),
            }
            if station.was_last(is_record) {
                crashes = true;
                break;
            }
        }
        station.pending = pending;
        if crashes {
            station.stop();
        }
        self.post(seat, &mut mail);
        mail.clear();
        self.mail = mail;
    }
}
