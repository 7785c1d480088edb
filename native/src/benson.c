#include "game.h"

/* Pass-alive areas: D. B. Benson, "Life in the game of Go", Information Sciences 10 (1976).
 *
 * A region of a colour is a connected set of points without its stones. It is vital to a chain of the colour when
 * each of its empty points is a liberty of the chain (with suicide: when each of its points touches the chain, since
 * stones of the other colour there may come off and leave room). Chains with fewer than two vital regions are taken
 * out, and with them every region they border, until nothing changes: the rest is alive though its owner always
 * passes. A region belongs to the area when it borders living chains only and the other colour cannot live in it:
 * it is vital to one of them, or at most one of its points touches none.
 *
 * A region with a point that has to touch a chain and touches none is open: vital to nobody. Open regions are set
 * aside at once, and in most positions few or no others are left. */

typedef struct region {
  uint64_t points[GO_MAX_WORDS];
  uint64_t border[GO_MAX_WORDS]; /* stones of the colour next to it */
  uint16_t vital[4];             /* heads of the chains it is vital to */
  int32_t vital_count, sound;
} region;

typedef struct life {
  const go_board *board;
  int32_t colour, suicide;
  const uint64_t *stones, *enemy;
  uint64_t near[GO_MAX_WORDS];  /* next to a stone of the colour, among others off the board */
  uint64_t alive[GO_MAX_WORDS]; /* stones of the chains that are left */
  int32_t chains, regions;
  uint8_t eyes[GO_MAX_CELLS];   /* by head: sound regions vital to the chain */
  region region[GO_MAX_POINTS]; /* closed ones */
} life;

/* Takes the region with the lowest point of `left` out of it into `points`. */
GO_INLINE void take_region(const go_board *board, uint64_t *left, uint64_t *points, int32_t words) {
  const int32_t first = go_bits_first(left, words);
  memset(points, 0, (size_t)words * sizeof *points);
  go_bits_flip(points, first);
  go_bits_flood(points, left, board->stride, words);
  for (int32_t i = 0; i < words; i++) left[i] &= ~points[i];
}

GO_INLINE void find_border(const life *l, const uint64_t *points, uint64_t *border, int32_t words) {
  go_bits_near(border, points, l->board->stride, words);
  for (int32_t i = 0; i < words; i++) border[i] &= l->stones[i];
}

/* Whether fewer than two points of the region touch no stone of the colour. */
GO_INLINE int is_narrow(const life *l, const uint64_t *points, int32_t words) {
  int32_t inner = 0;
  for (int32_t i = 0; i < words; i++) inner += go_popcount(points[i] & ~l->near[i]);
  return inner < 2;
}

/* The chains of the colour next to a cell. */
static int32_t chains_at(const life *l, int32_t cell, uint16_t heads[4]) {
  const go_board *board = l->board;
  const int32_t near[4] = {cell - board->stride, cell - 1, cell + 1, cell + board->stride};
  int32_t count = 0;
  for (int32_t i = 0; i < 4; i++) {
    if (board->colour[near[i]] != l->colour) continue;
    const uint16_t head = board->cell[near[i]].head;
    int32_t k = 0;
    while (k < count && heads[k] != head) k++;
    heads[k] = head;
    count += k == count;
  }
  return count;
}

/* Whether the chain touches each of the region's points that have to touch it. */
GO_INLINE int is_vital(const life *l, const uint64_t *points, uint16_t head, int32_t words) {
  const go_board *board = l->board;
  for (int32_t i = 0; i < words; i++) {
    if (points[i] & ~l->enemy[i] & ~board->liberty[head * words + i]) return 0;
  }
  for (int32_t i = 0; l->suicide && i < words; i++) {
    for (uint64_t rest = points[i] & l->enemy[i]; rest; rest &= rest - 1) {
      uint16_t heads[4];
      const int32_t count = chains_at(l, 64 * i + go_lowest(rest) + board->stride, heads);
      int32_t k = 0;
      while (k < count && heads[k] != head) k++;
      if (k == count) return 0;
    }
  }
  return 1;
}

/* Adds a closed region. The chains it may be vital to all stand next to one of its empty points, and there is one:
 * stones of the other colour have a liberty. */
