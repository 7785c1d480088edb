// How Sabaki keeps an engine at the node that it shows: its src/modules/enginesyncer.js (MIT), less translations and
// settings, on the same packages. What it sends, and in which order, is Sabaki's. One thing differs: where stones were
// taken off in mid-game, Sabaki takes the board's size for a number, and fails with any engine; this one does not.

import gtp from '@sabaki/gtp'

import { parseAnalysis } from './analysis.js'
import { boardAt, emptyBoard, nodesTo, rootProperty, vertices } from './record.js'

const QUIT_WITHIN_MS = 3000
const same = (one, other) => JSON.stringify(one.signMap) === JSON.stringify(other.signMap)

export class EngineSyncer {
  constructor (path, args) {
    this.commands = []
    this.analyses = []
    this.sent = []
    this.controller = new gtp.Controller(path, args)
    this.stateTracker = new gtp.ControllerStateTracker(this.controller)
    this.controller.on('started', () => {
      this.attached = Promise.all([
        this.controller.sendCommand({ name: 'name' }),
        this.controller.sendCommand({ name: 'version' }),
        this.controller.sendCommand({ name: 'protocol_version' }),
        this.controller.sendCommand({ name: 'list_commands' })
      ])
    })
    this.controller.on('command-sent', ({ command, subscribe, getResponse }) => {
      this.sent.push({ command, getResponse })
      const format = command.name.startsWith('kata') ? 'float' : 'integer'
      subscribe(({ line }) => {
        if (line.startsWith('info ')) {
          const board = boardOf(this.stateTracker.state.boardsize)
          this.analyses.push({ name: command.name, line, variations: parseAnalysis(line, board, format) })
        }
      })
    })
  }

  async start () {
    this.controller.start()
    const answers = await this.attached
    this.commands = answers[3].content.split('\n')
    return answers.map(({ content }) => content)
  }

  async stop () {
    await this.controller.stop(QUIT_WITHIN_MS)
  }

  /** Ends an analysis: Sabaki sends a command that asks for little. */
  async sendAbort () {
    if (this.controller.busy) {
      await this.controller.sendCommand({ name: 'protocol_version' }).catch(() => {})
    }
  }

  async queueCommand (command, subscriber) {
    this.sendAbort()
    return await this.stateTracker.queueCommand(command, subscriber)
  }

  /** Has the engine come to the node, by the shortest of three ways: its moves, what differs, or all stones anew. */
  async sync (tree, id) {
    this.sendAbort()
    const target = boardAt(tree, id)
    let { history, board } = await this._replay(tree, id)
    if (!same(board, target)) {
      ({ history, board } = this._difference(tree, target))
    }
    if (!same(board, target)) {
      ({ history, board } = this._stones(tree, target))
    }
    if (!same(board, target)) {
      throw new Error('Current board arrangement can’t be recreated on the GTP engine.')
    }
    const komi = +rootProperty(tree, 'KM', 0)
    await this.stateTracker.sync({ komi, boardsize: [target.width, target.height], history })
  }

  async _replay (tree, id) {
    const history = []
    let board = emptyBoard(tree)
    for (const { data } of nodesTo(tree, id)) {
      let isHandicap = false
      if (data.AB?.length >= 2 && board.isEmpty() && await this.stateTracker.knowsCommand('set_free_handicap')) {
        const placed = vertices(data, 'AB').sort()
        history.push({ name: 'set_free_handicap', args: [...new Set(placed.map((each) => board.stringifyVertex(each)))] })
        for (const vertex of placed) {
          board = board.get(vertex) === 0 ? board.makeMove(1, vertex) : board
        }
        isHandicap = true
      }
      for (const property of ['B', 'W', 'AB', 'AW']) {
        if (property === 'AB' && isHandicap) {
          continue
        }
        for (const vertex of vertices(data, property)) {
          board = put(history, board, property.at(-1), vertex)
        }
      }
    }
    return { history, board }
  }

  _difference (tree, target) {
    const history = [...(this.stateTracker.state.history ?? [])]
    let board = emptyBoard(tree)
    for (const { name, args } of history) {
      const played = name === 'play' ? [args] : args.map((coord) => ['B', coord])
      for (const [colour, coord] of played) {
        board = board.makeMove(colour === 'W' ? -1 : 1, board.parseVertex(coord))
      }
    }
    for (const vertex of (board.diff(target) ?? []).filter((each) => target.get(each) !== 0)) {
      board = put(history, board, target.get(vertex) > 0 ? 'B' : 'W', vertex)
    }
    return { history, board }
  }

  _stones (tree, target) {
    const history = []
    let board = emptyBoard(tree)
    for (let x = 0; x < target.width; x++) {
      for (let y = 0; y < target.height; y++) {
        const sign = target.get([x, y])
        if (sign !== 0) {
          board = put(history, board, sign > 0 ? 'B' : 'W', [x, y])
        }
      }
    }
    return { history, board }
  }
}

/** The board after a stone or a pass, which is written down; a point that has a stone is passed over. */
function put (history, board, colour, vertex) {
  if (board.has(vertex) && board.get(vertex) !== 0) {
    return board
  }
  const coord = board.has(vertex) ? board.stringifyVertex(vertex) : 'pass'
  history.push({ name: 'play', args: [colour, coord] })
  return board.makeMove(colour === 'B' ? 1 : -1, vertex)
}

function boardOf (size) {
  const [width, height] = size ?? [19, 19]
  return emptyBoard({ root: { data: { SZ: [`${width}:${height}`] } } })
}
