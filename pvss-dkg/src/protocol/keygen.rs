//! The machine that runs the key generation of one session for one party.
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::mem;
use std::sync::Arc;

use ::prefinal_protocol::{Instant, Machine};
use prefinal_crypto_core::access::Party;

use super::collect::{Collect, Place, RecoverError};
use super::envelope::{Statement, split};
use super::epoch::EpochKey;
use super::fault::{Evidence, Fault, Misdeed, misdeed_of};
use super::job::{Accusation, Claim, ClaimVerdict, Job, OpenedShares, RecoveredKey, Verdict};
use super::keygen_error::{Abort, Refusal};
use super::record::{Record, RecordError};
use crate::aggregate::AggregateError;
use crate::field::{DecryptError, HandoverError};

/// The place of a message in the engine's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(u64);

impl Position {
    /// A position. Positions ascend in the order; they need not be consecutive.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The position as a number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// What this party does in the session. It is both dealer and recipient if a committee deals to itself,
/// and neither if it only observes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Role {
    /// Its index among the dealers.
    pub dealer: Option<Party>,
    /// Its index among the recipients.
    pub recipient: Option<Party>,
}

/// What the driver tells the machine.
pub enum Input<C: Collect> {
    /// Deal now. If it is given again, dealings that do not count yet are submitted again.
    Start,
    /// The engine ordered this message.
    Ordered {
        /// Its place in the order. If it is not behind all earlier positions, the message is taken as a
        /// repetition.
        position: Position,
        /// The bytes of the message.
        message: Arc<[u8]>,
    },
    /// The engine orders no more messages for this session. The end has a place in the order, like a
    /// message: a message behind it counts for nobody, even if the messages before it are not judged yet.
    Ended,
    /// The chain finalized this key, and a peer offers its [`Keygen::recovery`].
    Recover {
        /// The key that the chain finalized.
        key: Arc<EpochKey<C::Element>>,
        /// The bytes that the peer offers.
        offer: Arc<[u8]>,
    },
    /// A job has ended with this verdict.
    Checked(Verdict<C>),
}

/// What the machine wants done, in this order. See [`Effect`].
pub type Output<C> = ::prefinal_protocol::Output<Record, Effect<C>>;

/// What the machine wants done, except for its records.
pub enum Effect<C: Collect> {
    /// Have this message ordered by the engine.
    Submit(Arc<[u8]>),
    /// Run this job and return its verdict as [`Input::Checked`].
    Run(Job<C>),
    /// A valid dealing was ordered in time, so it is part of the key.
    Counted {
        /// The dealer, and the share that it deals on if the key is handed over.
        place: Place,
        /// Where the dealing was ordered. The position of the last one is where the key was fixed.
        position: Position,
    },
    /// A party did wrong, and the evidence proves it.
    Accuse {
        /// The party and its misdeed.
        fault: Fault,
        /// Evidence that convinces third parties.
        evidence: Arc<Evidence>,
    },
    /// A message, an offer or a job had no effect. Nobody can be accused for it.
    Ignored(Refusal),
    /// The session ends with a key.
    Ready(Box<Ready<C>>),
    /// The session ends without a key. All parties come to the same result, except for [`Abort::Records`].
    Aborted(Abort),
}

/// The key, and this party's share of it.
pub struct Ready<C: Collect> {
    /// The public part, which everybody knows.
    pub key: Arc<EpochKey<C::Element>>,
    /// The sum of the dealings that count.
    pub sum: Arc<C::Sum>,
    /// This party's own shares. They are empty if its weight is zero, and `None` if it is not a recipient.
    pub shares: Option<Result<C::Shares, DecryptError>>,
}

