//! The calls: each waits for the driver on a thread that may wait, and answers when what it says is durable.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use borsh::BorshDeserialize;
use prefinal_beacon::{Beacon, Slot, Value, View};
use prefinal_crypto_core::access::Party;
use prefinal_driver::{Driver, MessageError, StopReason};
use prefinal_engine::Block;
use prefinal_validator::extra::ExtraChannels;
use prefinal_validator::participant::Participant;
use prefinal_validator::scheme::KeyedScheme;
use prefinal_validator::setup::Setup;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::{Request, Response, Status};

use crate::board::Board;
use crate::committees::Committees;
use crate::error::CallError;
use crate::feed::Feed;
use crate::options::{Message, Options, PartialCarrier};
use crate::orders::Orders;
use crate::proto::{self, prefinalize_response::Outcome};
use crate::reader::{Items, Step, read};
use crate::values::Values;
use crate::withheld::{self, Vote};

/// How many final slots are remembered to compare a repeated report with.
const REMEMBERED: usize = 1024;

/// How many blocks of transactions may wait to be ordered.
const WAITING_BLOCKS: usize = 4;

/// The service for one engine, around the driver of one participant. Clones answer for the same participant.
pub struct Sidecar<S: KeyedScheme, L: ExtraChannels = ()> {
    pub(crate) shared: Arc<Shared<S, L>>,
}

impl<S: KeyedScheme, L: ExtraChannels> Clone for Sidecar<S, L> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<S: KeyedScheme, L: ExtraChannels> std::fmt::Debug for Sidecar<S, L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sidecar").finish_non_exhaustive()
    }
}

pub(crate) struct Shared<S: KeyedScheme, L: ExtraChannels> {
    driver: Driver<Participant<S, L>>,
    pub(crate) board: Arc<Board>,
    pub(crate) options: Options<S, L>,
    calls: Arc<Semaphore>,
    messages: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    /// Whether the chain's blocks name committees.
    is_changing: bool,
    /// Final slots that were reported in this life, the last ones. Held while a slot is reported.
    finals: Mutex<BTreeMap<Slot, Option<Value>>>,
    /// The last answer to `Status`, for when the driver has stopped.
    status: Mutex<proto::StatusResponse>,
}

impl<S: KeyedScheme, L: ExtraChannels> Sidecar<S, L> {
    /// A service around a driver, and the feed by which the process passes on what is for the engine. `setup`
    /// is the chain's first. Feed it from the driver's first effect on.
    ///
    /// # Errors
    /// If the driver has stopped.
    pub fn new(
        driver: Driver<Participant<S, L>>,
        setup: &Setup,
        options: Options<S, L>,
    ) -> Result<(Self, Feed), StopReason> {
        let (head, me) = driver.change(|machine| (machine.head(), machine.identity().me))?;
        let board = Arc::new(Board::new(
            Values::new(options.values, head),
            Orders::new(setup.max_block_bytes.saturating_mul(WAITING_BLOCKS)),
            Committees::new(setup, options.first),
        ));
        let feed = Feed::new(Arc::clone(&board), setup.context.epoch);
        let carry = match options.carry {
            PartialCarrier::Vote => proto::Carry::Vote,
            PartialCarrier::Links(_) => proto::Carry::Links,
        };
        let status = proto::StatusResponse {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            chain: setup.context.chain.as_bytes().to_vec(),
            party: me.get(),
            parties: u32::try_from(setup.members.len()).unwrap_or(u32::MAX),
            carry: carry.into(),
            ..proto::StatusResponse::default()
        };
        let shared = Shared {
            driver,
            board,
            calls: Arc::new(Semaphore::new(options.calls.get())),
            messages: Arc::new(Semaphore::new(options.calls.get())),
            streams: Arc::new(Semaphore::new(options.streams.get())),
            is_changing: setup.succession.is_some(),
            finals: Mutex::new(BTreeMap::new()),
            status: Mutex::new(status),
            options,
        };
        Ok((Self { shared: Arc::new(shared) }, feed))
    }

