#include "game.h"

#include <string.h>

/* ---- small parts ---------------------------------------------------------------------------------------- */

static inline void neighbours(const go_board *board, int32_t cell, int32_t out[4]) {
  out[0] = cell - board->stride;
  out[1] = cell - 1;
  out[2] = cell + 1;
  out[3] = cell + board->stride;
}

/* The Zobrist word of a stone: splitmix64's finaliser of (cell, colour). */
static inline uint64_t zobrist(int32_t cell, int32_t colour) {
  uint64_t z = (uint64_t)(2 * cell + colour) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static inline void flip(const go_board *board, uint64_t *bits, int32_t cell, int32_t colour) {
  bits[(colour - 1) * board->words + cell / 64] ^= (uint64_t)1 << (cell % 64);
}

/* Whether heads[0..count) holds `head`. */
static inline int holds(const uint16_t *heads, int32_t count, uint16_t head) {
  for (int32_t i = 0; i < count; i++) {
    if (heads[i] == head) return 1;
  }
  return 0;
}

/* ---- making and copying --------------------------------------------------------------------------------- */

void go_board_init(go_board *board, int32_t rows, int32_t cols) {
  memset(board, 0, sizeof *board);
  board->rows = rows;
  board->cols = cols;
  board->stride = cols + 1;
  board->points = rows * cols;
  board->cells = (rows + 2) * board->stride;
  board->words = (board->cells + 63) / 64;
  memset(board->colour, GO_BORDER, sizeof board->colour);
  for (int32_t row = 0; row < rows; row++) memset(board->colour + (row + 1) * board->stride, GO_EMPTY, (size_t)cols);
}

void go_board_copy(go_board *dst, const go_board *src) {
  size_t cells = (size_t)src->cells;
  dst->rows = src->rows;
  dst->cols = src->cols;
  dst->stride = src->stride;
  dst->points = src->points;
  dst->cells = src->cells;
  dst->words = src->words;
  dst->hash = src->hash;
  memcpy(dst->colour, src->colour, cells);
  memcpy(dst->cell, src->cell, cells * sizeof *dst->cell);
  memcpy(dst->bits, src->bits, 2 * (size_t)src->words * sizeof *dst->bits);
}

/* ---- judging a stone ------------------------------------------------------------------------------------ */

void go_board_effect(const go_board *board, int32_t cell, int32_t colour, int32_t suicide, go_effect *out) {
  uint16_t friends[4];
  int32_t friend_count = 0, friend_stones = 0, breathes = 0, near[4];
  out->taken = out->count = out->suicide = 0;
  out->hash = board->hash;
  if (board->colour[cell] != GO_EMPTY) {
    out->status = GO_ERR_OCCUPIED;
    return;
  }
  neighbours(board, cell, near);
  for (int32_t i = 0; i < 4; i++) {
    int32_t at = board->colour[near[i]];
    if (at == GO_BORDER) continue;
    if (at == GO_EMPTY) {
      breathes = 1;
      continue;
    }
    uint16_t head = board->cell[near[i]].head;
    const go_cell *chain = &board->cell[head];
    if (at == colour) {
      if (chain->liberties > 1) breathes = 1;
      if (!holds(friends, friend_count, head)) {
        friends[friend_count++] = head;
        friend_stones += chain->size;
      }
    } else if (chain->liberties == 1 && !holds(out->chains, out->count, head)) {
      out->chains[out->count++] = head;
      out->taken += chain->size;
    }
  }
  out->status = GO_OK;
  if (out->count == 0 && !breathes) {
    if (!suicide || friend_count == 0) {
      out->status = GO_ERR_SUICIDE;
      return;
    }
    out->suicide = 1;
    out->count = friend_count;
    out->taken = friend_stones + 1;
    memcpy(out->chains, friends, (size_t)friend_count * sizeof *friends);
  } else {
    out->hash ^= zobrist(cell, colour);
  }
  for (int32_t i = 0; i < out->count; i++) {
    uint16_t stone = out->chains[i];
    int32_t taken = board->colour[stone];
    do {
      out->hash ^= zobrist(stone, taken);
      stone = board->cell[stone].next;
    } while (stone != out->chains[i]);
  }
}

void go_board_bits_after(const go_board *board, int32_t cell, int32_t colour, const go_effect *effect, uint64_t *bits) {
  memcpy(bits, board->bits, 2 * (size_t)board->words * sizeof *bits);
  if (!effect->suicide) flip(board, bits, cell, colour);
  for (int32_t i = 0; i < effect->count; i++) {
    uint16_t stone = effect->chains[i];
    int32_t taken = board->colour[stone];
    do {
      flip(board, bits, stone, taken);
      stone = board->cell[stone].next;
    } while (stone != effect->chains[i]);
  }
}

/* ---- changing the board --------------------------------------------------------------------------------- */

/* Takes a chain off; each neighbouring chain of the other colour gets the points as liberties. */
static void remove_chain(go_board *board, uint16_t head) {
  int32_t colour = board->colour[head], other = go_other(colour);
  uint16_t stone = head;
  do {
    uint16_t seen[4];
    int32_t count = 0, near[4];
    board->colour[stone] = GO_EMPTY;
    board->hash ^= zobrist(stone, colour);
    flip(board, board->bits, stone, colour);
    neighbours(board, stone, near);
    for (int32_t i = 0; i < 4; i++) {
      if (board->colour[near[i]] != other) continue;
      uint16_t chain = board->cell[near[i]].head;
      if (holds(seen, count, chain)) continue;
      seen[count++] = chain;
      board->cell[chain].liberties++;
    }
    stone = board->cell[stone].next;
  } while (stone != head);
}

/* Whether an empty cell is a liberty of the chain. */
static int is_liberty(const go_board *board, int32_t cell, int32_t colour, uint16_t head) {
  int32_t near[4];
  neighbours(board, cell, near);
  for (int32_t i = 0; i < 4; i++) {
    if (board->colour[near[i]] == colour && board->cell[near[i]].head == head) return 1;
  }
  return 0;
}

/* Joins two chains of one colour: the smaller one is relabelled stone by stone, so that a liberty of both, or of two
 * of its stones, is counted once. */
static void merge(go_board *board, uint16_t a, uint16_t b) {
  uint16_t big = board->cell[a].size >= board->cell[b].size ? a : b, small = big == a ? b : a, stone = small;
  int32_t colour = board->colour[big];
  do {
    int32_t near[4];
    neighbours(board, stone, near);
    for (int32_t i = 0; i < 4; i++) {
      if (board->colour[near[i]] == GO_EMPTY && !is_liberty(board, near[i], colour, big)) board->cell[big].liberties++;
    }
    board->cell[stone].head = big;
    stone = board->cell[stone].next;
  } while (stone != small);
  board->cell[big].size = (uint16_t)(board->cell[big].size + board->cell[small].size);
  uint16_t next = board->cell[big].next;
  board->cell[big].next = board->cell[small].next;
  board->cell[small].next = next;
}

void go_board_place(go_board *board, int32_t cell, int32_t colour) {
  uint16_t chains[4];
  int32_t count = 0, liberties = 0, near[4];
  neighbours(board, cell, near);
  for (int32_t i = 0; i < 4; i++) {
    int32_t at = board->colour[near[i]];
    if (at == GO_BORDER) continue;
    if (at == GO_EMPTY) {
      liberties++;
      continue;
    }
    uint16_t head = board->cell[near[i]].head;
    if (holds(chains, count, head)) continue;
    chains[count++] = head;
    board->cell[head].liberties--;
  }
  board->colour[cell] = (uint8_t)colour;
  board->cell[cell] = (go_cell){(uint16_t)cell, (uint16_t)cell, 1, (uint16_t)liberties};
  board->hash ^= zobrist(cell, colour);
  flip(board, board->bits, cell, colour);
  for (int32_t i = 0; i < count; i++) {
    if (board->colour[chains[i]] == colour) merge(board, board->cell[cell].head, chains[i]);
  }
}

void go_board_apply(go_board *board, int32_t cell, int32_t colour, const go_effect *effect) {
  for (int32_t i = 0; i < effect->count; i++) remove_chain(board, effect->chains[i]);
  if (!effect->suicide) go_board_place(board, cell, colour);
}
