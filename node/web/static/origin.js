// Where a release comes from: its ancestors, whose games it was trained on, and each batch.

import { counted, number } from './answers.js'
import { hex } from './bytes.js'
import { element, table } from './elements.js'
import { count, text } from './records.js'
import { originOf } from './release.js'

/** @typedef {import('./history.js').History} History */
/** @typedef {import('./released.js').Batch} Batch */
/** @typedef {import('./release.js').Link} Link */

/**
 * @param {History} history
 * @param {Link[]} chain the release and its ancestors, newest first
 * @returns {HTMLElement[]}
 */
export function originElements (history, chain) {
  const newest = chain[0]?.entry
  const parts = [ancestryTable(history, chain)]
  if (newest !== undefined) {
    const { window: { taken } } = originOf(history, newest)
    parts.push(contributorTable(history, taken), batchList(history, taken))
  }
  return parts
}

/**
 * @param {History} history
 * @param {Link[]} chain
 */
function ancestryTable (history, chain) {
  const rows = chain.map(({ number: release, id, entry }, at) => {
    const link = element('a', { href: `#release=${release}` }, `Release ${release}`)
    if (entry === undefined) {
      return { cells: [cell(link, shown(at, `drawn from the manifest, ${hex(id).slice(0, 16)}`)), '–', '–', '–'], isCurrent: at === 0 }
    }
    const { gate, window } = originOf(history, entry)
    const cells = [cell(link, shown(at, text(entry.record, 'name'))), scoreOf(gate.record), number(window.window.rows), number(count(entry.record, 'steps'))]
    return { cells, isCurrent: at === 0 }
  })
  const columns = [{ name: 'Release' }, { name: 'Gate', kind: 'number' }, { name: 'Plies in window', kind: 'number' }, { name: 'Steps', kind: 'number wide' }]
  return table(`${counted(chain.length, 'release')}, newest first: each was gated against the one below.`, columns, rows)
}

/**
 * @param {number} at place in the list
 * @param {string} small
 */
function shown (at, small) {
  return at === 0 ? `${small}, shown above` : small
}

/** @param {import('./canonical.js').Fields} gate */
function scoreOf (gate) {
  const counts = /** @type {number[]} */ (gate.counts)
  const pairs = count(gate, 'pairs')
  return pairs === 0 ? 'no games' : `${(counts.reduce((sum, each, at) => sum + each * at / 4, 0) / pairs).toFixed(3)} of ${counted(pairs, 'pair')}`
}

/**
 * @param {History} history
 * @param {Batch[]} batches
 */
function contributorTable (history, batches) {
  /** @type {Map<string, {batches: number, games: number, plies: number}>} */
  const sums = new Map()
  for (const { peer, games, plies } of batches) {
    const sum = sums.get(peer) ?? { batches: 0, games: 0, plies: 0 }
    sums.set(peer, { batches: sum.batches + 1, games: sum.games + games, plies: sum.plies + plies })
  }
  const all = batches.reduce((sum, each) => sum + each.plies, 0)
  const rows = [...sums].sort(([, one], [, other]) => other.plies - one.plies).map(([peer, sum]) => ({
    cells: [cell(nameOf(history, peer), peer.slice(0, 16)), number(sum.batches), number(sum.plies), `${(100 * sum.plies / Math.max(1, all)).toFixed(1)} %`]
  }))
  const columns = [{ name: 'Contributor' }, { name: 'Batches', kind: 'number' }, { name: 'Plies', kind: 'number' }, { name: 'Share', kind: 'number' }]
  return table(`Whose games the newest of them was trained on: ${counted(sums.size, 'contributor')}.`, columns, rows)
}

/**
 * @param {History} history
 * @param {Batch[]} batches
 */
function batchList (history, batches) {
  const columns = [{ name: 'Entry' }, { name: 'Contributor' }, { name: 'Games', kind: 'number' }, { name: 'Plies', kind: 'number' }]
  const list = element('details', {}, element('summary', {}, `All ${counted(batches.length, 'batch', 'batches')}, in the order of the log`))
  list.addEventListener('toggle', () => {
    const rows = batches.map(({ entry, peer, games, plies, admitted }) => ({
      cells: [cell(number(entry.index), `admitted at ${number(admitted ?? 0)} · ${hex(entry.envelope.digest).slice(0, 16)}`), nameOf(history, peer), number(games), number(plies)]
    }))
    list.append(table('Each is a log entry, signed by its contributor.', columns, rows))
  }, { once: true })
  return list
}

/**
 * @param {History} history
 * @param {string} peer
 */
function nameOf (history, peer) {
  return history.names.get(peer)?.name || 'without a name'
}

/**
 * @param {Node | string} main
 * @param {string} small
 */
function cell (main, small) {
  const whole = document.createDocumentFragment()
  whole.append(main, element('span', { class: 'small' }, small))
  return whole
}
