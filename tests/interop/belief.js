// What is believed: digests, signatures, and the two ways in which a call disappoints (docs/spec/wire.md, "Calls").

import { createHash, createPublicKey, verify } from 'node:crypto'

/** The peer's sentence. */
export class Refused extends Error {}

/** What the peer said that does not hold. */
export class NotBelieved extends Error {}

/** Where nobody answers. */
export class Unreachable extends Error {}

/** Throws NotBelieved unless `holds`. */
export function require (holds, what) {
  if (!holds) {
    throw new NotBelieved(what)
  }
}

/** SHA-256 of the parts in a row; text is UTF-8. */
export function sha256 (...parts) {
  const hash = createHash('sha256')
  for (const part of parts) {
    hash.update(part)
  }
  return hash.digest()
}

export function isSame (one, other) {
  return Buffer.compare(one, other) === 0
}

export function hex (bytes) {
  return Buffer.from(bytes).toString('hex')
}

const SPKI_OF_ED25519 = Buffer.from('302a300506032b6570032100', 'hex')

/** Throws NotBelieved unless the Ed25519 signature holds. Keys come from a root that the ticket names, so none is of low order. */
export function verifySignature (key, signature, message) {
  const spki = { key: Buffer.concat([SPKI_OF_ED25519, key]), format: 'der', type: 'spki' }
  require(signature.length === 64 && verify(null, message, createPublicKey(spki), signature), 'a signature')
}

const SENTENCES = new Map([
  [Refused, (what) => `Refused: ${what}`],
  [NotBelieved, (what) => `Not believed: ${what}.`],
  [Unreachable, (what) => `Nobody answers: ${what}.`]
])

/** Runs a program; what a peer refuses, is not believed for, or does not answer ends it with one sentence and status 1. */
export async function run (main) {
  try {
    await main()
  } catch (error) {
    const sentence = SENTENCES.get(error.constructor)
    if (sentence === undefined) {
      throw error
    }
    console.error(sentence(error.message))
    process.exitCode = 1
  }
}
