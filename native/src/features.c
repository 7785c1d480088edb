#include "game.h"

#include <string.h>

/* Version 1 of the input planes; docs/spec/features.md has the table. */

enum { ON = 64, HISTORY = 5 };
enum {
  PLANE_BOARD = 0,
  PLANE_OWN = 1,
  PLANE_OTHER = 2,
  PLANE_OWN_LIBERTIES = 3,   /* 1, 2 and 3 */
  PLANE_OTHER_LIBERTIES = 6, /* 1, 2 and 3 */
  PLANE_BAN = 9,
  PLANE_LAST = 10, /* and the four before */
  PLANE_OWN_ALIVE = 15,
  PLANE_OTHER_ALIVE = 16,
  PLANE_PASSED = 17,
  PLANE_KOMI = 18,
  PLANE_SIZE = 19
};

static uint8_t clamp7(int32_t value) { return (uint8_t)(value < 0 ? 0 : value > 127 ? 127 : value); }

/* clamp7(round(64 * sqrt(points) / 19)), in integers: the greatest v with v - 1/2 <= 64 sqrt(points) / 19. */
static uint8_t size_scalar(int32_t points) {
  int32_t v = 0;
  while (361 * (2 * v + 1) * (2 * v + 1) <= 4 * 4096 * points) v++;
  return clamp7(v);
}

/* The planes that look at one point. */
static void put_point(const go_game *game, const uint8_t *alive, int32_t cell, uint8_t *at, size_t plane) {
  const go_board *board = &game->board;
  int32_t colour = board->colour[cell], own = game->to_move;
  at[PLANE_BOARD * plane] = ON;
  if (colour == GO_EMPTY) {
    if (go_game_ban(game, cell)) at[PLANE_BAN * plane] = ON;
  } else {
    int32_t liberties = board->cell[board->cell[cell].head].liberties;
    at[(size_t)(colour == own ? PLANE_OWN : PLANE_OTHER) * plane] = ON;
    if (liberties <= 3) {
      int32_t first = colour == own ? PLANE_OWN_LIBERTIES : PLANE_OTHER_LIBERTIES;
      at[(size_t)(first + liberties - 1) * plane] = ON;
    }
  }
  if (alive[cell]) at[(size_t)(alive[cell] == own ? PLANE_OWN_ALIVE : PLANE_OTHER_ALIVE) * plane] = ON;
}

int go_game_features(const go_game *game, uint8_t *out, size_t len) {
  const go_board *board = &game->board;
  size_t plane = (size_t)board->points;
  uint8_t alive[GO_MAX_CELLS];
  if (len != GO_FEATURE_PLANES * plane) return GO_ERR_ARGUMENT;
  memset(out, 0, len);
  go_board_pass_alive(board, game->rules.suicide, alive);
  for (int32_t row = 0, p = 0; row < board->rows; row++) {
    for (int32_t col = 0; col < board->cols; col++, p++) {
      put_point(game, alive, (row + 1) * board->stride + col, out + p, plane);
    }
  }
  for (int32_t i = 0; i < HISTORY && i < game->moves; i++) {
    int32_t move = game->log[game->moves - 1 - i] & 0x7fff;
    if (move < board->points) out[(size_t)(PLANE_LAST + i) * plane + (size_t)move] = ON;
  }
  int32_t komi = game->to_move == GO_WHITE ? game->rules.komi_half : -game->rules.komi_half;
  if (game->passes) memset(out + PLANE_PASSED * plane, ON, plane);
  memset(out + PLANE_KOMI * plane, clamp7(64 + 2 * komi), plane);
  memset(out + PLANE_SIZE * plane, size_scalar(board->points), plane);
  return GO_OK;
}
