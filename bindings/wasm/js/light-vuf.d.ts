import type { Bytes } from './index.js';

export { Draws, PrefinalError } from './index.js';
export type { Draw } from './index.js';
export { default } from './index.js';

/** Trusts one epoch of a weighted VUF by its pin, and each epoch that its committee hands over to. */
export class LightVuf {
  /** The pin, of 32 bytes, is what is trusted; epoch and members may come from anybody. */
  constructor(pin: Bytes, epoch: Bytes, members: Bytes);
  /** The number of the epoch that it has come to. */
  readonly epoch: bigint;
  /** The pin of that epoch in hexadecimal digits, from which one can begin later. */
  readonly pin: string;
  /** Goes on to the next epoch, whose keys are to be admitted then. If it throws, nothing has changed. */
  advance(handover: Bytes): void;
  /** Takes the keys of the epoch; later again, with those of late parties. If it throws, nothing has changed. */
  admit(keys: Bytes): void;
  /** The slot of a proof and its value. `not-admitted` says that the keys are older than the proof. */
  verify(proof: Bytes): { slot: bigint; randomness: Uint8Array };
  /** Gives the memory back. A second call does nothing; every other use throws `freed`. */
  free(): void;
}
