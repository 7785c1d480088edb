// Blobs: fetched from a peer, each chunk checked when it comes, and served (docs/spec/blob.md; wire.md, "Blobs").

import { setTimeout } from 'node:timers/promises'

import { hex, isSame, Refused, require, sha256 } from './belief.js'
import { encode, isBytes, isCount, isHash, isText, parse, parseMap } from './canonical.js'

const PROTOCOL = '/gonode/blob/1'
const CHUNK = 1 << 20
const TRIES = 5
const AGAIN_MS = 2_000
const DOMAIN = 'gonode/blob/v1\0'

/** The blob's chunks, at most `mostBytes` together, from a peer that is given as its `ask` (peer.js). */
export async function fetchBlob (ask, digest, mostBytes) {
  const list = await ask(PROTOCOL, encode({ digest, op: 'list' }), 20_000)
  require(list.length >= 8 && isSame(sha256(DOMAIN, list), digest), 'the chunk list')
  const length = Number(list.readBigUInt64LE())
  require(length <= mostBytes && list.length === 8 + 32 * Math.ceil(length / CHUNK), "the blob's length")
  const chunks = []
  for (let index = 0; index * CHUNK < length; index++) {
    const chunk = await askChunk(ask, digest, index)
    require(isSame(sha256(chunk), list.subarray(8 + 32 * index, 40 + 32 * index)), `chunk ${index}`)
    chunks.push(chunk)
  }
  require(chunks.reduce((sum, chunk) => sum + chunk.length, 0) === length, "the blob's length")
  return chunks
}

/** A chunk from a peer; one that has no place for this asker now refuses, and is asked again. */
async function askChunk (ask, digest, index) {
  for (let left = TRIES; ; left--) {
    try {
      return await ask(PROTOCOL, encode({ digest, index, op: 'chunk' }), 20_000)
    } catch (error) {
      if (!(error instanceof Refused) || left === 1) {
        throw error
      }
      await setTimeout(AGAIN_MS)
    }
  }
}

/** Blobs by digest, whole, that other peers may have. */
export class Blobs {
  #held = new Map()

  /** Holds a blob from now on; its digest. */
  put (bytes) {
    const chunks = []
    for (let at = 0; at < bytes.length; at += CHUNK) {
      chunks.push(bytes.subarray(at, at + CHUNK))
    }
    const length = Buffer.alloc(8)
    length.writeBigUInt64LE(BigInt(bytes.length))
    const list = Buffer.concat([length, ...chunks.map((chunk) => sha256(chunk))])
    const digest = sha256(DOMAIN, list)
    this.#held.set(hex(digest), { chunks, list })
    return digest
  }

  /** The answer to a request of another peer. */
  answer (request) {
    switch (parseMap(request).op) {
      case 'list': {
        const { digest } = parse(request, { digest: isHash, op: isText })
        return this.#get(digest).list
      }
      case 'chunk': {
        const { digest, index } = parse(request, { digest: isHash, index: isCount, op: isText })
        const chunk = this.#get(digest).chunks[index]
        if (chunk === undefined) {
          throw new Refused(`Blob ${hex(digest)} has no chunk ${index}.`)
        }
        return chunk
      }
      case 'have': {
        const { digest } = parse(request, { digest: isHash, known: isCount, op: isText })
        const count = this.#get(digest).chunks.length
        const bitmap = Buffer.alloc(Math.ceil(count / 8))
        for (let index = 0; index < count; index++) {
          bitmap[index >> 3] |= 1 << (index & 7)
        }
        return bitmap
      }
      case 'any': {
        const { digest, wants } = parse(request, { digest: isHash, op: isText, wants: isBytes })
        const { chunks } = this.#get(digest)
        const wanted = chunks.findIndex((chunk, index) => wants[index >> 3] & (1 << (index & 7)))
        const extra = (wants.at(-1) ?? 0) >> (((chunks.length - 1) & 7) + 1)
        if (wants.length !== Math.ceil(chunks.length / 8) || extra !== 0 || wanted < 0) {
          throw new Refused('No chunk of this blob is wanted.')
        }
        const index = Buffer.alloc(4)
        index.writeUInt32LE(wanted)
        return Buffer.concat([index, chunks[wanted]])
      }
    }
    throw new Refused('This peer answers list, have, any and chunk.')
  }

  #get (digest) {
    const blob = this.#held.get(hex(digest))
    if (blob === undefined) {
      throw new Refused(`Blob ${hex(digest)} is not here.`)
    }
    return blob
  }
}
