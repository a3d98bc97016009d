//! Servers: what they allow for, and what they do once for many.
use prefinal_execution::Height;
use prefinal_light::EpochEnding;
use prefinal_protocol::EpochId;
use prefinal_state::proof::{KeyRange, StateRange};
use prefinal_state::{BlockDelta, RangeLimits, StateError};
use prefinal_sync::wire::{
    ANSWER_HEAD, Ask, BlockAsk, Compression, Payload, RangeAsk, Request, RequestId, Summary,
};
use prefinal_sync::{
    ServeError, Server, ServerLimits, Source, SourceAnchor, SourceBlock, StoreSource,
};

use crate::chain::{Cert, DRAW, TIP, TestStore, chain};

fn source() -> StoreSource<'static, TestStore> {
    let chain = chain();
    StoreSource { store: &chain.store, endings: &chain.endings, snapshot_every: 6, hops: 0 }
}

fn request(id: u64, ask: Ask, accepts: Compression) -> Vec<u8> {
    Request { id: RequestId::new(id), accepts, ask }.to_wire()
}

fn ask(server: &mut Server, ask: Ask) -> Payload<Cert> {
    let bytes = server.answer(&source(), &request(1, ask, Compression::None)).unwrap();
    Payload::decode(&bytes[ANSWER_HEAD..]).unwrap()
}

const fn blocks(first: u64, count: u32, bytes: u32) -> Ask {
    Ask::Blocks(BlockAsk { first: Height::new(first), count, deltas: true, bytes })
}

