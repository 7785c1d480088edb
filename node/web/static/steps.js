// The numbered steps on the page: each with its answer in words, its reason, and the bytes behind it on demand.

import { element } from './elements.js'

/** @typedef {import('./answers.js').Answer} Answer */
/** @typedef {import('./answers.js').Fact} Fact */

/** Mark and word of each state; the mark is for the eye alone. */
const STATES = {
  waits: ['·', 'waiting'],
  runs: ['…', 'checking'],
  pass: ['✓', 'holds'],
  fail: ['✗', 'fails'],
  none: ['○', 'not checked'],
  open: ['?', 'not decided']
}

/**
 * @param {{id: string, title: string, question: string}} step
 * @param {number} number
 * @returns {HTMLElement} the step, waiting
 */
export function stepElement ({ id, title, question }, number) {
  const item = element('li', { id: `step-${id}` },
    element('h3', {}, element('span', { class: 'number' }, `${number}`), element('span', {}, title), element('span', { class: 'state' })),
    element('p', { class: 'question' }, question),
    element('p', { class: 'sentence' }))
  showAnswer(item, { id, state: 'waits', sentence: '', facts: [] })
  return item
}

/**
 * @param {HTMLElement} item
 * @param {Answer} answer
 */
export function showAnswer (item, { state, sentence, facts }) {
  const [mark, word] = /** @type {[string, string]} */ (STATES[state])
  item.dataset.state = state
  part(item, '.state').replaceChildren(element('span', { 'aria-hidden': 'true' }, `${mark} `), word)
  part(item, '.sentence').textContent = sentence
  item.querySelector('details')?.remove()
  if (facts.length > 0) {
    item.append(element('details', {}, element('summary', {}, state === 'fail' ? 'What was expected, what came' : 'The bytes behind it'),
      element('dl', {}, ...facts.flatMap(factElements))))
  }
}

/**
 * @param {HTMLElement} item
 * @param {number} done
 * @param {number} all
 */
export function showProgress (item, done, all) {
  part(item, '.sentence').textContent = `${Math.floor(100 * done / all)} %`
}

/**
 * @param {Fact} fact
 * @returns {HTMLElement[]}
 */
function factElements (fact) {
  if ('value' in fact) {
    return [element('dt', {}, fact.name), element('dd', {}, bytes(fact.name, fact.value))]
  }
  const isSame = fact.expected === fact.got
  const verdict = isSame ? element('span', {}, ' — the same') : element('span', { class: 'differs' }, ' — ✗ differs')
  return [element('dt', {}, fact.name, verdict), element('dd', { class: 'pair' },
    element('span', {}, 'expected'), bytes(`${fact.name}, expected`, fact.expected),
    element('span', {}, 'got'), bytes(`${fact.name}, got`, fact.got))]
}

/**
 * @param {string} name
 * @param {string} value
 * @returns {HTMLElement} a box that scrolls, by keyboard too
 */
function bytes (name, value) {
  const isLong = value.length > 120 || value.split('\n').length > 4
  return element('span', { class: 'bytes', ...(isLong ? { tabindex: '0', role: 'group', 'aria-label': name } : {}) }, value)
}

/**
 * @param {HTMLElement} item
 * @param {string} selector
 * @returns {HTMLElement}
 */
function part (item, selector) {
  return /** @type {HTMLElement} */ (item.querySelector(selector))
}
