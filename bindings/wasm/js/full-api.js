// The second entry: everything of the first, what holds secrets, and what takes more code than the first
// may have.

import { Held, guarded, on } from './held.js';
import { bytes, concat, fraction, hex, integer, invalid, list, little, reading, record, small, text } from './input.js';
import { verifier } from './verifier-api.js';

const PATHS = ['slow', 'fast'];
/** What a key is for; its place is its number, from one. */
const PURPOSES = ['randomness', 'certificates', 'decryption'];
/** Bytes of a point of the second group. */
const POINT = 96;

function readConfig(value) {
  const config = record(value, 'config');
  const { attempt = 0, fast = 0 } = config;
  const purpose = PURPOSES.indexOf(config.purpose);
  if (purpose < 0) throw invalid(`purpose: expected ${PURPOSES.join(', ')}`);
  let total = 0n;
  const members = list(config.members, 'members', (entry, what) => {
    const member = record(entry, what);
    const stake = integer(member.stake, `${what}.stake`, 128);
    total += stake;
    return concat([
      little(stake, 16),
      bytes(member.publicKey, `${what}.publicKey`, POINT),
      bytes(member.possession, `${what}.possession`, 48),
      bytes(member.registration, `${what}.registration`, 272),
    ]);
  });
  const { qualify = total / 3n } = config;
  return {
    session: concat([
      bytes(config.chain, 'chain', 32),
      little(integer(config.epoch, 'epoch'), 8),
      little(small(attempt, 'attempt'), 4),
      little(purpose + 1, 1),
    ]),
    numbers: Uint32Array.from([
      small(config.slow, 'slow'),
      small(fast, 'fast'),
      ...list(config.weights, 'weights', small),
    ]),
    members: concat([little(integer(qualify, 'qualify', 128), 16), ...members]),
  };
}

/** Each with its length before it. */
function sized(parts) {
  return concat(parts.flatMap((part) => [little(part.length, 4), part]));
}

/** See `verify_aggregate` in `dealing.rs`. */
function publicParts(parts, shares, paths) {
  const view = new DataView(parts.buffer, parts.byteOffset);
  const dealers = view.getUint32(128, true);
  let at = 132 + 4 * dealers;
  const path = () => Array.from({ length: shares }, () => parts.slice(at, (at += POINT)));
  return {
    digest: hex(parts.slice(0, 32)),
    publicKey: parts.slice(32, 128),
    dealers: Array.from({ length: dealers }, (_, dealer) => view.getUint32(132 + 4 * dealer, true)),
    slow: path(),
    fast: paths > 1 ? path() : undefined,
  };
}

function readEvaluations(value) {
  const { epochKey, path = 'slow', keys } = record(value, 'evaluations');
  const which = PATHS.indexOf(path);
  if (which < 0) throw invalid('path: expected slow or fast');
  const parties = list(keys, 'keys', (entry, what) => {
    const { party, key } = record(entry, what);
    return concat([little(small(party, `${what}.party`), 4), sized([bytes(key, `${what}.key`)])]);
  });
  return { epoch: bytes(epochKey, 'epochKey'), fast: which === 1, parties: concat(parties) };
}

function readVariant(value, what) {
  const { variant = 'min-sig' } = value === undefined ? {} : record(value, what);
  if (variant !== 'min-sig' && variant !== 'min-pk') throw invalid('variant: expected min-sig or min-pk');
  return variant === 'min-sig';
}

function readProblem(value) {
  const { stakes, pairs, budget = 0 } = record(value, 'rounding');
  return {
    stakes: concat(list(stakes, 'stakes', (stake, what) => little(integer(stake, what, 128), 16))),
    pairs: concat(
      list(pairs, 'pairs', (entry, what) => {
        const pair = record(entry, what);
        const ratios = [
          ...fraction(pair.secrecy, `${what}.secrecy`),
          ...fraction(pair.reconstruction, `${what}.reconstruction`),
        ];
        return concat(ratios.map((number) => little(number, 16)));
      }),
    ),
    budget: small(budget, 'budget'),
  };
}

