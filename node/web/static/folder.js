// The run's public folder (docs/spec/layout.md), wherever a web server has it.

import { Unreachable, Wrong } from './wrong.js'

/** @typedef {{read: (path: string, most: number) => Promise<Uint8Array | null>}} Folder */

const GONE = [403, 404, 410]
const TOO_MANY = 429
const TRIES = 6
const LONGEST_WAIT_S = 60

/** @implements {Folder} */
export class WebFolder {
  /** @param {URL} base of the folder, with a slash at its end */
  constructor (base) {
    this.base = base
  }

  /**
   * @param {string} path of `docs/spec/layout.md`
   * @param {number} most bytes that the file may have
   * @returns {Promise<Uint8Array | null>} its bytes, or null where there is no such file; throws Wrong, Unreachable
   */
  async read (path, most) {
    let answer = await this.#ask(path)
    for (let tries = 1; answer.status === TOO_MANY && tries < TRIES; tries++) {
      await answer.body?.cancel()
      await wait(answer.headers.get('Retry-After'))
      answer = await this.#ask(path)
    }
    if (GONE.includes(answer.status)) {
      return null
    }
    if (!answer.ok || answer.body === null) {
      throw new Unreachable(`File ${path} could not be fetched: the server answers ${answer.status}.`)
    }
    return collect(answer.body.getReader(), path, most)
  }

  /** @param {string} path @returns {Promise<Response>} throws Unreachable */
  async #ask (path) {
    try {
      return await fetch(new URL(path, this.base), { cache: 'no-store', credentials: 'omit', redirect: 'error' })
    } catch {
      throw new Unreachable(`File ${path} could not be fetched: no answer.`)
    }
  }
}

/** @param {string | null} seconds that a server wants between questions */
function wait (seconds) {
  const wanted = /^[0-9]{1,4}$/.test(seconds ?? '') ? Number(seconds) : 1
  return new Promise((resolve) => setTimeout(resolve, 1000 * Math.min(wanted, LONGEST_WAIT_S)))
}

/**
 * @param {ReadableStreamDefaultReader<Uint8Array>} reader
 * @param {string} path
 * @param {number} most
 */
async function collect (reader, path, most) {
  const chunks = []
  let length = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    chunks.push(value)
    length += value.length
    if (length > most) {
      await reader.cancel()
      throw new Wrong('too large', `File ${path} has more than ${most} bytes.`)
    }
  }
  const whole = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.length
  }
  return whole
}
