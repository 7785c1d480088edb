// The log's tree (docs/spec/log.md, "Tree"; RFC 6962, section 2.1): every full subtree's hash, roots, inclusion proofs.

import { sha256 as hash } from './vendor/noble-hashes/sha2.js'
import { isSame, sha256 } from './bytes.js'
import { require } from './wrong.js'

const LEAF = Uint8Array.of(0)
const pair = new Uint8Array(65)
pair[0] = 1

/**
 * @param {Uint8Array} entry
 * @returns {Uint8Array}
 */
export function leafHash (entry) {
  return sha256(LEAF, entry)
}

/**
 * @param {Uint8Array} left
 * @param {Uint8Array} right
 * @returns {Uint8Array}
 */
function nodeHash (left, right) {
  pair.set(left, 1)
  pair.set(right, 33)
  return hash(pair)
}

export class Tree {
  /** @param {Uint8Array[]} leaves leaf hashes */
  constructor (leaves) {
    this.size = leaves.length
    /** Level k holds the hashes of all full subtrees of 2^k leaves, 32 bytes each. */
    this.levels = [new Uint8Array(32 * leaves.length)]
    leaves.forEach((leaf, at) => this.#level(0).set(leaf, 32 * at))
    for (let height = 1; leaves.length >> height > 0; height++) {
      const below = this.#level(height - 1)
      const level = new Uint8Array(32 * (leaves.length >> height))
      for (let at = 0; at < level.length; at += 32) {
        level.set(nodeHash(below.subarray(2 * at, 2 * at + 32), below.subarray(2 * at + 32, 2 * at + 64)), at)
      }
      this.levels.push(level)
    }
  }

  /** @param {number} height */
  #level (height) {
    return /** @type {Uint8Array} */ (this.levels[height] ?? new Uint8Array())
  }

  /**
   * @param {number} height
   * @param {number} start
   * @param {number} [end]
   * @returns {Uint8Array} the hashes of the full subtrees start..end of 2^height leaves
   */
  nodes (height, start, end = start + 1) {
    return this.#level(height).subarray(32 * start, 32 * end)
  }

  /**
   * @param {number} [size]
   * @returns {Uint8Array} the root over the first `size` leaves
   */
  root (size = this.size) {
    return size === 0 ? sha256() : this.#root(0, size)
  }

  /**
   * @param {number} index
   * @returns {Uint8Array[]} the path of a leaf to the root
   */
  inclusionProof (index) {
    const path = []
    let start = 0
    let end = this.size
    while (end - start > 1) {
      const middle = start + 2 ** (31 - Math.clz32(end - start - 1))
      if (index < middle) {
        path.push(this.#root(middle, end))
        end = middle
      } else {
        path.push(this.#root(start, middle))
        start = middle
      }
    }
    return path.reverse()
  }

  /**
   * @param {number} start
   * @param {number} end
   * @returns {Uint8Array}
   */
  #root (start, end) {
    const peaks = []
    while (start < end) {
      const height = 31 - Math.clz32(end - start)
      peaks.push(this.nodes(height, start / 2 ** height))
      start += 2 ** height
    }
    return peaks.reduceRight((right, left) => nodeHash(left, right))
  }
}

/**
 * Throws Wrong unless `proof` shows that `leaf` is leaf `index` of the tree (RFC 9162, section 2.1.3.2).
 * @param {Uint8Array} leaf
 * @param {number} index
 * @param {number} size
 * @param {Uint8Array[]} proof
 * @param {Uint8Array} root
 */
export function verifyInclusion (leaf, index, size, proof, root) {
  require(index >= 0 && index < size, 'bad proof', `A tree of ${size} leaves has no leaf ${index}.`)
  let number = index
  let last = size - 1
  let node = leaf
  for (const sibling of proof) {
    require(last !== 0 && sibling.length === 32, 'bad proof', 'The inclusion proof is too long.')
    if (number % 2 === 1 || number === last) {
      node = nodeHash(sibling, node)
      while (number % 2 === 0 && number !== 0) {
        number = Math.floor(number / 2)
        last = Math.floor(last / 2)
      }
    } else {
      node = nodeHash(node, sibling)
    }
    number = Math.floor(number / 2)
    last = Math.floor(last / 2)
  }
  require(last === 0, 'bad proof', 'The inclusion proof is too short.')
  require(isSame(node, root), 'bad proof', `The inclusion proof of leaf ${index} does not lead to the root.`)
}