export function full(wasm, ready) {
  class SigningKey extends Held {
    constructor(secret) {
      const read = secret === undefined ? undefined : reading(() => bytes(secret, 'secret', 32));
      const { RawSigningKey } = wasm;
      super(ready, () => (read === undefined ? RawSigningKey.random() : RawSigningKey.from_bytes(read)));
    }

    toBytes() {
      return on(this, (raw) => raw.to_bytes());
    }

    publicKey(options) {
      const minSig = reading(() => readVariant(options, 'options'));
      return on(this, (raw) => raw.public_key(minSig));
    }

    possession(options) {
      const minSig = reading(() => readVariant(options, 'options'));
      return on(this, (raw) => raw.possession(minSig));
    }

    sign(signed) {
      const read = reading(() => ({
        minSig: readVariant(signed, 'signed'),
        domain: text(signed.domain, 'domain'),
        message: bytes(signed.message, 'message'),
      }));
      return on(this, (raw) => raw.sign(read.minSig, read.domain, read.message));
    }
  }

  class DecryptionKey extends Held {
    constructor(secret) {
      const read = secret === undefined ? undefined : reading(() => bytes(secret, 'secret', 32));
      const { RawDecryptionKey } = wasm;
      super(ready, () => (read === undefined ? RawDecryptionKey.random() : RawDecryptionKey.from_bytes(read)));
    }

    toBytes() {
      return on(this, (raw) => raw.to_bytes());
    }

    register(signer) {
      if (!(signer instanceof SigningKey)) throw invalid('signer: expected a SigningKey');
      return on(this, (raw) => on(signer, (own) => raw.register(own)));
    }
  }

  class Config extends Held {
    #shares;
    #paths;

    constructor(config) {
      const read = reading(() => readConfig(config));
      super(ready, () => new wasm.RawConfig(read.session, read.numbers, read.members));
      this.#shares = read.numbers.slice(2).reduce((sum, weight) => sum + weight, 0);
      this.#paths = read.numbers[1] === 0 ? 1 : 2;
    }

    get digest() {
      return hex(on(this, (raw) => raw.digest()));
    }

    verifyAggregate(aggregate) {
      const read = reading(() => bytes(aggregate, 'aggregate'));
      const parts = on(this, (raw) => raw.verify_aggregate(read));
      return publicParts(parts, this.#shares, this.#paths);
    }

    verifyDealing(dealing) {
      const read = reading(() => bytes(dealing, 'dealing'));
      return on(this, (raw) => raw.verify_dealing(read));
    }

    deal(dealer, signer) {
      const read = reading(() => small(dealer, 'dealer'));
      if (!(signer instanceof SigningKey)) throw invalid('signer: expected a SigningKey');
      return on(this, (raw) => on(signer, (own) => raw.deal(read, own)));
    }

    addUp(dealings) {
      const read = reading(() => sized(list(dealings, 'dealings', bytes)));
      return on(this, (raw) => raw.add_up(read));
    }
  }

  class Evaluations extends Held {
    constructor(evaluations) {
      const read = reading(() => readEvaluations(evaluations));
      super(ready, () => new wasm.RawEvaluations(read.epoch, read.fast, read.parties));
    }

    get digest() {
      return hex(on(this, (raw) => raw.digest()));
    }

    open(proof) {
      const read = reading(() => bytes(proof, 'proof'));
      const parts = on(this, (raw) => raw.open(read));
      const view = new DataView(parts.buffer, parts.byteOffset);
      return {
        value: parts.slice(0, 32),
        chain: hex(parts.slice(32, 64)),
        epoch: view.getBigUint64(64, true),
        slot: view.getBigUint64(72, true),
      };
    }
  }

  function solveRounding(rounding) {
    const read = reading(() => readProblem(rounding));
    ready();
    const solved = guarded(() => wasm.solve_rounding(read.stakes, read.pairs, read.budget));
    const parties = read.stakes.length / 16;
    return { weights: Array.from(solved.slice(0, parties)), thresholds: Array.from(solved.slice(parties)) };
  }

  return { ...verifier(wasm, ready), SigningKey, DecryptionKey, Config, Evaluations, solveRounding };
}
