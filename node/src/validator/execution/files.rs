//! The pipeline and the files that it goes on from.
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use prefinal_engine::Quorum;
use prefinal_execution::{BlockId, Header, Height, Store as _};
use prefinal_home::Home;
use prefinal_journal::{Journal, JournalError, Journaled, Redb, read_records};
use prefinal_lab::Failure;
use prefinal_protocol::{Instant, Machine};
use prefinal_state::{Genesis, StateError};
use prefinal_validator::ChainApplication;
use prefinal_validator::adopt::StoredBlocks as _;
use prefinal_validator::application::{Effect, Input, Output};
use prefinal_validator::execution::{PastBlocks, Record};
use prefinal_validator::setup::Setup;

use super::super::home;
use super::super::state::lock;
use super::{Pipeline, Store};
use crate::execution::{SlotValues, pipeline};
use crate::output::named;

/// The pipeline as a machine.
pub(super) struct Host(Pipeline);

/// The pipeline behind its journal.
pub(super) type JournaledHost = Journaled<Host, Redb>;

impl Machine for Host {
    type Input = Input<Pipeline>;
    type Record = Record;
    type Effect = Effect<Pipeline>;

    fn handle(&mut self, now: Instant, input: Self::Input) {
        self.0.handle(now, input);
    }

    fn poll(&mut self) -> Option<Output<Pipeline>> {
        self.0.poll()
    }

    fn wake_at(&self) -> Option<Instant> {
        None
    }
}

/// Where the pipeline and its states are.
pub(super) struct Files {
    journal: PathBuf,
    states: PathBuf,
    owner: String,
    /// The name of the state that the chain begins with.
    genesis: BlockId,
    setup: Arc<Setup>,
}

impl Files {
    pub(super) fn new(home: &Home, setup: &Arc<Setup>, genesis: BlockId) -> Self {
        let (journal, states) = (home.folder().execution(), home.folder().states());
        let (owner, setup) = (home::owner_of(home), Arc::clone(setup));
        Self { journal, states, owner, genesis, setup }
    }

    /// The chain's first committee.
    pub(super) const fn setup(&self) -> &Arc<Setup> {
        &self.setup
    }

    /// The pipeline, which goes on behind what the store has.
    ///
    /// # Errors
    /// If a file cannot be read or written, or does not fit to the other.
    pub(super) fn open(&self, store: &Mutex<Store>) -> Result<JournaledHost, Failure> {
        let mut store = lock(store);
        let committed = last(&store).map_err(|error| self.failed(&error))?;
        let recovered = store.recover().map_err(|error| self.failed(&error))?;
        drop(store);
        let host = Journaled::open(self.journal(committed)?, |records| {
            let past = PastBlocks { genesis: self.genesis, recovered, records };
            pipeline(&self.setup, Quorum::BYZANTINE, past).map(Host)
        });
        host.map_err(|error| named(&self.journal, error))
    }

    /// Opens the states, or makes the file.
    ///
    /// # Errors
    /// What is wrong with it, and what to do.
    pub(super) fn states(
        &self,
        genesis: &Genesis,
        values: Arc<SlotValues>,
    ) -> Result<Store, Failure> {
        Store::open(&self.states, genesis, values).map_err(|error| self.failed(&error))
    }

    /// What is wrong with the states, and what to do.
    pub(super) fn failed(&self, error: &StateError) -> Failure {
        match error {
            StateError::Full { .. } => {
                named(&self.states, format_args!("{error}; make room and start again"))
            }
            _ => named(&self.states, format_args!("{error}; {}", self.advice())),
        }
    }

    fn advice(&self) -> String {
        let journal = self.journal.display();
        format!("remove it and {journal}: then all states are fetched from other validators")
    }

    /// Sees that the journal, if there is one, fits to the states.
    ///
    /// # Errors
    /// If it does not, or cannot be read or written.
    pub(super) fn check(&self, committed: Option<Header>) -> Result<(), Failure> {
        if self.journal.exists() { self.journal(committed).map(drop) } else { Ok(()) }
    }

    /// Opens the journal, or makes it, and leaves out what the store has.
    fn journal(&self, committed: Option<Header>) -> Result<Redb, Failure> {
        let file = &self.journal;
        let opened = match file.exists() {
            true => Redb::open(file, &self.owner),
            false => Redb::create(file, &self.owner),
        };
        let mut journal = opened.map_err(|error| named(file, error))?;
        let behind = shorten(&mut journal, committed).map_err(|error| named(file, error))?;
        if behind > committed.map(|header| header.height) {
            return Err(named(
                &self.states,
                format_args!("lacks blocks that were committed here; {}", self.advice()),
            ));
        }
        Ok(journal)
    }
}

/// The last committed block of a store; `None` before the first.
pub(super) fn last(store: &Store) -> Result<Option<Header>, StateError> {
    let committed = Some(store.committed()?.height).filter(|height| *height > Height::GENESIS);
    Ok(committed.and_then(|height| store.header(height)))
}

/// Leaves out the records of blocks that are committed. Gives the last height that the journal says was.
fn shorten(journal: &mut Redb, committed: Option<Header>) -> Result<Option<Height>, JournalError> {
    let (mut kept, mut behind) = (VecDeque::new(), None);
    for record in read_records::<Record>(journal)? {
        let is_stored = |slot| committed.is_some_and(|header| slot <= header.slot);
        match &record {
            Record::Adopted(header) => behind = behind.max(Some(header.height)),
            Record::Pipeline(prefinal_execution::Record::Voted(claim))
                if committed.is_some_and(|header| claim.height <= header.height) => {}
            Record::Ordered { slot, .. }
            | Record::Value { slot, .. }
            | Record::Certified { slot, .. }
                if is_stored(*slot) => {}
            // Writing into memory does not fail.
            _ => kept.push_back(borsh::to_vec(&record).unwrap_or_default()),
        }
    }
    if let Some(header) = committed {
        kept.push_front(borsh::to_vec(&Record::Adopted(header)).unwrap_or_default());
        journal.replace(kept.make_contiguous())?;
    }
    Ok(behind)
}