    /// Runs a call of the driver. If the client goes away, the call is carried out all the same.
    async fn call<T: Send + 'static>(
        &self,
        places: &Arc<Semaphore>,
        call: impl FnOnce(&Shared<S, L>) -> Result<T, CallError> + Send + 'static,
    ) -> Result<Response<T>, Status> {
        let place = Arc::clone(places).acquire_owned().await.map_err(|_| CallError::ShutDown)?;
        if let Some(why) = self.shared.board.stopped() {
            return Err(why.into());
        }
        let shared = Arc::clone(&self.shared);
        let done = tokio::task::spawn_blocking(move || {
            let _place = place;
            call(&shared)
        });
        let done = done.await.unwrap_or(Err(CallError::Panicked));
        Ok(Response::new(done?))
    }

    fn stream(&self) -> Result<OwnedSemaphorePermit, CallError> {
        let shared = &self.shared;
        let limit = shared.options.streams.get();
        let place = Arc::clone(&shared.streams).try_acquire_owned();
        place.map_err(|_| CallError::TooManyStreams { limit })
    }
}

impl<S: KeyedScheme, L: ExtraChannels> Shared<S, L> {
    /// The engine and the streams hear of it when the driver has stopped.
    fn stopped(&self, why: StopReason) -> CallError {
        self.board.stop(why.into());
        self.board.stopped().unwrap_or(CallError::ShutDown)
    }

    fn prefinalize(&self, vote: Vote) -> Result<Outcome, CallError> {
        let Vote { slot, view, value } = vote;
        let partial = self.driver.on_prefinalize(slot, view, value);
        let Some(partial) = partial.map_err(|why| self.stopped(why))? else {
            let declared = self.options.fast_attempt;
            let why = self.driver.change(|machine| withheld::reason(machine, declared, vote));
            return Ok(Outcome::Withheld(why.map_err(|why| self.stopped(why))?));
        };
        match &self.options.carry {
            PartialCarrier::Vote => {
                // Writing into memory cannot fail.
                borsh::to_vec(&partial).map(Outcome::Partial).map_err(|_| CallError::Panicked)
            }
            PartialCarrier::Links(send) => {
                send(partial);
                Ok(Outcome::Sent(proto::Sent {}))
            }
        }
    }

    fn finalize(&self, slot: Slot, block: Option<Block>) -> Result<(), CallError> {
        let mut finals = self.finals.lock().unwrap_or_else(PoisonError::into_inner);
        let value = block.as_ref().map(|block| block.value);
        let expected = self.next_final().map_err(|why| self.stopped(why))?;
        if slot > expected && !self.is_unrecorded(slot).map_err(|why| self.stopped(why))? {
            return Err(CallError::Gap { slot, expected });
        }
        if slot < expected {
            let known = match finals.get(&slot) {
                Some(known) => Some(*known),
                None => {
                    let known =
                        self.driver.change(|machine| withheld::recorded_value(machine, slot));
                    known.map_err(|why| self.stopped(why))?
                }
            };
            return match known {
                Some(known) if known != value => Err(CallError::SecondFinal { slot }),
                _ => Ok(()),
            };
        }
        let transactions = block.as_ref().map(|block| block.transactions.clone());
        self.driver.on_finalize(slot, block).map_err(|why| self.stopped(why))?;
        finals.insert(slot, value);
        if finals.len() > REMEMBERED {
            finals.pop_first();
        }
        let transactions = transactions.unwrap_or_default();
        self.board.change(|shown| shown.orders.ordered(&transactions));
        Ok(())
    }

    /// Whether no slot before this one is missed, because none of them is recorded: between the block that
    /// completed the chain's first keys and the first slot with a value, if committees never change. A crash
    /// makes the participant forget them, and the engine may have forgotten them too.
    fn is_unrecorded(&self, slot: Slot) -> Result<bool, StopReason> {
        let first = self.driver.change(|machine| machine.newest_beacon().map(Beacon::first))?;
        Ok(!self.is_changing && first.is_some_and(|first| slot <= first))
    }

