// Runs cases of this project's vectors (tests/vectors/README.md): reads `{served, canned, cases: [{format, input}]}` from
// standard input, and prints for each case its output, or null for what is refused or not believed. Bytes are hexadecimal.

import { readFileSync } from 'node:fs'

import { hex, NotBelieved, Refused, require, sha256 } from './belief.js'
import { Blobs, fetchBlob } from './blob.js'
import { decode, encode, isBytes, parseMap } from './canonical.js'
import { Log } from './log.js'
import { isPrefix, leafHash, root } from './merkle.js'
import { verifyNote } from './note.js'
import { readTicket } from './ticket.js'

const { served, canned, cases } = JSON.parse(readFileSync(0, 'utf8'))

/** How each format's input becomes its output. */
const RUNNERS = {
  canonical: ({ data }) => {
    const value = decode(unhex(data))
    return { value: plain(value), again: hex(encode(value)) }
  },
  checkpoint: ({ note, name, key, witness, witness_name: witnessName }) => {
    const witnesses = witness === undefined ? [] : [{ name: witnessName, key: unhex(witness) }]
    const head = verifyNote(Buffer.from(note), { name, key: unhex(key) }, witnesses)
    require(head.cosigned === witnesses.length, 'a cosignature')
    return { origin: name, size: head.size, root_hash: hex(head.rootHash) }
  },
  root: ({ leaves }) => ({ root: hex(root(leaves.map((leaf) => leafHash(unhex(leaf))))) }),
  consistency: ({ old_size: oldSize, old_root: oldRoot, new_size: newSize, new_root: newRoot, proof }) => {
    require(isPrefix(oldSize, unhex(oldRoot), newSize, unhex(newRoot), proof.map(unhex)), 'the proof')
    return {}
  },
  ticket: ({ text }) => {
    const { addresses, root, run } = readTicket(text)
    return { addresses, root: hex(root), run: hex(run) }
  },
  'log-requests': async ({ request }) => {
    const log = new Log(servedTicket())
    await follow(log, answering({}))
    return { answer: hex(log.answer(unhex(request))) }
  },
  'log-answers': async (input) => {
    const log = new Log(servedTicket())
    try {
      await follow(log, answering(input))
    } catch (error) {
      require(error instanceof NotBelieved, error.message)
    }
    return { entries: log.size }
  },
  'blob-requests': ({ request }) => {
    const blobs = new Blobs()
    served.blobs.forEach((blob) => blobs.put(unhex(blob)))
    return { answer: hex(blobs.answer(unhex(request))) }
  },
  'blob-answers': async (input) => {
    const chunks = await fetchBlob(answering(input), parseMap(unhex(input.request)).digest, 4 << 20)
    return { blob: hex(Buffer.concat(chunks)) }
  }
}

const outputs = []
for (const { format, input } of cases) {
  try {
    outputs.push(await RUNNERS[format](input))
  } catch (error) {
    if (!(error instanceof Refused || error instanceof NotBelieved)) {
      throw error
    }
    outputs.push(null)
  }
}
console.log(JSON.stringify(outputs))

/** A peer's `ask` that answers as the vectors say, but for one request. */
function answering ({ request, answer }) {
  return async (_protocol, asked) => {
    const said = hex(asked) === request ? answer : canned[hex(asked)]
    require(said !== undefined, `an answer to ${hex(asked)}`)
    return unhex(said)
  }
}

async function follow (log, ask) {
  await log.begin(ask)
  await log.follow(ask)
}

function servedTicket () {
  const { payload } = parseMap(unhex(served.entries[0]))
  return { run: unhex(served.run), root: sha256(payload) }
}

/** A value as the vectors of `canonical` write it. */
function plain (value) {
  if (isBytes(value)) {
    return { bytes: hex(value) }
  }
  if (Array.isArray(value)) {
    return value.map(plain)
  }
  if (typeof value === 'object' && value !== null) {
    return { map: Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)])) }
  }
  return typeof value === 'bigint' ? { int: value.toString() } : value
}

function unhex (text) {
  return Buffer.from(text, 'hex')
}
