//! Blocks whose names say nothing are bound to their places by their roots.
use prefinal_execution::{BlockId, Header, Height, Roots};
use prefinal_state::proof::ListProof;
use prefinal_sync::{BlockNames, CertifiedPlaces, Fault, HashedNames};

use crate::chain::{DRAW, EMPTY, chain};

struct Shown {
    header: Header,
    roots: Roots,
    content: [u8; 32],
    place: Option<ListProof>,
}

impl Shown {
    fn of(height: u64) -> Self {
        let chain = chain();
        let block = chain.store.export(Height::new(height)).unwrap();
        let place = chain.places[usize::try_from(height).unwrap() - 1].proof.clone();
        let content = CertifiedPlaces.content(&block.transactions);
        // Engines give any name.
        let header = Header { id: BlockId::new([9; 32]), ..block.header };
        Self { header, roots: block.roots, content, place: Some(place) }
    }

    fn verify(&self) -> Result<(), Fault> {
        CertifiedPlaces.verify(&self.header, &self.roots, &self.content, self.place.as_ref())
    }
}

#[test]
fn a_block_has_one_place() {
    for height in [1, 2, EMPTY] {
        assert_eq!(Shown::of(height).verify(), Ok(()));
        let lies: [fn(&mut Shown); 6] = [
            |shown| shown.header.height = shown.header.height.next(),
            |shown| shown.header.parent = shown.header.id,
            |shown| shown.content = CertifiedPlaces.content(&[b"another".to_vec()]),
            |shown| shown.place = None,
            |shown| shown.place = Shown::of(DRAW).place,
            |shown| shown.roots.receipts[0] ^= 1,
        ];
        for (lie, alter) in lies.iter().enumerate() {
            let mut shown = Shown::of(height);
            alter(&mut shown);
            assert_eq!(shown.verify(), Err(Fault::Name), "{height}, {lie}");
        }
    }
}

/// What nobody has verified is not given on.
#[test]
fn a_name_that_says_all_needs_no_more() {
    let block = chain().store.export(Height::new(2)).unwrap();
    let verify = |place: Option<&ListProof>| {
        let content = block.certificate.content;
        HashedNames.verify(&block.header, &block.roots, &content, place)
    };
    assert_eq!(verify(None), Ok(()));
    assert_eq!(verify(Some(&chain().places[1].proof)), Err(Fault::Name));
}
