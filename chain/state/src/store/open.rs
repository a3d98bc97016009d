//! Opening the file: a genesis where there is nothing, otherwise what a crash left.
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use prefinal_execution::{
    Block, BlockId, Committed, Header, Height, OptimisticBlock, Recovered, Roots, StateCertificate,
};
use prefinal_protocol::Slot;
use redb::{Builder, Database, ReadableDatabase, ReadableTable};

use super::shared::Tip;
use super::{
    BLOCKS, FORKS, GENESIS, MARKS, Mark, NODES, Place, RESULTS, STALE, Shared, StateExecutor,
    StateStore, TRANSACTIONS, Written, restore, rows,
};
use crate::error::StateError;
use crate::node::{NodeId, NodePath, Row, TreeNode};
use crate::proof::{ListRoot, StateKey, sha256};
use crate::system::decoded_block;
use crate::tree::{self, NodeSource};
use crate::view::{Layer, View};

/// Bytes of pages that the library keeps in memory.
const CACHE_BYTES: usize = 256 << 20;

/// What a chain begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Genesis {
    /// The block of height 0.
    pub block: BlockId,
    /// The rows of its state.
    pub rows: BTreeMap<StateKey, Row>,
}

impl Genesis {
    /// A genesis with these rows, whose block is named by them. So the certificate of the first block shows the
    /// genesis too ([`ProvenPlace`](crate::ProvenPlace)). Costs a hash for each row.
    #[must_use]
    pub fn of(rows: BTreeMap<StateKey, Row>) -> Self {
        let block = sha256(&[b"prefinal/state/v1/genesis", row_list(&rows).as_bytes()]);
        Self { block: BlockId::new(block), rows }
    }

    fn digest(&self) -> [u8; 32] {
        sha256(&[&self.block.to_bytes(), row_list(&self.rows).as_bytes()])
    }

    /// The block of height 0 with its rows.
    fn layer(&self) -> Result<Layer, StateError> {
        let (id, height, slot) = (self.block, Height::GENESIS, Slot::new(0));
        let root = NodeId { height, path: NodePath::root(1) };
        let mut nodes = BTreeMap::from([(root.path, Arc::new(TreeNode::Empty))]);
        if !self.rows.is_empty() {
            nodes = tree::insert(&NoNodes, tree::before_all(), &root, &self.rows)?.nodes;
        }
        let top = nodes.get(&root.path).map(|node| node.hash());
        let state = top.ok_or_else(|| StateError::damaged("a genesis without a root"))?;
        Ok(Layer {
            header: Header { id, parent: id, height, slot },
            roots: Roots { state, receipts: *ListRoot::of(&[]).as_bytes() },
            root,
            changes: self.rows.iter().map(|(key, row)| (*key, Some(row.clone()))).collect(),
            nodes,
            stale: Vec::new(),
            results: Vec::new(),
        })
    }
}

fn row_list(rows: &BTreeMap<StateKey, Row>) -> ListRoot {
    let rows = rows.iter().map(|(key, row)| sha256(&[key.as_bytes(), row]));
    ListRoot::of(&rows.collect::<Vec<_>>())
}

/// The tree before the genesis.
struct NoNodes;

impl NodeSource for NoNodes {
    fn node(&self, at: &NodeId) -> Result<Option<Arc<TreeNode>>, StateError> {
        Ok((*at == tree::before_all()).then(|| Arc::new(TreeNode::Empty)))
    }
    fn row(&self, _: &StateKey) -> Result<Option<Row>, StateError> {
        Ok(None)
    }
}

/// What the marks say.
struct Marks {
    committed: BTreeMap<Height, Place>,
    optimistic: BTreeMap<Place, BlockId>,
}

