//! Stake to small integer weights, exactly and with a certificate.
