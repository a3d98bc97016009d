//! A dealing that passes and takes a recipient long to open, and what its dealer can be shown.

use std::sync::Arc;

use prefinal_crypto_core::curve::G1Affine;

use super::{Cheat, dealt};
use crate::accepted::Accepted;
use crate::field::chunk::CHUNKS;
use crate::field::large::{ChunkPlace, LargeChunk, LargeChunkError, RevealedMask, TooLarge};
use crate::field::{Dealing, Key, verify};
use crate::fixture::{Committee, party};
use crate::shape::SharePath;

/// Who deals so, and to whom.
pub(crate) const SLOW_DEALER: u32 = 5;
pub(crate) const VICTIM: u32 = 0;
/// The chunk of the victim's first share that has 30 bits.
pub(crate) const CHUNK: usize = 6;

/// An honest dealing of party 3 and a slow one, verified.
pub(crate) struct Slow {
    pub(crate) committee: Committee,
    pub(crate) honest: Arc<Accepted<Dealing>>,
    pub(crate) slow: Arc<Accepted<Dealing>>,
}

impl Slow {
    pub(crate) fn new() -> Self {
        let mut cheat = Cheat::new();
        let body = cheat.borrow(CHUNK + 1, 1 << 14);
        let slow = cheat.force(body, |_| {});
        let slow = Arc::new(cheat.verify(slow).expect("the proof is approximate"));
        let mut committee = cheat.committee;
        let honest = dealt(&mut committee, 3);
        let honest = Arc::new(verify(&committee.config, honest).unwrap());
        Self { committee, honest, slow }
    }

    fn mask(&self, dealing: &Dealing, place: ChunkPlace, owner: u32) -> RevealedMask {
        let layout = super::Layout::new(&self.committee.config);
        let key = &self.committee.keys[party(owner).index()];
        RevealedMask::new(&layout, &dealing.body, place, key).unwrap()
    }
}

#[test]
fn a_party_that_deals_a_large_chunk_is_shown_to_everybody_and_its_victim_has_its_share() {
    let slow = Slow::new();
    let (config, keys) = (&slow.committee.config, &slow.committee.keys);
    let key = Key::sum(config, &[Arc::clone(&slow.honest), Arc::clone(&slow.slow)]).unwrap();
    let opened = key.decrypt(config, party(VICTIM), keys[0].copy()).unwrap();
    assert_eq!(opened.shares.slow.expose().len(), 3);
    let [large] = opened.large.try_into().unwrap();
    let large: LargeChunk = large;
    assert_eq!(large.dealing().dealer(), party(SLOW_DEALER));
    let (recipient, path) = (party(VICTIM), SharePath::Slow);
    let expected = TooLarge { recipient, path, share: 0, chunk: CHUNK };
    assert_eq!(large.verify(config), Ok(expected));
    // Nobody else was dealt anything large.
    let other = key.decrypt(config, party(3), keys[3].copy()).unwrap();
    assert!(other.large.is_empty());
}

/// Whatever recipients reveal, and whatever they say it is, an honest dealer is not accused.
#[test]
fn nothing_can_be_shown_of_an_honest_dealer() {
    let slow = Slow::new();
    let config = &slow.committee.config;
    let check = |dealing: &Arc<Accepted<Dealing>>, mask: RevealedMask| {
        LargeChunk::new(Arc::clone(dealing), mask).verify(config)
    };
    let at = |item, chunk| ChunkPlace { item, chunk };
    for chunk in 0..CHUNKS {
        let mask = slow.mask(&slow.honest, at(0, chunk), VICTIM);
        assert_eq!(check(&slow.honest, mask), Err(LargeChunkError::Honest));
    }
    // Another party's key, the mask of another chunk, of another dealing, none at all.
    let stranger = slow.mask(&slow.honest, at(0, CHUNK), 3);
    let mut moved = slow.mask(&slow.honest, at(0, CHUNK + 1), VICTIM);
    moved.move_to(0, 6);
    let of_another = slow.mask(&slow.slow, at(0, CHUNK), VICTIM);
    let mut made_up = slow.mask(&slow.honest, at(0, CHUNK), VICTIM);
    made_up.replace(G1Affine::generator());
    for mask in [stranger, moved, of_another, made_up] {
        assert_eq!(check(&slow.honest, mask), Err(LargeChunkError::Mask));
    }
    for (item, chunk) in [(0, 16), (22, 0), (u32::MAX, u32::MAX)] {
        let mut nowhere = slow.mask(&slow.honest, at(0, 0), VICTIM);
        nowhere.move_to(item, chunk);
        assert_eq!(check(&slow.honest, nowhere), Err(LargeChunkError::Place { item, chunk }));
    }
    // Of the slow dealing, its other chunks show nothing either.
    let mask = slow.mask(&slow.slow, at(0, 0), VICTIM);
    assert_eq!(check(&slow.slow, mask), Err(LargeChunkError::Honest));
}
