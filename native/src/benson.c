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

enum { BLOCKED = 0xffff }; /* region_of the colour's own stones and of the border */

typedef struct region {
  uint16_t first, end; /* its cells are order[first..end) */
  uint16_t vital[4];   /* heads of the chains it is vital to; one may stand here twice */
  uint8_t vital_count, sound, dead_end;
} region;

typedef struct benson {
  const go_board *board;
  int32_t colour, suicide, regions, chains;
  uint16_t region_of[GO_MAX_CELLS]; /* number + 1, or BLOCKED */
  uint16_t order[GO_MAX_POINTS];
  region region[GO_MAX_POINTS];
  uint16_t heads[GO_MAX_POINTS];
} benson;

/* Numbers every region and finds every chain of the colour. */
static void find_parts(benson *b) {
  const go_board *board = b->board;
  const int32_t step[4] = {-board->stride, -1, 1, board->stride};
  uint16_t end = 0;
  b->regions = b->chains = 0;
  for (int32_t cell = 0; cell < board->cells; cell++) {
    int32_t at = board->colour[cell];
    b->region_of[cell] = at == b->colour || at == GO_BORDER ? BLOCKED : 0;
    if (at == b->colour && board->cell[cell].head == cell) b->heads[b->chains++] = (uint16_t)cell;
  }
  for (int32_t start = board->stride; b->chains && start < board->cells; start++) {
    if (b->region_of[start]) continue;
    region *r = &b->region[b->regions++];
    r->first = end;
    b->order[end++] = (uint16_t)start;
    b->region_of[start] = (uint16_t)b->regions;
    for (uint16_t i = r->first; i < end; i++) {
      for (int32_t k = 0; k < 4; k++) {
        int32_t near = b->order[i] + step[k];
        if (b->region_of[near]) continue;
        b->region_of[near] = (uint16_t)b->regions;
        b->order[end++] = (uint16_t)near;
      }
    }
    r->end = end;
  }
}

/* Keeps those of the region's vital chains that are among `heads`. */
static void intersect(region *r, const uint16_t heads[4], uint8_t count) {
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

/* Finds the chains that the region is vital to and whether the other colour could not make two eyes in it. Large
 * regions are told after a few points. */
static void judge(const benson *b, region *r) {
  const go_board *board = b->board;
  const int32_t step[4] = {-board->stride, -1, 1, board->stride};
  int32_t inner = 0, started = 0;
  r->sound = 1;
  r->vital_count = 0;
  for (uint16_t i = r->first; i < r->end && (!started || r->vital_count || inner < 2); i++) {
    int32_t cell = b->order[i];
    uint16_t heads[4];
    uint8_t count = 0;
    for (int32_t k = 0; k < 4; k++) {
      if (board->colour[cell + step[k]] == b->colour) heads[count++] = board->cell[cell + step[k]].head;
    }
    inner += !count;
    if (board->colour[cell] != GO_EMPTY && !b->suicide) continue;
    if (started++) {
      intersect(r, heads, count);
    } else {
      r->vital_count = count;
      memcpy(r->vital, heads, count * sizeof *heads);
    }
  }
  r->dead_end = r->vital_count || inner < 2;
}

/* How many sound regions are vital to the chain, up to two. */
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
      if (b->region_of[near[i]] != BLOCKED) b->region[b->region_of[near[i]] - 1].sound = 0;
    }
    stone = board->cell[stone].next;
  } while (stone != head);
}

static void settle(benson *b, uint8_t area[GO_MAX_CELLS]) {
  const go_board *board = b->board;
  find_parts(b);
  if (b->regions < 2) return;
  for (int32_t i = 0; i < b->regions; i++) judge(b, &b->region[i]);
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
  for (int32_t i = 0; i < b->regions; i++) {
    const region *r = &b->region[i];
    if (!r->sound || !r->dead_end) continue;
    for (uint16_t k = r->first; k < r->end; k++) area[b->order[k]] = (uint8_t)b->colour;
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
