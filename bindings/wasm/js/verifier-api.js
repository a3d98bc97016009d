// The first entry: what checks, and encrypts to a round. `wasm` is what wasm-bindgen made of Rust.

import { drawing } from './draws.js';
import { PrefinalError } from './errors.js';
import { Held, guarded, on } from './held.js';
import { bytes, concat, fraction, hex, integer, invalid, list, little, reading, record, small, text } from './input.js';

const SCHEMES = [
  'pedersen-bls-chained',
  'pedersen-bls-unchained',
  'bls-unchained-on-g1',
  'bls-unchained-g1-rfc9380',
];
const SUITES = ['domain', 'basic', 'pop', 'tag'];
const ZEROS = '00'.repeat(32);
const QUICKNET = {
  public_key:
    '83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d106451' +
    '0d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a',
  period: 3,
  genesis_time: 1692803367,
  hash: '52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971',
  groupHash: 'f477d5c89f21a17c863a7f937c6a6d15859414d2be09cd448d4279af331c5d3e',
  schemeID: 'bls-unchained-g1-rfc9380',
  metadata: { beaconID: 'quicknet' },
};

/** A round as relays send it, or as it is written here. */
function readRound(value) {
  const round = record(value, 'round');
  const { previousSignature = round.previous_signature, randomness } = round;
  return {
    number: integer(round.round, 'round'),
    signature: bytes(round.signature, 'signature'),
    previous:
      previousSignature === undefined || previousSignature === null || previousSignature === ''
        ? undefined
        : bytes(previousSignature, 'previousSignature'),
    randomness: randomness === undefined ? undefined : bytes(randomness, 'randomness', 32),
  };
}

function readChain(value) {
  const chain = record(value, 'chain');
  const { period = 1, genesisTime = 0n, genesisSeed = ZEROS, beaconId = 'default' } = chain;
  const id = text(chain.scheme, 'scheme');
  const scheme = SCHEMES.indexOf(id);
  if (scheme < 0) throw new PrefinalError('unknown-scheme', `unknown scheme ${JSON.stringify(id.slice(0, 64))}`);
  return {
    scheme,
    key: bytes(chain.publicKey, 'publicKey'),
    times: BigUint64Array.of(integer(genesisTime, 'genesisTime'), integer(period, 'period', 32)),
    seed: bytes(genesisSeed, 'genesisSeed', 32),
    id: text(beaconId, 'beaconId'),
  };
}

/** A relay's `info`, of version 1 or 2, as text or read. */
function readInfo(value) {
  let info = value;
  if (typeof value === 'string') {
    try {
      info = JSON.parse(value);
    } catch (error) {
      throw new PrefinalError('not-json', 'info: expected JSON', {}, { cause: error });
    }
  }
  const { public_key, period, genesis_time, hash, chain_hash, groupHash, genesis_seed, schemeID, scheme, metadata, beacon_id } =
    record(info, 'info');
  return {
    chain: readChain({
      scheme: schemeID ?? scheme,
      publicKey: public_key,
      period,
      genesisTime: genesis_time,
      genesisSeed: groupHash ?? genesis_seed,
      beaconId: beacon_id ?? metadata?.beaconID ?? 'default',
    }),
    hash: hex(bytes(hash ?? chain_hash, 'hash', 32)),
  };
}

function readSigned(value) {
  const signed = record(value, 'signed');
  const { suite = 'domain', domain } = signed;
  const kind = SUITES.indexOf(suite);
  if (kind < 0) throw invalid('suite: expected basic, pop or tag');
  return {
    kind,
    domain: kind === 0 ? text(domain, 'domain') : kind === 3 ? text(signed.tag, 'tag') : '',
    key: bytes(signed.publicKey, 'publicKey'),
    message: bytes(signed.message, 'message'),
    signature: bytes(signed.signature, 'signature'),
  };
}

function readElectorate(value) {
  const { electors, quorum } = record(value, 'electorate');
  const read = list(electors, 'electors', (entry, what) => {
    const elector = record(entry, what);
    return {
      stake: little(integer(elector.stake, `${what}.stake`, 128), 16),
      key: bytes(elector.publicKey, `${what}.publicKey`),
      proof: bytes(elector.possession, `${what}.possession`),
    };
  });
  // The first says of which variant all are.
  const minSig = read.length === 0 || read[0].key.length !== 48;
  const [key, proof] = minSig ? [96, 48] : [48, 96];
  const parts = read.flatMap((one, at) => [
    one.stake,
    bytes(one.key, `electors[${at}].publicKey`, key),
    bytes(one.proof, `electors[${at}].possession`, proof),
  ]);
  const need = quorum === undefined ? new Uint8Array() : little(integer(quorum, 'quorum', 128), 16);
  return { minSig, electors: concat(parts), quorum: need };
}

