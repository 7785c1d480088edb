// Answers to the steps of an audit, and how a check says that it fails or was not run.

import { Unreachable, Wrong } from './wrong.js'

/** @typedef {import('./wrong.js').Fact} Fact */
/** `none`: there is nothing to check here; `open`: there is, and this page cannot decide it. @typedef {'waits' | 'runs' | 'pass' | 'fail' | 'none' | 'open'} State */
/** @typedef {{id: string, state: State, sentence: string, facts: Fact[]}} Answer */
/** @typedef {(answer: Answer) => void} Tell */

/** An answer "there is nothing to check". */
export class NotRun extends Error {
  /**
   * @param {string} sentence
   * @param {Fact[]} [facts]
   */
  constructor (sentence, facts = []) {
    super(sentence)
    this.facts = facts
  }
}

/** An answer "this page cannot tell", with what is behind it. */
export class Undecided extends Error {
  /**
   * @param {string} sentence
   * @param {Fact[]} facts
   */
  constructor (sentence, facts) {
    super(sentence)
    this.facts = facts
  }
}

/** An answer "no", with what is behind it. */
export class Fails extends Error {
  /**
   * @param {string} sentence
   * @param {Fact[]} facts
   */
  constructor (sentence, facts) {
    super(sentence)
    this.facts = facts
  }
}

/**
 * @param {Tell} tell
 * @returns {<T>(id: string, check: () => Promise<{sentence: string, facts: Fact[], value: T}>) => Promise<T | undefined>}
 */
export function asker (tell) {
  return async (id, check) => {
    tell({ id, state: 'runs', sentence: '', facts: [] })
    await breathe()
    try {
      const { sentence, facts, value } = await check()
      tell({ id, state: 'pass', sentence, facts })
      return value
    } catch (error) {
      if (error instanceof Wrong) {
        tell({ id, state: 'fail', sentence: error.message, facts: [{ name: 'kind of fault', value: error.label }, ...error.facts] })
      } else if (error instanceof Fails) {
        tell({ id, state: 'fail', sentence: error.message, facts: error.facts })
      } else if (error instanceof NotRun) {
        tell({ id, state: 'none', sentence: error.message, facts: error.facts })
      } else if (error instanceof Undecided) {
        tell({ id, state: 'open', sentence: error.message, facts: error.facts })
      } else if (error instanceof Unreachable) {
        tell({ id, state: 'fail', sentence: error.message, facts: [] })
      } else {
        tell({ id, state: 'fail', sentence: `This page cannot read what the folder holds: ${error}.`, facts: [] })
      }
      return undefined
    }
  }
}

/**
 * @param {string} id
 * @param {string} sentence
 * @returns {Answer}
 */
export function none (id, sentence) {
  return { id, state: 'none', sentence, facts: [] }
}

/** Lets the page draw. */
function breathe () {
  return new Promise((resolve) => setTimeout(resolve))
}

/** @param {number} value */
export function number (value) {
  return value.toLocaleString('en')
}

/**
 * @param {number} times
 * @param {string} one
 * @param {string} [many]
 */
export function counted (times, one, many = `${one}s`) {
  return `${number(times)} ${times === 1 ? one : many}`
}

