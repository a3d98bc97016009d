/** Bytes, or hexadecimal digits of either case. They are copied, and read once. */
export type Bytes = Uint8Array | string;
/** A whole number; a `number` only where it is a safe integer. */
export type Integer = bigint | number;
/** Such as `"2/3"`. */
export type Fraction = `${number}/${number}`;

export type Scheme =
  | 'pedersen-bls-chained'
  | 'pedersen-bls-unchained'
  | 'bls-unchained-on-g1'
  | 'bls-unchained-g1-rfc9380';

/** Whatever goes wrong. */
export class PrefinalError extends Error {
  private constructor();
  readonly name: 'PrefinalError';
  /** Stable; docs/error-codes.md lists all. */
  readonly code: string;
  /** Whose input it is, by position in the committee. */
  readonly party?: number;
  /** Where: position in a list from zero, byte of an encoding, number of a share. */
  readonly index?: number;
  /** How much was expected. */
  readonly need?: bigint;
  /** How much there was. */
  readonly got?: bigint;
  /** Who failed a check. */
  readonly culprits?: number[];
}

/** A value that WebAssembly holds until it is freed, or until it is collected as garbage. */
declare class Held {
  /** Gives the memory back. A second call does nothing; every other use throws `freed`. */
  free(): void;
}

/** What a relay serves as `info`, in version 1 or 2 of its interface. */
export interface ChainInfo {
  public_key: string;
  period: Integer;
  genesis_time: Integer;
  hash?: string;
  chain_hash?: string;
  groupHash?: string;
  genesis_seed?: string;
  schemeID?: string;
  scheme?: string;
  metadata?: { beaconID?: string };
  beacon_id?: string;
}

/** A round as a relay sends it, or under names as they are usual here. */
export interface Round {
  round: Integer;
  signature: Bytes;
  previousSignature?: Bytes | null;
  previous_signature?: Bytes | null;
  /** Compared, where it is given. */
  randomness?: Bytes;
}

/** A beacon that rounds are checked against: ours, or one of drand's four schemes. Slot and round are one. */
export class Chain extends Held {
  constructor(chain: {
    scheme: Scheme;
    publicKey: Bytes;
    period?: Integer;
    genesisTime?: Integer;
    genesisSeed?: Bytes;
    beaconId?: string;
  });
  /**
   * The chain that a relay describes, if it is the one with this hash: which names the key, so it must be known from
   * someone you trust, not from the relay. Throws `wrong-chain-hash` for another chain.
   */
  static fromInfo(info: ChainInfo | string, hash: Bytes): Chain;
  /** drand's default chain. */
  static quicknet(): Chain;
  readonly scheme: Scheme;
  /** In hexadecimal digits, as is the hash. */
  readonly publicKey: string;
  readonly hash: string;
  /** The 32 bytes of randomness of a round that is the beacon's; throws otherwise. */
  verify(round: Round): Uint8Array;
  /** The newest round that is due, at a second of Unix time. */
  roundAt(time: Integer): bigint | undefined;
  timeOf(round: Integer): bigint;
  /** Encrypts 16 or 32 bytes to a round; longer messages under a key that is. */
  encrypt(round: Integer, message: Bytes): Uint8Array;
  /** Opens what was encrypted to the round of this signature. */
  decrypt(ciphertext: Bytes, signature: Bytes): Uint8Array;
}

/** The parties whose signatures make certificates. */
export class Electorate extends Held {
  /** Without a quorum it takes more than two thirds of the stake. */
  constructor(electorate: {
    electors: { publicKey: Bytes; possession: Bytes; stake: Integer }[];
    quorum?: Integer;
  });
  readonly id: string;
  readonly quorum: bigint;
  /** Who signed, by position; throws unless they are a quorum and have. */
  verify(certificate: { domain: string; message: Bytes; certificate: Bytes }): number[];
}

/** A slot of a chain has this value; with `root`, the value leaves a state with this root. */
export interface SlotStatement {
  chain: Bytes;
  epoch: Integer;
  slot: Integer;
  /** What the engine decided: it names the block. */
  value: Bytes;
  /** What the application makes of it. */
  root?: Bytes | null;
}

/** What a certificate of stake says of a slot, to be spread into `Electorate.verify` or `SigningKey.sign`. */
export function statement(statement: SlotStatement): { domain: string; message: Uint8Array };

/** What a group's signature says of a slot, to be spread into `verifySignature`. */
export function thresholdStatement(statement: SlotStatement): { domain: string; message: Uint8Array };

/** One round of one beacon. To check many rounds, keep a {@link Chain}. */
export function verifyBeacon(info: ChainInfo | string, round: Round, hash: Bytes): Uint8Array;

/** A signature of one key, or of a committee under its group key. Key and signature may be of either variant. */
export function verifySignature(
  signed: { publicKey: Bytes; message: Bytes; signature: Bytes } & (
    | { domain: string; suite?: 'domain' }
    | { suite: 'basic' | 'pop' }
    | { suite: 'tag'; tag: string }
  ),
): void;

/** Checks over all sets of parties that those with `secrecy` of the stake or less stay below the threshold, and those with `reconstruction` or more reach it. */
export function verifyRounding(rounding: {
  stakes: Integer[];
  weights: Integer[];
  claims: { secrecy: Fraction; reconstruction: Fraction; threshold: Integer }[];
}): void;

/** All draws of one transaction in one application. What it draws from must have been verified. */
export class Draws {
  /** The slot's value of 32 bytes; a name of 1 to 64 visible ASCII letters; what is drawn for, a bet by its number or hash. */
  constructor(value: Bytes, application: string, transaction: Bytes);
  /** The draw of this index. One draw answers one question; the next question takes the next index. */
  at(index: Integer): Draw;
}

/** One draw. It gives the same answer to the same question, however often it is asked. */
export interface Draw {
  /** The draw as 32 random bytes. */
  readonly bytes: Uint8Array;
  /** A number from 0 to `bound - 1`, each as likely as any other. */
  below(bound: Integer): bigint;
  /** The first `count` of the places 0 to `among - 1` in a random order: a sample without repetition. */
  order(among: Integer, count?: Integer): number[];
  /** The items in the order that `order` gives for so many places. */
  shuffled<T>(items: readonly T[]): T[];
}

/** Loads WebAssembly. In Node it is there without. */
export default function init(
  source?: string | URL | Request | Response | BufferSource | WebAssembly.Module | Promise<Response>,
): Promise<void>;