function readRounding(value) {
  const { stakes, weights, claims } = record(value, 'rounding');
  return {
    stakes: concat(list(stakes, 'stakes', (stake, what) => little(integer(stake, what, 128), 16))),
    weights: Uint32Array.from(list(weights, 'weights', small)),
    claims: concat(
      list(claims, 'claims', (entry, what) => {
        const claim = record(entry, what);
        const ratios = [
          ...fraction(claim.secrecy, `${what}.secrecy`),
          ...fraction(claim.reconstruction, `${what}.reconstruction`),
        ];
        const threshold = little(small(claim.threshold, `${what}.threshold`), 4);
        return concat([...ratios.map((number) => little(number, 16)), threshold]);
      }),
    ),
  };
}

/** Everything of this entry, on one instance of WebAssembly. */
export function verifier(wasm, ready) {
  class Chain extends Held {
    #scheme;
    #publicKey;

    constructor(chain) {
      const read = reading(() => readChain(chain));
      super(ready, () => new wasm.RawChain(read.scheme, read.key, read.times, read.seed, read.id));
      this.#scheme = SCHEMES[read.scheme];
      this.#publicKey = hex(read.key);
    }

    static fromInfo(info, known) {
      const { chain, hash } = reading(() => readInfo(info));
      const expected = reading(() => hex(bytes(known, 'hash')));
      const made = new Chain({
        scheme: SCHEMES[chain.scheme],
        publicKey: chain.key,
        period: chain.times[1],
        genesisTime: chain.times[0],
        genesisSeed: chain.seed,
        beaconId: chain.id,
      });
      const computed = made.hash;
      if (computed !== hash || computed !== expected) {
        made.free();
        const other = computed !== hash ? `but says ${hash}` : `and not of chain ${expected}`;
        throw new PrefinalError('wrong-chain-hash', `info is of chain ${computed}, ${other}`);
      }
      return made;
    }

    static quicknet() {
      return Chain.fromInfo(QUICKNET, QUICKNET.hash);
    }

    get scheme() {
      return this.#scheme;
    }

    get publicKey() {
      return this.#publicKey;
    }

    get hash() {
      return hex(on(this, (raw) => raw.hash()));
    }

    verify(round) {
      const read = reading(() => readRound(round));
      return on(this, (raw) => raw.verify(read.number, read.signature, read.previous, read.randomness));
    }

    roundAt(time) {
      const read = reading(() => integer(time, 'time'));
      const round = on(this, (raw) => raw.round_at(read));
      return round === 0n ? undefined : round;
    }

    timeOf(round) {
      const read = reading(() => integer(round, 'round'));
      return on(this, (raw) => raw.time_of(read));
    }

    encrypt(round, message) {
      const read = reading(() => ({ round: integer(round, 'round'), message: bytes(message, 'message') }));
      return on(this, (raw) => raw.encrypt(read.round, read.message));
    }

    decrypt(ciphertext, signature) {
      const read = reading(() => ({
        ciphertext: bytes(ciphertext, 'ciphertext'),
        signature: bytes(signature, 'signature'),
      }));
      return on(this, (raw) => raw.decrypt(read.ciphertext, read.signature));
    }
  }

  class Electorate extends Held {
    constructor(electorate) {
      const read = reading(() => readElectorate(electorate));
      super(ready, () => new wasm.RawElectorate(read.minSig, read.electors, read.quorum));
    }

    get id() {
      return hex(on(this, (raw) => raw.id()));
    }

    get quorum() {
      return on(this, (raw) => raw.quorum());
    }

    verify(certificate) {
      const read = reading(() => {
        const fields = record(certificate, 'certificate');
        return {
          domain: text(fields.domain, 'domain'),
          message: bytes(fields.message, 'message'),
          bytes: bytes(fields.certificate, 'certificate'),
        };
      });
      return Array.from(on(this, (raw) => raw.verify(read.domain, read.message, read.bytes)));
    }
  }

  function verifyBeacon(info, round, hash) {
    const chain = Chain.fromInfo(info, hash);
    try {
      return chain.verify(round);
    } finally {
      chain.free();
    }
  }

  function verifySignature(signed) {
    const read = reading(() => readSigned(signed));
    ready();
    guarded(() => wasm.verify_signature(read.kind, read.domain, read.key, read.message, read.signature));
  }

  function verifyRounding(rounding) {
    const read = reading(() => readRounding(rounding));
    ready();
    guarded(() => wasm.verify_rounding(read.stakes, read.weights, read.claims));
  }

  return { ...drawing(wasm, ready), Chain, Electorate, verifyBeacon, verifySignature, verifyRounding };
}
