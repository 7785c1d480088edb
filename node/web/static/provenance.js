// The provenance of a release (docs/spec/statement.md, "provenance.dsse.json"), made anew from the log.

import { encodeBase64, hex, sha256, utf8 } from './bytes.js'
import { isMap } from './canonical.js'
import { bytesOf, count, hexOf, mapOf, mapsOf, text } from './records.js'
import { originOf } from './release.js'

/** @typedef {import('./records.js').Entry} Entry */
/** @typedef {import('./canonical.js').Value} Value */
/** @typedef {import('../types/values.d.ts').Json} Json */

const NONE = '00'.repeat(32)
export const IN_TOTO = 'application/vnd.in-toto+json'

/**
 * @param {import('./history.js').History} history
 * @param {Entry} release
 * @param {Entry} statement
 * @param {Uint8Array} key the coordinator's
 * @returns {{payload: Uint8Array, file: Uint8Array}} what is signed, and the whole document; throws Wrong
 */
export function provenanceOf (history, release, statement, key) {
  const payload = utf8(encodeJson(statementOf(history, release, hexOf(statement.record, 'weights_sha256'), hex(key))))
  const keyid = hex(sha256(encodeJson({ keytype: 'ed25519', keyval: { public: hex(key) }, scheme: 'ed25519' })))
  const sig = encodeBase64(bytesOf(statement.record, 'provenance_signature'))
  const envelope = { payload: encodeBase64(payload), payloadType: IN_TOTO, signatures: [{ keyid, sig }] }
  return { payload, file: utf8(`${encodeJson(envelope)}\n`) }
}

/**
 * @param {import('./history.js').History} history
 * @param {Entry} release
 * @param {string} weights
 * @param {string} key
 * @returns {Json}
 */
function statementOf (history, release, weights, key) {
  const { gate, training, window } = originOf(history, release)
  const manifest = history.manifestAt(window.entry.index)
  const train = training.record
  const name = text(release.record, 'name')
  const versions = { gonode: text(release.record, 'code_version'), torch: text(train, 'torch') }
  /** @param {number} index */
  const entry = (index) => `gonode:${history.run}/entry/${index}`
  /** @param {Entry} each @returns {Json} */
  const logged = (each) => ({
    name: each.name,
    uri: entry(each.index),
    digest: { sha256: hex(each.envelope.digest) },
    annotations: { [each.name]: readable(each.record) }
  })
  const parent = hexOf(train, 'parent_state') === NONE ? [] : [{ name: 'parent-train-state', digest: { gonodeBlob: hexOf(train, 'parent_state') } }]
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [
      { name: `${name}.network.bin`, digest: { sha256: hexOf(release.record, 'network'), gonodeBlob: hexOf(release.record, 'network_blob') } },
      { name: `${name}.weights.bin`, digest: { sha256: weights, gonodeBlob: hexOf(release.record, 'weights_blob') } }
    ],
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'gonode:training-cycle/v1',
        externalParameters: {
          run: history.run,
          cycle: `${train.cycle}`,
          window: readable(window.entry.record),
          training: readable(mapOf(manifest.entry.record, 'training')),
          seed: hexOf(train, 'seed'),
          shape: text(train, 'shape')
        },
        internalParameters: {
          device: text(train, 'device'),
          processes: `${train.processes}`,
          threads: `${train.threads}`,
          capability: text(train, 'capability')
        },
        resolvedDependencies: [
          { name: 'manifest', digest: { sha256: hex(manifest.digest) } },
          { name: 'parent-release', digest: { sha256: hexOf(release.record, 'parent') } },
          { name: 'window', uri: entry(window.entry.index), digest: { sha256: hex(window.entry.envelope.digest) } },
          { name: 'gonode', uri: `pkg:generic/gonode@${quoted(versions.gonode)}` },
          { name: 'torch', uri: `pkg:pypi/torch@${quoted(versions.torch)}` },
          ...parent
        ]
      },
      runDetails: {
        builder: { id: `gonode:${history.run}/coordinator/${key}`, version: versions },
        metadata: { invocationId: entry(training.index) },
        byproducts: [
          logged(training),
          logged(gate),
          logged(release),
          ...mapsOf(train, 'states').map((each) => ({ name: `train-state-${count(each, 'step')}`, digest: { gonodeBlob: hexOf(each, 'state') } }))
        ]
      }
    }
  }
}

/**
 * @param {Value} value of a record
 * @returns {Json} its numbers in decimal, its bytes in hexadecimal digits
 */
function readable (value) {
  if (value instanceof Uint8Array) return hex(value)
  if (Array.isArray(value)) return value.map(readable)
  if (value !== null && isMap(value)) return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, readable(each)]))
  return typeof value === 'boolean' ? value : `${value}`
}

/** @param {string} version @returns {string} as a part of a package URL */
function quoted (version) {
  return encodeURIComponent(version).replace(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`)
}

/**
 * @param {Json} value texts are ASCII
 * @returns {string} keys in order, no spaces
 */
function encodeJson (value) {
  if (Array.isArray(value)) return `[${value.map(encodeJson).join(',')}]`
  if (typeof value !== 'object') return JSON.stringify(value)
  return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${encodeJson(/** @type {Json} */ (value[name]))}`).join(',')}}`
}
