//! BLS12-381, secret sharing and the weighted verifiable unpredictable function.
