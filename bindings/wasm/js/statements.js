// What certificates say of a slot, as the domain and the bytes that are signed. The vectors are Rust's.

import { bytes, concat, integer, little, reading, record } from './input.js';

const OF_STAKE = ['beacon state certificate', 'beacon state root certificate'];
const OF_GROUP = ['beacon certificate', 'threshold state root certificate'];

function read(value) {
  const { chain, epoch, slot, value: decided, root } = record(value, 'statement');
  const big = (number, what) => little(integer(number, what), 8).reverse();
  const parts = [bytes(chain, 'chain', 32), big(epoch, 'epoch'), big(slot, 'slot'), bytes(decided, 'value', 32)];
  const has = root !== undefined && root !== null;
  if (has) parts.push(bytes(root, 'root', 32));
  return { at: has ? 1 : 0, message: concat(parts) };
}

/** What members sign with their own keys. */
export function statement(value) {
  const { at, message } = reading(() => read(value));
  return { domain: OF_STAKE[at], message };
}

/** What a group signs with its shared key. */
export function thresholdStatement(value) {
  const { at, message } = reading(() => read(value));
  return { domain: OF_GROUP[at], message };
}
