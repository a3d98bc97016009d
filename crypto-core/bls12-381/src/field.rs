//! What the fields below both groups have in common, and how their elements are kept: in words, in
//! Montgomery form to the base `2³⁸⁴`, lowest word first.

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
    /// Not of zero. Constant time.
    fn inverse(&self) -> Self;
    /// A coefficient; zero is the only place where there is but one.
    fn words(&self, at: usize) -> &[u64; 6];
    fn set_words(&mut self, at: usize, words: [u64; 6]);
}
