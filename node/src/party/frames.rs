//! What frames say, decoded once for all who get the same.
//!
//! A broadcast reaches every party of this process as the same bytes. Decoding them is a pure function, and
//! the costly part of it is to check that points lie on the curve and in the group; so the first party to
//! get a frame decodes it, and the others take a copy of the outcome, which shares every transaction with
//! the first. Each party still gets its own bytes over its own connection, and believes nothing but what
//! is in them: frames are told apart by their SHA-256.
//!
//! A validator that runs alone in its process has no use for this.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use borsh::BorshDeserialize;
use sha2::{Digest, Sha256};

/// Frames that are remembered: a few slots of a hundred parties.
const FRAMES: usize = 2048;
/// And how many bytes of them.
const BYTES: usize = 32 << 20;

type Name = [u8; 32];
/// `None` if the frame is undecodable.
type Cell<T> = Arc<OnceLock<Option<Vec<T>>>>;

/// The last frames of all links.
pub struct Frames<T>(Mutex<Recent<T>>);

struct Recent<T> {
    cells: BTreeMap<Name, Cell<T>>,
    /// Oldest first, with their lengths.
    order: VecDeque<(Name, usize)>,
    bytes: usize,
}

impl<T> Default for Frames<T> {
    fn default() -> Self {
        Self(Mutex::new(Recent { cells: BTreeMap::new(), order: VecDeque::new(), bytes: 0 }))
    }
}

impl<T: BorshDeserialize + Clone> Frames<T> {
    /// The messages in a frame.
    ///
    /// # Errors
    /// If it is undecodable.
    pub fn decode(&self, frame: &[u8]) -> io::Result<Vec<T>> {
        let cell = self.cell(frame);
        match cell.get_or_init(|| borsh::from_slice(frame).ok()) {
            Some(messages) => Ok(messages.clone()),
            // It says what is wrong.
            None => borsh::from_slice(frame),
        }
    }

    fn cell(&self, frame: &[u8]) -> Cell<T> {
        let name: Name = Sha256::digest(frame).into();
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cell) = recent.cells.get(&name) {
            return Arc::clone(cell);
        }
        let cell = Cell::default();
        recent.cells.insert(name, Arc::clone(&cell));
        recent.order.push_back((name, frame.len()));
        recent.bytes = recent.bytes.saturating_add(frame.len());
        recent.forget();
        cell
    }
}

impl<T> Recent<T> {
    fn forget(&mut self) {
        while self.order.len() > FRAMES || self.bytes > BYTES {
            let Some((name, length)) = self.order.pop_front() else { return };
            self.bytes = self.bytes.saturating_sub(length);
            self.cells.remove(&name);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    static DECODED: AtomicUsize = AtomicUsize::new(0);

    /// Counts how often it is decoded.
    #[derive(Clone, Debug)]
    struct Word(Arc<[u8]>);

    impl BorshDeserialize for Word {
        fn deserialize_reader<R: io::Read>(reader: &mut R) -> io::Result<Self> {
            DECODED.fetch_add(1, Ordering::Relaxed);
            Vec::<u8>::deserialize_reader(reader).map(|bytes| Self(bytes.into()))
        }
    }

    #[test]
    fn a_broadcast_is_decoded_once_and_its_content_is_shared() {
        let frames = Frames::<Word>::default();
        let frame = borsh::to_vec(&vec![vec![7_u8; 1000]]).unwrap();
        let other = borsh::to_vec(&vec![vec![8_u8; 1000]]).unwrap();
        let first = frames.decode(&frame).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let again = frames.decode(&frame).unwrap();
                    assert!(Arc::ptr_eq(&again[0].0, &first[0].0));
                });
            }
        });
        assert_eq!(*frames.decode(&other).unwrap()[0].0, [8; 1000]);
        assert_eq!(DECODED.load(Ordering::Relaxed), 2);
        // Garbage says the same each time.
        let [once, twice] = [(); 2].map(|()| frames.decode(&frame[1..]).unwrap_err().to_string());
        assert_eq!(once, twice);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let frames = Frames::<Vec<u8>>::default();
        let decode = |number: usize, bytes: usize| {
            let content = [number.to_be_bytes().as_slice(), &vec![0; bytes]].concat();
            frames.decode(&borsh::to_vec(&vec![content]).unwrap()).unwrap();
            let recent = frames.0.lock().unwrap();
            assert!(recent.order.len() <= FRAMES && recent.bytes <= BYTES);
            assert_eq!(recent.cells.len(), recent.order.len());
            (recent.order.len(), recent.bytes)
        };
        let most = (0..3 * FRAMES).map(|number| decode(number, 10).0).max();
        assert_eq!(most, Some(FRAMES));
        for number in 0..100 {
            let _so_far = decode(number, 1 << 20);
        }
        let few = decode(100, 1 << 20);
        assert!(few.0 < 40, "{few:?}");
    }
}
