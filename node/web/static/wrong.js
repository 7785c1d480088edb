// What is refused, by the names that every implementation uses (docs/spec/canonical.md, "Errors").

/** Something that does not hold; `label` is one of the labels of the specification. */
export class Wrong extends Error {
  /**
   * @param {string} label
   * @param {string} sentence
   */
  constructor (label, sentence) {
    super(sentence)
    this.label = label
  }
}

/** Nobody can say: a file could not be fetched at all. */
export class Unreachable extends Error {}

/**
 * Throws Wrong unless `holds`.
 * @param {boolean} holds
 * @param {string} label
 * @param {string} sentence
 */
export function require (holds, label, sentence) {
  if (!holds) {
    throw new Wrong(label, sentence)
  }
}
