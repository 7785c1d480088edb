// The audit in a browser (docs/spec/audit-page.md): numbered steps, each answered with a reason and the bytes behind it.
//
// No page and no network here: files come from a `Folder`, answers go to `tell`, heads seen before are handed in.

import { asker, counted, Fails, none, NotRun, number } from './answers.js'
import { hex, isSame } from './bytes.js'
import { verifierName } from './ed25519.js'
import { Envelope } from './envelope.js'
import { History } from './history.js'
import { readCheckpoint, readEntries, readFile, verifyTiles, within } from './log.js'
import { leafHash, verifyInclusion } from './merkle.js'
import { count, hexOf, text } from './records.js'
import { chainOf, originOf, releaseZero } from './release.js'
import { runId } from './roots.js'
import { auditStatement } from './statement.js'
import { isCommitted } from './window.js'
import { verifyHead } from './witness.js'

const MOST_ENVELOPE = 65_536

/** @typedef {import('./answers.js').Fact} Fact */
/** @typedef {import('./answers.js').Tell} Tell */
/** What the run has to be, and whether the visitor says so, or the page. @typedef {{run?: Uint8Array, root?: Uint8Array, by?: 'visitor' | 'page'}} Expected */
/** @typedef {import('./saved.js').SavedHead} SavedHead */
/** @typedef {import('./release.js').Link} Link */

/** The steps in order; those from `release` on are about one release. */
export const STEPS = [
  { id: 'run', title: 'Run', question: 'Do the root and the manifest make the id of this run?' },
  { id: 'log', title: 'Log', question: 'Do all entries and hash tiles give the root hash of the head?' },
  { id: 'signatures', title: 'Signatures', question: 'Is every entry signed by a key that may say it there?' },
  { id: 'head', title: 'Head', question: 'Did the coordinator and enough verifiers sign the head?' },
  { id: 'seen', title: 'Seen before', question: 'Does the log go on from what this browser saw before?' },
  { id: 'release', title: 'Release', question: 'Is the release in the log, at its place and as published?' },
  { id: 'gate', title: 'Gate and training', question: 'Does it follow from a passed gate and a logged training?' },
  { id: 'window', title: 'Training window', question: 'Were the games of the training chosen by the rules alone?' },
  { id: 'chain', title: 'Ancestry', question: 'Does it descend from release 0, which the manifest draws?' },
  { id: 'statement', title: 'Statement', question: 'Did the coordinator sign a statement about its files?' },
  { id: 'replay', title: 'Games and training again', question: 'Do games and training repeat bit for bit?' }
]
const OF_THE_LOG = ['run', 'log', 'signatures', 'head', 'seen']

/** What was found of a run, once its log can be read. */
export class Findings {
  /**
   * @param {History} history
   * @param {import('./merkle.js').Tree} tree
   * @param {import('./checkpoint.js').Head} head
   */
  constructor (history, tree, head) {
    this.history = history
    this.tree = tree
    this.head = head
    /** @type {{link: Link, payload: Uint8Array} | undefined} */
    this.zero = undefined
  }
}

/**
 * Asks the questions about the log.
 * @param {import('./folder.js').Folder} folder
 * @param {Expected} expected
 * @param {(run: string) => SavedHead[]} saved
 * @param {Tell} tell
 * @param {(step: string, done: number, all: number) => void} progress
 * @returns {Promise<Findings | undefined>} undefined where the log cannot be believed at all
 */
export async function auditLog (folder, expected, saved, tell, progress) {
  const ask = asker(tell)
  const run = await ask('run', () => checkRun(folder, expected))
  const log = await ask('log', () => checkLog(folder, (done, all) => progress('log', done, all)))
  if (run === undefined || log === undefined) {
    OF_THE_LOG.slice(2).forEach((id) => tell(none(id, 'Not checked: the log cannot be read.')))
    return undefined
  }
  const history = await ask('signatures', () => checkEntries(run, log, (done, all) => progress('signatures', done, all)))
  if (history === undefined) {
    OF_THE_LOG.slice(3).forEach((id) => tell(none(id, 'Not checked: an entry is wrong.')))
    return undefined
  }
  const isSigned = await ask('head', () => checkHead(log, history))
  if (isSigned === undefined) {
    tell(none('seen', 'Not checked: the head is not believed.'))
    return undefined
  }
  const found = new Findings(history, log.tree, log.head)
  await ask('seen', () => checkSeen(found, saved(history.run)))
  return found
}

