import type { Bytes, Fraction, Integer } from './index.js';
import { Chain } from './index.js';

export * from './index.js';
export { default } from './index.js';

/** As in the first entry: what WebAssembly holds. */
type Held = Pick<Chain, 'free'>;
export type Variant = 'min-sig' | 'min-pk';

/** A signing key. Its secret stays in WebAssembly's memory, and is wiped there by `free`. */
export class SigningKey implements Held {
  /** A fresh key, or one that was stored. */
  constructor(secret?: Bytes);
  /** For storage: 32 bytes, which nobody wipes. */
  toBytes(): Uint8Array;
  publicKey(options?: { variant?: Variant }): Uint8Array;
  possession(options?: { variant?: Variant }): Uint8Array;
  sign(signed: { domain: string; message: Bytes; variant?: Variant }): Uint8Array;
  free(): void;
}

/** What opens the shares that are dealt to one party. */
export class DecryptionKey implements Held {
  /** A fresh key, or one that was stored. */
  constructor(secret?: Bytes);
  /** For storage: 32 bytes, which nobody wipes. */
  toBytes(): Uint8Array;
  /** What the party publishes to become a recipient: 272 bytes. */
  register(signer: SigningKey): Uint8Array;
  free(): void;
}

/** What one run of the key generation is about. */
export class Config implements Held {
  constructor(config: {
    chain: Bytes;
    epoch: Integer;
    attempt?: Integer;
    /** What the key is for; it serves nothing else. */
    purpose: 'randomness' | 'certificates' | 'decryption';
    weights: Integer[];
    /** Thresholds of the paths, in shares. */
    slow: Integer;
    fast?: Integer;
    members: { stake: Integer; publicKey: Bytes; possession: Bytes; registration: Bytes }[];
    /** The stake that dealers must exceed; a third of all without. */
    qualify?: Integer;
  });
  readonly digest: string;
  /** Checks the sum of dealings, no matter who added it up. */
  verifyAggregate(aggregate: Bytes): {
    digest: string;
    publicKey: Uint8Array;
    dealers: number[];
    slow: Uint8Array[];
    fast?: Uint8Array[];
  };
  /** Checks one dealing: who dealt. */
  verifyDealing(dealing: Bytes): number;
  deal(dealer: Integer, signer: SigningKey): Uint8Array;
  /** Checks dealings and adds them up. */
  addUp(dealings: Bytes[]): Uint8Array;
  free(): void;
}

/** Values of the weighted VUF, which have no short proof: keys of an epoch, checked once, open the proofs. */
export class Evaluations implements Held {
  constructor(evaluations: {
    epochKey: Bytes;
    path?: 'slow' | 'fast';
    keys: { party: Integer; key: Bytes }[];
  });
  /** What names the epoch's key; compare it with what the chain finalized. */
  readonly digest: string;
  open(proof: Bytes): { value: Uint8Array; chain: string; epoch: bigint; slot: bigint };
  free(): void;
}

/** Searches weights for stakes, as small as possible in total, or the best within a budget. */
export function solveRounding(rounding: {
  stakes: Integer[];
  pairs: { secrecy: Fraction; reconstruction: Fraction }[];
  budget?: Integer;
}): { weights: number[]; thresholds: number[] };
