// The questions of the audit page about the log (docs/spec/audit-page.md, steps 1 to 5), each answered or thrown as a fault.

import { counted, Fails, NotRun, number } from './answers.js'
import { hex, isSame } from './bytes.js'
import { verifierName } from './ed25519.js'
import { Envelope } from './envelope.js'
import { History } from './history.js'
import { readCheckpoint, readEntries, readFile, verifyTiles, within } from './log.js'
import { MOST_BYTES } from './records.js'
import { runId } from './roots.js'
import { verifyHead } from './witness.js'

/** @typedef {import('./answers.js').Fact} Fact */
/** What the run has to be, and whether the visitor says so, or the page. @typedef {{run?: Uint8Array, root?: Uint8Array, by?: 'visitor' | 'page'}} Expected */
/** @typedef {import('./saved.js').SavedHead} SavedHead */

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
    /** @type {{link: import('./release.js').Link, payload: Uint8Array} | undefined} */
    this.zero = undefined
  }
}

/**
 * @param {import('./folder.js').Folder} folder
 * @param {Expected} expected
 */
export async function checkRun (folder, expected) {
  const files = {
    root: await readFile(folder, 'root', MOST_BYTES),
    manifest: await readFile(folder, 'manifest', MOST_BYTES)
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
export async function checkLog (folder, progress) {
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
export async function checkEntries ({ run, root, manifest }, { entries }, progress) {
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
export async function checkHead (log, history) {
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
export async function checkSeen ({ tree }, saved) {
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
