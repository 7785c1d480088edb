// The tree of the log (docs/spec/log.md, "Tree"): roots and consistency proofs of RFC 6962, over leaf hashes.

import { isSame, sha256 } from './belief.js'

const LEAF = Buffer.of(0)
const NODE = Buffer.of(1)

export function leafHash (entry) {
  return sha256(LEAF, entry)
}

export function root (leaves) {
  if (leaves.length === 0) {
    return sha256()
  }
  if (leaves.length === 1) {
    return leaves[0]
  }
  const split = splitOf(leaves.length)
  return sha256(NODE, root(leaves.slice(0, split)), root(leaves.slice(split)))
}

/** The proof that the first `old` leaves are a prefix of `leaves` (RFC 6962, 2.1.2). */
export function prove (leaves, old) {
  return old === 0 || old === leaves.length ? [] : subproof(leaves, old, true)
}

function subproof (leaves, old, isWhole) {
  if (old === leaves.length) {
    return isWhole ? [] : [root(leaves)]
  }
  const split = splitOf(leaves.length)
  const left = leaves.slice(0, split)
  const right = leaves.slice(split)
  return old <= split
    ? [...subproof(left, old, isWhole), root(right)]
    : [...subproof(right, old - split, false), root(left)]
}

/** Whether `proof` shows that the tree of `oldSize` is a prefix of the tree of `newSize` (RFC 9162, 2.1.4.2). */
export function isPrefix (oldSize, oldRoot, newSize, newRoot, proof) {
  if (oldSize === 0 || oldSize === newSize) {
    return proof.length === 0 && isSame(oldRoot, oldSize === 0 ? root([]) : newRoot)
  }
  let fn = oldSize - 1
  let sn = newSize - 1
  while (fn & 1) {
    fn >>>= 1
    sn >>>= 1
  }
  const [first, ...steps] = fn === 0 ? [oldRoot, ...proof] : proof
  let left = first
  let right = first
  for (const step of steps) {
    if (sn === 0) {
      return false
    }
    if (fn & 1 || fn === sn) {
      left = sha256(NODE, step, left)
      right = sha256(NODE, step, right)
      while (fn !== 0 && !(fn & 1)) {
        fn >>>= 1
        sn >>>= 1
      }
    } else {
      right = sha256(NODE, right, step)
    }
    fn >>>= 1
    sn >>>= 1
  }
  return first !== undefined && oldSize < newSize && sn === 0 && isSame(left, oldRoot) && isSame(right, newRoot)
}

/** The largest power of two below `size`. */
function splitOf (size) {
  return 2 ** (31 - Math.clz32(size - 1))
}
