//! One forgery per check, with everything else honestly remade, so that only that check can tell.

mod aggregate;
mod batch;
mod dealing;
mod entangled;
pub(crate) mod repeated;
mod wire;
