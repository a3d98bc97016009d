//! One threshold output per slot, ready when the slot is final.