/**
 * Asks the questions about one release.
 * @param {import('./folder.js').Folder} folder
 * @param {Findings} found
 * @param {number} number of the release
 * @param {Tell} tell
 */
export async function auditRelease (folder, found, number, tell) {
  const ask = asker(tell)
  const release = found.history.releases[number - 1]
  if (release === undefined) {
    for (const id of ['release', 'gate', 'window']) {
      tell(none(id, 'Release 0 is computed from the manifest; it was neither trained nor gated.'))
    }
  } else {
    await ask('release', () => checkRelease(folder, found, release))
    await ask('gate', () => checkGate(found.history, release))
    await ask('window', () => checkWindow(found.history, release))
  }
  await ask('chain', () => checkChain(found, number))
  if (release === undefined) {
    tell(none('statement', 'Release 0 has no files of its own.'))
  } else {
    await ask('statement', () => auditStatement(folder, found.history, release))
  }
  tell(none('replay', 'Not run: a browser does not replay games or training. On a machine of your own, gonode audit does.'))
}

/**
 * @param {import('./folder.js').Folder} folder
 * @param {Expected} expected
 */
async function checkRun (folder, expected) {
  const files = {
    root: await readFile(folder, 'root', MOST_ENVELOPE),
    manifest: await readFile(folder, 'manifest', MOST_ENVELOPE)
  }
  const root = within('root', () => Envelope.parse(files.root))
  const manifest = within('manifest', () => Envelope.parse(files.manifest))
  const run = runId(root.payload, manifest.payload)
  /** @type {Fact[]} */
  const facts = [
    { name: 'SHA-256 of the root', ...against(expected.root, root.digest) },
    { name: 'SHA-256 of the manifest', value: hex(manifest.digest) },
    { name: 'run id', ...against(expected.run, run) },
    { name: 'root, as it was signed', value: hex(root.payload) },
    { name: 'manifest, as it was signed', value: hex(manifest.payload) }
  ]
  if (expected.run !== undefined && !isSame(expected.run, run)) {
    throw new Fails(`Root and manifest make run ${hex(run).slice(0, 16)}, not ${hex(expected.run).slice(0, 16)}.`, facts)
  }
  if (expected.root !== undefined && !isSame(expected.root, root.digest)) {
    throw new Fails('The root is not the one that the ticket names.', facts)
  }
  const end = expected.by === 'visitor'
    ? 'It is the one that you mean.'
    : `${expected.run === undefined ? '' : 'This page is for it. '}Is it the one that you mean? Put your ticket below.`
  return { sentence: `Root and manifest make run ${hex(run).slice(0, 16)}. ${end}`, facts, value: { run, ...files } }
}

/**
 * @param {Uint8Array | undefined} expected
 * @param {Uint8Array} got
 */
function against (expected, got) {
  return expected === undefined ? { value: hex(got) } : { expected: hex(expected), got: hex(got) }
}

/**
 * @param {import('./folder.js').Folder} folder
 * @param {import('./log.js').Progress} progress
 */
async function checkLog (folder, progress) {
  const checkpoint = await readCheckpoint(folder)
  const { head } = checkpoint
  const { entries, tree } = await readEntries(folder, head, progress)
  const tiles = await verifyTiles(folder, tree)
  const bytes = entries.reduce((sum, each) => sum + each.length, 0)
  const facts = [
    { name: 'head, as it was signed', value: checkpoint.note.text },
    { name: 'root hash', expected: hex(head.rootHash), got: hex(tree.root()) },
    { name: 'entries', value: `${number(entries.length)}, ${number(bytes)} bytes` },
    { name: 'hash tiles', value: number(tiles) }
  ]
  const sentence = `${number(entries.length)} entries and ${counted(tiles, 'hash tile')} give the head's root hash.`
  return { sentence, facts, value: { ...checkpoint, entries, tree } }
}

/**
 * @param {{run: Uint8Array, root: Uint8Array, manifest: Uint8Array}} run
 * @param {{entries: Uint8Array[]}} log
 * @param {import('./log.js').Progress} progress
 */
