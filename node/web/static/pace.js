// Long work in small pieces, so that the page goes on drawing and answering.

const PIECE_MS = 40

export class Pace {
  #since = performance.now()

  /** Lets the browser draw, if that was not so for a while. */
  async rest () {
    if (performance.now() - this.#since > PIECE_MS) {
      await new Promise((resolve) => setTimeout(resolve))
      this.#since = performance.now()
    }
  }
}