fn heights(payload: &Payload<Cert>) -> Vec<u64> {
    match payload {
        Payload::Blocks(items) => items.iter().map(|item| item.header.height.get()).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn answers_are_cut_at_what_is_asked_for_and_at_what_is_allowed() {
    let mut server = Server::new(ServerLimits { blocks: 5, ..ServerLimits::default() });
    assert_eq!(heights(&ask(&mut server, blocks(2, 3, 1 << 20))), [2, 3, 4]);
    assert_eq!(heights(&ask(&mut server, blocks(2, u32::MAX, u32::MAX))), [2, 3, 4, 5, 6]);
    let few = heights(&ask(&mut server, blocks(2, 5, 6_000)));
    assert!(!few.is_empty() && few.len() < 5, "{few:?}");
    assert_eq!(ask(&mut server, blocks(2, 5, 100)), Payload::Absent);
    assert_eq!(heights(&ask(&mut server, blocks(TIP - 1, 5, 1 << 20))), [TIP - 1, TIP]);
    for absent in [
        blocks(0, 5, 1 << 20),
        blocks(TIP + 1, 5, 1 << 20),
        blocks(u64::MAX, 5, 1 << 20),
        blocks(3, 0, 1 << 20),
        Ask::Anchor(Height::GENESIS),
        Ask::Anchor(Height::new(99)),
        Ask::Ending(EpochId::new(2)),
        Ask::Range(RangeAsk { height: Height::new(99), keys: KeyRange::ALL, bytes: 1 << 20 }),
        Ask::Range(RangeAsk {
            height: Height::new(9),
            keys: KeyRange { first: KeyRange::ALL.last, last: KeyRange::ALL.first },
            bytes: 1 << 20,
        }),
    ] {
        assert_eq!(ask(&mut server, absent), Payload::Absent, "{absent:?}");
    }
    let range = RangeAsk { height: Height::new(9), keys: KeyRange::ALL, bytes: 20_000 };
    let Payload::Range(range) = ask(&mut server, Ask::Range(range)) else { panic!("a range") };
    assert!(range.keys.last < KeyRange::ALL.last && !range.rows.is_empty());
    assert!(borsh::object_length(&range).unwrap() < 20_000);
}

#[test]
fn an_answer_is_encoded_once_for_all_that_ask_for_the_same() {
    let mut server = Server::new(ServerLimits::default());
    let mut first = Vec::new();
    for asker in 0..20 {
        for from in [1, 5, 9] {
            let request = request(asker, blocks(from, 4, 1 << 20), Compression::Lz4);
            let answer = server.answer(&source(), &request).unwrap();
            assert_eq!(answer[2..10], asker.to_le_bytes());
            if asker == 0 {
                first.push(answer[10..].to_vec());
            } else {
                assert!(first.contains(&answer[10..].to_vec()));
            }
        }
    }
    assert_eq!((server.counts().hits, server.counts().misses), (57, 3));
    // What the chain has not yet is asked for again.
    for _ in 0..2 {
        ask(&mut server, blocks(TIP, 4, 1 << 20));
        ask(&mut server, blocks(TIP + 1, 4, 1 << 20));
    }
    assert_eq!((server.counts().hits, server.counts().misses), (57, 7));
}

#[test]
fn the_cache_has_its_bytes_and_forgets_what_is_not_used() {
    let mut server = Server::new(ServerLimits { cache_bytes: 8_000, ..ServerLimits::default() });
    for height in 1..=TIP {
        ask(&mut server, blocks(height, 1, 1 << 20));
        ask(&mut server, blocks(1, 1, 1 << 20));
        assert!(server.cached_bytes() <= 8_000 && server.cached_bytes() > 1_000);
    }
    // The one that is used stays: all that were asked for once are misses.
    assert_eq!(server.counts().misses, TIP);
    ask(&mut server, blocks(2, 1, 1 << 20));
    assert_eq!(server.counts().misses, TIP + 1);
}

#[test]
fn compression_is_for_those_who_understand_it_and_saves_bytes() {
    let mut server = Server::new(ServerLimits::default());
    let ask = blocks(10, 6, 1 << 20);
    let plain = server.answer(&source(), &request(1, ask, Compression::None)).unwrap();
    let packed = server.answer(&source(), &request(1, ask, Compression::Lz4)).unwrap();
    assert_eq!((plain[10], packed[10]), (0, 1));
    assert_eq!(plain[11..15], packed[11..15]);
    assert!(packed.len() * 10 < plain.len() * 9, "{} of {}", packed.len(), plain.len());
}

#[test]
fn a_message_that_is_no_request_is_refused() {
    let mut server = Server::new(ServerLimits::default());
    let honest = request(1, Ask::Summary, Compression::None);
    let mut others = vec![Vec::new(), vec![1], vec![1, 3, 0, 0], vec![2, 2, 0, 0]];
    others.extend((0..honest.len()).map(|at| honest[..at].to_vec()));
    others.push([honest.as_slice(), &[0]].concat());
    others.push([honest.as_slice(), &[0; 300]].concat());
    for bytes in others {
        let refused = server.answer(&source(), &bytes);
        assert!(matches!(refused, Err(ServeError::Wire(_))), "{bytes:?}");
    }
}

/// Who executes needs the value that a block reads, who applies deltas does not.
#[test]
fn a_block_without_the_value_that_it_reads_is_for_those_that_apply_its_delta() {
    let (mut server, height) = (Server::new(ServerLimits::default()), Height::new(DRAW));
    let mut ask = |deltas| {
        let ask = BlockAsk { first: height, count: 1, deltas, bytes: 1 << 20 };
        let message = request(1, Ask::Blocks(ask), Compression::None);
        let bytes = server.answer(&Stripped, &message).unwrap();
        heights(&Payload::decode(&bytes[ANSWER_HEAD..]).unwrap())
    };
    assert_eq!(ask(true), [DRAW]);
    assert!(ask(false).is_empty());
}

/// As [`source`], without values.
struct Stripped;

impl Source for Stripped {
    type Certificate = Cert;
    type Error = StateError;

    fn summary(&self) -> Result<Summary, StateError> {
        source().summary()
    }

    fn block(&self, height: Height) -> Result<Option<SourceBlock<Self>>, StateError> {
        let mut found = source().block(height)?;
        if let Some(block) = &mut found {
            assert!(source().is_executable(block));
            block.certificate.randomness = None;
        }
        Ok(found)
    }

    fn is_executable(&self, block: &SourceBlock<Self>) -> bool {
        source().is_executable(block)
    }

    fn delta(&self, height: Height) -> Result<Option<BlockDelta>, StateError> {
        source().delta(height)
    }

    fn anchor(&self, height: Height) -> Result<Option<SourceAnchor<Self>>, StateError> {
        source().anchor(height)
    }

    fn range(
        &self,
        height: Height,
        keys: KeyRange,
        limits: RangeLimits,
    ) -> Result<Option<StateRange>, StateError> {
        source().range(height, keys, limits)
    }

    fn ending(&self, epoch: EpochId) -> Result<Option<EpochEnding>, StateError> {
        source().ending(epoch)
    }
}
