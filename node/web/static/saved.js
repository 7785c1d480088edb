// Heads that this browser saw before, so that a history which is changed later is noticed.

import { hex, unhex } from './bytes.js'

const MOST = 20

/** @typedef {{size: number, rootHash: Uint8Array, seen: string}} SavedHead */

/**
 * @param {string} run
 * @returns {SavedHead[]} smallest first; none where this browser keeps nothing
 */
export function savedHeads (run) {
  try {
    /** @type {{size: number, root: string, seen: string}[]} */
    const heads = JSON.parse(localStorage.getItem(nameOf(run)) ?? '[]')
    return heads.map(({ size, root, seen }) => ({ size, rootHash: unhex(root), seen: `${seen}` }))
      .filter(({ size, rootHash }) => Number.isSafeInteger(size) && size >= 0 && rootHash.length === 32)
  } catch {
    return []
  }
}

/**
 * @param {string} run
 * @param {{size: number, rootHash: Uint8Array}} head one that was verified
 * @returns {boolean} whether this browser keeps it
 */
export function saveHead (run, { size, rootHash }) {
  const others = savedHeads(run).filter((each) => each.size !== size)
  const known = [...others, { size, rootHash, seen: new Date().toISOString() }].sort((one, other) => one.size - other.size)
  const kept = known.length > MOST ? [...known.slice(0, 1), ...known.slice(1 - MOST)] : known
  try {
    localStorage.setItem(nameOf(run), JSON.stringify(kept.map((each) => ({ size: each.size, root: hex(each.rootHash), seen: each.seen }))))
    return true
  } catch {
    return false
  }
}

/** @param {string} run */
function nameOf (run) {
  return `gonode/heads/${run}`
}
