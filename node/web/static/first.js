// Release 0 (docs/spec/release.md; network.md, "First network"): the network that a manifest's digest draws, and its record.

import { concat, sha256, utf8 } from './bytes.js'
import { encode } from './canonical.js'
import { require } from './wrong.js'

const PLANES = 20

/**
 * @param {Uint8Array} run
 * @param {Uint8Array} manifest digest of manifest version 1
 * @param {import('./canonical.js').Fields} spec its `network`
 * @returns {{id: Uint8Array, payload: Uint8Array, network: Uint8Array}} the release's id, record and network digest
 */
export function firstRelease (run, manifest, { first, blocks, channels }) {
  require(Number.isInteger(blocks) && Number.isInteger(channels), 'parse error', 'The manifest names no network.')
  const isUniform = first === 'uniform'
  const network = isUniform
    ? new Uint8Array()
    : sha256(firstNetwork(manifest, /** @type {number} */ (blocks), /** @type {number} */ (channels)))
  const payload = encode({ run, manifest, number: 0, network })
  return { id: sha256(payload), payload, network }
}

/**
 * @param {Uint8Array} digest of a manifest
 * @param {number} blocks
 * @param {number} channels
 * @returns {Uint8Array} the file of the network that it draws
 */
export function firstNetwork (digest, blocks, channels) {
  require(blocks >= 1 && blocks <= 64 && channels >= 16 && channels <= 224 && channels % 16 === 0, 'parse error',
    `There is no network of ${blocks} blocks and ${channels} channels.`)
  const body = new Writer(sha256('gonode/init/v1\0', digest))
  body.network(blocks, channels)
  const bytes = concat(...body.parts)
  const header = new Writer(digest)
  for (const [value, width] of [[1, 4], [1, 2], [PLANES, 2], [blocks, 2], [channels, 2], [bytes.length, 4]]) {
    header.put(1, /** @type {number} */ (value), /** @type {number} */ (width))
  }
  const whole = concat(utf8('GONODENN'), ...header.parts, bytes)
  return concat(whole, sha256(whole))
}

/** Layers in the order of the file; weights come from Philox, multipliers and shifts from the fan-in. */
class Writer {
  /** @type {Uint8Array[]} */
  parts = []
  layer = 0

  /** @param {Uint8Array} seed */
  constructor (seed) {
    const view = new DataView(seed.buffer, seed.byteOffset)
    this.key = /** @type {[number, number]} */ ([view.getUint32(0, true), view.getUint32(4, true)])
  }

  /**
   * @param {number} blocks
   * @param {number} c channels
   */
  network (blocks, c) {
    const k = 16 * Math.floor((c + 47) / 48)
    this.connected(9 * PLANES, c, scaled(39850720n, 16384n, 0, 9 * PLANES))
    for (let block = 0; block < blocks; block++) {
      this.norm(c, block)
      this.convolution(9 * c, c)
      if (block % 2 === 1) {
        this.pool(2 * c, c)
      }
      this.connected(9 * c, c, scaled(19925360n, 16384n, 0, 9 * c))
    }
    this.norm(c, blocks)
    this.convolution(c, k) // pool_conv
    this.convolution(c, k) // policy_conv
    this.pool(2 * k, k)
    this.logit(k, 62n) // policy_point
    this.logit(2 * k, 1n) // policy_pass
    this.convolution(c, k) // value_conv
    this.connected(3 * k, 2 * k, scaled(2004n, 256n, 0, 3 * k)) // value_hidden
    this.logit(2 * k, 62n) // value
    this.logit(2 * k, 125n) // score_mean
    this.logit(2 * k, 125n) // score_spread
    this.logit(k, 623n) // ownership
  }

  /**
   * @param {number} times
   * @param {number} value
   * @param {number} width in bytes, little-endian
   */
  put (times, value, width) {
    const bytes = new Uint8Array(times * width)
    for (let at = 0; at < bytes.length; at++) {
      bytes[at] = value >>> 8 * (at % width)
    }
    this.parts.push(bytes)
  }

