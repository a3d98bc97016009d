//! The common interface of the coordinate fields of both groups. Their elements are stored as words,
//! in Montgomery form to the base `2³⁸⁴`, lowest word first.

/// An element of `𝔽p`.
pub(crate) type Words = [u64; 6];

/// An element of `𝔽p¹²`: the coefficients of `w⁰, …, w⁵`, for each the constant and that of `u`.
pub(crate) type Twelve = [[Words; 2]; 6];

/// The field that coordinates lie in.
pub trait BaseField: Copy + PartialEq {
    const UNIT: Self;
    fn sum(&self, other: &Self) -> Self;
    fn difference(&self, other: &Self) -> Self;
    fn product(&self, other: &Self) -> Self;
    fn squared(&self) -> Self;
    /// The inverse, in constant time. The element must not be zero.
    fn inverse(&self) -> Self;
    /// The coefficient at a position. A field with a single coefficient has only position zero.
    fn words(&self, at: usize) -> &[u64; 6];
    fn set_words(&mut self, at: usize, words: [u64; 6]);
}
