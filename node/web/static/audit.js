// The audit in a browser (docs/spec/audit-page.md): numbered steps, each answered with a reason and the bytes behind it.
//
// No page and no network here: files come from a `Folder`, answers go to `tell`, heads seen before are handed in.

import { asker, none } from './answers.js'
import { checkEntries, checkHead, checkLog, checkRun, checkSeen, Findings } from './audit-log.js'
import { checkChain, checkGate, checkRelease, checkWindow } from './audit-release.js'
import { auditStatement } from './statement.js'

/** @typedef {import('./answers.js').Tell} Tell */
/** @typedef {import('./audit-log.js').Expected} Expected */
/** @typedef {import('./saved.js').SavedHead} SavedHead */

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
