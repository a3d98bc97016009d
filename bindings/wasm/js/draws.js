// Random numbers for transactions, from the random value of their slot: in every entry.

import { guarded } from './held.js';
import { MOST_ENTRIES, bytes, integer, invalid, list, reading, small, text } from './input.js';

/** On one instance of WebAssembly. */
export function drawing(wasm, ready) {
  class Draws {
    #from;

    constructor(value, application, transaction) {
      this.#from = reading(() => [
        bytes(value, 'value', 32),
        text(application, 'application'),
        bytes(transaction, 'transaction'),
      ]);
      this.at(0);
    }

    at(index) {
      const read = reading(() => integer(index, 'index'));
      return new Draw(this.#from, read);
    }
  }

  class Draw {
    #bytes;

    constructor(from, index) {
      ready();
      this.#bytes = guarded(() => wasm.draw(...from, index));
    }

    get bytes() {
      return this.#bytes.slice();
    }

    below(bound) {
      const read = reading(() => integer(bound, 'bound'));
      return guarded(() => wasm.draw_below(this.#bytes, read));
    }

    order(among, count = among) {
      const read = reading(() => [small(among, 'among'), small(count, 'count')]);
      if (read[1] > Math.min(read[0], MOST_ENTRIES)) {
        throw invalid(`count: expected at most ${Math.min(read[0], MOST_ENTRIES)}`);
      }
      // What stands at places where it is not the place's own number.
      const moved = new Map();
      const at = (place) => moved.get(place) ?? place;
      return Array.from(this.#swaps(...read), (there, here) => {
        const place = at(there);
        moved.set(there, at(here));
        return place;
      });
    }

    shuffled(items) {
      const read = reading(() => list(items, 'items', (item) => item));
      return this.order(read.length).map((place) => read[place]);
    }

    #swaps(among, count) {
      return guarded(() => wasm.draw_swaps(this.#bytes, among, count));
    }
  }

  return { Draws };
}
