//! Threshold signatures: the rows, and that results are the same.
use std::fmt::Debug;
use std::hint::black_box;

use prefinal_crypto_core::access::ShareIndex;
use prefinal_crypto_core::polynomial::Placement;

use crate::contest::{Contest, Times};
use crate::dealt::DealtSecrets;
use crate::limit::{Limit, Points};

/// A signature that does not verify.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidSignature;

/// One library's threshold signatures over a sharing that it has read. A share is named by its
/// position, from zero.
pub trait Scheme {
    /// One party's partial signature.
    type Partial: Clone;
    /// Partials, prepared to be checked together.
    type Batch;
    /// Valid partials, prepared to be combined.
    type Quorum<'a>
    where
        Self: 'a;
    /// The committee's signature.
    type Signature;
    /// The dealer's commitment, from which share keys are computed.
    type Commitment;
    /// The public key of one share.
    type Key;

    /// Signs with one share: a hash to the curve and a multiplication.
    fn partial(&self, share: usize) -> Self::Partial;
    /// Checks a partial by the share's public key, which is at hand.
    ///
    /// # Errors
    /// If it is not the party's.
    fn verify(&self, share: usize, partial: &Self::Partial) -> Result<(), InvalidSignature>;
    /// Prepares partials for [`Self::culprits`]. This is not measured.
    fn batch(&self, partials: Vec<(usize, Self::Partial)>) -> Self::Batch;
    /// Checks all partials together, and gives the positions of those that are wrong.
    fn culprits(&self, batch: &Self::Batch) -> Vec<usize>;
    /// Prepares partials for [`Self::combine`]. This is not measured.
    fn quorum(&self, partials: Vec<(usize, Self::Partial)>) -> Self::Quorum<'_>;
    /// The committee's signature, interpolated from valid partials.
    fn combine(&self, quorum: &Self::Quorum<'_>) -> Self::Signature;
    /// Checks the result by the committee's public key.
    ///
    /// # Errors
    /// If it is not the committee's.
    fn verify_result(&self, signature: &Self::Signature) -> Result<(), InvalidSignature>;
    /// Reads the commitment that [`Self::share_keys`] takes. This is not measured.
    fn commitment(&self) -> Self::Commitment;
    /// The public keys of all shares.
    fn share_keys(&self, commitment: Self::Commitment) -> Vec<Self::Key>;

    /// The partial's compressed encoding, to compare it with the other library's.
    fn partial_bytes(partial: &Self::Partial) -> Vec<u8>;
    /// The signature's compressed encoding.
    fn signature_bytes(signature: &Self::Signature) -> Vec<u8>;
    /// The share key's compressed encoding.
    fn key_bytes(key: &Self::Key) -> Vec<u8>;
}

/// Both on the same sharing: that they agree, and every row. A difference ends the program, so that
/// nothing is written down.
pub fn compare<V: Limit, S: Scheme>(contest: &mut Contest, dealt: &DealtSecrets<V>, peer: &S) {
    let case = format!("{}{}", dealt.case.name(), V::MARK);
    // Where they take a minute they are computed once: what follows works with them.
    share_keys(contest, dealt, peer, &case);
    agree(dealt, peer);
    single(contest, dealt, peer, &case);
    batch(contest, dealt, peer, &case);
    for (scattered, indices) in [(true, "scattered"), (false, "contiguous")] {
        combine(contest, (dealt, peer), scattered, &format!("{case}, {indices}"));
    }
}

/// The same keys, the same partials, the same liar, the same signatures.
fn agree<V: Limit, S: Scheme>(dealt: &DealtSecrets<V>, peer: &S) {
    let all = 0..dealt.shares.len();
    for share in all.clone() {
        let (ours, theirs) = (dealt.partial(share), peer.partial(share));
        same("partials", &DealtSecrets::<V>::partial_bytes(&ours), &S::partial_bytes(&theirs));
    }
    let liar = liar(dealt);
    assert_eq!(peer.verify(liar, &peer.partial(liar)), Ok(()), "the peer refuses what it signed");
    let swapped = peer.verify(liar, &peer.partial(liar - 1));
    assert_eq!(swapped, Err(InvalidSignature), "the peer takes another's partial");
    for lying in [false, true] {
        let expected = if lying { vec![liar] } else { vec![] };
        assert_eq!(
            dealt.culprits(&dealt.batch(partials(dealt, all.clone(), lying.then_some(liar)))),
            expected
        );
        assert_eq!(
            peer.culprits(&peer.batch(partials(peer, all.clone(), lying.then_some(liar)))),
            expected
        );
    }
    for scattered in [false, true] {
        let set = dealt.signing(scattered);
        let ours = dealt.combine(&dealt.quorum(partials(dealt, set.clone(), None)));
        let theirs = peer.combine(&peer.quorum(partials(peer, set, None)));
        same(
            "signatures",
            &DealtSecrets::<V>::signature_bytes(&ours),
            &S::signature_bytes(&theirs),
        );
        assert_eq!(peer.verify_result(&theirs), Ok(()));
    }
}

fn same(what: &str, ours: &impl Debug, theirs: &impl Debug) {
    let (ours, theirs) = (format!("{ours:02x?}"), format!("{theirs:02x?}"));
    assert_eq!(ours, theirs, "{what} of ours and the peer differ");
}

fn liar<V: Limit>(dealt: &DealtSecrets<V>) -> usize {
    dealt.shares.len() * 2 / 3
}

/// A liar gives what another signed: a point of the group, on the same message.
fn partials<S: Scheme>(
    scheme: &S,
    shares: impl IntoIterator<Item = usize>,
    liar: Option<usize>,
) -> Vec<(usize, S::Partial)> {
    let partial = |share| {
        let signer = if liar == Some(share) { share - 1 } else { share };
        (share, scheme.partial(signer))
    };
    shares.into_iter().map(partial).collect()
}

fn single<V: Limit, S: Scheme>(
    contest: &mut Contest,
    dealt: &DealtSecrets<V>,
    peer: &S,
    case: &str,
) {
    let ours = contest.time(|| dealt.partial(black_box(0)));
    let theirs = contest.time(|| peer.partial(black_box(0)));
    let limit = V::partial(contest, dealt.case.message);
    contest.row(("threshold::partial", case), Times { ours, theirs, limit: Some(limit) });

    let partial = (dealt.partial(0), peer.partial(0));
    let ours = contest.time(|| dealt.verify(0, black_box(&partial.0)).unwrap());
    let theirs = contest.time(|| peer.verify(0, black_box(&partial.1)).unwrap());
    let limit = V::verify(contest, dealt.case.message);
    contest.row(("threshold::verify", case), Times { ours, theirs, limit: Some(limit) });

    let set = dealt.signing(true);
    let our_signature = dealt.combine(&dealt.quorum(partials(dealt, set.clone(), None)));
    let signature = peer.combine(&peer.quorum(partials(peer, set, None)));
    let ours = contest.time(|| dealt.verify_result(black_box(&our_signature)).unwrap());
    let theirs = contest.time(|| peer.verify_result(black_box(&signature)).unwrap());
    contest.row(("threshold::verify_result", case), Times { ours, theirs, limit: Some(limit) });
}

fn batch<V: Limit, S: Scheme>(
    contest: &mut Contest,
    dealt: &DealtSecrets<V>,
    peer: &S,
    case: &str,
) {
    let n = dealt.shares.len();
    let verify = V::verify(contest, dealt.case.message);
    let sums =
        V::Points::sum_of_signatures(contest, n, 128) + V::Points::sum_of_keys(contest, n, 128);
    for (operation, liar, limit) in [
        ("threshold::check_all", None, Some(verify + sums)),
        ("threshold::culprit", Some(liar(dealt)), None),
    ] {
        let ours = dealt.batch(partials(dealt, 0..n, liar));
        let theirs = peer.batch(partials(peer, 0..n, liar));
        let ours = contest.time(|| dealt.culprits(black_box(&ours)));
        let theirs = contest.time(|| peer.culprits(black_box(&theirs)));
        contest.row((operation, case), Times { ours, theirs, limit });
    }
}

fn combine<V: Limit, S: Scheme>(
    contest: &mut Contest,
    (dealt, peer): (&DealtSecrets<V>, &S),
    scattered: bool,
    case: &str,
) {
    let set = dealt.signing(scattered);
    let ours = dealt.quorum(partials(dealt, set.clone(), None));
    let theirs = peer.quorum(partials(peer, set.clone(), None));
    let ours = contest.time(|| dealt.combine(black_box(&ours)));
    let theirs = contest.time(|| peer.combine(black_box(&theirs)));
    let all: Vec<ShareIndex> = dealt.committee.points().indices().collect();
    let indices: Vec<ShareIndex> = set.iter().map(|share| all[*share]).collect();
    let bits = dealt.committee.points().lagrange_at_zero(&indices).unwrap().bits();
    let limit = V::Points::sum_of_signatures(contest, set.len(), bits);
    contest.row(("threshold::combine", case), Times { ours, theirs, limit: Some(limit) });
}

fn share_keys<V: Limit, S: Scheme>(
    contest: &mut Contest,
    dealt: &DealtSecrets<V>,
    peer: &S,
    case: &str,
) {
    let mut keys = (Vec::new(), Vec::new());
    let ours = contest.time_each(|| dealt.commitment(), |it| keys.0 = dealt.share_keys(it));
    let theirs = contest.time_each(|| peer.commitment(), |it| keys.1 = peer.share_keys(it));
    let ours_bytes: Vec<_> = keys.0.iter().map(DealtSecrets::<V>::key_bytes).collect();
    same("share keys", &ours_bytes, &keys.1.iter().map(S::key_bytes).collect::<Vec<_>>());
    let limit = match dealt.case.placement {
        Placement::Consecutive => Some(V::Points::add_keys(contest, dealt.case.n * dealt.case.t)),
        Placement::RootsOfUnity => None,
    };
    contest.row(("threshold::share_keys", case), Times { ours, theirs, limit });
}

#[cfg(test)]
mod tests {
    use prefinal_crypto_core::bls::{Domain, MinSig};

    use super::*;
    use crate::dealt::Case;

    fn dealt(t: u32, message: &'static [u8]) -> DealtSecrets<MinSig> {
        let placement = Placement::Consecutive;
        DealtSecrets::new(Case { n: 7, t, placement, domain: Domain::POP, message })
    }

    #[test]
    fn a_sharing_agrees_with_itself() {
        agree(&dealt(4, b"message"), &dealt(4, b"message"));
    }

    #[test]
    #[should_panic(expected = "partials of ours and the peer differ")]
    fn another_message_is_a_difference() {
        agree(&dealt(4, b"message"), &dealt(4, b"message\0"));
    }

    #[test]
    #[should_panic(expected = "partials of ours and the peer differ")]
    fn another_sharing_is_a_difference() {
        agree(&dealt(4, b"message"), &dealt(5, b"message"));
    }
}
