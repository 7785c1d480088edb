// The page: asks the questions, shows the answers, and keeps the head for the next visit.

import { number } from './answers.js'
import { auditLog, auditRelease, STEPS } from './audit.js'
import { hex, unhex } from './bytes.js'
import { byId, element } from './elements.js'
import { WebFolder } from './folder.js'
import { headlineOf } from './headline.js'
import { originElements } from './origin.js'
import { chainOf } from './release.js'
import { savedHeads, saveHead } from './saved.js'
import { showAnswer, showProgress, stepElement } from './steps.js'
import { startTheme } from './theme.js'
import { parseTicket } from './ticket.js'
import { Wrong } from './wrong.js'

/** @typedef {import('./answers.js').Answer} Answer */
/** @typedef {import('./audit-log.js').Expected} Expected */
/** @typedef {import('./audit-log.js').Findings} Findings */

const FIRST_OF_RELEASE = STEPS.findIndex(({ id }) => id === 'release')

/** @type {Map<string, Answer>} */
const answers = new Map()
const folder = new WebFolder(new URL(meta('gonode-folder'), document.baseURI))
/** @type {Findings | undefined} */
let found
let turn = 0

start()

function start () {
  startTheme()
  STEPS.forEach((step, at) => {
    byId(at < FIRST_OF_RELEASE ? 'log-steps' : 'release-steps').append(stepElement(step, at + 1))
  })
  byId('command').textContent = `gonode audit --url ${folder.base.href}`
  const { run } = fragment()
  if (run !== undefined) {
    ticketBox().value = run
  }
  byId('expect').addEventListener('submit', (event) => {
    event.preventDefault()
    begin()
  })
  byId('release').addEventListener('change', () => {
    location.hash = `release=${releaseBox().value}`
  })
  window.addEventListener('hashchange', showRelease)
  begin()
}

/** Everything anew. */
async function begin () {
  const mine = ++turn
  const expected = expectedRun()
  if (expected === undefined) {
    return
  }
  STEPS.forEach(({ id }) => tell({ id, state: 'waits', sentence: '', facts: [] }))
  showVerdict('runs', 'Checking …', 'Your browser reads the log and checks it.')
  const since = performance.now()
  const current = await auditLog(folder, expected, savedHeads, tell, (id, done, all) => showProgress(byId(`step-${id}`), done, all))
  if (mine !== turn) {
    return
  }
  found = current
  if (current !== undefined) {
    fillReleases(current)
    if (answers.get('seen')?.state !== 'fail') {
      saveHead(current.history.run, current.head)
    }
  }
  await showRelease()
  const seconds = ((performance.now() - since) / 1000).toFixed(1)
  byId('foot').textContent = current === undefined
    ? `Files: ${folder.base.href}`
    : `As seen at log ${number(current.head.size)}, root hash ${hex(current.head.rootHash)}, run ${current.history.run}, in ${seconds} s. Files: ${folder.base.href}`
}

/** Asks about the release that the address names, or the newest. */
async function showRelease () {
  const current = found
  if (current === undefined) {
    STEPS.slice(FIRST_OF_RELEASE).forEach(({ id }) => tell({ id, state: 'none', sentence: 'Not checked: the log is not believed.', facts: [] }))
    byId('origin').replaceChildren(element('p', {}, 'Not shown: the log is not believed.'))
    conclude()
    return
  }
  const most = current.history.releases.length
  const asked = Number(fragment().release ?? most)
  const chosen = Number.isInteger(asked) && asked >= 0 && asked <= most ? asked : most
  releaseBox().value = `${chosen}`
  await auditRelease(folder, current, chosen, tell)
  try {
    const { link } = /** @type {NonNullable<typeof current.zero>} */ (current.zero)
    byId('origin').replaceChildren(...originElements(current.history, chainOf(current.history, link, chosen)))
  } catch {
    byId('origin').replaceChildren(element('p', {}, 'Not shown: the chain of releases does not hold.'))
  }
  conclude()
}

/** @param {Answer} answer */
function tell (answer) {
  answers.set(answer.id, answer)
  showAnswer(byId(`step-${answer.id}`), answer)
}

/** The one sentence at the top. */
function conclude () {
  const { state, title, about } = headlineOf(STEPS, answers)
  showVerdict(state, title, about)
}

/**
 * @param {string} state
 * @param {string} title
 * @param {string} about
 */
function showVerdict (state, title, about) {
  byId('verdict').dataset.state = state
  byId('verdict').textContent = title
  byId('about').textContent = about
}

/** @param {Findings} current */
function fillReleases ({ history }) {
  const options = history.releases.map((entry, at) => element('option', { value: `${at + 1}` }, `${at + 1} · ${entry.record.name}`))
  const select = releaseBox()
  select.replaceChildren(...options.reverse(), element('option', { value: '0' }, '0 · drawn from the manifest'))
  select.disabled = false
}

/** @returns {Expected | undefined} what the visitor or the page expects; undefined where it cannot be read */
function expectedRun () {
  const typed = ticketBox().value.trim()
  const known = meta('gonode-run')
  byId('expect-fault').textContent = ''
  try {
    if (typed === '') return known === '' ? {} : { run: unhex(known), by: 'page' }
    return /^[0-9a-f]{64}$/i.test(typed) ? { run: unhex(typed), by: 'visitor' } : { ...parseTicket(typed), by: 'visitor' }
  } catch (error) {
    if (!(error instanceof Wrong)) throw error
    byId('expect-fault').textContent = error.message
    return undefined
  }
}

/** What the address says after its `#`. @returns {{run?: string, release?: string}} */
function fragment () {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)))
}

/** @param {string} name */
function meta (name) {
  return document.querySelector(`meta[name="${name}"]`)?.getAttribute('content') ?? ''
}

function ticketBox () {
  return /** @type {HTMLTextAreaElement} */ (byId('ticket'))
}

function releaseBox () {
  return /** @type {HTMLSelectElement} */ (byId('release'))
}
