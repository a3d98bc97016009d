//! Validators with a separate engine in each epoch: one joins that is in no committee at first, so it
//! has no engine and asks its peers what is final.
use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use prefinal_beacon::Life;
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::{SecretKey, Signature};
use prefinal_crypto_core::context::{ChainId, EpochId};
use prefinal_crypto_core::secret::Secret;
use prefinal_engine::{Launch, PastVotes};
use prefinal_jolteon::Jolteon;
use prefinal_protocol::{Instant, Machine, Output, Recipient, Slot};
use prefinal_validator::application::{self, ChainApplication, Judged};
use prefinal_validator::change::{Application, ApprovedChanges, Draft};
use prefinal_validator::scheme::{Bls, KeyedScheme};
use prefinal_validator::setup::{Algorithm, Identity, Plan, Setup};
use prefinal_validator::{
    Effect, Event, Input, Message, PastLife, RecordOf, StartError, Validator,
};
use prefinal_weighted_rounding::{Ratio, Stake};

type Seat = Validator<Bls, Jolteon, Witness>;
type Word = Message<Bls, prefinal_jolteon::Message>;

/// Every message takes so long.
const STEP: Duration = Duration::from_micros(100);
const NEWCOMER: usize = 4;

fn begin(
    setup: &Setup,
    identity: &Identity,
    records: Vec<prefinal_jolteon::Record>,
) -> Result<(Jolteon, PastVotes), StartError> {
    let signer = SecretKey::from_secret_bytes(&identity.signer.to_secret_bytes()).unwrap();
    let config = prefinal_engine::Config {
        context: setup.context,
        me: identity.me,
        members: setup.members.clone(),
        timeout: setup.timeout,
        pace: setup.pace,
        max_block_bytes: setup.max_block_bytes,
    };
    Jolteon::start(config, signer, records).map_err(|why| StartError::Engine(why.to_string()))
}

/// An application that is told of no slot before it is known whose it is.
struct Witness {
    /// No slot before this one is another epoch's than those that were told.
    limit: Slot,
    judged: Option<Judged>,
    /// The first slots of the epochs that follow.
    firsts: Vec<Slot>,
    begun: Vec<EpochId>,
    ordered: Slot,
    proposed: usize,
}

impl Witness {
    const NEW: Self = Self {
        limit: Slot::new(0),
        judged: None,
        firsts: Vec::new(),
        begun: Vec::new(),
        ordered: Slot::new(0),
        proposed: 0,
    };
}

impl ChainApplication for Witness {
    type Channels = ();
    type Record = ();
    type Job = Infallible;
    type Verdict = Infallible;
    type Event = Infallible;
    type Workers = ();

    fn handle(&mut self, _: Instant, input: application::Input<Self>) {
        match input {
            application::Input::Proposed { slot, .. } => {
                assert!(slot < self.limit, "{slot} may be of another epoch: {}", self.limit);
                self.proposed += 1;
            }
            application::Input::Prefinalized { slot, .. } => {
                assert!(slot < self.limit, "{slot} may be of another epoch: {}", self.limit);
            }
            application::Input::Ordered { slot, .. } => {
                assert!(slot > self.ordered);
                self.ordered = slot;
            }
            application::Input::Began { epoch, .. } => self.begun.push(epoch),
            application::Input::Follows { setup, first } => {
                assert_eq!(usize::try_from(setup.context.epoch.get()), Ok(self.firsts.len() + 1));
                assert!(first > self.ordered, "{first} is told behind {}", self.ordered);
                self.firsts.push(first);
                self.limit = first;
            }
            application::Input::Judged(judged) => {
                let before = self.judged.replace(judged).unwrap_or(Judged::NOTHING);
                assert!(judged.undecided >= before.undecided && judged.limit >= before.limit);
                assert!(judged.undecided <= judged.limit);
                self.limit = judged.limit;
            }
            application::Input::Value { .. } => {}
            application::Input::Beside(never) => match never {},
            application::Input::Checked(never) => match never {},
        }
    }

