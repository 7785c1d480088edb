// What the page asks of the server: the position after some moves, and a release's next move.

const MOST_TRIES = 60
const BUSY = new Set([429, 503])

/**
 * @typedef {{visits: number[], policy: number[], black_winrate: number, black_score: number}} Search
 */
/**
 * @typedef {{how: string, result: string, score: number, owner: number[], dead: number[]}} End
 */
/**
 * The server's answer: everything but `search` is after `move`, which is null where none was asked for.
 * @typedef {object} Answer
 * @property {number | null} move
 * @property {boolean} resigns
 * @property {number} moves
 * @property {number[]} stones
 * @property {number[]} captured
 * @property {number[]} prisoners that Black and White took
 * @property {number} to_play
 * @property {End | null} end
 * @property {Search | null} search
 */
/**
 * @typedef {{size: number, komi: number, moves: number[], visits: number, analysis: boolean}} Question
 */

/** A sentence of the server about a question that it does not answer; `isIllegal` where the rules forbid a move. */
export class Refusal extends Error {
  /**
   * @param {string} sentence
   * @param {number} status
   */
  constructor (sentence, status) {
    super(sentence)
    this.isIllegal = status === 422
  }
}

/**
 * Asks again while the server is busy; `waits` is told its sentence. Raises Refusal.
 * @param {string} release
 * @param {Question} question
 * @param {AbortSignal} signal
 * @param {(sentence: string) => void} waits
 * @returns {Promise<Answer>}
 */
export async function ask (release, question, signal, waits) {
  for (let tries = 1; ; tries++) {
    const response = await sent(release, question, signal)
    const text = await response.text()
    if (response.ok) return JSON.parse(text).answer
    const sentence = sentenceOf(text)
    if (!BUSY.has(response.status) || tries === MOST_TRIES) throw new Refusal(sentence, response.status)
    waits(sentence)
    await pause(1000 * (Number(response.headers.get('Retry-After')) || 1), signal)
  }
}

/**
 * @param {string} release
 * @param {Question} question
 * @param {AbortSignal} signal
 */
async function sent (release, question, signal) {
  try {
    return await fetch(`/api/v1/play/${release}`, {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(question), signal
    })
  } catch (error) {
    signal.throwIfAborted()
    throw new Refusal(`The server does not answer (${error instanceof Error ? error.message : 'no reason given'}); your game is kept here.`, 0)
  }
}

/** @param {string} text */
function sentenceOf (text) {
  try {
    return String(JSON.parse(text).error)
  } catch {
    return text.trim().slice(0, 300)
  }
}

/**
 * @param {number} milliseconds
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
function pause (milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    }, { once: true })
  })
}
