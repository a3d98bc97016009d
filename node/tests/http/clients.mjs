// The published clients of drand, as they come from npm, against a running devnet:
// node clients.mjs http://127.0.0.1:8787
import assert from 'node:assert/strict'
import {
  FastestNodeClient, HttpCachingChain, HttpChainClient, MultiBeaconNode, defaultChainOptions,
  fetchBeacon, fetchBeaconByTime, roundAt, roundTime, watch,
} from 'drand-client'
import tlock from 'tlock-js'

const url = process.argv[2].replace(/\/$/, '')
const sleep = ms => new Promise(done => setTimeout(done, ms))
// tlock-js tells the console each round that it opens something with.
console.log = () => {}

/** Asks until there is something: the committee makes its key first. */
async function there(ask) {
  for (;;) {
    const found = await ask()
    if (found) return found
    await sleep(500)
  }
}

const node = new MultiBeaconNode(url)
const [chain] = await there(async () => (await node.chains()).length === 1 && node.chains())
await there(async () => (await node.health()).status === 200)
const info = await chain.info()
const { hash } = info
assert.equal(chain.baseUrl, `${url}/${hash}`)
assert.equal(info.schemeID, 'bls-unchained-g1-rfc9380')

// A client that knows the chain verifies the round that is due, one by number, one by time.
const params = { chainHash: hash, publicKey: info.public_key }
const options = { ...defaultChainOptions, chainVerificationParams: params }
const client = new HttpChainClient(new HttpCachingChain(`${url}/${hash}`, options), options)
const newest = await fetchBeacon(client)
assert.ok(Math.abs(newest.round - roundAt(Date.now(), info)) <= 1, 'the round that is due')
assert.deepEqual(await fetchBeacon(client, newest.round), newest)
assert.deepEqual(await fetchBeaconByTime(client, roundTime(info, newest.round)), newest)
assert.ok((await client.latest()).round >= newest.round)
// The first value is round 1, and it is due at the genesis.
assert.equal((await fetchBeacon(client, 1)).round, 1)
assert.equal((await fetchBeaconByTime(client, info.genesis_time * 1000)).round, 1)

// It follows the chain.
const abort = new AbortController()
const followed = []
for await (const beacon of watch(client, abort)) {
  followed.push(beacon.round)
  if (followed.length === 3) abort.abort()
}
assert.deepEqual(followed, [0, 1, 2].map(step => followed[0] + step))

// Without a hash it is the same chain; the fastest of several nodes is one that answers.
const bare = new HttpChainClient(new HttpCachingChain(url, options), options)
assert.deepEqual(await fetchBeacon(bare, newest.round), newest)
const fastest = new FastestNodeClient([`${url}/${'00'.repeat(32)}`, `${url}/${hash}`], options, 200)
fastest.start()
await sleep(1000)
assert.deepEqual(await fetchBeacon(fastest, newest.round), newest)
fastest.stop()

// What the client checks, it does check: another round's signature, another key, another chain.
const [first, second] = followed
const wrong = { ...await client.get(first), round: second }
const liar = { options, chain: () => client.chain(), get: async () => wrong }
await assert.rejects(fetchBeacon(liar, second), /not valid/)
const other = { ...options, chainVerificationParams: { ...params, publicKey: info.public_key.replace(/^../, '00') } }
await assert.rejects(new HttpCachingChain(`${url}/${hash}`, other).info(), /verification params/)
await assert.rejects(client.get(newest.round + 1000), /404/)
await assert.rejects(new HttpCachingChain(`${url}/${'00'.repeat(32)}`).info(), /404/)

// A message to a round that is to come opens with it, and not before.
const round = roundAt(Date.now(), info) + 4
const text = 'The committee of this round has not spoken yet.'
const sealed = await tlock.timelockEncrypt(round, Buffer.from(text), client)
await assert.rejects(tlock.timelockDecrypt(sealed, client))
await sleep(roundTime(info, round) - Date.now())
assert.equal((await tlock.timelockDecrypt(sealed, client)).toString(), text)
process.stdout.write('drand-client and tlock-js are content\n')
process.exit(0)
