// Tiles (docs/spec/log.md, "Tiles"): the log's entries and hashes in files of up to 256 each.

import { require } from './wrong.js'

export const WIDTH = 256
/** The "level" of an entry bundle. */
export const ENTRIES = -1
const LEVELS = 8

/** @typedef {{level: number, number: number, width: number, path: string}} Tile */

/**
 * @param {number} level
 * @param {number} number
 * @param {number} width
 * @returns {Tile}
 */
export function tile (level, number, width) {
  const digits = String(number)
  const padded = digits.padStart(3 * Math.ceil(digits.length / 3), '0')
  const groups = padded.match(/.{3}/g) ?? []
  const name = groups.map((group, at) => at < groups.length - 1 ? `x${group}` : group).join('/')
  const end = width === WIDTH ? '' : `.p/${width}`
  return { level, number, width, path: `tile/${level === ENTRIES ? 'entries' : level}/${name}${end}` }
}

/**
 * @param {number} size
 * @returns {Tile[]} all tiles of a log of `size` entries, entry bundles first
 */
export function tilesOf (size) {
  const tiles = []
  for (let level = ENTRIES; level < LEVELS; level++) {
    const count = Math.floor(size / WIDTH ** Math.max(level, 0))
    for (let number = 0; number * WIDTH < count; number++) {
      tiles.push(tile(level, number, Math.min(WIDTH, count - number * WIDTH)))
    }
  }
  return tiles
}

/**
 * @param {Uint8Array} bundle
 * @param {number} width
 * @returns {Uint8Array[]} its entries, no more and no less; throws Wrong
 */
export function parseEntries (bundle, width) {
  const entries = []
  let at = 0
  for (let number = 0; number < width; number++) {
    const start = at + 2
    at = start + (bundle[at] ?? 0) * 256 + (bundle[at + 1] ?? 0)
    require(start <= bundle.length && at <= bundle.length, 'parse error',
      `The entry bundle is cut short in entry ${number} of ${width}.`)
    entries.push(bundle.subarray(start, at))
  }
  require(at === bundle.length, 'parse error', `Bytes follow the ${width} entries of the bundle.`)
  return entries
}
