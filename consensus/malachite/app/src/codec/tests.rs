//! Messages that come back as they were, and those that do not come in.
use std::sync::Arc;

use malachitebft_app_channel::app::types::Keypair;
use malachitebft_core_types::{
    CommitCertificate, RoundCertificate, RoundCertificateType, SignedExtension, SignedMessage,
};
use malachitebft_sync::ValueRequest;
use prefinal_malachite::{MAX_EXTENSION, Member, Proposal, PublicKey, SecretKey, Validators, Vote};
use prefinal_protocol::{ChainId, Context, EpochId, Party};

use super::*;

const LIMITS: WireLimits = WireLimits { frame: 1 << 19, response: 1 << 20, block: 1000 };

fn codec() -> WireCodec {
    WireCodec::new(LIMITS)
}

fn key() -> SecretKey {
    SecretKey::from_seed([1; 32])
}

fn committee() -> Validators {
    let context = Context { chain: ChainId::new([1; 32]), epoch: EpochId::new(0) };
    let member =
        Member { key: key().public_key(), stake: prefinal_weighted_rounding::Stake::new(1) };
    Validators::new(&context, &[member]).unwrap()
}

fn precommit(extension: usize) -> Vote {
    let vote = Vote {
        kind: VoteType::Precommit,
        height: Height::new(5),
        round: Round::ZERO,
        value: NilOrVal::Val(BlockId::new([3; 32])),
        voter: Address::new(Party::new(0)),
        extension: None,
    };
    let bytes = vec![9; extension];
    let signature = key().sign_extension(&committee(), &vote, &bytes).unwrap();
    Vote { extension: Some(SignedExtension::new(bytes, signature)), ..vote }
}

fn signed(vote: Vote) -> SignedMessage<Tendermint, Vote> {
    let signature = key().sign_vote(&committee(), &vote);
    SignedMessage::new(vote, signature)
}

fn proposal(transactions: Vec<Arc<[u8]>>, height: u64) -> SignedConsensusMsg<Tendermint> {
    let proposal = Proposal {
        height: Height::new(5),
        round: Round::ZERO,
        pol_round: Round::Nil,
        proposer: Address::new(Party::new(0)),
        block: Block::new(Height::new(height), transactions),
    };
    let signature = key().sign_proposal(&committee(), &proposal);
    SignedConsensusMsg::Proposal(SignedMessage::new(proposal, signature))
}

/// Writes, reads and compares, and reads everything that is nearly the same.
fn holds<T: PartialEq + std::fmt::Debug>(value: &T)
where
    WireCodec: Codec<T, Error = CodecError>,
{
    let bytes = codec().encode(value).unwrap();
    assert_eq!(&codec().decode(bytes.clone()).unwrap(), value);
    for length in 0..bytes.len() {
        codec().decode(bytes.slice(..length)).unwrap_err();
    }
    let longer = [&bytes, &[0][..]].concat();
    codec().decode(longer.into()).unwrap_err();
    let mut version = bytes.to_vec();
    version[0] += 1;
    assert_eq!(codec().decode(version.into()).unwrap_err().code(), "wrong-version");
    for at in 0..bytes.len() {
        let mut flipped = bytes.to_vec();
        flipped[at] ^= 0x80;
        // It may be a message, but no panic and no allocation beyond the frame.
        decode_all(&flipped);
    }
}

#[test]
fn messages_come_back_and_garbled_ones_do_not() {
    let vote = signed(precommit(10));
    holds(&SignedConsensusMsg::<Tendermint>::Vote(vote.clone()));
    holds(&proposal(vec![vec![1; 10].into(), vec![].into()], 5));
    holds(&LivenessMsg::<Tendermint>::Vote(vote.clone()));
    let round = RoundCertificate::new_from_votes(
        Height::new(5),
        Round::new(1),
        RoundCertificateType::Skip,
        vec![vote.clone()],
    );
    holds(&LivenessMsg::SkipRoundCertificate(round));
    let keys = Keypair::ed25519_from_bytes([1; 32]).unwrap();
    let peer_id = PeerId::from_bytes(&keys.public().to_peer_id().to_bytes()).unwrap();
    let (tip_height, history_min_height) = (Height::new(9), Height::new(1));
    holds(&Status::<Tendermint> { peer_id, tip_height, history_min_height });
    let range = Height::new(1)..=Height::new(7);
    holds(&Request::<Tendermint>::ValueRequest(ValueRequest::new(range)));
    holds(&key().prove_peer(&peer_id.to_bytes()));
    holds(&response(&Block::new(Height::new(5), vec![vec![1; 9].into()]), 10));
}