    fn poll(&mut self) -> Option<application::Output<Self>> {
        None
    }

    fn run(job: Infallible, (): &()) -> Infallible {
        job
    }
}

struct Net {
    now: Instant,
    identities: Vec<Arc<Identity>>,
    seats: Vec<Seat>,
    /// What each has kept.
    records: Vec<Vec<RecordOf<Jolteon, Witness>>>,
    queue: VecDeque<(usize, usize, Word)>,
    /// A party whose links are cut.
    cut: Option<usize>,
    shown: Vec<BTreeMap<u64, Signature>>,
    first: BTreeMap<EpochId, u64>,
    keys: BTreeMap<EpochId, prefinal_crypto_core::bls::min_sig::PublicKey>,
}

impl Net {
    fn handle(&mut self, at: usize, input: Input<Bls, Jolteon, Witness>) {
        self.seats[at].handle(self.now, input);
        while let Some(output) = self.seats[at].poll() {
            match output {
                Output::Keep(record) | Output::Note(record) => self.records[at].push(record),
                Output::Do(Effect::Send { to, message }) => {
                    let others = (0..self.seats.len()).filter(|one| *one != at);
                    let to = others.filter(|one| match to {
                        Recipient::All => true,
                        Recipient::One(party) => party.index() == *one,
                    });
                    self.queue.extend(to.map(|to| (at, to, message.clone())));
                }
                Output::Do(Effect::Run(job)) => {
                    let verdict = job.run(&self.identities[at], &());
                    self.seats[at].handle(self.now, Input::Checked(verdict));
                }
                Output::Do(Effect::Tell(event)) => self.told(at, event),
                Output::Do(Effect::Application(never)) => match never {},
            }
        }
    }

    fn told(&mut self, at: usize, event: Event<Bls>) {
        match event {
            Event::Revealed(reveal) => {
                self.shown[at].insert(reveal.slot.get(), reveal.output);
            }
            Event::Ready { epoch, first_slot, committees } => {
                let known = self.first.insert(epoch, first_slot.get());
                assert!(known.is_none_or(|known| known == first_slot.get()));
                self.keys.insert(epoch, Bls::public_key(&committees.slow).unwrap());
            }
            Event::Accused { party, fault } => panic!("{at} accuses {party}: {fault}"),
            Event::Halted(why) => panic!("{at}: {why}"),
            Event::ChangeRefused { change, .. } => panic!("{at}: {}", change.error),
            _ => {}
        }
    }

    /// Delivers messages in their order until this holds.
    fn run(&mut self, until: impl Fn(&Self) -> bool) {
        for _ in 0..400_000 {
            if until(self) {
                return;
            }
            let next = self.queue.pop_front();
            let due = |seat: &Seat, now| seat.wake_at().is_some_and(|at| at <= now);
            let wakes = self.seats.iter().filter_map(Seat::wake_at).min();
            self.now = match (&next, wakes) {
                (None, Some(wakes)) => self.now.max(wakes),
                _ => self.now + STEP,
            };
            for at in 0..self.seats.len() {
                if due(&self.seats[at], self.now) {
                    self.handle(at, Input::Tick);
                }
            }
            let is_cut = |at| self.cut == Some(at);
            if let Some((from, to, message)) =
                next.filter(|(from, to, _)| !is_cut(*from) && !is_cut(*to))
            {
                let from = Party::new(u32::try_from(from).unwrap());
                self.handle(to, Input::Received { from, message });
            }
        }
        panic!("nothing comes of it: {:?}", self.first);
    }

    fn values(&self, at: usize, epoch: u64) -> usize {
        let first = self.first.get(&EpochId::new(epoch));
        first.map_or(0, |first| self.shown[at].range(first..).count())
    }
}

