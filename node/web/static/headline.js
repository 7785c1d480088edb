// The one sentence above all answers (docs/spec/audit-page.md, "Definition").

import { counted } from './answers.js'

/** @typedef {import('./answers.js').Answer} Answer */

/**
 * @param {{id: string, title: string}[]} steps
 * @param {Map<string, Answer>} answers of all of them
 * @returns {{state: 'pass' | 'fail' | 'open', title: string, about: string}} `pass` only if each step holds or has nothing to check
 */
export function headlineOf (steps, answers) {
  /** @param {string[]} states */
  const inState = (...states) => steps.filter(({ id }) => states.includes(answers.get(id)?.state ?? 'waits'))
  const held = inState('pass')
  const failed = inState('fail')
  const open = inState('open', 'waits', 'runs')
  const left = steps.length - held.length - failed.length
  const rest = `${counted(held.length, 'check')} of ${steps.length} ${held.length === 1 ? 'holds' : 'hold'}, ${left} could not be made here.`
  if (failed.length > 0) {
    return { state: 'fail', title: `✗ Not to be believed: ${named(failed)}.`, about: `${sentenceOf(failed, answers)} ${rest}` }
  }
  if (open.length > 0) {
    const about = `${sentenceOf(open, answers)} A coordinator that cheats could bring this about: on a machine of your own, gonode audit decides it. ${rest}`
    return { state: 'open', title: `? Not decided: ${named(open)}.`, about }
  }
  return { state: 'pass', title: '✓ Everything that a browser can check holds.', about: rest }
}

/** @param {{title: string}[]} steps */
function named (steps) {
  return steps.map(({ title }) => title.toLowerCase()).join(', ')
}

/**
 * @param {{id: string}[]} steps
 * @param {Map<string, Answer>} answers
 */
function sentenceOf ([first], answers) {
  return answers.get(first?.id ?? '')?.sentence ?? ''
}
