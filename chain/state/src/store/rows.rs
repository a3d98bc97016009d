//! Rows of the store's tables: how they are encoded, written and read.
use std::collections::BTreeMap;
use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_execution::{Header, Height, Roots};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction};

use super::{BLOCKS, Bytes, FORKS, MARKS, Mark, NODES, Place, RESULTS, SIZES, STALE, TRANSACTIONS};
use crate::error::StateError;
use crate::node::{Fork, NodeId, TreeNode, path_on_disk, prefix};
use crate::proof::{StateKey, TransactionResult};
use crate::view::Layer;

#[derive(Debug, BorshSerialize, BorshDeserialize)]
pub(super) struct BlockRow {
    pub(super) header: Header,
    pub(super) roots: Roots,
    pub(super) root: NodeId,
    removed: Vec<StateKey>,
}

struct NodeRow {
    key: Vec<u8>,
    node: Vec<u8>,
}

pub(super) fn encode(value: &impl BorshSerialize) -> Result<Vec<u8>, StateError> {
    borsh::to_vec(value).map_err(|error| StateError::damaged(error.to_string()))
}

pub(super) fn decode<T: BorshDeserialize>(bytes: &[u8]) -> Result<T, StateError> {
    T::try_from_slice(bytes).map_err(|_| StateError::damaged("a row that cannot be read"))
}

