//! Whether lanes are used: by default if the processor has the instructions. It is asked once.
//!
//! They can be switched off, so that both ways are tested and measured on one machine: by [`disable`], or
//! where there is `std` by the environment, `PREFINAL_LANES=off`. Results are the same to the bit.
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

    /// Whether what can be done eight at a time is.
    #[must_use]
    #[inline]
    pub fn available() -> bool {
        match STATE.load(Ordering::Relaxed) {
            ON => true,
            OFF => false,
            _ => ask(),
        }
    }

    /// Does one by one, from now on, whatever is not under way.
    pub fn disable() {
        STATE.store(OFF, Ordering::Relaxed);
    }

    #[cold]
    fn ask() -> bool {
        let answer = if ifma::get() && !is_unwanted() { ON } else { OFF };
        // What `disable` has said in the meantime holds.
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

/// Whether what can be done eight at a time is.
#[cfg(not(all(feature = "lanes", target_arch = "x86_64")))]
#[must_use]
pub const fn available() -> bool {
    false
}

/// Does one by one, from now on, whatever is not under way.
#[cfg(not(all(feature = "lanes", target_arch = "x86_64")))]
pub const fn disable() {}
