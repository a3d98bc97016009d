//! Where a verdict about a secret becomes public: whether it is zero, whether two are equal, whether bytes
//! encode one. The constant-time test knows [`reveal`] by name and no other door.
use core::hint::black_box;

use subtle::{Choice, ConstantTimeEq};

/// A verdict about a secret that everybody may know, as an ordinary `bool`.
///
/// It goes through memory and is never inlined: the verdict is the address, what lies there is
/// public, and a tool that follows secrets sees the step from one to the other here and only here.
#[inline(never)]
#[must_use]
pub fn reveal(verdict: Choice) -> bool {
    let verdicts = black_box([false, true]);
    verdicts.get(usize::from(verdict.unwrap_u8())).copied().unwrap_or(false)
}

/// Whether one half of the bytes is the other, as hardly ever if they were drawn at random.
#[must_use]
pub fn is_periodic(bytes: &[u8]) -> bool {
    let (first, second) = bytes.split_at(bytes.len() / 2);
    reveal(first.ct_eq(second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_comes_out_as_it_is() {
        assert!(reveal(Choice::from(1)));
        assert!(!reveal(Choice::from(0)));
    }
}
