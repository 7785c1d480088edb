// One release (docs/spec/release.md): what its entry says held against gate, training, window, manifest and its parent.

import { hex, isSame, sha256, unhex } from './bytes.js'
import { encode } from './canonical.js'
import { firstRelease } from './first.js'
import { count, hexOf, mapOf, text } from './records.js'
import { require } from './wrong.js'

/** @typedef {import('./records.js').Entry} Entry */
/** @typedef {import('./canonical.js').Fields} Fields */
/** @typedef {import('./canonical.js').Value} Value */
/** What a release came from. @typedef {{gate: Entry, training: Entry, window: import('./history.js').WindowInfo}} Origin */

/**
 * @param {Entry} release
 * @returns {string} what its file, and the folder of its statement, are called
 */
export function placeOf ({ record }) {
  return `${String(count(record, 'number')).padStart(5, '0')}-${text(record, 'name')}`
}

/**
 * @param {import('./history.js').History} history
 * @param {Entry} release
 * @returns {Origin} throws Wrong unless the release is what its gated candidate gives
 */
export function originOf (history, release) {
  const { record, index } = release
  const number = count(record, 'number')
  require(history.releases[number - 1] === release, 'parse error', `Release ${number} is not the ${number}th of the log.`)
  const gate = history.entryAt(record.gate_record, 'gate-record')
  const training = history.entryAt(record.train_record, 'train-record')
  const window = history.windows.get(history.entryAt(training.record.window, 'window').index)
  require(window !== undefined && window.entry.index < training.index && training.index < gate.index && gate.index < index,
    'parse error', 'A release comes after its gate record, that after the train record, and that after the window.')
  const origin = { gate, training, window: /** @type {import('./history.js').WindowInfo} */ (window) }
  requireGate(gate.record, record)
  requireTraining(origin, record)
  requireManifest(history, release)
  return origin
}

/**
 * @param {Fields} gate
 * @param {Fields} release
 */
function requireGate (gate, release) {
  require(gate.passed === true, 'parse error', 'The gate record says that the candidate did not pass.')
  require(gate.candidate === release.train_record, 'parse error', 'The gate record is of another candidate.')
  require(hexOf(gate, 'base') === hexOf(release, 'parent'), 'parse error', "The candidate was not gated against the release's parent.")
  const counts = Array.isArray(gate.counts) ? gate.counts : []
  const sum = counts.reduce((/** @type {number} */ total, each) => total + Number(each), 0)
  require(counts.length === 5 && sum === gate.pairs, 'parse error', "The gate record's counts do not sum to its pairs.")
}

/**
 * @param {Origin} origin
 * @param {Fields} release
 */
function requireTraining ({ training, window }, release) {
  const { record } = training
  for (const field of ['network', 'network_blob', 'network_len', 'weights_blob', 'shape', 'steps', 'samples']) {
    requireSame(record[field], release[field], `The release's field ${field} is not that of its train record.`)
  }
  requireSame(record.base, release.parent, 'The train record is of another base than the release.')
  requireSame(record.cycle, window.entry.record.cycle, 'The train record is of another cycle than its window.')
  require(count(record, 'batches') + count(record, 'skipped') === window.entry.record.batches, 'parse error',
    "The train record does not account for its window's batches.")
  requireSame(window.entry.record.total_rows, release.rows, "The release's rows are not those of its window.")
}

/**
 * @param {import('./history.js').History} history
 * @param {Entry} release
 */
function requireManifest (history, { record, index }) {
  const { entry, digest } = history.manifestAt(index)
  const manifest = entry.record
  const selfplay = mapOf(manifest, 'selfplay')
  const openings = /** @type {Value} */ (manifest.openings)
  const tail = `-${text(record, 'shape')}-s${count(record, 'samples')}-d${count(record, 'rows')}`
  const expected = {
    manifest: digest,
    name: text(manifest, 'name').slice(0, 64 - tail.length) + tail,
    config: sha256(encode(selfplay)),
    gate_config: sha256(encode(mapOf(manifest, 'gate_search'))),
    openings: sha256(encode({ openings })),
    training: sha256(encode(mapOf(manifest, 'training'))),
    semantics: text(selfplay, 'semantics')
  }
  for (const [field, value] of Object.entries(expected)) {
    requireSame(value, record[field], `The release's field ${field} is not that of the manifest in force.`)
  }
}

/**
 * A release's place in the chain; release 0 has no entry.
 * @typedef {{number: number, id: Uint8Array, entry: Entry | undefined, network: Uint8Array}} Link
 */

/**
 * @param {import('./history.js').History} history
 * @returns {{link: Link, payload: Uint8Array}} release 0, computed from the manifest
 */
export function releaseZero (history) {
  const manifest = /** @type {import('./history.js').Manifest} */ (history.manifests[0])
  const run = unhex(history.run)
  const { id, payload, network } = firstRelease(run, manifest.digest, mapOf(manifest.entry.record, 'network'))
  return { link: { number: 0, id, entry: undefined, network }, payload }
}

/**
 * @param {import('./history.js').History} history
 * @param {Link} zero
 * @param {number} number
 * @returns {Link[]} release `number` and its ancestors, newest first; throws Wrong where the chain breaks
 */
export function chainOf (history, zero, number) {
  const chain = [zero]
  for (const entry of history.releases.slice(0, number)) {
    const before = /** @type {Link} */ (chain[0])
    originOf(history, entry)
    const parent = hexOf(entry.record, 'parent')
    require(parent === hex(before.id), 'parse error',
      `Release ${before.number + 1} names ${parent.slice(0, 16)} as its parent; release ${before.number} is ${hex(before.id).slice(0, 16)}.`)
    const network = /** @type {Uint8Array} */ (entry.record.network)
    chain.unshift({ number: before.number + 1, id: entry.envelope.digest, entry, network })
  }
  return chain
}

/**
 * @param {Value | undefined} one
 * @param {Value | undefined} other
 * @param {string} sentence
 */
function requireSame (one, other, sentence) {
  const isBoth = one instanceof Uint8Array && other instanceof Uint8Array
  require(isBoth ? isSame(one, other) : one === other, 'parse error', sentence)
}
