// The entry of readers of a weighted VUF, who pin one of its epochs. `wasm` is what wasm-bindgen made of Rust.

import { drawing } from './draws.js';
import { Held, on } from './held.js';
import { bytes, hex, reading } from './input.js';

export function lightVuf(wasm, ready) {
  class LightVuf extends Held {
    constructor(pin, epoch, members) {
      const read = reading(() => [bytes(pin, 'pin', 32), bytes(epoch, 'epoch'), bytes(members, 'members')]);
      super(ready, () => new wasm.RawLightVuf(...read));
    }

    get epoch() {
      return on(this, (raw) => raw.epoch());
    }

    get pin() {
      return hex(on(this, (raw) => raw.pin()));
    }

    advance(handover) {
      const read = reading(() => bytes(handover, 'handover'));
      on(this, (raw) => raw.advance(read));
    }

    admit(keys) {
      const read = reading(() => bytes(keys, 'keys'));
      on(this, (raw) => raw.admit(read));
    }

    verify(proof) {
      const read = reading(() => bytes(proof, 'proof'));
      const verified = on(this, (raw) => raw.verify(read));
      const slot = new DataView(verified.buffer, verified.byteOffset).getBigUint64(0, true);
      return { slot, randomness: verified.slice(8) };
    }
  }

  return { ...drawing(wasm, ready), LightVuf };
}
