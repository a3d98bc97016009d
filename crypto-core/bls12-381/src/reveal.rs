//! The only place where the result of a test on secrets becomes public: whether a secret is zero,
//! whether two secrets are equal, whether bytes encode one. The constant-time test knows [`reveal`]
//! by name and allows no other way.
use core::hint::black_box;

use subtle::{Choice, ConstantTimeEq};

/// Turns the result of a test on a secret into an ordinary `bool`. The result may then be known to
/// everybody.
///
/// It uses a memory access and is never inlined. The result selects the address, and the data at that
/// address is public. So a tool that follows secrets sees the step from secret to public only here.
#[inline(never)]
#[must_use]
pub fn reveal(verdict: Choice) -> bool {
    let verdicts = black_box([false, true]);
    verdicts.get(usize::from(verdict.unwrap_u8())).copied().unwrap_or(false)
}

/// Whether both halves of the bytes are equal. For random bytes this practically never happens.
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