/// Adds all that a block is made of, without its mark. Returns how many bytes that is.
pub(super) fn put_block(
    write: &WriteTransaction,
    layer: &Layer,
    fork: Fork,
    transactions: &[Vec<u8>],
) -> Result<u64, StateError> {
    let removed = layer.changes.iter().filter(|(_, row)| row.is_none());
    let row = BlockRow {
        header: layer.header,
        roots: layer.roots,
        root: layer.root,
        removed: removed.map(|(key, _)| *key).collect(),
    };
    let height = layer.header.height;
    let place = (height.get(), fork);
    let mut bytes = put(write, BLOCKS, place, &encode(&row)?)?;
    let lists = [
        (TRANSACTIONS, encode(&transactions)?),
        (RESULTS, encode(&layer.results)?),
        (STALE, encode(&layer.stale)?),
    ];
    for (table, list) in lists {
        bytes = bytes.saturating_add(put(write, table, place, &list)?);
    }
    let mut nodes = write.open_table(NODES).map_err(|error| writing(error.into()))?;
    for (path, node) in &layer.nodes {
        let key = NodeId { height, path: *path }.on_disk(fork);
        let node = node.to_disk()?;
        nodes.insert(key.as_slice(), node.as_slice()).map_err(|error| writing(error.into()))?;
        bytes = bytes.saturating_add(length(&key)).saturating_add(length(&node));
    }
    Ok(bytes)
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// Adds a block of which only the state is there.
pub(super) fn put_state(
    write: &WriteTransaction,
    header: Header,
    roots: Roots,
    root: NodeId,
) -> Result<(), StateError> {
    let row = BlockRow { header, roots, root, removed: Vec::new() };
    put(write, BLOCKS, (header.height.get(), 0), &encode(&row)?).map(|_| ())
}

/// Returns how many bytes the mark has.
pub(super) fn put_mark(
    write: &WriteTransaction,
    place: Place,
    mark: &Mark,
) -> Result<u64, StateError> {
    let bytes = put(write, MARKS, place, &encode(mark)?)?;
    let (height, fork) = place;
    if fork != 0 && matches!(mark, Mark::Committed { .. }) {
        let mut forks = write.open_table(FORKS).map_err(|error| writing(error.into()))?;
        forks.insert(height, fork).map_err(|error| writing(error.into()))?;
    }
    Ok(bytes)
}

pub(super) fn put_size(
    write: &WriteTransaction,
    place: Place,
    bytes: u64,
) -> Result<(), redb::Error> {
    write.open_table(SIZES)?.insert(place, bytes)?;
    Ok(())
}

/// What a block has added to the file.
pub(super) fn size(write: &WriteTransaction, place: Place) -> Result<u64, redb::Error> {
    Ok(write.open_table(SIZES)?.get(place)?.map_or(0, |bytes| bytes.value()))
}

/// What each block has added to the file.
pub(super) fn sizes(database: &Database) -> Result<BTreeMap<Place, u64>, redb::Error> {
    let table = match database.begin_read()?.open_table(SIZES) {
        Ok(table) => table,
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok(BTreeMap::new()),
        Err(error) => return Err(error.into()),
    };
    let mut sizes = BTreeMap::new();
    for entry in table.iter()? {
        let (place, bytes) = entry?;
        sizes.insert(place.value(), bytes.value());
    }
    Ok(sizes)
}

fn put(
    write: &WriteTransaction,
    table: TableDefinition<'static, Place, Bytes>,
    place: Place,
    bytes: &[u8],
) -> Result<u64, StateError> {
    let mut table = write.open_table(table).map_err(|error| writing(error.into()))?;
    table.insert(place, bytes).map_err(|error| writing(error.into()))?;
    Ok(length(bytes))
}

/// Removes all that a block is made of, its mark included.
pub(super) fn remove_block(write: &WriteTransaction, place: Place) -> Result<(), redb::Error> {
    for table in [MARKS, BLOCKS, TRANSACTIONS, RESULTS, STALE] {
        write.open_table(table)?.remove(place)?;
    }
    write.open_table(SIZES)?.remove(place)?;
    let (first, behind) = node_range(place);
    let mut nodes = write.open_table(NODES)?;
    nodes.retain_in(first.as_slice()..behind.as_slice(), |_, _| false)?;
    Ok(())
}

fn node_range((height, fork): Place) -> (Vec<u8>, Vec<u8>) {
    let first = prefix(Height::new(height), fork);
    let mut behind = first.clone();
    // Longer than any key of the block, and no other block's keys lie between.
    behind.extend([0xff; 35]);
    (first, behind)
}

pub(super) fn mark(database: &Database, place: Place) -> Result<Option<Mark>, StateError> {
    read(database, MARKS, place)
}

pub(super) fn block(database: &Database, place: Place) -> Result<Option<BlockRow>, StateError> {
    read(database, BLOCKS, place)
}

pub(super) fn transactions(
    database: &Database,
    place: Place,
) -> Result<Option<Vec<Vec<u8>>>, StateError> {
    read(database, TRANSACTIONS, place)
}

pub(super) fn results(
    database: &Database,
    place: Place,
) -> Result<Option<Vec<TransactionResult>>, StateError> {
    read(database, RESULTS, place)
}

fn read<T: BorshDeserialize>(
    database: &Database,
    table: TableDefinition<'static, Place, Bytes>,
    place: Place,
) -> Result<Option<T>, StateError> {
    let read = || -> Result<Option<Vec<u8>>, redb::Error> {
        let table = database.begin_read()?.open_table(table)?;
        Ok(table.get(place)?.map(|bytes| bytes.value().to_vec()))
    };
    match read().map_err(reading)? {
        Some(bytes) => decode(&bytes).map(Some),
        None => Ok(None),
    }
}

/// The forks that are committed and have another number than 0.
pub(super) fn forks(database: &Database) -> Result<BTreeMap<Height, Fork>, redb::Error> {
    let table = database.begin_read()?.open_table(FORKS)?;
    let mut forks = BTreeMap::new();
    for entry in table.iter()? {
        let (height, fork) = entry?;
        forks.insert(Height::new(height.value()), fork.value());
    }
    Ok(forks)
}

/// A block's changes and nodes, as they were before the crash.
pub(super) fn layer(database: &Database, place: Place) -> Result<Layer, StateError> {
    let damaged = || StateError::damaged("a written block without its rows");
    let row: BlockRow = block(database, place)?.ok_or_else(damaged)?;
    let stale = read(database, STALE, place)?.ok_or_else(damaged)?;
    let mut layer = Layer {
        header: row.header,
        roots: row.roots,
        root: row.root,
        changes: row.removed.into_iter().map(|key| (key, None)).collect(),
        nodes: BTreeMap::new(),
        stale,
        results: results(database, place)?.ok_or_else(damaged)?,
    };
    let (first, behind) = node_range(place);
    let read = || -> Result<Vec<NodeRow>, redb::Error> {
        let nodes = database.begin_read()?.open_table(NODES)?;
        let mut found = Vec::new();
        for entry in nodes.range(first.as_slice()..behind.as_slice())? {
            let (key, bytes) = entry?;
            found.push(NodeRow { key: key.value().to_vec(), node: bytes.value().to_vec() });
        }
        Ok(found)
    };
    for row in read().map_err(reading)? {
        let path = path_on_disk(&row.key).ok_or_else(damaged)?;
        let node = TreeNode::from_disk(&row.node)?;
        if let TreeNode::Leaf { key, value } = &node {
            // Leaves that only moved are among them; their values are what they were.
            layer.changes.insert(*key, Some(value.clone()));
        }
        layer.nodes.insert(path, Arc::new(node));
    }
    Ok(layer)
}

pub(super) fn reading(error: redb::Error) -> StateError {
    StateError::storage("read")(error)
}

pub(super) fn writing(error: redb::Error) -> StateError {
    StateError::storage("wrote")(error)
}
