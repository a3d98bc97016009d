//! Random numbers for transactions, derived from the random value of their slot.
//!
//! A slot has one random value, and many transactions that want random numbers from it. Here each of them
//! gets separate numbers, which everybody who has the value can compute again:
//!
//! ```
//! use core::num::NonZeroU64;
//! use prefinal_crypto_core::draw::Draws;
//!
//! # let (value, transaction) = ([7; 32], [9; 32]);
//! let draws = Draws::new(&value, "acme/raffle", &transaction)?; // the slot's value; the bet, by its number or hash
//! let dice = draws.at(0).below(NonZeroU64::new(6).unwrap()) + 1;
//! let winners: Vec<u64> = draws.at(1).order(250).take(3).collect(); // three of 250 tickets
//! # assert!(dice <= 6 && winners.len() == 3);
//! # Ok::<(), prefinal_crypto_core::draw::DrawsError>(())
//! ```
//!
//! | what            | equation                                                                       |
//! |-----------------|--------------------------------------------------------------------------------|
//! | a [`Draw`]      | `d = SHA-256(tag ‖ value ‖ [a] ‖ application ‖ [t] ‖ transaction ‖ index)`       |
//! | its words       | `SHA-256(tag′ ‖ d ‖ question ‖ n ‖ counter)`, four numbers below `2⁶⁴` each       |
//! | a number below `n` | the first word below `2⁶⁴ − (2⁶⁴ mod n)`, modulo `n`                        |
//! | an order of `n` | Fisher and Yates: place `i` is swapped with place `i + (a number below n − i)`  |
//!
//! The tags are the letters `PREFINAL-V1-DRAW-SEED` and `PREFINAL-V1-DRAW-WORDS`. `[a]` and `[t]` are the lengths of what
//! follows, in one byte and in eight. The value has 32 bytes; index, `n`, counter and words have eight, the highest
//! first. The question is one byte, 0 for a number and 1 for an order, whose `n` is all of its places; the counter begins
//! at 0, and the numbers of an order go on in the same words. So no two different draws hash the same bytes, and
//! different questions about one draw have independent answers.
//!
//! **Every number ends.** A word is refused with a probability below one half, so two words are enough on
//! average. After [`TRIES`] words the last one is taken as it is, so that a number costs 32 hashes at most.
//! This happens with a probability below `2⁻¹²⁸`, and so far a number below `n` is from a fair one, and `k` times as far
//! the first `k` places of an order.
//!
//! This is no generator of secrets: everybody who knows the value knows all its draws. When a contract may draw, and what
//! it must not do afterwards, is a page of the book, "Random numbers in contracts".
use alloc::collections::BTreeMap;
use core::num::NonZeroU64;

use sha2::{Digest, Sha256};

const SEED: &[u8] = b"PREFINAL-V1-DRAW-SEED";
const WORDS: &[u8] = b"PREFINAL-V1-DRAW-WORDS";

/// So many words are tried for one number.
pub const TRIES: usize = 128;

/// Why nothing can be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DrawsError {
    /// The application has no name, or one that is too long.
    #[error("name of the application has {got} bytes, expected 1 to {max}")]
    NameLength {
        /// Length of the name in bytes.
        got: usize,
        /// Greatest allowed length in bytes.
        max: usize,
    },
    /// The name contains something other than visible ASCII letters. Two names that look the same could
    /// differ then.
    #[error("name of the application has no visible ASCII letter at byte {index}")]
    NameLetter {
        /// The first such byte, counted from zero.
        index: usize,
    },
    /// The transaction is empty, so that all transactions would draw the same.
    #[error("transaction is empty: pass its hash")]
    NoTransaction,
}

impl DrawsError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NameLength { .. } | Self::NameLetter { .. } | Self::NoTransaction => {
                "invalid-argument"
            }
        }
    }
}

/// All draws of one transaction in one application.
#[derive(Clone, Debug)]
pub struct Draws(Sha256);

impl Draws {
    /// Length of the longest name of an application, in bytes.
    pub const MAX_NAME: usize = 64;

    /// The draws of a transaction from the value of its slot, which must have been verified. Applications
    /// of different names draw independently. `transaction` names what is drawn for, as nobody can choose it who knows
    /// the value: the number that the contract gave a bet, or the hash of the one transaction that placed it.
    ///
    /// # Errors
    /// If the name is not 1 to 64 visible ASCII letters, or the transaction is empty.
    pub fn new(
        value: &[u8; 32],
        application: &str,
        transaction: &[u8],
    ) -> Result<Self, DrawsError> {
        let (got, max) = (application.len(), Self::MAX_NAME);
        let length = u8::try_from(got).ok().filter(|_| (1..=max).contains(&got));
        let length = length.ok_or(DrawsError::NameLength { got, max })?;
        if let Some(index) = application.bytes().position(|letter| !letter.is_ascii_graphic()) {
            return Err(DrawsError::NameLetter { index });
        }
        if transaction.is_empty() {
            return Err(DrawsError::NoTransaction);
        }
        let size = u64::try_from(transaction.len()).unwrap_or(u64::MAX);
        let hash = Sha256::new().chain_update(SEED).chain_update(value);
        let hash = hash.chain_update([length]).chain_update(application);
        Ok(Self(hash.chain_update(size.to_be_bytes()).chain_update(transaction)))
    }

    /// The draw of this index. One draw answers one question; the next question takes the next index.
    #[must_use]
    pub fn at(&self, index: u64) -> Draw {
        Draw(self.0.clone().chain_update(index.to_be_bytes()).finalize().into())
    }
}

