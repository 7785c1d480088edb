// What js-libp2p takes for granted and Node 20 lacks. Import this before libp2p.

import { WebSocket } from 'ws'

Promise.withResolvers ??= function () {
  let resolve, reject
  const promise = new this((onResolve, onReject) => {
    resolve = onResolve
    reject = onReject
  })
  return { promise, resolve, reject }
}

/** As in browsers, what comes right after the opening waits for whoever listens once it is told of that. */
class PatientWebSocket extends WebSocket {
  constructor (...options) {
    super(...options)
    this.once('open', () => this.pause())
    this.on('newListener', (name) => name === 'message' && this.resume())
  }
}

globalThis.WebSocket ??= PatientWebSocket
