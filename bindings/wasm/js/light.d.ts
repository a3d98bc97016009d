import type { Bytes, Integer } from './index.js';

export { Draws, PrefinalError } from './index.js';
export type { Draw } from './index.js';
export { default } from './index.js';

/** What WebAssembly holds until it is freed, or until it is collected as garbage. */
declare class Held {
  /** Gives the memory back. A second call does nothing; every other use throws `freed`. */
  free(): void;
}

/** A block whose certificate was verified, with what was shown of it. */
export interface VerifiedBlock extends Held {
  /** The epoch whose committee certified it. */
  readonly epoch: bigint;
  /** The engine's slot of the block. */
  readonly slot: bigint;
  /** The value of the slot, which names the block, in hexadecimal digits, as are the roots. */
  readonly value: string;
  readonly stateRoot: string;
  readonly receiptsRoot: string;
  /** Rows of the state by key, in hexadecimal digits; `undefined` where there is no such row. */
  readonly rows: ReadonlyMap<string, Uint8Array | undefined>;
  readonly transactions: readonly { position: number; hash: string; receipt: Uint8Array }[];
  /** An account by its Ed25519 key. Throws if the proof does not show its row. */
  account(key: Bytes): { balance: bigint; nonce: bigint };
}

/** Trusts the committee of one epoch, and through the chain of epoch endings each that follows it. */
export class LightClient extends Held {
  /** The waypoint is what is trusted; the members may come from anybody. */
  constructor(waypoint: Bytes, members: Bytes);
  readonly epoch: bigint;
  /** Where it is now: with `members` all that it takes to go on later. */
  readonly waypoint: Uint8Array;
  readonly members: Uint8Array;
  /** Goes on to the next epoch. If it throws, nothing has changed. */
  advance(ending: Bytes): void;
  /** Verifies a proof, and goes on to the epoch of its block. If it throws, nothing has changed. */
  verify(proof: Bytes): VerifiedBlock;
}

/** Trusts the key of threshold certificates, which is handed over and never changes: 96 bytes for every epoch. */
export class LightKey extends Held {
  constructor(chain: Bytes, key: Bytes);
  verify(proof: Bytes): VerifiedBlock;
}

/** Trusts the key of a beacon: 96 bytes for the value of every slot. */
export class Beacon extends Held {
  /** `first` is the slot that is round 1: 1, unless the beacon says otherwise. */
  constructor(key: Bytes, first?: Integer);
  /** The randomness of a slot. */
  verify(slot: Integer, signature: Bytes): Uint8Array;
}