    /// The slot that has to be reported next.
    fn next_final(&self) -> Result<Slot, StopReason> {
        let last = self.driver.figures()?.last_final;
        Ok(last.map_or(self.options.first, Slot::next))
    }

    fn receive(&self, from: Party, partial: &[u8]) -> Result<Option<proto::Dropped>, CallError> {
        let dropped = |code: &str, reason: String, peer_fault| {
            Ok(Some(proto::Dropped { code: code.to_owned(), reason, peer_fault }))
        };
        let envelope = match Message::<S, L>::try_from_slice(partial) {
            Ok(envelope) => envelope,
            Err(error) => return dropped("malformed-message", error.to_string(), true),
        };
        match self.driver.on_message(from, envelope) {
            Ok(()) => Ok(None),
            Err(MessageError::Stopped(why)) => Err(self.stopped(why)),
            Err(why) => {
                let is_fault = matches!(why, MessageError::NotMember { .. });
                dropped(why.code(), why.to_string(), is_fault)
            }
        }
    }

    /// The state now, or the last one if the driver has stopped.
    fn status(&self) -> proto::StatusResponse {
        let now = self.driver.figures().and_then(|figures| {
            let epoch = self.driver.change(|machine| machine.epoch())?;
            Ok((figures, epoch))
        });
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        match now {
            Ok((figures, epoch)) => {
                let next = figures.last_final.map_or(self.options.first, Slot::next);
                status.epoch = epoch.get();
                status.last_final = figures.last_final.map(Slot::get);
                status.next_final = next.get();
                status.head = figures.head.get();
            }
            Err(why) => drop(self.stopped(why)),
        }
        let shown = self.board.read();
        status.first_value = shown.values.first();
        status.stopped = shown
            .stopped
            .as_ref()
            .map(|why| proto::Stopped { code: why.code().to_owned(), reason: why.to_string() });
        status.clone()
    }
}

#[tonic::async_trait]
impl<S: KeyedScheme, L: ExtraChannels> proto::sidecar_server::Sidecar for Sidecar<S, L> {
    type ValuesStream = Items<proto::ValuesResponse>;
    type OrderStream = Items<proto::OrderResponse>;
    type CommitteesStream = Items<proto::CommitteesResponse>;

    async fn prefinalize(
        &self,
        request: Request<proto::PrefinalizeRequest>,
    ) -> Result<Response<proto::PrefinalizeResponse>, Status> {
        let proto::PrefinalizeRequest { slot, attempt, view_slot, value } = request.into_inner();
        let value = hash("value", &value)?;
        let view = View::new(Slot::new(view_slot.unwrap_or(slot)), attempt);
        let vote = Vote { slot: Slot::new(slot), view, value };
        let answer = self.call(&self.shared.calls, move |shared| shared.prefinalize(vote));
        let answer = answer.await?;
        Ok(answer.map(|outcome| proto::PrefinalizeResponse { outcome: Some(outcome) }))
    }

    async fn finalize(
        &self,
        request: Request<proto::FinalizeRequest>,
    ) -> Result<Response<proto::FinalizeResponse>, Status> {
        let proto::FinalizeRequest { slot, block } = request.into_inner();
        let limit = self.shared.options.max_block_bytes;
        let block = block.map(|block| checked(block, limit)).transpose()?;
        let slot = Slot::new(slot);
        let answer = self.call(&self.shared.calls, move |shared| shared.finalize(slot, block));
        Ok(answer.await?.map(|()| proto::FinalizeResponse {}))
    }

    async fn abandon(
        &self,
        request: Request<proto::AbandonRequest>,
    ) -> Result<Response<proto::AbandonResponse>, Status> {
        let proto::AbandonRequest { slot, attempt } = request.into_inner();
        let view = View::new(Slot::new(slot), attempt);
        let answer = self.call(&self.shared.calls, move |shared| {
            shared.driver.on_view_abandoned(view).map_err(|why| shared.stopped(why))
        });
        Ok(answer.await?.map(|()| proto::AbandonResponse {}))
    }