impl<X, C> StateStore<X, C>
where
    X: StateExecutor,
    C: StateCertificate,
{
    /// Creates a file with this genesis at this path, where there must be none, and opens it. If this is
    /// interrupted, there is no file or a complete one.
    ///
    /// # Errors
    /// If there is such a file already, or if it cannot be written.
    pub fn create(path: &Path, genesis: &Genesis) -> Result<Self, StateError> {
        let failed = |source| StateError::Folder { path: path.to_owned(), source };
        if fs::exists(path).map_err(failed)? {
            return Err(failed(ErrorKind::AlreadyExists.into()));
        }
        let draft = path.with_added_extension("new");
        // An interrupted attempt may have left a draft.
        if fs::exists(&draft).map_err(failed)? {
            fs::remove_file(&draft).map_err(failed)?;
        }
        let database = Builder::new().create(&draft);
        found_chain(&database.map_err(opening)?, genesis)?;
        // Unlike `rename` this fails if another process created the file first.
        fs::hard_link(&draft, path).map_err(failed)?;
        fs::remove_file(&draft).map_err(failed)?;
        sync_folder(path).map_err(failed)?;
        Self::open(path, genesis)
    }

    /// Opens the file that exists at this path. It stays locked as long as the store or one of its views is there.
    ///
    /// # Errors
    /// If there is none, if it cannot be read, is damaged, is open elsewhere, or has another genesis.
    pub fn open(path: &Path, genesis: &Genesis) -> Result<Self, StateError> {
        let database = Builder::new().set_cache_size(CACHE_BYTES).open(path);
        Self::within(database.map_err(opening)?, genesis)
    }

    /// A store in a database that the caller opened, for example with another cache or backend. An empty database
    /// gets this genesis.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn within(database: Database, genesis: &Genesis) -> Result<Self, StateError> {
        match owner(&database).map_err(rows::reading)? {
            Some(found) if found == genesis.digest() => {}
            Some(_) => return Err(StateError::OtherGenesis),
            None => found_chain(&database, genesis)?,
        }
        let marks = marks(&database)?;
        let damaged = || StateError::damaged("no committed block");
        let last = marks.committed.last_key_value().ok_or_else(damaged)?;
        let row = rows::block(&database, *last.1)?.ok_or_else(damaged)?;
        let forks = Arc::new(rows::forks(&database).map_err(rows::reading)?);
        let tip = Tip {
            committed: Committed { height: *last.0, block: row.header.id, roots: row.roots },
            root: row.root,
            forks,
        };
        let sizes = rows::sizes(&database).map_err(rows::reading)?;
        let mut written = BTreeMap::new();
        for (place, block) in marks.optimistic {
            let layer = Arc::new(rows::layer(&database, place)?);
            let bytes = sizes.get(&place).copied().unwrap_or(0);
            written.insert(block, Written { fork: place.1, layer, bytes });
        }
        let pruned = marks.committed.first_key_value().map_or(*last.0, |(height, _)| *height);
        let above =
            marks.committed.range(pruned.next()..).filter_map(|(_, place)| sizes.get(place));
        let bytes = above.fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
        let restoring = restore::read(&database)?;
        let shared = Arc::new(Shared::new(database, tip));
        Ok(Self { shared, written, pruned, bytes, restoring, kinds: PhantomData })
    }

    /// What is written, for the pipeline to go on from. Blocks that are not committed and whose parents are not
    /// there any more have no state: they are removed.
    pub(super) fn read_back(&mut self) -> Result<Recovered<X>, StateError> {
        let committed = self.shared.tip()?.committed;
        let view = self.view()?;
        let mut views = BTreeMap::from([(committed.block, view.clone())]);
        let mut optimistic = Vec::new();
        let mut lost = Vec::new();
        let mut by_height: Vec<Written> = self.written.values().cloned().collect();
        by_height.sort_by_key(Written::place);
        for block in by_height {
            let header = block.layer.header;
            let Some(parent) = self.parent_view(&views, &header)? else {
                lost.push(header);
                continue;
            };
            let view = parent.child(Arc::clone(&block.layer))?;
            views.insert(header.id, view.clone());
            let roots = block.layer.roots;
            let block = self.decoded(header, block.place())?;
            optimistic.push(OptimisticBlock { block, roots, view });
        }
        for header in lost.iter().rev() {
            self.remove(header)?;
        }
        Ok(Recovered { committed, view, optimistic })
    }

    /// The state of a block's parent. A block that lost against a committed one of its height has an older parent.
    fn parent_view(
        &self,
        views: &BTreeMap<BlockId, View>,
        header: &Header,
    ) -> Result<Option<View>, StateError> {
        if let Some(view) = views.get(&header.parent) {
            return Ok(Some(view.clone()));
        }
        let Some(height) = header.height.get().checked_sub(1).map(Height::new) else {
            return Ok(None);
        };
        match self.view_at(height) {
            Ok(view) => Ok(Some(view).filter(|view| view.block() == header.parent)),
            Err(StateError::NoVersion { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn decoded(&self, header: Header, place: Place) -> Result<Block<X::Transaction>, StateError> {
        let damaged = || StateError::damaged("transactions that cannot be read");
        let encoded = rows::transactions(&self.shared.database, place)?.ok_or_else(damaged)?;
        decoded_block(header, &encoded).ok_or_else(damaged)
    }
}

/// The digest of the genesis, if there is one.
fn owner(database: &Database) -> Result<Option<Vec<u8>>, redb::Error> {
    let table = match database.begin_read()?.open_table(GENESIS) {
        Ok(table) => table,
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok(table.get(())?.map(|digest| digest.value().to_vec()))
}

fn opening(error: redb::DatabaseError) -> StateError {
    StateError::storage("opened the file")(error.into())
}

/// Makes the name of a new file durable.
fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => fs::File::open(folder)?.sync_all(),
        _ => fs::File::open(".")?.sync_all(),
    }
}

fn found_chain(database: &Database, genesis: &Genesis) -> Result<(), StateError> {
    let layer = genesis.layer()?;
    let write = database.begin_write().map_err(|error| rows::writing(error.into()))?;
    let tables = || -> Result<(), redb::Error> {
        write.open_table(GENESIS)?.insert((), genesis.digest().as_slice())?;
        for table in [MARKS, BLOCKS, TRANSACTIONS, RESULTS, STALE] {
            write.open_table(table)?;
        }
        write.open_table(FORKS)?;
        write.open_table(NODES)?;
        Ok(())
    };
    tables().map_err(rows::writing)?;
    rows::put_block(&write, &layer, 0, &[])?;
    let mark = Mark::Committed { block: genesis.block, certificate: Vec::new() };
    rows::put_mark(&write, (0, 0), &mark)?;
    write.commit().map_err(|error| rows::writing(error.into()))
}

fn marks(database: &Database) -> Result<Marks, StateError> {
    let read = || -> Result<Vec<(Place, Vec<u8>)>, redb::Error> {
        let table = database.begin_read()?.open_table(MARKS)?;
        let mut found = Vec::new();
        for entry in table.iter()? {
            let (place, mark) = entry?;
            found.push((place.value(), mark.value().to_vec()));
        }
        Ok(found)
    };
    let mut marks = Marks { committed: BTreeMap::new(), optimistic: BTreeMap::new() };
    for (place, bytes) in read().map_err(rows::reading)? {
        match rows::decode(&bytes)? {
            Mark::Optimistic(block) => {
                marks.optimistic.insert(place, block);
            }
            Mark::Committed { .. } => {
                marks.committed.insert(Height::new(place.0), place);
            }
        }
    }
    Ok(marks)
}
