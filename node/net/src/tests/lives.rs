//! Processes that end and come back, members that move, leave and join.
use super::*;

#[tokio::test]
async fn frames_wait_until_a_peer_is_back() {
    let (mut zero, mut one) = pair();
    zero.tell(1, FIRST, b"before");
    assert_eq!(one.frame().await.2, "before");
    let listen = one.address().unwrap();
    one.links.close().await;
    let why = zero.down().await;
    assert!(matches!(&why, LinkError::Closed { code: 0, reason } if reason == "the process stops"));
    drop(one);
    zero.tell(1, FIRST, b"meanwhile");
    let mut one = Node::again(1, listen, BTreeMap::from([member(0, None)])).await;
    assert_eq!(one.frame().await.2, "meanwhile");
    one.tell(0, FIRST, b"after");
    assert_eq!(zero.frame().await.2, "after");
}

#[tokio::test]
async fn datagrams_are_counted_over_all_connections() {
    let (mut zero, mut one) = pair();
    zero.tell(1, FIRST, &vec![0; LONGEST]);
    one.frame().await;
    let sent = |zero: &Node| zero.links.status()[&party(1)].datagrams;
    let before = sent(&zero);
    assert!(before > 65536, "{before}");
    let listen = one.address().unwrap();
    one.links.close().await;
    zero.down().await;
    assert!(sent(&zero) >= before, "a connection that has ended counts");
    drop(one);
    zero.tell(1, FIRST, &vec![0; LONGEST]);
    let mut one = Node::again(1, listen, BTreeMap::from([member(0, None)])).await;
    one.frame().await;
    assert!(sent(&zero) > before + 65536, "and one that is up as well: {}", sent(&zero));
}

#[tokio::test]
async fn a_dialler_that_comes_back_replaces_its_old_connection() {
    let (zero, mut one) = pair();
    zero.tell(1, FIRST, b"before");
    assert_eq!(one.frame().await.2, "before");
    // It was killed: nobody says goodbye.
    std::mem::forget(zero.links);
    let zero = Node::start(0, [member(1, one.address())]);
    assert_eq!(one.down().await, LinkError::Replaced);
    zero.tell(1, FIRST, b"after");
    assert_eq!(one.frame().await.2, "after");
}

#[tokio::test]
async fn a_member_that_moved_is_dialled_where_it_is() {
    let (mut zero, mut one) = pair();
    zero.up().await;
    one.links.close().await;
    zero.down().await;
    one = Node::start(1, [member(0, None)]);
    zero.links.set_members(BTreeMap::from([member(1, one.address())])).unwrap();
    assert_eq!(zero.links.members(), BTreeMap::from([member(1, one.address())]));
    zero.tell(1, FIRST, b"moved");
    assert_eq!(one.frame().await.2, "moved");
}

#[tokio::test]
async fn a_peer_that_is_no_member_any_more_is_told_and_stays_outside() {
    let (mut zero, mut one) = pair();
    one.up().await;
    zero.up().await;
    one.links.set_members(BTreeMap::from([member(2, None)])).unwrap();
    assert!(matches!(zero.down().await, LinkError::Closed { code: 9, .. }));
    assert_eq!(one.down().await, LinkError::NotMember);
    assert!(!one.links.status().contains_key(&party(0)));
    // It dials again, and TLS refuses its key. Then it is a member again.
    while !matches!(zero.state(1), State::Down { why: LinkError::Lost(_) }) {
        tokio::task::yield_now().await;
    }
    one.links.set_members(BTreeMap::from([member(0, None)])).unwrap();
    zero.tell(1, FIRST, b"again");
    assert_eq!(one.frame().await.2, "again");
}

#[tokio::test]
async fn a_new_key_of_a_member_ends_the_connection_of_the_old_one() {
    let (mut zero, mut one) = pair();
    one.up().await;
    zero.up().await;
    let new = Peer { key: public(8), address: None };
    one.links.set_members(BTreeMap::from([(party(0), new)])).unwrap();
    assert_eq!(one.down().await, LinkError::NotMember);
    assert!(matches!(zero.down().await, LinkError::Closed { code: 9, .. }));
    let zero = Node::with(options(0), key(8), [member(1, one.address())]);
    zero.tell(1, FIRST, b"new");
    assert_eq!(one.frame().await.2, "new");
}