#[test]
fn a_validator_without_an_engine_follows_until_it_has_one() {
    let identity =
        |number: u8| Identity::from_seed(Party::new(number.into()), Secret::new([number + 1; 32]));
    let identities: Vec<_> = (0..5).map(identity).map(Arc::new).collect();
    let registrations: Vec<_> = identities[..4].iter().map(|one| one.registration()).collect();
    let stakes = [30, 30, 20, 20].map(Stake::new).to_vec();
    let plan = Plan::new(stakes, Algorithm::Fast, Ratio::new(9, 10).unwrap()).unwrap();
    let setup = Setup::new(ChainId::new([7; 32]), &plan, &registrations).unwrap();
    let setup = Setup {
        succession: Some(Arc::new(ApprovedChanges)),
        timeout: Duration::from_millis(100),
        ..setup
    };
    let newcomer = Application::new(&identities[NEWCOMER], setup.context.chain, EpochId::new(1));
    let stakes = [30, 30, 20, 0, 25].map(Stake::new).to_vec();
    let draft = Draft::new(&setup, stakes, vec![newcomer]).unwrap();
    let consents: Vec<_> = identities[..4].iter().map(|one| draft.approve(one)).collect();
    let change = draft.merge(&setup, consents).unwrap();

    let setup = Arc::new(setup);
    let seat = |one: &Arc<Identity>| {
        let application = Witness::NEW;
        let past = PastLife { life: Life::First, records: Vec::new(), application };
        Validator::with_application(&setup, Arc::clone(one), past, begin).unwrap()
    };
    let mut net = Net {
        now: Instant::START,
        seats: identities.iter().map(seat).collect(),
        records: vec![Vec::new(); identities.len()],
        shown: vec![BTreeMap::new(); identities.len()],
        identities,
        queue: VecDeque::new(),
        cut: None,
        first: BTreeMap::new(),
        keys: BTreeMap::new(),
    };
    (0..5).for_each(|at| net.handle(at, Input::Start));
    net.run(|net| net.values(0, 0) > 3);
    net.handle(0, Input::Submit(change.to_transaction()));
    net.run(|net| net.values(0, 1) > 3 && net.values(NEWCOMER, 1) > 3);
    let [first, second] = [0, 1].map(|epoch| net.keys[&EpochId::new(epoch)]);
    assert_eq!(first, second);
    // Without its votes and the cut off party's, the others are no quorum.
    net.cut = Some(0);
    let before = net.values(1, 1);
    net.run(|net| net.values(1, 1) > before + 6 && net.values(NEWCOMER, 1) > before + 6);
    assert_eq!(net.seats[NEWCOMER].epoch(), EpochId::new(1));
    let own = &net.shown[NEWCOMER];
    assert_eq!(own.keys().next(), net.first.get(&EpochId::new(1)));
    for seat in &net.seats {
        let Witness { firsts, begun, proposed, .. } = seat.application();
        assert_eq!(firsts.len(), 1);
        let newest = begun.last().copied();
        assert_eq!(newest, Some(EpochId::new(1)));
        assert!(*proposed > 0);
    }
    assert!(own.iter().all(|(slot, value)| net.shown[1].get(slot).is_none_or(|one| one == value)));
    starts_again(&mut net, &setup);
}

/// Who starts again comes to the boundary again, and to all slots behind it at once.
fn starts_again(net: &mut Net, setup: &Arc<Setup>) {
    let (life, records) = (Life::later([1; 16]), net.records[1].clone());
    let past = PastLife { life, records, application: Witness::NEW };
    let identity = Arc::clone(&net.identities[1]);
    net.seats[1] = Validator::with_application(setup, identity, past, begin).unwrap();
    net.handle(1, Input::Start);
    let Witness { firsts, ordered, .. } = net.seats[1].application();
    assert!(firsts.len() == 1 && ordered > &firsts[0], "{firsts:?} {ordered}");
}