  /** @param {number} count */
  weights (count) {
    const bytes = new Uint8Array(count)
    for (let block = 0; 16 * block < count; block++) {
      const words = philox([block, this.layer, 0, 0], this.key)
      for (let at = 16 * block; at < Math.min(count, 16 * block + 16); at++) {
        const byte = /** @type {number} */ (words[at % 16 >> 2]) >>> 8 * (at % 4) & 255
        bytes[at] = ((2 * byte + 1) * 129 >> 9) - 64
      }
    }
    this.parts.push(bytes)
    this.layer++
  }

  /**
   * @param {number} inputs
   * @param {number} outputs
   * @param {[number, number]} scale multiplier and shift
   */
  connected (inputs, outputs, [multiplier, shift]) {
    this.weights(inputs * outputs)
    this.put(outputs, 0, 4)
    this.put(outputs, shift, 1)
    this.put(outputs, multiplier, 2)
  }

  /**
   * @param {number} inputs
   * @param {number} outputs
   */
  convolution (inputs, outputs) {
    this.connected(inputs, outputs, scaled(318809n, 256n, 0, inputs))
  }

  /**
   * @param {number} channels
   * @param {number} index
   */
  norm (channels, index) {
    this.put(channels, 0, 2)
    this.put(channels, isqrt(Math.floor(2 ** 18 / (4 + index))), 2)
  }

  /**
   * @param {number} inputs
   * @param {number} outputs
   */
  pool (inputs, outputs) {
    this.weights(inputs * outputs)
    this.put(outputs, 0, 4)
    this.put(outputs, 8, 1)
  }

  /**
   * @param {number} inputs
   * @param {bigint} factor
   */
  logit (inputs, factor) {
    const [multiplier, shift] = scaled(factor, 16384n, 1, inputs)
    this.weights(inputs)
    this.put(1, 0, 4)
    this.put(1, multiplier, 2)
    this.put(1, shift, 1)
  }
}

/** @param {number} value below 2^52 */
function isqrt (value) {
  return Math.floor(Math.sqrt(value))
}

/**
 * @param {bigint} factor
 * @param {bigint} low
 * @param {number} from the least shift
 * @param {number} fanIn
 * @returns {[number, number]} multiplier and shift
 */
function scaled (factor, low, from, fanIn) {
  const q = BigInt(isqrt(65536 * fanIn))
  let shift = BigInt(from)
  while ((factor << shift) / q < low) {
    shift++
  }
  return [Number((factor << shift) / q), Number(shift)]
}

/**
 * Philox4x32-10 (Salmon et al., SC 2011).
 * @param {[number, number, number, number]} counter
 * @param {[number, number]} key
 * @returns {[number, number, number, number]}
 */
function philox ([c0, c1, c2, c3], [k0, k1]) {
  for (let round = 0; round < 10; round++) {
    const n0 = high(0xcd9e8d57, c2) ^ c1 ^ k0
    const n2 = high(0xd2511f53, c0) ^ c3 ^ k1
    c1 = Math.imul(0xcd9e8d57, c2)
    c3 = Math.imul(0xd2511f53, c0)
    c0 = n0
    c2 = n2
    k0 = k0 + 0x9e3779b9 | 0
    k1 = k1 + 0xbb67ae85 | 0
  }
  return [c0, c1, c2, c3]
}

/**
 * @param {number} a
 * @param {number} b
 * @returns {number} the upper 32 bits of their product as unsigned integers
 */
function high (a, b) {
  const [a0, a1, b0, b1] = [a & 0xffff, a >>> 16, b & 0xffff, b >>> 16]
  const middle = a1 * b0 + (Math.imul(a0, b0) >>> 16)
  const low = a0 * b1 + (middle % 0x10000)
  return a1 * b1 + Math.floor(middle / 0x10000) + Math.floor(low / 0x10000) | 0
}
