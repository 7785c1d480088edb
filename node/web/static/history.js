// What the log says, entry by entry: signatures and roles checked, releases, windows and contributors found.

import { hex } from './bytes.js'
import { RECORDS } from './forms.js'
import { Pace } from './pace.js'
import { Released } from './released.js'
import { count, hexOf, mapOf, parseEntry, text } from './records.js'
import { Roots } from './roots.js'
import { requireShares, sharesOf } from './shares.js'
import { windowOf } from './window.js'
import { require, Wrong } from './wrong.js'

const AT_ONCE = 64
/** Types whose entries are looked at again; all others are forgotten once they are checked. */
const KEPT = ['root', 'manifest', 'batch-header', 'window', 'train-record', 'gate-record', 'release', 'release-statement']
const NO_RUN = '00'.repeat(32)

/** @typedef {import('./records.js').Entry} Entry */
/** @typedef {import('./released.js').Batch} Batch */
/** @typedef {{entry: Entry, digest: Uint8Array}} Manifest */
/** A window as committed, and as the log gives it. @typedef {{entry: Entry, window: import('./window.js').Window, taken: Batch[], doubt: import('./released.js').Doubt}} WindowInfo */

export class History {
  roots = new Roots()
  released = new Released()
  /** By log index, those of the kept types. @type {Map<number, Entry>} */
  entries = new Map()
  /** @type {Manifest[]} */
  manifests = []
  /** @type {Entry[]} */
  releases = []
  /** By log index. @type {Map<number, WindowInfo>} */
  windows = new Map()
  /** Names of contributors by key. @type {Map<string, {name: string, index: number}>} */
  names = new Map()
  /** Entries of statements by the index of their release. @type {Map<number, Entry>} */
  statements = new Map()
  /** How many entries there are of each type. @type {Map<string, number>} */
  counts = new Map()

  /** @param {Uint8Array} run id */
  constructor (run) {
    this.run = hex(run)
  }

  /**
   * Takes all entries; throws Wrong for the first that is not signed as it has to be.
   * @param {Uint8Array[]} all
   * @param {import('./log.js').Progress} progress
   */
  async takeAll (all, progress) {
    const pace = new Pace()
    for (let start = 0; start < all.length; start += AT_ONCE) {
      const some = all.slice(start, start + AT_ONCE)
      const entries = some.map((bytes, at) => said(start + at, '', () => parseEntry(bytes, start + at)))
      const shares = entries.map((entry) => said(entry.index, entry.name, () => sharesOf(entry)))
      const verified = entries.map((entry, at) => Promise.all([entry.envelope, ...shares[at] ?? []].map((each) => each.verify()))
        .then(() => undefined, (error) => error))
      for (const [at, entry] of entries.entries()) {
        const fault = await verified[at]
        said(entry.index, entry.name, () => {
          if (fault !== undefined) throw fault
          this.#take(entry)
          requireShares(entry, shares[at] ?? [], this.roots)
        })
      }
      progress(start + some.length, all.length)
      await pace.rest()
    }
  }

  /** @param {Entry} entry */
  #take (entry) {
    const { index, name, record } = entry
    const isFirst = index < 2
    require((index === 0) === (name === 'root' && record.version === 1) &&
      (index === 1) === (name === 'manifest' && record.version === 1), 'wrong signer',
    'A log begins with root version 1 and manifest version 1.')
    require(hexOf(record, 'run') === (isFirst ? NO_RUN : this.run), 'wrong signer', 'It is for another run.')
    if (name === 'root') {
      this.roots.add(entry)
    } else {
      this.roots.requireSigner(entry, /** @type {import('./forms.js').Form} */ (RECORDS[name]).signer)
    }
    switch (name) {
      case 'manifest': this.#addManifest(entry); break
      case 'registration': this.names.set(hexOf(record, 'peer'), { name: text(record, 'name'), index }); break
      case 'key-replacement': {
        const before = this.names.get(hexOf(record, 'peer'))
        this.names.set(hexOf(record, 'replacement'), { name: before?.name ?? '', index })
        break
      }
      case 'batch-header': {
        const known = this.names.get(hexOf(record, 'peer'))
        require(known !== undefined && known.index === record.registration, 'wrong signer', 'Its peer is not registered.')
        break
      }
      case 'window': this.#addWindow(entry); break
      case 'release': this.releases.push(entry); break
      case 'release-statement': this.#addStatement(entry)
    }
    this.released.apply(entry, this.roots.newest)
    if (KEPT.includes(name)) {
      this.entries.set(index, entry)
    }
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1)
  }

  /** @param {Entry} entry */
  #addManifest (entry) {
    require(entry.record.version === this.manifests.length + 1, 'wrong signer',
      `Manifest version ${entry.record.version} does not follow version ${this.manifests.length}.`)
    this.manifests.push({ entry, digest: entry.envelope.digest })
  }

  /** @param {Entry} entry */
  #addStatement (entry) {
    const release = count(entry.record, 'release')
    require(this.entries.get(release)?.name === 'release', 'wrong signer', `Entry ${release}, which it is about, is no release.`)
    require(!this.statements.has(release), 'wrong signer', `The release of entry ${release} has a statement already.`)
    this.statements.set(release, entry)
  }

  /** @param {Entry} entry */
  #addWindow (entry) {
    const policy = mapOf(this.manifestAt(entry.index).entry.record, 'window')
    const { window, taken } = windowOf(this.released.list, policy, entry.record)
    this.windows.set(entry.index, { entry, window, taken, doubt: this.released.doubt() })
  }

  /**
   * @param {number} index
   * @returns {Manifest} the manifest version in force for an entry at `index`
   */
  manifestAt (index) {
    return /** @type {Manifest} */ (this.manifests.findLast((each) => each.entry.index < index))
  }

  /**
   * @param {number | bigint | unknown} index
   * @param {string} name
   * @returns {Entry} the entry of that type; throws Wrong
   */
  entryAt (index, name) {
    const entry = typeof index === 'number' ? this.entries.get(index) : undefined
    if (entry === undefined || entry.name !== name) {
      throw new Wrong('parse error', `Entry ${index} is not a ${name}.`)
    }
    return entry
  }
}

/**
 * @template T
 * @param {number} index
 * @param {string} name
 * @param {() => T} act
 * @returns {T} throws Wrong with the entry named before the sentence
 */
function said (index, name, act) {
  try {
    return act()
  } catch (error) {
    const what = name === '' ? `Entry ${index}` : `Entry ${index} (${name})`
    throw Wrong.at(error, what)
  }
}
