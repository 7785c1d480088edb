#include "game.h"

#include <stdlib.h>
#include <string.h>

/* Exhaustive counts of small boards: they are known from elsewhere, so they test the rules as a whole. */

enum { MAX_DEPTH = 64 };

/* Sequences of `depth` >= 1 more moves from at[0]; at[1..depth) are scratch games. */
static int count_sequences(go_game **at, int32_t depth, uint64_t *total) {
  uint8_t legal[GO_MAX_POINTS + 1];
  int32_t points = at[0]->board.points;
  int status = go_game_legal(at[0], legal, (size_t)points + 1);
  for (int32_t move = 0; !status && move <= points; move++) {
    if (!legal[move]) continue;
    if (depth == 1) {
      ++*total;
      continue;
    }
    status = go_game_copy_into(at[1], at[0]);
    if (!status) status = go_game_play(at[1], move, GO_EMPTY);
    if (!status) status = count_sequences(at + 1, depth - 1, total);
  }
  return status;
}

int go_count_sequences(const go_game *game, int32_t depth, uint64_t *count) {
  go_game *at[MAX_DEPTH] = {NULL};
  int status = GO_OK;
  *count = depth == 0;
  if (depth < 0 || depth > MAX_DEPTH) return GO_ERR_ARGUMENT;
  for (int32_t i = 0; !status && i < depth; i++) status = go_game_copy(game, &at[i]);
  if (!status && depth) status = count_sequences(at, depth, count);
  for (int32_t i = 0; i < depth; i++) go_game_free(at[i]);
  return status;
}

/* 1 if the stone on `cell` and all its neighbours still have a liberty, undecided points counting as one. */
static int breathes(const go_board *board, int32_t cell) {
  const int32_t near[5] = {cell, cell - board->stride, cell - 1, cell + 1, cell + board->stride};
  for (int32_t i = 0; i < 5; i++) {
    int32_t at = board->colour[near[i]];
    if ((at == GO_BLACK || at == GO_WHITE) && !board->cell[board->cell[near[i]].head].liberties) return 0;
  }
  return 1;
}

/* Colourings of the points from `point` on. A chain that lost its last liberty can never get one back. */
static uint64_t count_colourings(const go_board *board, int32_t point) {
  if (point == board->points) return 1;
  int32_t cell = go_cell_of(board, point);
  uint64_t total = count_colourings(board, point + 1);
  for (int32_t colour = GO_BLACK; colour <= GO_WHITE; colour++) {
    go_board next;
    go_board_copy(&next, board);
    go_board_place(&next, cell, colour);
    if (breathes(&next, cell)) total += count_colourings(&next, point + 1);
  }
  return total;
}

int go_count_positions(int32_t rows, int32_t cols, uint64_t *count) {
  go_board board;
  *count = 0;
  if (rows < 1 || cols < 1 || rows > GO_MAX_SIDE || cols > GO_MAX_SIDE || rows * cols > 20) return GO_ERR_ARGUMENT;
  go_board_init(&board, rows, cols);
  *count = count_colourings(&board, 0);
  return GO_OK;
}
