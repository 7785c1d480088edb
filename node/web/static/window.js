// The training window (docs/spec/training.md, "Semantics"): a pure function of the released batches and the manifest.

import { hex, sha256 } from './bytes.js'
import { count } from './records.js'

/** @typedef {import('./released.js').Batch} Batch */
/** @typedef {import('./canonical.js').Fields} Fields */
/** @typedef {{batches: number, games: number, rows: number, total_rows: number, headers: string}} Window */

/**
 * How many rows a window takes: floor(F (total / F)^e), at most all. The specification rounds each step in 40 decimal
 * digits, a double in 16; where the two could differ, both neighbours are given.
 * @param {number} total
 * @param {Fields} policy
 * @returns {number[]}
 */
function windowRows (total, policy) {
  const floor = count(policy, 'floor_rows')
  if (total <= floor) {
    return [total]
  }
  const rows = floor * (total / floor) ** (count(policy, 'exponent_ppm') / 1e6)
  const slack = rows * 1e-12
  return [...new Set([Math.floor(rows), Math.floor(rows - slack), Math.floor(rows + slack)])].map((each) => Math.min(total, each))
}

/**
 * @param {Batch[]} released in log order
 * @param {Fields} policy the manifest's `window`
 * @param {Fields} committed the window's record
 * @returns {{window: Window, taken: Batch[]}} what the log gives; where two sizes are possible, the committed one if it is one
 */
export function windowOf (released, policy, committed) {
  const total = released.reduce((sum, each) => sum + each.plies, 0)
  const found = windowRows(total, policy).map((wanted) => take(released, wanted, total))
  const fits = found.find(({ window }) => isCommitted(window, committed))
  return fits ?? /** @type {{window: Window, taken: Batch[]}} */ (found[0])
}

/**
 * @param {Window} window
 * @param {Fields} committed
 * @returns {boolean}
 */
export function isCommitted (window, committed) {
  return Object.entries(window).every(([name, value]) => {
    const other = committed[name]
    return other instanceof Uint8Array ? hex(other) === value : other === value
  })
}

/**
 * @param {Batch[]} released
 * @param {number} wanted rows
 * @param {number} total
 */
function take (released, wanted, total) {
  const taken = []
  let rows = 0
  for (const batch of released.toReversed()) {
    if (rows >= wanted) break
    taken.push(batch)
    rows += batch.plies
  }
  taken.reverse()
  const games = taken.reduce((sum, each) => sum + each.games, 0)
  const headers = hex(sha256(...taken.map((each) => each.entry.envelope.digest)))
  return { window: { batches: taken.length, games, rows, total_rows: total, headers }, taken }
}