GO_INLINE void add_region(life *l, uint64_t *closed, int32_t words) {
  region *r = &l->region[l->regions++];
  uint64_t empty[GO_MAX_WORDS];
  uint16_t heads[4];
  take_region(l->board, closed, r->points, words);
  find_border(l, r->points, r->border, words);
  for (int32_t i = 0; i < words; i++) empty[i] = r->points[i] & ~l->enemy[i];
  const int32_t count = chains_at(l, go_bits_first(empty, words) + l->board->stride, heads);
  r->sound = 1;
  r->vital_count = 0;
  for (int32_t i = 0; i < count; i++) {
    if (!is_vital(l, r->points, heads[i], words)) continue;
    r->vital[r->vital_count++] = heads[i];
    l->chains += ++l->eyes[heads[i]] == 2;
  }
}

/* Puts a chain's stones into `alive`, or takes them out. */
static void flip_chain(life *l, uint16_t head) {
  uint16_t stone = head;
  do {
    go_bits_flip(l->alive, stone - l->board->stride);
    stone = l->board->cell[stone].next;
  } while (stone != head);
}

/* Leaves the chains in `alive` that live together. */
GO_INLINE void find_alive(life *l, int32_t words) {
  memset(l->alive, 0, (size_t)words * sizeof *l->alive);
  for (int32_t i = 0; i < l->regions; i++) {
    const region *r = &l->region[i];
    for (int32_t k = 0; k < r->vital_count; k++) {
      const uint16_t head = r->vital[k];
      if (l->eyes[head] >= 2 && !go_bits_has(l->alive, head - l->board->stride)) flip_chain(l, head);
    }
  }
  for (int32_t changed = 1; changed;) {
    changed = 0;
    for (int32_t i = 0; i < l->regions; i++) {
      region *r = &l->region[i];
      if (!r->sound || go_bits_within(r->border, l->alive, words)) continue;
      r->sound = 0;
      changed = 1;
      for (int32_t k = 0; k < r->vital_count; k++) {
        if (l->eyes[r->vital[k]]-- != 2) continue;
        flip_chain(l, r->vital[k]);
        l->chains--;
      }
    }
  }
}

GO_INLINE void settle(life *l, uint64_t *area, int32_t words) {
  const go_board *board = l->board;
  uint64_t free[GO_MAX_WORDS], open[GO_MAX_WORDS], closed[GO_MAX_WORDS];
  go_bits_near(l->near, l->stones, board->stride, words);
  for (int32_t i = 0; i < words; i++) {
    free[i] = board->onboard[i] & ~l->stones[i];
    open[i] = free[i] & ~l->near[i] & ~(l->suicide ? 0 : l->enemy[i]);
  }
  go_bits_flood(open, free, board->stride, words);
  for (int32_t i = 0; i < words; i++) closed[i] = free[i] & ~open[i];
  if (!go_bits_any(closed, words)) return;
  memset(l->eyes, 0, (size_t)board->cells);
  l->regions = l->chains = 0;
  while (go_bits_any(closed, words)) add_region(l, closed, words);
  if (l->chains) find_alive(l, words);
  if (!l->chains) return;
  for (int32_t i = 0; i < words; i++) area[i] = l->alive[i];
  for (int32_t i = 0; i < l->regions; i++) {
    const region *r = &l->region[i];
    if (!r->sound || !(r->vital_count || is_narrow(l, r->points, words))) continue;
    for (int32_t k = 0; k < words; k++) area[k] |= r->points[k];
  }
  while (go_bits_any(open, words)) {
    region r;
    take_region(board, open, r.points, words);
    if (!is_narrow(l, r.points, words)) continue;
    find_border(l, r.points, r.border, words);
    if (!go_bits_within(r.border, l->alive, words)) continue;
    for (int32_t k = 0; k < words; k++) area[k] |= r.points[k];
  }
}

void go_board_pass_alive(const go_board *board, int32_t suicide, uint64_t area[2 * GO_MAX_WORDS]) {
  const int32_t words = board->words;
  life l;
  l.board = board;
  l.suicide = suicide;
  memset(area, 0, 2 * (size_t)words * sizeof *area);
  for (l.colour = GO_BLACK; l.colour <= GO_WHITE; l.colour++) {
    l.stones = go_stones_of(board, l.colour);
    l.enemy = go_stones_of(board, go_other(l.colour));
    if (board->stones[l.colour]) GO_BY_WORDS(words, settle, &l, area + (l.colour - 1) * words);
  }
}

int go_game_pass_alive(const go_game *game, uint8_t *alive, size_t len) {
  const go_board *board = &game->board;
  uint64_t area[2 * GO_MAX_WORDS];
  if (len != (size_t)board->points) return GO_ERR_ARGUMENT;
  go_board_pass_alive(board, game->rules.suicide, area);
  go_board_write(board, area, alive);
  return GO_OK;
}
