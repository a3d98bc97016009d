// Compiled only: what the types allow, and what they refuse.
import init, { Chain, type Draw, Draws, Electorate, PrefinalError, statement, thresholdStatement, verifyBeacon, verifyRounding, verifySignature } from 'prefinal';
import { Config, SigningKey, solveRounding } from 'prefinal/full';
import { Beacon, Draws as LightDraws, LightClient, LightKey, type VerifiedBlock } from 'prefinal/light';
import { LightVuf } from 'prefinal/light-vuf';

await init();
const chain: Chain = Chain.quicknet();
const value: Uint8Array = chain.verify({ round: 7n, signature: new Uint8Array(48) });
const round: bigint | undefined = chain.roundAt(BigInt(1));
chain.decrypt(chain.encrypt(7, value), 'ab');
verifySignature({ publicKey: '', domain: 'vote', message: value, signature: '' });
verifySignature({ publicKey: '', suite: 'pop', message: value, signature: '' });
verifyRounding({ stakes: [1n], weights: [1], claims: [{ secrecy: '1/2', reconstruction: '2/3', threshold: 1 }] });
const signers: number[] = new Electorate({ electors: [], quorum: 1n }).verify({ domain: '', message: '', certificate: '' });
const said = statement({ chain: value, epoch: 1, slot: 7n, value, root: value });
const voters: number[] = new Electorate({ electors: [] }).verify({ ...said, certificate: '' });
verifySignature({ ...thresholdStatement({ chain: '', epoch: 1, slot: 7, value: '' }), publicKey: '', signature: '' });
const key = new SigningKey();
const dealing: Uint8Array = new Config({ chain: '', epoch: 1n, purpose: 'randomness', weights: [1], slow: 1, members: [] }).deal(0, key);
const { weights } = solveRounding({ stakes: [1n], pairs: [] });
const client = new LightClient('', new Uint8Array());
client.advance('');
const block: VerifiedBlock = client.verify('') ?? new LightKey('', '').verify(client.waypoint);
const balance: bigint = block.account('').balance + block.slot + client.epoch;
const rows: Uint8Array | undefined = block.rows.get(block.stateRoot) ?? new Beacon('', 3n).verify(balance, '');
const reader = new LightVuf('', '', value);
reader.advance(reader.pin);
const { slot, randomness }: { slot: bigint; randomness: Uint8Array } = reader.verify('');
const draw: Draw = new Draws(value, 'acme/raffle', '00').at(0);
const winners: number[] = draw.order(draw.below(6n), 1);
const shuffled: string[] = new LightDraws(value, 'acme/raffle', '00').at(1n).shuffled(['a', 'b']);
try {
  verifyBeacon('{}', { round: 1n, signature: dealing }, dealing);
} catch (error) {
  if (error instanceof PrefinalError) console.log(error.code, error.need, signers, weights, round, rows, winners, shuffled, voters, slot + reader.epoch, randomness);
}

// @ts-expect-error rounds are numbers
chain.verify({ round: '7', signature: value });
// @ts-expect-error without a domain or a suite
verifySignature({ publicKey: '', message: value, signature: '' });
// @ts-expect-error draws come from Draws
new Draw(value);
// @ts-expect-error no such scheme
new Chain({ scheme: 'other', publicKey: '' });
// @ts-expect-error only this package makes errors
new PrefinalError('code', 'text');
// @ts-expect-error keys are bytes
reader.admit(7);