/// The machine. See the documentation of the module [`protocol`](super).
///
/// A committee of one party, so that its own messages are all that the chain orders:
/// ```
/// # use std::sync::Arc;
/// # use prefinal_crypto_core::{access::Party, bls::min_sig};
/// # use prefinal_crypto_core::context::{ChainId, Context, EpochId};
/// # use prefinal_pvss_dkg::{Config, DecryptionKey, Member, Purpose, Session, Shape};
/// # use prefinal_weighted_rounding::{Ratio, Stake};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # let stakes = [3].map(Stake::new);
/// # let shape = Shape::tight(&stakes, Ratio::HALF)?;
/// # let (mut signers, mut keys, mut members) = (Vec::new(), Vec::new(), Vec::new());
/// # for stake in stakes {
/// #     let (signer, key) = (min_sig::SecretKey::random(&mut rng), DecryptionKey::random(&mut rng));
/// #     let public = signer.public_key();
/// #     let encryption = key.register(&signer, &mut rng).verify(&public)?;
/// #     let signer_key = public.verify_possession(&signer.prove_possession())?;
/// #     members.push(Member { stake, encryption, signer: signer_key });
/// #     signers.push(signer);
/// #     keys.push(key);
/// # }
/// # let context = Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(1) };
/// # let session = Session { context, attempt: 0, purpose: Purpose::Randomness };
/// # let qualify = Config::more_than(Ratio::ONE_THIRD, stakes)?;
/// # let config = std::sync::Arc::new(Config::new(session, shape, members, qualify)?);
/// # let mut decryption = keys.pop();
/// use prefinal_protocol::{Instant, Machine, Output};
/// use prefinal_pvss_dkg::protocol::{Effect, Input, Keygen, Keys, Position, Role};
/// use prefinal_pvss_dkg::{Dealing, Dkg};
///
/// let me = Some(Party::new(0));
/// let role = Role { dealer: me, recipient: me };
/// let mut keygen = Keygen::new(Dkg::<Dealing>::new(config), role, vec![])?;
/// let mut keys = Keys { signer: &signers[0], decryption: &mut decryption, held: &() };
/// let (now, mut disk, mut ready) = (Instant::START, Vec::new(), None);
/// keygen.handle(now, Input::Start);
/// while let Some(output) = keygen.poll() {
///     match output {
///         // Durable before the next output is looked at.
///         Output::Keep(record) | Output::Note(record) => disk.push(record),
///         Output::Do(Effect::Run(job)) => {
///             let verdict = job.run(&mut keys, &mut rng);
///             keygen.handle(now, Input::Checked(verdict));
///         }
///         Output::Do(Effect::Submit(message)) => {
///             let position = Position::new(1); // where the chain ordered it
///             keygen.handle(now, Input::Ordered { position, message });
///         }
///         Output::Do(Effect::Ready(end)) => ready = Some(end),
///         Output::Do(_) => {}
///     }
/// }
/// let ready = ready.unwrap();
/// assert_eq!(ready.shares.unwrap()?.slow.len(), 3);
/// assert_eq!(disk.len(), 2); // its own dealing, and that it counts
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Keygen<C: Collect> {
    blank: Arc<C>,
    role: Role,
    /// The position up to which messages were taken.
    last: Option<Position>,
    waiting: VecDeque<Waiting>,
    judging: Vec<Waiting>,
    counted: BTreeMap<Place, Statement>,
    accused: BTreeSet<Party>,
    /// This party's envelopes, once they are durable.
    own: Option<Vec<Arc<[u8]>>>,
    dealing: bool,
    /// The order has ended; messages from before the end may still wait to be judged.
    ended: bool,
    /// After a restart: whether the dealers that are not accused can still suffice must be checked again.
    unsure: bool,
    stage: Stage<C>,
    outputs: VecDeque<Output<C>>,
}

struct Waiting {
    position: Position,
    claim: Claim,
}

enum Stage<C: Collect> {
    Collecting(C),
    Summing,
    /// Only after a restart: a key that was recovered before is read again.
    Recovering,
    Opening(Arc<EpochKey<C::Element>>, Arc<C::Sum>),
    Done(Arc<EpochKey<C::Element>>, Arc<C::Sum>),
    Aborted(Abort),
}

