//! The formats: what is encoded comes back, and nothing else is understood.
use prefinal_execution::Height;
use prefinal_protocol::EpochId;
use prefinal_state::proof::{KeyRange, RangeNode, RangeProof, StateRange, StateRow};
use prefinal_sync::wire::{
    Ask, BlockAsk, Compression, HeightRange, MAX_ITEMS, Payload, RangeAsk, Request, RequestId,
    Summary, WireError,
};
use prefinal_sync::{Source, StoreSource};

use crate::chain::{Cert, chain};

fn payloads() -> Vec<Payload<Cert>> {
    let chain = chain();
    let (store, endings) = (&chain.store, &chain.endings);
    let source = StoreSource { store, endings, snapshot_every: 6, hops: 0 };
    let limits = prefinal_state::RangeLimits { rows: 9, bytes: 9000 };
    let block = source.block(Height::new(5)).unwrap().unwrap();
    let item = prefinal_sync::wire::BlockItem {
        header: block.header,
        roots: block.roots,
        attestation: block.certificate,
        transactions: block.transactions,
        delta: source.delta(Height::new(5)).unwrap(),
    };
    vec![
        Payload::Absent,
        Payload::Blocks(vec![item.clone(), prefinal_sync::wire::BlockItem { delta: None, ..item }]),
        Payload::Anchor(Box::new(source.anchor(Height::new(6)).unwrap().unwrap())),
        Payload::Range(source.range(Height::new(6), KeyRange::ALL, limits).unwrap().unwrap()),
        Payload::Ending(Box::new(source.ending(EpochId::new(0)).unwrap().unwrap())),
    ]
}

#[test]
fn payloads_come_back_and_every_cut_is_refused() {
    for payload in payloads() {
        let bytes = borsh::to_vec(&payload).unwrap();
        assert_eq!(Payload::decode(&bytes).as_ref(), Ok(&payload));
        for cut in (0..bytes.len()).step_by(1 + bytes.len() / 60) {
            assert!(Payload::<Cert>::decode(&bytes[..cut]).is_err());
        }
        assert!(Payload::<Cert>::decode(&[bytes.as_slice(), &[0]].concat()).is_err());
    }
}

#[test]
fn requests_and_summaries_have_these_bytes() {
    let bytes = 1 << 20;
    let (first, height) = (Height::new(17), Height::new(6));
    let asks = [
        (Ask::Summary, 12),
        (Ask::Blocks(BlockAsk { first, count: 4, deltas: true, bytes }), 29),
        (Ask::Anchor(height), 20),
        (Ask::Range(RangeAsk { height, keys: KeyRange::ALL, bytes }), 88),
        (Ask::Ending(EpochId::new(3)), 20),
    ];
    for (ask, length) in asks {
        let request = Request { id: RequestId::new(9), accepts: Compression::Lz4, ask };
        assert_eq!(request.to_wire().len(), length, "{ask:?}");
        assert_eq!(Request::from_wire(&request.to_wire()), Ok(request));
    }
    let blocks = Some(HeightRange { first, last: Height::new(20) });
    let (snapshots, epoch) = (vec![height], EpochId::new(3));
    let summary = Summary { blocks, deltas: None, snapshots, epoch, hops: 2 };
    let mut expected = vec![1, 1, 1, 17, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0];
    expected.extend([1, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 2]);
    assert_eq!(summary.to_wire(), expected);
    assert_eq!(Summary::from_wire(&expected), Ok(summary.clone()));
    let many = Summary { snapshots: vec![height; 9], ..summary };
    let error = Summary::from_wire(&many.to_wire()).unwrap_err();
    assert_eq!(error, WireError::TooMany { got: 9, most: 8 });
}

#[test]
fn lists_are_refused_before_memory_is_taken() {
    // One byte each on the wire, 65 in memory.
    let proof = RangeProof { nodes: vec![RangeNode::Split; MAX_ITEMS + 1] };
    let range = StateRange { keys: KeyRange::ALL, rows: Vec::new(), proof };
    let bytes = borsh::to_vec(&Payload::<Cert>::Range(range)).unwrap();
    let error = Payload::<Cert>::decode(&bytes).unwrap_err();
    assert_eq!(error, WireError::TooMany { got: MAX_ITEMS + 1, most: MAX_ITEMS });
    // Two lists that are too long together.
    let row = StateRow { key: KeyRange::ALL.first, value: Vec::new() };
    let half = MAX_ITEMS / 2 + 1;
    let proof = RangeProof { nodes: vec![RangeNode::Split; half] };
    let range = StateRange { keys: KeyRange::ALL, rows: vec![row; half], proof };
    let bytes = borsh::to_vec(&Payload::<Cert>::Range(range)).unwrap();
    let error = Payload::<Cert>::decode(&bytes).unwrap_err();
    assert_eq!(error, WireError::TooMany { got: half, most: MAX_ITEMS - half });
    // Lists that are parts of values.
    let Some(Payload::Ending(mut ending)) = payloads().pop() else { panic!("an ending") };
    ending.proof.siblings = vec![[0; 32]; MAX_ITEMS + 1];
    let bytes = borsh::to_vec(&Payload::<Cert>::Ending(ending)).unwrap();
    let error = Payload::<Cert>::decode(&bytes).unwrap_err();
    assert!(matches!(error, WireError::TooMany { most: MAX_ITEMS, .. }), "{error}");
    // More than there are bytes.
    let mut bytes = vec![1];
    bytes.extend(60_000_u32.to_le_bytes());
    let error = Payload::<Cert>::decode(&bytes).unwrap_err();
    assert_eq!(error, WireError::TooMany { got: 60_000, most: 0 });
    // A transaction of a gigabyte.
    let Payload::Blocks(mut items) = payloads().swap_remove(1) else { panic!("blocks") };
    items.truncate(1);
    items[0].transactions = vec![vec![1; 100]];
    items[0].delta = None;
    let mut bytes = borsh::to_vec(&Payload::Blocks(items)).unwrap();
    let at = bytes.len() - 105;
    bytes[at..at + 4].copy_from_slice(&(1_u32 << 30).to_le_bytes());
    let error = Payload::<Cert>::decode(&bytes).unwrap_err();
    assert_eq!(error, WireError::TooLong { got: 1 << 30, most: 101 });
}
