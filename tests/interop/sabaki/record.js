// Game trees and their boards as Sabaki keeps them (its src/modules/gametree.js), without what is only drawn.

import goBoard from '@sabaki/go-board'
import GameTree from '@sabaki/immutable-gametree'
import sgf from '@sabaki/sgf'

const Board = goBoard.default ?? goBoard

let lastId = 0
const getId = () => ++lastId

/** The tree of the first game of an SGF text. */
export function parseTree (text) {
  const [root] = sgf.parse(text, { getId })
  return new (GameTree.default ?? GameTree)({ getId, root })
}

/** The value of a property of the root, or `fallback` where it is missing or empty. */
export function rootProperty (tree, property, fallback) {
  const [value = ''] = tree.root.data[property] ?? []
  return value === '' ? fallback : value
}

/** An empty board of the tree's size. */
export function emptyBoard (tree) {
  const size = rootProperty(tree, 'SZ', '19').split(':').map(Number)
  return Board.fromDimensions(size[0], size.at(-1))
}

/** The nodes from the root to this one. */
export function nodesTo (tree, id) {
  return [...tree.listNodesVertically(id, -1, {})].reverse()
}

/** The board after the node: a move is played, setup stones are put or taken off. */
export function boardAt (tree, id) {
  let board = emptyBoard(tree)
  for (const { data } of nodesTo(tree, id)) {
    const colour = data.B ? 'B' : data.W ? 'W' : null
    board = colour ? board.makeMove(colour === 'B' ? 1 : -1, sgf.parseVertex(data[colour][0])) : board.clone()
    for (const [property, sign] of [['AW', -1], ['AE', 0], ['AB', 1]]) {
      for (const vertex of vertices(data, property)) {
        board.set(vertex, sign)
      }
    }
  }
  return board
}

/** The points that a property names, rectangles written out. */
export function vertices (data, property) {
  return (data[property] ?? []).flatMap((value) => sgf.parseCompressedVertices(value))
}
