// What is refused, by the names that every implementation uses (docs/spec/canonical.md, "Errors").

/** What is behind an answer: a value, or what was expected and what came. @typedef {{name: string, value: string} | {name: string, expected: string, got: string}} Fact */

/** Something that does not hold; `label` is one of the labels of the specification, `facts` the bytes behind it. */
export class Wrong extends Error {
  /**
   * @param {string} label
   * @param {string} sentence
   * @param {Fact[]} [facts]
   */
  constructor (label, sentence, facts = []) {
    super(sentence)
    this.label = label
    this.facts = facts
  }

  /**
   * @param {unknown} error
   * @param {string} where
   * @returns {unknown} the error; one of this class says where it was found
   */
  static at (error, where) {
    return error instanceof Wrong ? new Wrong(error.label, `${where}: ${error.message}`, error.facts) : error
  }
}

/** Nobody can say: a file could not be fetched at all. */
export class Unreachable extends Error {}

/**
 * Throws Wrong unless `holds`.
 * @param {boolean} holds
 * @param {string} label
 * @param {string} sentence
 * @param {Fact[]} [facts]
 */
export function require (holds, label, sentence, facts) {
  if (!holds) {
    throw new Wrong(label, sentence, facts)
  }
}
