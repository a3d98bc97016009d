//! The weighted VUF under attack.
mod attacks;
mod audit;
mod fixture;