/// One draw. It gives the same answer to the same question, however often it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Draw([u8; 32]);

impl Draw {
    /// A draw that was stored as its bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The draw as 32 random bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A number from 0 to `bound − 1`, each as likely as any other. Costs little more than one hash on average, 32 at most.
    #[must_use]
    pub fn below(&self, bound: NonZeroU64) -> u64 {
        pick(&mut Words::new(self, Question::Number, bound.get()), bound)
    }

    /// The places 0 to `among − 1` in an order of which each is as likely as any other. A sample without
    /// repetition is its beginning: `order(n).take(k)`. Time and memory grow with what is taken of it, not
    /// with `among`.
    #[must_use]
    pub fn order(&self, among: u64) -> Order {
        Order { swaps: self.swaps(among), taken: 0, moved: BTreeMap::new() }
    }

    /// With which place each place is swapped to come to [`order`](Self::order): place 0 first, each with
    /// itself or a later one. For callers who keep the places themselves, as a contract does.
    #[must_use]
    pub fn swaps(&self, among: u64) -> Swaps {
        Swaps { words: Words::new(self, Question::Order, among), among, taken: 0 }
    }

    /// Brings items into the order that [`order`](Self::order) gives for so many places.
    pub fn shuffle<T>(&self, items: &mut [T]) {
        let swaps = self.swaps(u64::try_from(items.len()).unwrap_or(u64::MAX));
        for (here, there) in (0..items.len()).zip(swaps) {
            // No place is beyond the items.
            items.swap(here, usize::try_from(there).unwrap_or(here));
        }
    }
}

/// Places in a random order, one after another.
#[derive(Clone, Debug)]
pub struct Order {
    swaps: Swaps,
    taken: u64,
    /// What stands at places from `taken` on where it is not the place's own number.
    moved: BTreeMap<u64, u64>,
}

impl Iterator for Order {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let there = self.swaps.next()?;
        let here = self.taken;
        self.taken += 1;
        let own = self.moved.remove(&here).unwrap_or(here);
        if there == here {
            return Some(own);
        }
        Some(self.moved.insert(there, own).unwrap_or(there))
    }
}

/// With which place each place is swapped, one after another.
#[derive(Clone, Debug)]
pub struct Swaps {
    words: Words,
    among: u64,
    taken: u64,
}

impl Iterator for Swaps {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let here = self.taken;
        let left = NonZeroU64::new(self.among.checked_sub(here)?)?;
        self.taken += 1;
        Some(here + pick(&mut self.words, left))
    }
}

/// What is asked of a draw.
#[derive(Clone, Copy, Debug)]
enum Question {
    Number,
    Order,
}

/// The endless words with which a draw answers one question.
#[derive(Clone, Debug)]
struct Words {
    question: Sha256,
    counter: u64,
    /// Words of the last hash, and how many of them were taken.
    block: [u64; 4],
    taken: usize,
}

impl Words {
    fn new(draw: &Draw, question: Question, n: u64) -> Self {
        let kind: u8 = match question {
            Question::Number => 0,
            Question::Order => 1,
        };
        let hash = Sha256::new().chain_update(WORDS).chain_update(draw.0);
        let question = hash.chain_update([kind]).chain_update(n.to_be_bytes());
        Self { question, counter: 0, block: [0; 4], taken: 4 }
    }
}

impl Iterator for Words {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.taken == self.block.len() {
            let hash = self.question.clone().chain_update(self.counter.to_be_bytes()).finalize();
            let (parts, _) = hash.as_slice().as_chunks();
            self.block
                .iter_mut()
                .zip(parts)
                .for_each(|(word, part)| *word = u64::from_be_bytes(*part));
            (self.counter, self.taken) = (self.counter.wrapping_add(1), 0);
        }
        let word = self.block.get(self.taken).copied();
        self.taken += 1;
        word
    }
}

/// A number below the bound. Words from the last multiple of it on are refused, unless it divides `2⁶⁴`: with them the
/// smaller numbers would be drawn more often.
fn pick(words: &mut impl Iterator<Item = u64>, bound: NonZeroU64) -> u64 {
    let most = u64::MAX - (u64::MAX % bound + 1) % bound;
    let mut last = 0;
    for word in words.take(TRIES) {
        last = word;
        if word <= most {
            break;
        }
    }
    last % bound
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: NonZeroU64 = NonZeroU64::new((1 << 63) + 1).unwrap();

    #[test]
    fn a_word_beyond_the_last_multiple_is_refused() {
        let pick = |words: &[u64], bound| pick(&mut words.iter().copied(), bound);
        assert_eq!(pick(&[HALF.get() - 1, 5], HALF), HALF.get() - 1);
        assert_eq!(pick(&[HALF.get(), u64::MAX, 5], HALF), 5);
        // Every word below a power of two is good.
        let power = NonZeroU64::new(1 << 63).unwrap();
        assert_eq!(pick(&[u64::MAX, 5], power), power.get() - 1);
        assert_eq!(pick(&[u64::MAX, 5], NonZeroU64::MIN), 0);
        assert_eq!(pick(&[u64::MAX, 5], NonZeroU64::MAX), 5);
    }

    #[test]
    fn a_number_ends_after_128_words() {
        let mut words = (0..).map(|at| u64::MAX - at);
        assert_eq!(pick(&mut words, HALF), (u64::MAX - 127) % HALF);
        assert_eq!(words.next(), Some(u64::MAX - 128));
    }
}
