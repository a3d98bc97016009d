//! Whatever a peer of Malachite's network sends, and whatever is in the write-ahead log: no decoder panics,
//! and none takes more memory than a frame may hold.

pub(crate) fn run(data: &[u8]) {
    prefinal_malachite_app::decode_all(data);
}
