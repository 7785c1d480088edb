// The questions of the audit page about one release (docs/spec/audit-page.md, steps 6 to 9), each answered or thrown as a fault.

import { counted, Fails, number, Undecided } from './answers.js'
import { hex, isSame } from './bytes.js'
import { readFile } from './log.js'
import { leafHash, verifyInclusion } from './merkle.js'
import { count, hexOf, MOST_BYTES, text } from './records.js'
import { chainOf, originOf, placeOf, releaseZero } from './release.js'
import { isCommitted } from './window.js'

/** @typedef {import('./answers.js').Fact} Fact */
/** @typedef {import('./audit-log.js').Findings} Findings */
/** @typedef {import('./history.js').History} History */

/**
 * @param {import('./folder.js').Folder} folder
 * @param {Findings} found
 * @param {import('./records.js').Entry} release
 */
export async function checkRelease (folder, { history, tree }, release) {
  const { record, envelope, index } = release
  const name = text(record, 'name')
  const path = `release/${placeOf(release)}`
  const file = await readFile(folder, path, MOST_BYTES)
  if (!isSame(file, release.bytes)) {
    const facts = [{ name: `file ${path}`, expected: hex(release.bytes), got: hex(file) }]
    throw new Fails(`File ${path} is not the entry that the log holds.`, facts)
  }
  const leaf = leafHash(release.bytes)
  const proof = tree.inclusionProof(index)
  verifyInclusion(leaf, index, tree.size, proof, tree.root())
  const key = /** @type {string} */ (envelope.signers[0])
  const role = history.roots.roleOf(key, index)
  const facts = [
    { name: 'id, SHA-256 of what was signed', value: hex(envelope.digest) },
    { name: 'release, as it was signed', value: hex(envelope.payload) },
    { name: 'type, signed with it', value: envelope.type },
    { name: 'key', value: `${key}, ${role?.role ?? 'no role'} ${role?.name ?? ''} at entry ${index}` },
    { name: 'signature', value: hex(envelope.signatures[0]?.sig ?? new Uint8Array()) },
    { name: 'leaf hash', value: hex(leaf) },
    { name: `inclusion of entry ${number(index)} in ${number(tree.size)}`, value: proof.map(hex).join('\n') },
    { name: 'root hash', value: hex(tree.root()) },
    { name: 'file', value: path }
  ]
  const sentence = `${name} is entry ${number(index)} of the log, signed by the coordinator; its file is that entry.`
  return { sentence, facts, value: true }
}

/**
 * @param {History} history
 * @param {import('./records.js').Entry} release
 */
export async function checkGate (history, release) {
  const { gate, training, window } = originOf(history, release)
  const counts = /** @type {number[]} */ (gate.record.counts)
  const pairs = count(gate.record, 'pairs')
  const points = counts.reduce((sum, each, at) => sum + each * at / 4, 0)
  const score = pairs === 0 ? 'without games' : `with a score of ${(points / pairs).toFixed(3)} in ${counted(pairs, 'pair')} of games`
  const { record } = training
  const facts = [
    { name: 'gate record', value: `entry ${gate.index}, ${hex(gate.envelope.digest)}` },
    { name: 'pairs with 0, ½, 1, 1½, 2 points', value: counts.join(', ') },
    { name: 'log-likelihood ratio', value: (Number(gate.record.llr_micro) / 1e6).toFixed(3) },
    { name: 'candidates refused before', value: `${gate.record.refused_since_base}` },
    { name: 'train record', value: `entry ${training.index}, ${hex(training.envelope.digest)}` },
    { name: 'trained with', value: `torch ${record.torch}, ${record.device}, threads ${record.threads}, processes ${record.processes}, ${record.capability}` },
    { name: 'train state at its end', value: hexOf(record, 'state') },
    { name: 'network, SHA-256', value: hexOf(record, 'network') },
    { name: 'window', value: `entry ${window.entry.index}, ${hex(window.entry.envelope.digest)}` }
  ]
  const sentence = `It passed its gate ${score} (entry ${number(gate.index)}), was trained at entry ${number(training.index)} ` +
    `on the window of entry ${number(window.entry.index)}, and says what these say.`
  return { sentence, facts, value: true }
}

/**
 * @param {History} history
 * @param {import('./records.js').Entry} release
 */
export async function checkWindow (history, release) {
  const { window: info } = originOf(history, release)
  const { entry, window, taken, doubt } = info
  /** @type {Fact[]} */
  const facts = Object.entries(window).map(([name, value]) => {
    const committed = entry.record[name]
    const expected = committed instanceof Uint8Array ? hex(committed) : String(committed)
    return { name: FIELDS[name] ?? name, expected, got: String(value) }
  })
  facts.push({ name: 'window, as it was signed', value: hex(entry.envelope.payload) })
  if (!isCommitted(window, entry.record) || entry.record.log_size !== entry.index) {
    if (entry.record.log_size === entry.index && isInReach(entry.record.total_rows, doubt)) {
      const many = doubt.causes.length > 3 ? ` and ${counted(doubt.causes.length - 3, 'more entry', 'more entries')}` : ''
      throw new Undecided(`The window of entry ${number(entry.index)} is not what this page finds, which does not follow ` +
        `${doubt.causes.slice(0, 3).join(', ')}${many}.`, facts)
    }
    throw new Fails(`The window of entry ${number(entry.index)} is not what the log gives.`, facts)
  }
  const unheard = taken.find((batch) => !batch.accepting.has(batch.verifier))
  if (unheard !== undefined) {
    throw new Fails(`The batch of entry ${unheard.entry.index} was admitted without a verdict that accepts it.`, facts)
  }
  const owners = new Set(taken.map((each) => each.peer)).size
  const sentence = `${counted(taken.length, 'batch', 'batches')} of ${counted(owners, 'contributor')} with ${number(window.rows)} plies: ` +
    'exactly those that log and rules give, each admitted by a verdict.'
  return { sentence, facts, value: true }
}

/**
 * @param {import('./canonical.js').Value | undefined} plies that a window says there are
 * @param {import('./released.js').Doubt} doubt
 * @returns {boolean} whether that many can be released, if some of the batches in doubt are
 */
function isInReach (plies, { causes, least, most }) {
  return causes.length > 0 && typeof plies === 'number' && least <= plies && plies <= most
}

/** @type {{[field: string]: string}} */
const FIELDS = {
  batches: 'batches',
  games: 'games',
  rows: 'plies, a training row each',
  total_rows: 'plies of all released batches',
  headers: 'SHA-256 over the batches'
}

/**
 * @param {Findings} found
 * @param {number} number
 */
export async function checkChain (found, number) {
  found.zero ??= releaseZero(found.history)
  const { link, payload } = found.zero
  const chain = chainOf(found.history, link, number)
  const drawn = link.network.length === 0 ? 'uniform evaluation' : `network ${hex(link.network).slice(0, 16)}`
  const facts = [
    ...chain.map((each) => ({ name: `release ${each.number}`, value: hex(each.id) })),
    { name: 'release 0, computed from the manifest', value: hex(payload) },
    { name: 'network of release 0, SHA-256, drawn here', value: link.network.length === 0 ? 'none: uniform' : hex(link.network) }
  ]
  const sentence = `${counted(chain.length, 'release')}, each the parent of the next, back to release 0: ${drawn}, drawn from the manifest ` +
    'in this browser.'
  return { sentence, facts, value: chain }
}