fn response(block: &Block, extension: usize) -> Response<Tendermint> {
    let mut vote = precommit(extension);
    vote.value = NilOrVal::Val(block.id());
    let extensions = vec![(vote.voter, vote.extension.clone().unwrap())];
    let height = block.height();
    let votes = vec![signed(vote)];
    let certificate = CommitCertificate::new(height, Round::ZERO, block.id(), votes);
    let decision = Decision { block: block.clone(), certificate, extensions };
    let value = RawDecidedValue::new(encode_block(block), decision.extended());
    Response::ValueResponse(ValueResponse::new(height, vec![value]))
}

fn refused<T>(value: &T) -> &'static str
where
    WireCodec: Codec<T, Error = CodecError>,
{
    let bytes = codec().encode(value).unwrap();
    codec().decode(bytes).err().map_or("taken", |error| match error {
        // Its code would not say which limit it was.
        CodecError::Shape(_) => "shape",
        error => error.code(),
    })
}

#[test]
fn what_is_too_large_is_refused() {
    // 1000 bytes with what each transaction takes beside its own.
    assert_eq!(refused(&proposal(vec![vec![1; 996].into()], 5)), "taken");
    assert_eq!(refused(&proposal(vec![vec![1; 997].into()], 5)), "shape");
    assert_eq!(refused(&proposal(vec![vec![].into(); 250], 5)), "taken");
    assert_eq!(refused(&proposal(vec![vec![].into(); 251], 5)), "shape");
    assert_eq!(refused(&proposal(vec![vec![1; LIMITS.frame].into()], 5)), "too-long");
    assert_eq!(refused(&proposal(vec![], 6)), "shape", "a block of another height");

    let vote = |length| SignedConsensusMsg::<Tendermint>::Vote(signed(precommit(length)));
    assert_eq!(refused(&vote(MAX_EXTENSION)), "taken");
    assert_eq!(refused(&vote(MAX_EXTENSION + 1)), "shape");
    let mut nowhere = precommit(0);
    nowhere.round = Round::Nil;
    assert_eq!(refused(&LivenessMsg::<Tendermint>::Vote(signed(nowhere))), "shape");

    let block = |length| Block::new(Height::new(5), vec![vec![1; length].into()]);
    assert_eq!(refused(&response(&block(996), 0)), "taken");
    assert_eq!(refused(&response(&block(997), 0)), "shape");
    assert_eq!(refused(&response(&block(9), MAX_EXTENSION + 1)), "shape");
    assert!(decode_block(&encode_block(&block(996)), 1000).is_ok());
    assert!(decode_block(&encode_block(&block(997)), 1000).is_err());
    assert!(decode_block(&vec![0; 1 << 20], 1000).is_err());
}

#[test]
fn lengths_that_promise_more_than_there_is_allocate_nothing() {
    let greedy = [&[VERSION][..], &[1, 0xff, 0xff, 0xff, 0xff], &[0xff; 60]].concat();
    decode_all(&greedy);
    for place in 0..greedy.len() {
        decode_all(&greedy[place..]);
    }
}

#[test]
fn a_proof_names_one_peer_and_one_key() {
    let proof = key().prove_peer(b"peer");
    assert_eq!(PublicKey::verify_peer(&proof), Ok(()));
    let other = SecretKey::from_seed([2; 32]).public_key().to_bytes().to_vec();
    let (key, peer, signature) = (proof.public_key, proof.peer_id, proof.signature);
    for (key, peer) in [(key.clone(), b"pees".to_vec()), (other, peer), (vec![1], vec![])] {
        let wrong = ValidatorProof::new(key, peer, signature);
        assert!(PublicKey::verify_peer(&wrong).is_err());
    }
}

#[test]
fn own_precommits_of_round_zero_are_reported_when_they_leave() {
    let (sender, mut voted) = tokio::sync::mpsc::unbounded_channel();
    let codec = codec().reporting(Address::new(Party::new(0)), sender);
    let send = |vote: Vote| codec.encode(&SignedConsensusMsg::Vote(signed(vote))).unwrap();
    send(Vote { kind: VoteType::Prevote, extension: None, ..precommit(0) });
    send(Vote { round: Round::new(1), ..precommit(0) });
    send(Vote { value: NilOrVal::Nil, extension: None, ..precommit(0) });
    send(Vote { voter: Address::new(Party::new(1)), ..precommit(0) });
    assert!(voted.try_recv().is_err());
    send(precommit(0));
    assert_eq!(voted.try_recv().unwrap(), (Height::new(5), BlockId::new([3; 32])));
}
