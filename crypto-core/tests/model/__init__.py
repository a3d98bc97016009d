"""An independent model of crypto-core, in plain Python.

It is the second opinion behind `vectors/model/*.json`: written from the papers, the RFCs and the
equations of the module heads, sharing no code with the crate. It is slow, it is not constant time,
and it must never hold a real secret.

| module           | what                                                          |
|------------------|---------------------------------------------------------------|
| `field`          | integers modulo p, and the extensions of degree 2 and 12      |
| `curve`          | points of G1 and G2, their canonical encodings                |
| `pairing`        | the optimal ate pairing                                       |
| `hash_to_curve`  | RFC 9380; its constants are in `isogeny`                      |
| `transcript`     | Fiat-Shamir                                                   |
| `draws`          | pretended randomness, and how scalars come from it            |
| `bls`            | signatures in either group, possession, aggregates, EIP-2333  |
| `drand`          | four schemes of drand                                         |
| `sharing`        | Shamir and Feldman, on consecutive points or roots of unity   |
| `threshold`      | threshold BLS                                                 |
| `wvuf`           | the weighted verifiable unpredictable function                |
| `certificate`    | multi-signatures with a bitmap, counted in stake              |
| `timelock`       | identity-based encryption as in drand's tlock                 |
| `elgamal`        | labelled threshold ElGamal; `chacha` is its cipher            |
| `wire`           | versioned bytes                                               |
| `cases`          | what goes into the vector files                               |
| `published`      | the model against vectors that others published               |

Run from `crypto-core/tests`: `python3 -m model --check` or `--write`. Python 3.9 or later, nothing else.
"""