    async fn receive(
        &self,
        request: Request<proto::ReceiveRequest>,
    ) -> Result<Response<proto::ReceiveResponse>, Status> {
        let proto::ReceiveRequest { from, partial } = request.into_inner();
        let from = Party::new(from);
        let answer = self.call(&self.shared.messages, move |shared| shared.receive(from, &partial));
        Ok(answer.await?.map(|dropped| proto::ReceiveResponse { dropped }))
    }

    async fn values(
        &self,
        request: Request<proto::ValuesRequest>,
    ) -> Result<Response<Self::ValuesStream>, Status> {
        let proto::ValuesRequest { from_slot, limit } = request.into_inner();
        let place = self.stream()?;
        let board = &self.shared.board;
        let end = || Some(board.read().values.end()).filter(|end| *end > 0);
        // As long as nothing is known at all, whatever comes first is the next.
        let mut next = from_slot.or_else(end);
        let mut left = if limit == 0 { u64::MAX } else { limit };
        let items = read(board, place, move |shown| {
            if left == 0 {
                return Ok(Step::End);
            }
            let Some(from) = next.or_else(|| shown.values.came_first()) else {
                return Ok(Step::Wait);
            };
            let Some(value) = shown.values.next(from)? else { return Ok(Step::Wait) };
            (next, left) = (Some(value.slot.saturating_add(1)), left.saturating_sub(1));
            Ok(Step::Item(value.clone()))
        });
        Ok(Response::new(items))
    }

    async fn order(
        &self,
        _: Request<proto::OrderRequest>,
    ) -> Result<Response<Self::OrderStream>, Status> {
        let place = self.stream()?;
        let mut next = 0;
        let items = read(&self.shared.board, place, move |shown| {
            let Some((number, order)) = shown.orders.next(next) else { return Ok(Step::Wait) };
            next = number.saturating_add(1);
            Ok(Step::Item(order.clone()))
        });
        Ok(Response::new(items))
    }

    async fn committees(
        &self,
        request: Request<proto::CommitteesRequest>,
    ) -> Result<Response<Self::CommitteesStream>, Status> {
        let place = self.stream()?;
        let board = &self.shared.board;
        let mut next = board.read().committees.in_charge(request.into_inner().from_slot);
        let items = read(board, place, move |shown| {
            let Some(one) = shown.committees.next(next)? else { return Ok(Step::Wait) };
            next = one.first_slot.saturating_add(1);
            Ok(Step::Item(one.clone()))
        });
        Ok(Response::new(items))
    }

    async fn status(
        &self,
        _: Request<proto::StatusRequest>,
    ) -> Result<Response<proto::StatusResponse>, Status> {
        let place = Arc::clone(&self.shared.messages).acquire_owned().await;
        let place = place.map_err(|_| CallError::ShutDown)?;
        let shared = Arc::clone(&self.shared);
        let status = tokio::task::spawn_blocking(move || {
            let _place = place;
            shared.status()
        });
        Ok(Response::new(status.await.map_err(|_| CallError::Panicked)?))
    }
}

fn hash(field: &'static str, bytes: &[u8]) -> Result<Value, CallError> {
    let hash = bytes.try_into();
    let wrong = |_| CallError::WrongLength { field, got: bytes.len(), expected: 32 };
    Ok(Value::new(hash.map_err(wrong)?))
}

fn checked(block: proto::Block, limit: usize) -> Result<Block, CallError> {
    let value = hash("block.value", &block.value)?;
    let got = block.transactions.iter().map(Vec::len).fold(0, usize::saturating_add);
    if got > limit {
        return Err(CallError::BlockTooLarge { got, limit });
    }
    let transactions = block.transactions.into_iter().map(Into::into).collect();
    Ok(Block { value, transactions })
}
