#include "game.h"

#include <stddef.h>
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
  go_bits_flip(bits + (colour - 1) * board->words, cell - board->stride);
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
  board->words = (rows * board->stride + 63) / 64;
  memset(board->colour, GO_BORDER, sizeof board->colour);
  for (int32_t row = 0; row < rows; row++) {
    memset(board->colour + (row + 1) * board->stride, GO_EMPTY, (size_t)cols);
    for (int32_t col = 0; col < cols; col++) go_bits_flip(board->onboard, row * board->stride + col);
  }
}

void go_board_clear(go_board *board) {
  board->hash = 0;
  memset(board->stones, 0, sizeof board->stones);
  memset(board->bits, 0, sizeof board->bits);
  memset(board->heads, 0, sizeof board->heads);
  for (int32_t row = 1; row <= board->rows; row++) {
    memset(board->colour + row * board->stride, GO_EMPTY, (size_t)board->cols);
  }
}

void go_board_copy(go_board *dst, const go_board *src) {
  const size_t cells = (size_t)src->cells;
  const int32_t words = src->words;
  memcpy(dst, src, offsetof(go_board, colour) + cells);
  memcpy(dst->cell, src->cell, cells * sizeof *dst->cell);
  for (int32_t i = 0; i < words; i++) {
    for (uint64_t rest = src->heads[i]; rest; rest &= rest - 1) {
      const int32_t head = 64 * i + go_lowest(rest) + src->stride;
      dst->chain_hash[head] = src->chain_hash[head];
      for (int32_t k = head * words; k < (head + 1) * words; k++) dst->liberty[k] = src->liberty[k];
    }
  }
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
  for (int32_t i = 0; i < out->count; i++) out->hash ^= board->chain_hash[out->chains[i]];
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

static inline uint64_t *liberties_of(go_board *board, uint16_t head) { return board->liberty + head * board->words; }

/* Adds a point to a chain's liberties, or takes it out: done twice it is done once. */
static inline void gain(go_board *board, uint16_t head, int32_t cell) {
  uint64_t *word = liberties_of(board, head) + (cell - board->stride) / 64;
  const uint64_t bit = (uint64_t)1 << ((cell - board->stride) % 64);
  board->cell[head].liberties += !(*word & bit);
  *word |= bit;
}

static inline void lose(go_board *board, uint16_t head, int32_t cell) {
  uint64_t *word = liberties_of(board, head) + (cell - board->stride) / 64;
  const uint64_t bit = (uint64_t)1 << ((cell - board->stride) % 64);
  board->cell[head].liberties -= (*word & bit) != 0;
  *word &= ~bit;
}

/* Takes a chain off; each neighbouring chain of the other colour gets the points as liberties. */
static void remove_chain(go_board *board, uint16_t head) {
  const int32_t colour = board->colour[head], other = go_other(colour);
  uint16_t stone = head;
  board->hash ^= board->chain_hash[head];
  board->stones[colour] -= board->cell[head].size;
  go_bits_flip(board->heads, head - board->stride);
  do {
    int32_t near[4];
    board->colour[stone] = GO_EMPTY;
    flip(board, board->bits, stone, colour);
    neighbours(board, stone, near);
    for (int32_t i = 0; i < 4; i++) {
      if (board->colour[near[i]] == other) gain(board, board->cell[near[i]].head, stone);
    }
    stone = board->cell[stone].next;
  } while (stone != head);
}

/* Joins the chain `small` to `big`, of one colour, stone by stone. */
static void merge(go_board *board, uint16_t big, uint16_t small) {
  const int32_t words = board->words;
  uint64_t *kept = liberties_of(board, big), *added = liberties_of(board, small);
  int32_t liberties = 0;
  uint16_t stone = small;
  do {
    board->cell[stone].head = big;
    stone = board->cell[stone].next;
  } while (stone != small);
  for (int32_t i = 0; i < words; i++) {
    kept[i] |= added[i];
    liberties += go_popcount(kept[i]);
  }
  go_bits_flip(board->heads, small - board->stride);
  board->chain_hash[big] ^= board->chain_hash[small];
  board->cell[big].liberties = (uint16_t)liberties;
  board->cell[big].size = (uint16_t)(board->cell[big].size + board->cell[small].size);
  const uint16_t next = board->cell[big].next;
  board->cell[big].next = board->cell[small].next;
  board->cell[small].next = next;
}

void go_board_place(go_board *board, int32_t cell, int32_t colour) {
  const uint64_t word = zobrist(cell, colour);
  uint16_t friends[4], head = 0;
  int32_t count = 0, near[4];
  neighbours(board, cell, near);
  for (int32_t i = 0; i < 4; i++) {
    const int32_t at = board->colour[near[i]];
    if (at == GO_BORDER || at == GO_EMPTY) continue;
    const uint16_t chain = board->cell[near[i]].head;
    lose(board, chain, cell);
    if (at != colour || holds(friends, count, chain)) continue;
    friends[count++] = chain;
    if (!head || board->cell[chain].size > board->cell[head].size) head = chain;
  }
  board->colour[cell] = (uint8_t)colour;
  board->stones[colour]++;
  board->hash ^= word;
  flip(board, board->bits, cell, colour);
  if (head) { /* into the largest of the chains that it joins */
    board->cell[cell].head = head;
    board->cell[cell].next = board->cell[head].next;
    board->cell[head].next = (uint16_t)cell;
    board->cell[head].size++;
    board->chain_hash[head] ^= word;
  } else {
    head = (uint16_t)cell;
    board->cell[cell] = (go_cell){head, head, 1, 0};
    board->chain_hash[cell] = word;
    go_bits_flip(board->heads, cell - board->stride);
    memset(liberties_of(board, head), 0, (size_t)board->words * sizeof *board->liberty);
  }
  for (int32_t i = 0; i < 4; i++) {
    if (board->colour[near[i]] == GO_EMPTY) gain(board, head, near[i]);
  }
  for (int32_t i = 0; i < count; i++) {
    if (friends[i] != head) merge(board, head, friends[i]);
  }
}

void go_board_apply(go_board *board, int32_t cell, int32_t colour, const go_effect *effect) {
  for (int32_t i = 0; i < effect->count; i++) remove_chain(board, effect->chains[i]);
  if (!effect->suicide) go_board_place(board, cell, colour);
}