impl<C: Collect> Keygen<C> {
    /// A machine that continues where `records` end. Give no records for a fresh start. `blank` is a
    /// collector without dealings. After a restart, give the engine's order again from behind
    /// [`Keygen::last`], or from any place before.
    ///
    /// # Errors
    /// If the records are of another session.
    pub fn new(blank: C, role: Role, records: Vec<Record>) -> Result<Self, RecordError> {
        let stage = Stage::Collecting(blank.clone());
        let mut keygen = Self {
            blank: Arc::new(blank),
            role,
            last: None,
            waiting: VecDeque::new(),
            judging: Vec::new(),
            counted: BTreeMap::new(),
            accused: BTreeSet::new(),
            own: None,
            dealing: false,
            ended: false,
            unsure: true,
            stage,
            outputs: VecDeque::new(),
        };
        for record in records {
            keygen.restore(record)?;
        }
        keygen.judge_next();
        Ok(keygen)
    }

    /// The last position that was taken. The order up to here need not be given again.
    #[must_use]
    pub const fn last(&self) -> Option<Position> {
        self.last
    }

    /// Whether all ordered messages are judged and more dealings are needed.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        matches!(self.stage, Stage::Collecting(_)) && self.unjudged().is_none()
    }

    /// The earliest message that was ordered and is not judged yet.
    #[must_use]
    pub fn unjudged(&self) -> Option<Position> {
        self.judging.first().or(self.waiting.front()).map(|open| open.position)
    }

    /// The key, once it is fixed.
    #[must_use]
    pub const fn key(&self) -> Option<&Arc<EpochKey<C::Element>>> {
        match &self.stage {
            Stage::Opening(key, _) | Stage::Done(key, _) => Some(key),
            _ => None,
        }
    }

    /// What an absent party needs besides that key: the aggregate, or the dealings that count.
    #[must_use]
    pub fn recovery(&self) -> Option<Vec<u8>> {
        match &self.stage {
            Stage::Opening(_, sum) | Stage::Done(_, sum) => Some(self.blank.to_bytes(sum)),
            _ => None,
        }
    }

    /// Why there is no key, if the session was aborted.
    #[must_use]
    pub const fn aborted(&self) -> Option<&Abort> {
        if let Stage::Aborted(abort) = &self.stage { Some(abort) } else { None }
    }

    fn restore(&mut self, record: Record) -> Result<(), RecordError> {
        self.last = self.last.max(record.position());
        match record {
            Record::Dealt { envelopes } => {
                for envelope in &envelopes {
                    self.check_session(&split(envelope)?.0)?;
                }
                self.own = Some(envelopes.into_iter().map(Arc::from).collect());
            }
            Record::Counted { position, envelope } => {
                let (statement, _) = split(&envelope)?;
                self.check_session(&statement)?;
                let envelope = Some(Arc::from(envelope));
                let claim = Claim { statement, envelope, known: true };
                self.waiting.push_back(Waiting { position: Position(position), claim });
            }
            Record::Accused { evidence, .. } => {
                let evidence = Evidence::from_bytes(self.blank.dealing_bytes(), &evidence)?;
                self.check_session(evidence.said().ok_or(RecordError::Unreadable)?)?;
                self.accused.insert(evidence.party());
            }
            Record::Recovered { key, offer } => {
                let key = Arc::new(EpochKey::from_bytes(&key)?);
                self.stage = Stage::Recovering;
                self.recover(key, offer.into());
            }
        }
        Ok(())
    }

    /// Refuses records of another session. With them, an old dealing would be sent in place of a new
    /// one, and an old fault would be held against a party that all others listen to.
    fn check_session(&self, said: &Statement) -> Result<(), RecordError> {
        if said.session == self.blank.session() { Ok(()) } else { Err(RecordError::Session) }
    }

    fn start(&mut self) {
        let Some(dealer) = self.role.dealer else { return };
        if !matches!(self.stage, Stage::Collecting(_)) {
            return;
        }
        if self.own.is_some() {
            return self.submit();
        }
        let places = self.blank.owed(dealer);
        if !places.is_empty() && !self.dealing {
            self.dealing = true;
            let blank = Arc::clone(&self.blank);
            self.effect(Effect::Run(Job::Deal { blank, places }));
        }
    }

    fn submit(&mut self) {
        let own = self.own.iter().flatten();
        let open = own.filter(|envelope| {
            split(envelope).is_ok_and(|(said, _)| !self.counted.contains_key(&said.place))
        });
        self.outputs.extend(open.cloned().map(|open| Output::Do(Effect::Submit(open))));
    }

    fn dealt(&mut self, dealt: Result<Vec<Vec<u8>>, HandoverError>) {
        self.dealing = false;
        match dealt {
            Err(error) => self.ignore(error.into()),
            // The first dealings are durable, and others may know them.
            Ok(_) if self.own.is_some() => {}
            Ok(envelopes) => {
                self.own = Some(envelopes.iter().map(|one| Arc::from(one.as_slice())).collect());
                self.outputs.push_back(Output::Keep(Record::Dealt { envelopes }));
                self.submit();
            }
        }
    }

    /// The number of waiting messages is not limited. A limit would depend on how fast this party
    /// judges: one party would drop a message that another counts, and there would be two keys.
    fn ordered(&mut self, position: Position, message: Arc<[u8]>) {
        if self.last >= Some(position) || !matches!(self.stage, Stage::Collecting(_)) {
            return;
        }
        if self.ended {
            // A party that has judged everything by now has aborted, so no other party may count this
            // message.
            return self.ignore(Refusal::BehindEnd);
        }
        self.last = Some(position);
        let Ok((statement, _)) = split(&message) else {
            return self.ignore(Refusal::NoEnvelope);
        };
        if statement.session != self.blank.session() {
            return self.ignore(Refusal::OtherSession);
        }
        let envelope = misdeed_of(&*self.blank, &statement).is_none().then_some(message);
        let claim = Claim { statement, envelope, known: false };
        self.waiting.push_back(Waiting { position, claim });
        self.judge_next();
    }

    /// Sends the next claims to be judged, unless a batch is being judged.
    fn judge_next(&mut self) {
        if !self.judging.is_empty() {
            return;
        }
        let reading = self.waiting.front().is_some_and(|next| next.claim.known);
        if !reading && mem::take(&mut self.unsure) {
            self.check_hope();
        }
        self.take_batch();
        if !self.judging.is_empty() {
            let claims = self.judging.iter().map(|one| one.claim.clone()).collect();
            let blank = Arc::clone(&self.blank);
            self.effect(Effect::Run(Job::Judge { blank, claims }));
        } else if let (true, Stage::Collecting(collector)) = (self.ended, &self.stage) {
            // The error says how much is missing.
            if let Err(error) = collector.sum() {
                self.abort(Abort::Ended(error));
            }
        }
    }

    /// Takes as many claims as would suffice if all were valid. Each is judged alone, so it does not
    /// matter where a batch ends.
    fn take_batch(&mut self) {
        let Stage::Collecting(collector) = &self.stage else { return };
        let mut places = BTreeSet::new();
        while !collector.would_do(&places) {
            let Some(next) = self.waiting.front() else { break };
            let (claim, place) = (&next.claim, next.claim.place());
            if places.contains(&place) {
                break;
            }
            let settled = self.settled(claim);
            let Some(mut next) = self.waiting.pop_front() else { break };
            if let Some(why) = settled {
                self.outputs.push_back(Output::Do(Effect::Ignored(why)));
                continue;
            }
            if self.counted.contains_key(&place) {
                // A dealing counts here already. If this statement is signed, the two contradict each
                // other, so only its signature is checked.
                next.claim.envelope = None;
            }
            if next.claim.envelope.is_some() {
                places.insert(place);
            }
            self.judging.push(next);
        }
    }

    /// Why a claim need not be judged, if so.
    fn settled(&self, claim: &Claim) -> Option<Refusal> {
        if claim.known {
            return None;
        }
        let place = claim.place();
        let counted = self.counted.get(&place);
        if counted.is_some_and(|said| said.payload == claim.statement.payload) {
            return Some(Refusal::Repeated);
        }
        self.accused.contains(&place.dealer).then_some(Refusal::Accused(place.dealer))
    }

    fn judged(&mut self, verdicts: Vec<ClaimVerdict<C::Dealing>>) {
        for (waiting, verdict) in mem::take(&mut self.judging).into_iter().zip(verdicts) {
            if matches!(self.stage, Stage::Collecting(_)) {
                self.apply(waiting, verdict);
            }
        }
        self.judge_next();
    }

    fn apply(&mut self, Waiting { position, claim }: Waiting, verdict: ClaimVerdict<C::Dealing>) {
        let dealer = claim.place().dealer;
        if !claim.known && self.accused.contains(&dealer) {
            return self.ignore(Refusal::Accused(dealer));
        }
        match verdict {
            ClaimVerdict::Forged => self.ignore(Refusal::Forged(dealer)),
            ClaimVerdict::Signed => {
                let first = self.counted.get(&claim.place());
                match (first, misdeed_of(&*self.blank, &claim.statement)) {
                    (_, Some(misdeed)) => {
                        self.accuse(position, Evidence::statement(claim.statement), misdeed);
                    }
                    (Some(first), None) => {
                        let evidence = Evidence::contradiction(first.clone(), claim.statement);
                        self.accuse(position, evidence, Misdeed::Contradiction);
                    }
                    (None, None) => {}
                }
            }
            ClaimVerdict::Faulty(misdeed) => {
                let payload = claim.payload().unwrap_or_default().to_vec();
                self.accuse(position, Evidence::payload(claim.statement, payload), misdeed);
            }
            ClaimVerdict::Unreadable => self.abort(RecordError::Unreadable.into()),
            ClaimVerdict::Good(dealing) => self.good(position, claim, dealing),
        }
    }

    fn good(
        &mut self,
        position: Position,
        claim: Claim,
        dealing: Arc<crate::Accepted<C::Dealing>>,
    ) {
        let Stage::Collecting(collector) = &mut self.stage else { return };
        if let Err(why) = collector.count(dealing) {
            return self.ignore(why.into());
        }
        let place = claim.place();
        if !claim.known {
            let envelope = claim.envelope.as_deref().unwrap_or_default().to_vec();
            let record = Record::Counted { position: position.get(), envelope };
            self.outputs.push_back(Output::Keep(record));
        }
        self.counted.insert(place, claim.statement);
        self.outputs.push_back(Output::Do(Effect::Counted { place, position }));
        if collector.would_do(&BTreeSet::new()) {
            let counted = Box::new(collector.clone());
            self.effect(Effect::Run(Job::Sum { counted }));
            self.stage = Stage::Summing;
            self.waiting.clear();
        }
    }

    fn accuse(&mut self, position: Position, evidence: Evidence, misdeed: Misdeed) {
        let party = evidence.party();
        self.accused.insert(party);
        let (position, bytes) = (position.get(), evidence.to_bytes());
        self.outputs.push_back(Output::Keep(Record::Accused { position, evidence: bytes }));
        let evidence = Arc::new(evidence);
        self.effect(Effect::Accuse { fault: Fault { party, misdeed }, evidence });
        self.check_hope();
    }

    /// Aborts if the dealers that are not accused cannot suffice. This is checked at each accusation,
    /// so at the same place in the order for everybody.
    fn check_hope(&mut self) {
        let Stage::Collecting(collector) = &self.stage else { return };
        let dealers = (0..).map(Party::new).take(self.blank.config().dealers().len());
        let open = dealers.filter(|dealer| !self.accused.contains(dealer));
        let open = open.flat_map(|dealer| self.blank.owed(dealer));
        let open: BTreeSet<Place> =
            open.filter(|place| !self.counted.contains_key(place)).collect();
        if collector.would_do(&open) {
            return;
        }
        // The error says how much is missing.
        if let Err(error) = collector.sum() {
            self.abort(Abort::Exhausted(error));
        }
    }

    fn abort(&mut self, abort: Abort) {
        self.effect(Effect::Aborted(abort.clone()));
        self.stage = Stage::Aborted(abort);
        self.waiting.clear();
    }

    fn summed(&mut self, summed: Result<Arc<C::Sum>, AggregateError>) {
        if !matches!(self.stage, Stage::Summing) {
            return;
        }
        match summed {
            Ok(sum) => self.fixed(Arc::new(self.blank.epoch_key(&sum)), sum),
            Err(error) => self.abort(Abort::Sum(error)),
        }
    }

    fn recover(&mut self, key: Arc<EpochKey<C::Element>>, offer: Arc<[u8]>) {
        let own = matches!(self.stage, Stage::Aborted(Abort::Records(_)));
        if own || matches!(self.stage, Stage::Collecting(_) | Stage::Recovering) {
            let blank = Arc::clone(&self.blank);
            self.effect(Effect::Run(Job::Recover { blank, key, offer }));
        }
    }

    fn recovered(&mut self, recovered: Result<RecoveredKey<C>, RecoverError>) {
        let again = matches!(self.stage, Stage::Recovering);
        let own = matches!(self.stage, Stage::Aborted(Abort::Records(_)));
        match recovered {
            Err(_) if again => self.abort(RecordError::Unreadable.into()),
            Err(error) => self.ignore(error.into()),
            Ok(RecoveredKey { key, sum, offer }) => {
                if !(again || own || matches!(self.stage, Stage::Collecting(_))) {
                    return;
                }
                if !again {
                    let (key, offer) = (key.to_bytes(), offer.to_vec());
                    self.outputs.push_back(Output::Keep(Record::Recovered { key, offer }));
                }
                self.waiting.clear();
                self.fixed(key, sum);
            }
        }
    }

    fn fixed(&mut self, key: Arc<EpochKey<C::Element>>, sum: Arc<C::Sum>) {
        self.stage = Stage::Opening(key, Arc::clone(&sum));
        let Some(party) = self.role.recipient else { return self.ready(None) };
        let blank = Arc::clone(&self.blank);
        self.effect(Effect::Run(Job::Open { blank, sum, party }));
    }

    /// The key is valid whatever its dealers did. Their misdeeds are reported before the key is used.
    fn opened(&mut self, opened: Result<OpenedShares<C>, DecryptError>) {
        if !matches!(self.stage, Stage::Opening(..)) {
            return;
        }
        let shares = opened.map(|OpenedShares { shares, accusations }| {
            let accuse =
                |Accusation { fault, evidence }| Output::Do(Effect::Accuse { fault, evidence });
            self.outputs.extend(accusations.into_iter().map(accuse));
            shares
        });
        self.ready(Some(shares));
    }

    fn ready(&mut self, shares: Option<Result<C::Shares, DecryptError>>) {
        let Stage::Opening(key, sum) = &self.stage else { return };
        let (key, sum) = (Arc::clone(key), Arc::clone(sum));
        self.stage = Stage::Done(Arc::clone(&key), Arc::clone(&sum));
        self.effect(Effect::Ready(Box::new(Ready { key, sum, shares })));
    }

    fn effect(&mut self, effect: Effect<C>) {
        self.outputs.push_back(Output::Do(effect));
    }

    fn ignore(&mut self, why: Refusal) {
        self.effect(Effect::Ignored(why));
    }
}

impl<C: Collect> Machine for Keygen<C> {
    type Input = Input<C>;
    type Record = Record;
    type Effect = Effect<C>;

    /// The time is not used.
    fn handle(&mut self, _: Instant, input: Input<C>) {
        match input {
            Input::Start => self.start(),
            Input::Ordered { position, message } => self.ordered(position, message),
            Input::Ended => {
                self.ended = true;
                self.judge_next();
            }
            Input::Recover { key, offer } => self.recover(key, offer),
            Input::Checked(Verdict::Dealt(dealt)) => self.dealt(dealt),
            Input::Checked(Verdict::Judged(verdicts)) => self.judged(verdicts),
            Input::Checked(Verdict::Summed(summed)) => self.summed(summed),
            Input::Checked(Verdict::Opened(opened)) => self.opened(opened),
            Input::Checked(Verdict::Recovered(recovered)) => self.recovered(recovered),
        }
    }

    fn poll(&mut self) -> Option<Output<C>> {
        self.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Instant> {
        None
    }
}
