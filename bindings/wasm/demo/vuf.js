// Values of a weighted VUF, verified from the pin of one epoch on. The pin is what the address has behind `#pin=`, which
// the field on the page writes there; without it nothing is verified, for a pin that the devnet says proves nothing. Each
// further epoch must be signed by the one before.

import init, { LightVuf, PrefinalError } from './prefinal/light-vuf-index.js';
import { at, cell, hex, introduce, link, ms, row, short, unpinned } from './elements.js';

const PATIENCE = { times: 10, ms: 300 };
const given = new URLSearchParams(location.hash.slice(1)).get('pin')?.trim().toLowerCase();

/** What cannot be checked, which does not mean that it is false. */
class Missing extends Error {}

async function read(from, path) {
  const answer = await fetch(`${from}/vuf/${path}`);
  if (!answer.ok) throw new Missing(`${path}: ${(await answer.text()).trim()}`);
  return answer.json();
}

/** Trusts the epoch whose pin was given. */
export async function begin(from, info) {
  at('trust-pin').hidden = false;
  at('pin').value = given ?? '';
  at('epochs').replaceChildren();
  link(from, [
    ['/vuf/epochs', 'the epochs with their pins'],
    ['/vuf/epochs/latest', 'the newest epoch, with its keys'],
    ['/vuf/values/latest', 'the newest value, with the partials that show it'],
    ['/events', 'all values as they come'],
  ]);
  if (!given) {
    at('pin-known').className = 'bad';
    at('pin-known').textContent =
      'This page was given no pin, so it verifies nothing. Enter the one that the devnet printed where it was started, behind “pin of epoch 0:”.';
    return unpinned(info.pin, 'pin');
  }
  await init();
  try {
    const follower = await trust(from, given);
    at('pin-known').className = '';
    at('pin-known').textContent = 'The pin is the one that this page was given.';
    return { name: info.pin, check: (event) => follower.check(event), free: () => follower.free() };
  } catch (error) {
    at('pin-known').className = 'bad';
    at('pin-known').textContent = `Refused: ${error.message}.`;
    throw new Error(`refused: ${error.message}`);
  }
}

async function trust(from, pin) {
  at('pinned').textContent = pin;
  const listed = await read(from, 'epochs');
  const pinned = listed.find((one) => one.pin === pin);
  if (pinned === undefined) throw new Error('no epoch of this devnet has this pin');
  const whole = await read(from, `epochs/${pinned.epoch}`);
  return new Follower(from, new LightVuf(pin, whole.vuf_epoch, whole.members), whole);
}

class Follower {
  #from;
  #reader;
  #first;
  /** Whether the keys of the reader's epoch are admitted. */
  #hasKeys = false;

  constructor(from, reader, whole) {
    this.#from = from;
    this.#reader = reader;
    this.#first = reader.epoch;
    this.#enter(whole, cell('its pin was given'));
  }

  free() {
    this.#reader.free();
  }

  /** Shows the epoch that the reader has come to. */
  #enter(whole, why) {
    const { epoch, pin } = this.#reader;
    tell(epoch, cell(whole.first), why, cell('–'), cell(short(pin)));
    introduce({ ...whole, shares: whole.weights.reduce((sum, one) => sum + one, 0) });
  }

  /** How long a check took, and what is wrong with the value, or why it cannot be checked. */
  async check(event) {
    const started = performance.now();
    try {
      const late = BigInt(event.epoch) < this.#reader.epoch;
      if (late) return { unchecked: this.#reader.epoch === this.#first ? 'before the pin' : 'its epoch is over' };
      await this.#reach(BigInt(event.epoch));
      return await this.#verify(event);
    } catch (error) {
      if (error instanceof Missing) return { unchecked: error.message };
      return { took: performance.now() - started, wrong: error instanceof PrefinalError ? error.code : error.message };
    }
  }

  async #verify({ slot, value, proof }) {
    let started = performance.now();
    let shown;
    try {
      shown = this.#reader.verify(proof);
    } catch (error) {
      if (error.code !== 'not-admitted') throw error;
      // Keys of late parties come later.
      await this.#admit();
      started = performance.now();
      shown = this.#reader.verify(proof);
    }
    const took = performance.now() - started;
    if (shown.slot !== BigInt(slot)) return { took, wrong: 'another slot' };
    return { took, wrong: hex(shown.randomness) === value ? undefined : 'another value' };
  }

  /** Goes on to this epoch. */
  async #reach(epoch) {
    while (this.#reader.epoch < epoch) {
      const next = this.#reader.epoch + 1n;
      const whole = await this.#handover(next);
      try {
        this.#reader.advance(whole.handover);
      } catch (error) {
        tell(next, cell('–'), cell(`refused: ${error.message}`, 'bad'), cell('–'), cell('–'));
        throw new Error(`handover, ${error.code}`);
      }
      this.#hasKeys = false;
      this.#enter(whole, cell(`signed by epoch ${next - 1n}`));
    }
    if (!this.#hasKeys) await this.#admit();
  }

  /** What the devnet has of an epoch, as soon as the one before has signed it. */
  async #handover(epoch) {
    for (let time = 0; time < PATIENCE.times; time += 1) {
      const whole = await read(this.#from, `epochs/${epoch}`);
      if (typeof whole.handover === 'string') return whole;
      await new Promise((resolve) => setTimeout(resolve, PATIENCE.ms));
    }
    throw new Missing(`no handover to epoch ${epoch}`);
  }

  async #admit() {
    const { epoch } = this.#reader;
    const { keys } = await read(this.#from, `epochs/${epoch}`);
    const started = performance.now();
    try {
      this.#reader.admit(keys);
    } catch (error) {
      sayOfKeys(epoch, `refused: ${error.message}`, 'bad');
      throw new Error(`keys, ${error.code}`);
    }
    this.#hasKeys = true;
    sayOfKeys(epoch, `valid, ${ms(performance.now() - started)}`);
  }
}

/** The line of an epoch: its first slot, why it is trusted, its keys and its pin. */
function tell(epoch, ...cells) {
  const line = row(cell(epoch), ...cells);
  line.id = `epoch-${epoch}`;
  at(line.id)?.remove();
  at('epochs').append(line);
}

function sayOfKeys(epoch, text, kind = '') {
  at(`epoch-${epoch}`).cells[3].replaceWith(cell(text, kind));
}

at('pin-form').addEventListener('submit', (event) => {
  event.preventDefault();
  location.hash = `pin=${at('pin').value.trim()}`;
});
// Who trusts another pin begins again.
addEventListener('hashchange', () => location.reload());