async function checkEntries ({ run, root, manifest }, { entries }, progress) {
  for (const [index, name, file] of /** @type {[number, string, Uint8Array][]} */ ([[0, 'root', root], [1, 'manifest', manifest]])) {
    const entry = entries[index] ?? new Uint8Array()
    if (!isSame(file, entry)) {
      const facts = [{ name: `file ${name}`, expected: hex(entry), got: hex(file) }]
      throw new Fails(`File ${name} is not the entry that the log holds.`, facts)
    }
  }
  const history = new History(run)
  await history.takeAll(entries, progress)
  const facts = [
    { name: 'signatures checked by', value: await verifierName() },
    ...[...history.counts].map(([name, times]) => ({ name, value: number(times) }))
  ]
  return { sentence: `All ${number(entries.length)} entries are signed, each by who may sign it there.`, facts, value: history }
}

/**
 * @param {import('./log.js').Checkpoint} log
 * @param {History} history
 */
async function checkHead (log, history) {
  const root = history.roots.newest
  const { signer, cosigners } = await verifyHead(log, history.run, root)
  const facts = [
    { name: 'signed by the coordinator', value: `${signer.name} ${signer.key}` },
    ...cosigners.map(({ role, time }) => ({
      name: 'cosigned by the verifier',
      value: `${role.name} ${role.key} on ${moment(time)}`
    })),
    { name: 'verifiers that have to cosign', value: `${root.witnessThreshold}` },
    { name: 'file checkpoint', value: new TextDecoder().decode(log.bytes) }
  ]
  const newest = cosigners.reduce((most, { time }) => time > most ? time : most, 0n)
  const days = Math.floor((Date.now() / 1000 - Number(newest)) / 86_400)
  const age = days < 1 ? '' : ` That is ${counted(days, 'day')} ago: another node may have a newer head.`
  const sentence = `Signed by the coordinator, cosigned by ${counted(cosigners.length, 'verifier')} (${root.witnessThreshold} ` +
    `have to), last on ${moment(newest)}.${age}`
  return { sentence, facts, value: true }
}

/**
 * @param {bigint} time Unix seconds
 * @returns {string}
 */
function moment (time) {
  const date = new Date(Number(time) * 1000)
  return Number.isNaN(date.valueOf()) ? `second ${time}` : `${date.toISOString().slice(0, 16).replace('T', ' at ')} UTC`
}

/**
 * @param {Findings} found
 * @param {SavedHead[]} saved
 */
async function checkSeen ({ tree }, saved) {
  /** @type {Fact[]} */
  const facts = saved.map(({ size, rootHash, seen }) => ({
    name: `head of ${number(size)} entries, seen ${seen.slice(0, 16).replace('T', ' ')}`,
    expected: hex(rootHash),
    got: size > tree.size ? 'the log is shorter' : hex(tree.root(size))
  }))
  for (const { size, rootHash } of saved) {
    if (size > tree.size) {
      throw new Fails(`This browser saw a head of ${number(size)} entries before, but this log has ${number(tree.size)}.`, facts)
    }
    if (!isSame(rootHash, tree.root(size))) {
      throw new Fails(`The head of ${number(size)} entries that this browser saw before is not of this log: it forked.`, facts)
    }
  }
  if (saved.length === 0) {
    throw new NotRun('Nothing to compare yet: this browser has not seen this run before. It keeps this head for the next visit.')
  }
  return { sentence: `The log goes on from ${counted(saved.length, 'head')} that this browser saw before.`, facts, value: true }
}

/**
 * @param {import('./folder.js').Folder} folder
 * @param {Findings} found
 * @param {import('./records.js').Entry} release
 */
async function checkRelease (folder, { history, tree }, release) {
  const { record, envelope, index } = release
  const name = text(record, 'name')
  const path = `release/${String(count(record, 'number')).padStart(5, '0')}-${name}`
  const file = await readFile(folder, path, MOST_ENVELOPE)
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
async function checkGate (history, release) {
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
async function checkWindow (history, release) {
  const { window: info } = originOf(history, release)
  const { entry, window, taken, strange } = info
  /** @type {Fact[]} */
  const facts = Object.entries(window).map(([name, value]) => {
    const committed = entry.record[name]
    const expected = committed instanceof Uint8Array ? hex(committed) : String(committed)
    return { name: FIELDS[name] ?? name, expected, got: String(value) }
  })
  facts.push({ name: 'window, as it was signed', value: hex(entry.envelope.payload) })
  if (!isCommitted(window, entry.record) || entry.record.log_size !== entry.index) {
    if (strange.length > 0) {
      throw new NotRun(`Not checked: this page does not follow ${strange.slice(0, 3).join(', ')}. On a machine of your own, gonode audit does.`, facts)
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
async function checkChain (found, number) {
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
