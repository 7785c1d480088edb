// The log as the folder has it: its head, every entry, every hash tile, and the tree that they make.

import { hex, isSame } from './bytes.js'
import { parseHead, parseNote } from './checkpoint.js'
import { leafHash, Tree } from './merkle.js'
import { Pace } from './pace.js'
import { parseEntry } from './records.js'
import { ENTRIES, parseEntries, tile, tilesOf } from './tiles.js'
import { require, Wrong } from './wrong.js'

/** A browser keeps the whole log in memory; longer ones are for `gonode audit`. */
const MOST_ENTRIES = 2 ** 22
const MOST_NOTE = 32_768
const MOST_BUNDLE = 256 * 65_537
const AT_ONCE = 6

/** @typedef {import('./folder.js').Folder} Folder */
/** @typedef {{note: import('./checkpoint.js').Note, head: import('./checkpoint.js').Head, bytes: Uint8Array}} Checkpoint */
/** @typedef {(done: number, all: number) => void} Progress */

/**
 * @param {Folder} folder
 * @returns {Promise<Checkpoint>} not yet verified; throws Wrong
 */
export async function readCheckpoint (folder) {
  const bytes = await readFile(folder, 'checkpoint', MOST_NOTE)
  return within('checkpoint', () => {
    const note = parseNote(bytes)
    const head = parseHead(note.text)
    require(head.size <= MOST_ENTRIES, 'too large', `A log of ${head.size} entries is too long for a browser: see gonode audit.`)
    return { note, head, bytes }
  })
}

/**
 * @param {Folder} folder
 * @param {import('./checkpoint.js').Head} head
 * @param {Progress} progress
 * @returns {Promise<{entries: Uint8Array[], tree: Tree}>} throws Wrong unless the entries make the head's root hash
 */
export async function readEntries (folder, head, progress) {
  const bundles = tilesOf(head.size).filter((each) => each.level === ENTRIES)
  /** @type {Uint8Array[]} */
  const entries = []
  /** @type {Uint8Array[]} */
  const leaves = []
  await inOrder(bundles, ({ path }) => readFile(folder, path, MOST_BUNDLE), (bundle, { path, width }, number) => {
    const some = within(path, () => parseEntries(bundle, width))
    entries.push(...some)
    leaves.push(...some.map(leafHash))
    progress(number + 1, bundles.length)
  })
  const tree = new Tree(leaves)
  if (!isSame(tree.root(), head.rootHash)) {
    const facts = [{ name: 'root hash', expected: hex(head.rootHash), got: hex(tree.root()) }]
    throw new Wrong('bad digest', await findOddEntry(folder, entries, tree), facts)
  }
  return { entries, tree }
}

/**
 * @param {Folder} folder
 * @param {Tree} tree
 * @returns {Promise<number>} how many hash tiles there are; throws Wrong unless all are those of the tree
 */
export async function verifyTiles (folder, tree) {
  const tiles = tilesOf(tree.size).filter((each) => each.level !== ENTRIES)
  await inOrder(tiles, ({ path }) => readFile(folder, path, 32 * 256), (data, { level, number, width, path }) => {
    const hashes = tree.nodes(8 * level, 256 * number, 256 * number + width)
    if (!isSame(data, hashes)) {
      const facts = [{ name: `file ${path}`, expected: hex(hashes), got: hex(data) }]
      throw new Wrong('bad digest', `File ${path}: the hash tile does not fit the entries.`, facts)
    }
  })
  return tiles.length
}

/**
 * @param {Folder} folder
 * @param {Uint8Array[]} entries
 * @param {Tree} tree
 * @returns {Promise<string>} which entry is not the one that the hash tiles hold, where they tell
 */
async function findOddEntry (folder, entries, tree) {
  for (const { level, number, width, path } of tilesOf(entries.length)) {
    const hashes = level === 0 ? await folder.read(path, 32 * 256) : null
    for (let place = 0; hashes !== null && place < width; place++) {
      const index = 256 * number + place
      if (!isSame(tree.nodes(0, index), hashes.subarray(32 * place, 32 * place + 32))) {
        const bundle = tile(ENTRIES, number, width).path
        return `File ${bundle}: entry ${index} (${nameOf(/** @type {Uint8Array} */ (entries[index]))}) is not the one that the head commits to.`
      }
    }
  }
  return `File checkpoint: its root hash is not that of the ${entries.length} entries.`
}

/** @param {Uint8Array} entry */
function nameOf (entry) {
  try {
    return parseEntry(entry, 0).name
  } catch {
    return 'not a record'
  }
}

/**
 * @param {Folder} folder
 * @param {string} path
 * @param {number} most
 * @returns {Promise<Uint8Array>} throws Wrong if it is missing
 */
export async function readFile (folder, path, most) {
  const bytes = await folder.read(path, most)
  if (bytes === null) {
    throw new Wrong('parse error', `File ${path} is missing.`)
  }
  return bytes
}

/**
 * @template T
 * @param {string} path
 * @param {() => T} parse
 * @returns {T} throws Wrong with the file's name before the sentence
 */
export function within (path, parse) {
  try {
    return parse()
  } catch (error) {
    throw Wrong.at(error, `File ${path}`)
  }
}

/**
 * Fetches several at once, and hands them over one after another.
 * @template T
 * @param {T[]} items
 * @param {(item: T) => Promise<Uint8Array>} get
 * @param {(bytes: Uint8Array, item: T, number: number) => void} take
 */
async function inOrder (items, get, take) {
  /** @type {Promise<Uint8Array>[]} */
  const coming = []
  const pace = new Pace()
  for (let at = 0; at < items.length; at++) {
    for (let ahead = coming.length; ahead < Math.min(items.length, at + AT_ONCE); ahead++) {
      const promise = get(/** @type {T} */ (items[ahead]))
      promise.catch(() => {}) // it is said when its turn comes
      coming.push(promise)
    }
    take(await /** @type {Promise<Uint8Array>} */ (coming[at]), /** @type {T} */ (items[at]), at)
    await pace.rest()
  }
}
