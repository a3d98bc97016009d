// Arguments, read once, checked and copied. Whatever a caller's getter, proxy or conversion throws while
// they are read becomes an `invalid-argument` with that as its cause.

import { PrefinalError } from './errors.js';

/** No argument has more bytes: a dealing to thousands of shares has a few million. */
const MOST_BYTES = 1 << 26;
export const MOST_ENTRIES = 1 << 20;

// As they are when this module is loaded: a caller cannot lend others.
const typed = Object.getPrototypeOf(Uint8Array.prototype);
const getter = (name) => Object.getOwnPropertyDescriptor(typed, name).get;
const { apply } = Reflect;
const kindOf = getter(Symbol.toStringTag);
const lengthOf = getter('length');
const { set } = typed;

export function invalid(message, options) {
  return new PrefinalError('invalid-argument', message, {}, options);
}

/** What `read` returns. */
export function reading(read) {
  try {
    return read();
  } catch (error) {
    if (error instanceof PrefinalError) throw error;
    throw invalid('an argument cannot be read', { cause: error });
  }
}

/** The properties of an object. */
export function record(value, what) {
  if (value === null || typeof value !== 'object') throw invalid(`${what}: expected an object`);
  return value;
}

/** A copy of bytes, given as such or in hexadecimal digits. */
export function bytes(value, what, length = undefined) {
  const copy = typeof value === 'string' ? digits(value, what) : view(value, what);
  if (length !== undefined && copy.length !== length) {
    const fields = { need: BigInt(length), got: BigInt(copy.length) };
    throw new PrefinalError('wrong-length', `${what}: expected ${length} bytes, got ${copy.length}`, fields);
  }
  return copy;
}

function view(value, what) {
  // Of a proxy, and of what only looks like one, the kind is undefined.
  if (value === null || typeof value !== 'object' || apply(kindOf, value, []) !== 'Uint8Array') {
    throw invalid(`${what}: expected a Uint8Array or hexadecimal digits`);
  }
  const copy = new Uint8Array(limited(apply(lengthOf, value, []), what));
  apply(set, copy, [value]);
  return copy;
}

function digits(text, what) {
  if (text.length % 2 !== 0) throw invalid(`${what}: an odd number of hexadecimal digits`);
  const copy = new Uint8Array(limited(text.length / 2, what));
  for (let at = 0; at < copy.length; at += 1) {
    const high = digit(text.charCodeAt(2 * at));
    const low = digit(text.charCodeAt(2 * at + 1));
    if (high < 0 || low < 0) throw invalid(`${what}: no hexadecimal digit at ${2 * at + (high < 0 ? 0 : 1)}`);
    copy[at] = 16 * high + low;
  }
  return copy;
}

function digit(code) {
  if (code >= 48 && code <= 57) return code - 48;
  const letter = code | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}

function limited(length, what) {
  if (length > MOST_BYTES) {
    const fields = { need: BigInt(MOST_BYTES), got: BigInt(length) };
    throw new PrefinalError('too-long', `${what}: ${length} bytes, at most ${MOST_BYTES} are read`, fields);
  }
  return length;
}

/** A whole number below 2^bits, as a bigint. */
export function integer(value, what, bits = 64) {
  const whole = typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof whole !== 'bigint') throw invalid(`${what}: expected a bigint or a safe integer`);
  if (whole < 0n || whole >> BigInt(bits) !== 0n) {
    throw invalid(`${what}: expected 0 to 2^${bits} - 1`);
  }
  return whole;
}

/** A whole number below 2^32, as a number. */
export function small(value, what) {
  return Number(integer(value, what, 32));
}

/** The entries of an array, each by its index; iterators are not asked. */
export function list(value, what, entry) {
  if (!Array.isArray(value)) throw invalid(`${what}: expected an array`);
  const { length } = value;
  if (!Number.isSafeInteger(length) || length < 0) throw invalid(`${what}: expected an array`);
  if (length > MOST_ENTRIES) {
    const fields = { need: BigInt(MOST_ENTRIES), got: BigInt(length) };
    throw new PrefinalError('count-too-large', `${what}: more than ${MOST_ENTRIES} entries`, fields);
  }
  const entries = [];
  for (let at = 0; at < length; at += 1) entries.push(entry(value[at], `${what}[${at}]`));
  return entries;
}

export function text(value, what) {
  if (typeof value !== 'string' || value.length > 1 << 16) throw invalid(`${what}: expected a string`);
  return value;
}

/** As `2/3`: numerator and denominator. */
export function fraction(value, what) {
  const parts = typeof value === 'string' && /^(\d{1,39})\/(\d{1,39})$/.exec(value);
  if (!parts) throw new PrefinalError('not-a-fraction', `${what}: expected a fraction such as 2/3`);
  return [integer(BigInt(parts[1]), what, 128), integer(BigInt(parts[2]), what, 128)];
}

/** Numbers of so many bytes, the lowest byte first. */
export function little(value, length) {
  const out = new Uint8Array(length);
  let rest = BigInt(value);
  for (let at = 0; at < length; at += 1) {
    out[at] = Number(rest & 255n);
    rest >>= 8n;
  }
  return out;
}

/** One after the other. */
export function concat(parts) {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

export function hex(data) {
  return Array.from(data, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
