#include "game.h"

#include <string.h>

/* Pass-alive areas: D. B. Benson, "Life in the game of Go", Information Sciences 10 (1976).
 *
 * A region of a colour is a connected set of points without its stones. It is vital to a chain of the colour when
 * each of its empty points is a liberty of the chain (with suicide: when each of its points touches the chain, since
 * stones of the other colour there may come off and leave room). Chains with fewer than two vital regions are taken
 * out, and with them every region they border, until nothing changes: the rest is alive though its owner always
 * passes. A region belongs to the area when it borders living chains only and the other colour cannot live in it:
 * it is vital to one of them, or at most one of its points touches none. */

typedef struct region {
  uint16_t vital[4]; /* heads of the chains it is vital to */
  uint8_t vital_count, started, inner, sound;
} region;

typedef struct benson {
  const go_board *board;
  int32_t colour, suicide, regions;
  uint16_t region_of[GO_MAX_CELLS]; /* number + 1 of points without the colour's stones, else 0 */
  region region[GO_MAX_POINTS];
  uint16_t heads[GO_MAX_POINTS];
  int32_t chains;
} benson;

/* Adds one point to what is known of its region. */
static void add_point(benson *b, region *r, int32_t cell) {
  const go_board *board = b->board;
  const int32_t near[4] = {cell - board->stride, cell - 1, cell + 1, cell + board->stride};
  uint16_t heads[4];
  uint8_t count = 0;
  for (int32_t i = 0; i < 4; i++) {
    if (board->colour[near[i]] == b->colour) heads[count++] = board->cell[near[i]].head;
  }
  if (!count && r->inner < 2) r->inner++;
  if (board->colour[cell] != GO_EMPTY && !b->suicide) return;
  if (!r->started) {
    r->started = 1;
    r->vital_count = count;
    memcpy(r->vital, heads, count * sizeof *heads);
    return;
  }
  uint8_t kept = 0;
  for (uint8_t i = 0; i < r->vital_count; i++) {
    for (uint8_t k = 0; k < count; k++) {
      if (heads[k] != r->vital[i]) continue;
      r->vital[kept++] = r->vital[i];
      break;
    }
  }
  r->vital_count = kept;
}

static void flood(benson *b, int32_t start) {
  const go_board *board = b->board;
  uint16_t stack[GO_MAX_POINTS];
  int32_t depth = 0;
  region *r = &b->region[b->regions++];
  *r = (region){.sound = 1};
  stack[depth++] = (uint16_t)start;
  b->region_of[start] = (uint16_t)b->regions;
  while (depth) {
    int32_t cell = stack[--depth];
    add_point(b, r, cell);
    const int32_t near[4] = {cell - board->stride, cell - 1, cell + 1, cell + board->stride};
    for (int32_t i = 0; i < 4; i++) {
      int32_t at = board->colour[near[i]];
      if (at == b->colour || at == GO_BORDER || b->region_of[near[i]]) continue;
      b->region_of[near[i]] = (uint16_t)b->regions;
      stack[depth++] = (uint16_t)near[i];
    }
  }
}

/* Vital regions that are still sound; a chain met twice by one point stands in `vital` twice but counts once. */
static int32_t vital_regions(const benson *b, uint16_t head) {
  int32_t count = 0;
  for (int32_t i = 0; i < b->regions && count < 2; i++) {
    const region *r = &b->region[i];
    if (!r->sound) continue;
    for (uint8_t k = 0; k < r->vital_count; k++) {
      if (r->vital[k] != head) continue;
      count++;
      break;
    }
  }
  return count;
}

/* Every region that the chain borders is unsound from now on. */
static void drop(benson *b, uint16_t head) {
  const go_board *board = b->board;
  uint16_t stone = head;
  do {
    const int32_t near[4] = {stone - board->stride, stone - 1, stone + 1, stone + board->stride};
    for (int32_t i = 0; i < 4; i++) {
      if (b->region_of[near[i]]) b->region[b->region_of[near[i]] - 1].sound = 0;
    }
    stone = board->cell[stone].next;
  } while (stone != head);
}

static void settle(benson *b, uint8_t area[GO_MAX_CELLS]) {
  const go_board *board = b->board;
  memset(b->region_of, 0, (size_t)board->cells * sizeof *b->region_of);
  b->regions = b->chains = 0;
  for (int32_t cell = board->stride; cell < board->cells; cell++) {
    int32_t at = board->colour[cell];
    if (at == GO_BORDER) continue;
    if (at != b->colour) {
      if (!b->region_of[cell]) flood(b, cell);
    } else if (board->cell[cell].head == cell) {
      b->heads[b->chains++] = (uint16_t)cell;
    }
  }
  if (!b->chains || b->regions < 2) return;
  for (int32_t before = -1; before != b->chains;) {
    int32_t kept = 0;
    before = b->chains;
    for (int32_t i = 0; i < before; i++) {
      if (vital_regions(b, b->heads[i]) >= 2) {
        b->heads[kept++] = b->heads[i];
      } else {
        drop(b, b->heads[i]);
      }
    }
    b->chains = kept;
  }
  if (!b->chains) return;
  for (int32_t i = 0; i < b->chains; i++) {
    uint16_t stone = b->heads[i];
    do {
      area[stone] = (uint8_t)b->colour;
      stone = board->cell[stone].next;
    } while (stone != b->heads[i]);
  }
  for (int32_t cell = board->stride; cell < board->cells; cell++) {
    if (!b->region_of[cell]) continue;
    const region *r = &b->region[b->region_of[cell] - 1];
    if (r->sound && (r->vital_count || r->inner <= 1)) area[cell] = (uint8_t)b->colour;
  }
}

void go_board_pass_alive(const go_board *board, int32_t suicide, uint8_t area[GO_MAX_CELLS]) {
  benson b;
  b.board = board;
  b.suicide = suicide;
  memset(area, GO_EMPTY, (size_t)board->cells);
  for (b.colour = GO_BLACK; b.colour <= GO_WHITE; b.colour++) settle(&b, area);
}

int go_game_pass_alive(const go_game *game, uint8_t *alive, size_t len) {
  const go_board *board = &game->board;
  uint8_t area[GO_MAX_CELLS];
  if (len != (size_t)board->points) return GO_ERR_ARGUMENT;
  go_board_pass_alive(board, game->rules.suicide, area);
  for (int32_t row = 0; row < board->rows; row++) {
    memcpy(alive + row * board->cols, area + (row + 1) * board->stride, (size_t)board->cols);
  }
  return GO_OK;
}
