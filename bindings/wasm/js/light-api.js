// The entry of light clients: what a committee or a key has certified. `wasm` is what wasm-bindgen made of Rust.

import { drawing } from './draws.js';
import { Held, on } from './held.js';
import { bytes, hex, integer, reading } from './input.js';

/** The claims that were verified, read from the bytes that `claim` in `light.rs` lays out. */
function shown(raw) {
  const rows = new Map();
  const transactions = [];
  for (let at = 0; at < raw.claims(); at += 1) {
    const claim = raw.claim(at);
    if (claim[0] === 2) {
      const position = new DataView(claim.buffer, claim.byteOffset).getUint32(1, true);
      transactions.push({ position, hash: hex(claim.slice(5, 37)), receipt: claim.slice(37) });
    } else {
      rows.set(hex(claim.slice(1, 33)), claim[0] === 1 ? claim.slice(33) : undefined);
    }
  }
  return { rows, transactions };
}

export function light(wasm, ready) {
  /** Takes over what Rust has verified. */
  class VerifiedBlock extends Held {
    constructor(raw) {
      super(ready, () => raw);
      const [epoch, slot] = on(this, () => raw.numbers());
      const hashes = on(this, () => raw.hashes());
      Object.assign(this, {
        epoch,
        slot,
        value: hex(hashes.slice(0, 32)),
        stateRoot: hex(hashes.slice(32, 64)),
        receiptsRoot: hex(hashes.slice(64)),
        ...on(this, shown),
      });
      Object.freeze(this);
    }

    account(key) {
      const read = reading(() => bytes(key, 'key', 32));
      const [balance, nonce] = on(this, (raw) => raw.account(read));
      return { balance, nonce };
    }
  }

  class LightClient extends Held {
    constructor(waypoint, members) {
      const read = reading(() => [bytes(waypoint, 'waypoint'), bytes(members, 'members')]);
      super(ready, () => new wasm.RawLightClient(...read));
    }

    get epoch() {
      return on(this, (raw) => raw.epoch());
    }

    get waypoint() {
      return on(this, (raw) => raw.waypoint());
    }

    get members() {
      return on(this, (raw) => raw.members());
    }

    advance(ending) {
      const read = reading(() => bytes(ending, 'ending'));
      on(this, (raw) => raw.advance(read));
    }

    verify(proof) {
      const read = reading(() => bytes(proof, 'proof'));
      return new VerifiedBlock(on(this, (raw) => raw.verify(read)));
    }
  }

  class LightKey extends Held {
    constructor(chain, key) {
      const read = reading(() => [bytes(chain, 'chain', 32), bytes(key, 'key')]);
      super(ready, () => new wasm.RawLightKey(...read));
    }

    verify(proof) {
      const read = reading(() => bytes(proof, 'proof'));
      return new VerifiedBlock(on(this, (raw) => raw.verify(read)));
    }
  }

  class Beacon extends Held {
    constructor(key, first = 1) {
      const read = reading(() => [bytes(key, 'key'), integer(first, 'first')]);
      super(ready, () => new wasm.RawBeacon(...read));
    }

    verify(slot, signature) {
      const read = reading(() => [integer(slot, 'slot'), bytes(signature, 'signature')]);
      return on(this, (raw) => raw.verify(...read));
    }
  }

  return { ...drawing(wasm, ready), Beacon, LightClient, LightKey };
}
