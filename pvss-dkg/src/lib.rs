//! Publicly verifiable secret sharing and distributed key generation for weighted committees.
