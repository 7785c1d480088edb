// Runs cases of tests/vectors with the audit page's modules: reads a list of `{format, input}` from standard input, and prints
// for each `{output}` or `{label}`. Bytes are hexadecimal.

import { readFileSync } from 'node:fs'

import { hex, sha256, unhex, utf8 } from '../../node/web/static/bytes.js'
import { decode, encode, isMap } from '../../node/web/static/canonical.js'
import { parseHead, parseNote, verifyCosignature, verifyLog } from '../../node/web/static/checkpoint.js'
import { byScript, verify } from '../../node/web/static/ed25519.js'
import { Envelope } from '../../node/web/static/envelope.js'
import { firstNetwork, firstRelease } from '../../node/web/static/first.js'
import { RECORDS } from '../../node/web/static/forms.js'
import { leafHash, Tree, verifyInclusion } from '../../node/web/static/merkle.js'
import { parseRecord } from '../../node/web/static/records.js'
import { parseRoot } from '../../node/web/static/roots.js'
import { ENTRIES, parseEntries, tilesOf } from '../../node/web/static/tiles.js'
import { parseTicket } from '../../node/web/static/ticket.js'
import { require, Wrong } from '../../node/web/static/wrong.js'

const RUNNERS = {
  canonical: ({ data }) => {
    const value = decode(unhex(data))
    return { value: plain(value), again: hex(encode(value)) }
  },
  ed25519: async ({ key, message, signature }) => {
    await verify(unhex(key), unhex(message), unhex(signature))
    return {}
  },
  'ed25519 in JavaScript': async ({ key, message, signature }) => {
    require(await byScript(unhex(key), unhex(message), unhex(signature)), 'bad signature', 'It does not hold.')
    return {}
  },
  envelope: async ({ data, signer }) => {
    const envelope = Envelope.parse(unhex(data))
    await envelope.verify()
    require(signer === undefined || envelope.signers.join() === signer, 'wrong signer', 'Another key signed.')
    const { type, payload, signers, digest } = envelope
    return { type, payload: hex(payload), signers, digest: hex(digest) }
  },
  checkpoint: async ({ note: text, key, name, witness, witness_name: witnessName }) => {
    const note = parseNote(utf8(text))
    await verifyLog(note, unhex(key), name)
    const { origin, size, rootHash } = parseHead(note.text)
    const output = { origin, size, root_hash: hex(rootHash) }
    if (witness !== undefined) {
      output.unix_s = Number(await verifyCosignature(note, unhex(witness), witnessName))
    }
    return output
  },
  root: ({ leaves }) => ({ root: hex(new Tree(leaves.map((leaf) => leafHash(unhex(leaf)))).root()) }),
  inclusion: ({ leaf, index, size, proof, root }) => {
    verifyInclusion(leafHash(unhex(leaf)), index, size, proof.map(unhex), unhex(root))
    return {}
  },
  bundle: ({ bundle, width }) => ({ entries: parseEntries(unhex(bundle), width).map(hex) }),
  tiles: ({ size }) => ({ paths: tilesOf(size).map(({ path }) => path) }),
  'entry tiles': ({ size }) => ({ paths: tilesOf(size).filter(({ level }) => level === ENTRIES).map(({ path }) => path) }),
  ticket: ({ text }) => {
    const { addresses, root, run } = parseTicket(text)
    return { addresses, root: hex(root), run: hex(run) }
  },
  'first network': ({ digest, blocks, channels }) => ({ sha256: hex(sha256(firstNetwork(unhex(digest), blocks, channels))) }),
  'first release': ({ run, manifest, network }) => {
    const { id, payload } = firstRelease(unhex(run), unhex(manifest), network)
    return { id: hex(id), payload: hex(payload) }
  },
  'proofs of all leaves': ({ size }) => {
    const leaves = Array.from({ length: size }, (_, at) => leafHash(Uint8Array.of(at)))
    const tree = new Tree(leaves)
    leaves.forEach((leaf, at) => verifyInclusion(leaf, at, size, tree.inclusionProof(at), tree.root()))
    return { roots: Array.from({ length: size + 1 }, (_, at) => hex(tree.root(at))) }
  },
  record: ({ name, payload }) => {
    const record = parseRecord(name, unhex(payload))
    if (name === 'root') {
      parseRoot({ index: 0, record })
    }
    return {}
  },
  records: () => JSON.parse(JSON.stringify(RECORDS, (_, value) => typeof value === 'bigint' ? `${value}` : value.source ?? value))
}

const outputs = []
for (const { format, input } of JSON.parse(readFileSync(0, 'utf8'))) {
  try {
    outputs.push({ output: await RUNNERS[format](input) })
  } catch (error) {
    if (!(error instanceof Wrong)) {
      throw error
    }
    outputs.push({ label: error.label })
  }
}
console.log(JSON.stringify(outputs))

/** A value as the vectors of `canonical` write it, integers that are no Number as `{int: text}`. */
function plain (value) {
  if (value instanceof Uint8Array) {
    return { bytes: hex(value) }
  }
  if (Array.isArray(value)) {
    return value.map(plain)
  }
  if (isMap(value)) {
    return { map: Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)])) }
  }
  return typeof value === 'bigint' ? { int: value.toString() } : value
}
