//! Decides whether lanes are used. By default they are used if the processor has the instructions,
//! which is queried once.
//!
//! They can be switched off, so that both ways can be tested and measured on one machine: by
//! [`disable`], or with `std` by `PREFINAL_LANES=off` in the environment. The results are bit for bit
//! the same.
#[cfg(all(feature = "lanes", target_arch = "x86_64"))]
pub use self::asked::{available, disable};

#[cfg(all(feature = "lanes", target_arch = "x86_64"))]
mod asked {
    use core::sync::atomic::{AtomicU8, Ordering};

    const UNKNOWN: u8 = 0;
    const ON: u8 = 1;
    const OFF: u8 = 2;

    static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

    cpufeatures::new!(ifma, "avx512f", "avx512ifma");

    /// Whether eight values are computed at a time, where the code supports it.
    #[must_use]
    #[inline]
    pub fn available() -> bool {
        match STATE.load(Ordering::Relaxed) {
            ON => true,
            OFF => false,
            _ => ask(),
        }
    }

    /// From now on, computes values one by one. Work that has already started is not affected.
    pub fn disable() {
        STATE.store(OFF, Ordering::Relaxed);
    }

    #[cold]
    fn ask() -> bool {
        let answer = if ifma::get() && !is_unwanted() { ON } else { OFF };
        // If `disable` was called in the meantime, its setting is kept.
        let before = STATE.compare_exchange(UNKNOWN, answer, Ordering::Relaxed, Ordering::Relaxed);
        before.map_or_else(|state| state == ON, |_| answer == ON)
    }

    #[cfg(any(test, feature = "std"))]
    fn is_unwanted() -> bool {
        std::env::var_os("PREFINAL_LANES").is_some_and(|value| value == "off")
    }

    #[cfg(not(any(test, feature = "std")))]
    const fn is_unwanted() -> bool {
        false
    }
}

/// Whether eight values are computed at a time, where the code supports it.
#[cfg(not(all(feature = "lanes", target_arch = "x86_64")))]
#[must_use]
pub const fn available() -> bool {
    false
}

/// From now on, computes values one by one. Work that has already started is not affected.
#[cfg(not(all(feature = "lanes", target_arch = "x86_64")))]
pub const fn disable() {}
