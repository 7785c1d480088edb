#include "game.h"

#include <stdlib.h>
#include <string.h>

/* ---- making games ---------------------------------------------------------------------------------------- */

static int between(int32_t value, int32_t low, int32_t high) { return value >= low && value <= high; }

int go_rules_check(const go_rules *rules) {
  int fine = between(rules->rows, 1, GO_MAX_SIDE) && between(rules->cols, 1, GO_MAX_SIDE) &&
             between(rules->ko, GO_KO_SIMPLE, GO_KO_SITUATIONAL) && between(rules->suicide, 0, 1) &&
             between(rules->scoring, GO_SCORING_AREA, GO_SCORING_TERRITORY) && between(rules->pass_alive, 0, 1) &&
             between(rules->settled_end, 0, 1) && between(rules->komi_half, -INT16_MAX, INT16_MAX) &&
             between(rules->move_cap, 0, GO_MAX_MOVES);
  return fine ? GO_OK : GO_ERR_ARGUMENT;
}

static int has_superko(const go_game *game) { return game->rules.ko != GO_KO_SIMPLE; }

/* Starts the superko history with the board as it is. */
static int start_history(go_game *game) {
  go_history_clear(&game->history, 2 * (uint32_t)game->board.words);
  if (!has_superko(game)) return GO_OK;
  if (go_history_reserve(&game->history)) return GO_ERR_MEMORY;
  go_history_add(&game->history, game->board.hash, game->board.bits, game->to_move);
  return GO_OK;
}

/* Room for `moves` moves in the log. */
static int reserve_log(go_game *game, int32_t moves) {
  if (moves <= game->log_capacity) return GO_OK;
  int32_t capacity = game->log_capacity ? game->log_capacity : 256;
  while (capacity < moves) capacity *= 2;
  uint16_t *log = realloc(game->log, (size_t)capacity * sizeof *log);
  if (!log) return GO_ERR_MEMORY;
  game->log = log;
  game->log_capacity = capacity;
  return GO_OK;
}

static int start(go_game *game) {
  go_board_init(&game->board, game->rules.rows, game->rules.cols);
  game->to_move = GO_BLACK;
  game->end = GO_END_NONE;
  game->moves = game->passes = game->ko = 0;
  memset(game->captured, 0, sizeof game->captured);
  return start_history(game);
}

int go_game_new(const go_rules *rules, go_game **out) {
  *out = NULL;
  if (go_rules_check(rules)) return GO_ERR_ARGUMENT;
  go_game *game = calloc(1, sizeof *game);
  if (!game) return GO_ERR_MEMORY;
  game->rules = *rules;
  if (start(game) || reserve_log(game, 1)) {
    go_game_free(game);
    return GO_ERR_MEMORY;
  }
  *out = game;
  return GO_OK;
}

void go_game_free(go_game *game) {
  if (!game) return;
  go_history_free(&game->history);
  free(game->log);
  free(game);
}

int go_game_copy_into(go_game *dst, const go_game *src) {
  if (dst == src) return GO_OK;
  /* All memory first: after this nothing fails. */
  if (reserve_log(dst, src->moves) || go_history_copy(&dst->history, &src->history)) return GO_ERR_MEMORY;
  dst->rules = src->rules;
  go_board_copy(&dst->board, &src->board);
  dst->to_move = src->to_move;
  dst->end = src->end;
  dst->moves = src->moves;
  dst->passes = src->passes;
  dst->ko = src->ko;
  memcpy(dst->captured, src->captured, sizeof dst->captured);
  memcpy(dst->log, src->log, (size_t)src->moves * sizeof *src->log);
  return GO_OK;
}

int go_game_copy(const go_game *game, go_game **out) {
  int status = go_game_new(&game->rules, out);
  if (!status) status = go_game_copy_into(*out, game);
  if (status) {
    go_game_free(*out);
    *out = NULL;
  }
  return status;
}

void go_game_clear(go_game *game) {
  /* The history's first position fits in the memory that go_game_new took. */
  (void)start(game);
}

int go_game_setup(go_game *game, const uint8_t *stones, size_t len, int32_t to_move) {
  go_board *board = &game->board;
  if (game->moves || game->end || len != (size_t)board->points || !between(to_move, GO_BLACK, GO_WHITE)) {
    return GO_ERR_ARGUMENT;
  }
  go_board made;
  go_board_init(&made, board->rows, board->cols);
  for (int32_t p = 0; p < board->points; p++) {
    if (stones[p] > GO_WHITE) return GO_ERR_ARGUMENT;
    if (stones[p]) go_board_place(&made, go_cell_of(&made, p), stones[p]);
  }
  for (int32_t p = 0; p < board->points; p++) {
    if (stones[p] && !made.cell[made.cell[go_cell_of(&made, p)].head].liberties) return GO_ERR_ARGUMENT;
  }
  go_board_copy(board, &made);
  game->to_move = to_move;
  return start_history(game);
}

/* ---- judging moves --------------------------------------------------------------------------------------- */

/* Judges a stone by occupation, suicide and ko, whoever is to move. */
static int judge(const go_game *game, int32_t cell, int32_t colour, go_effect *effect) {
  const go_board *board = &game->board;
  go_board_effect(board, cell, colour, game->rules.suicide, effect);
  if (effect->status) return effect->status;
  if (!has_superko(game)) {
    /* A stone there takes the one that took, and no more: each other chain next to it has a liberty besides. */
    return cell == game->ko && colour == game->to_move ? GO_ERR_KO : GO_OK;
  }
  if (!go_history_may_hold(&game->history, effect->hash)) return GO_OK;
  uint64_t bits[2 * GO_MAX_WORDS];
  go_board_bits_after(board, cell, colour, effect, bits);
  int32_t position = go_history_find(&game->history, effect->hash, bits);
  if (position < 0) return GO_OK;
  if (game->rules.ko == GO_KO_SITUATIONAL && !(game->history.seen[position] & go_other(colour))) return GO_OK;
  return GO_ERR_SUPERKO;
}

int go_game_ban(const go_game *game, int32_t cell) {
  go_effect effect;
  int status = judge(game, cell, game->to_move, &effect);
  return status == GO_ERR_KO || status == GO_ERR_SUPERKO;
}

int go_game_check(const go_game *game, int32_t move, int32_t colour) {
  go_effect effect;
  if (!between(move, 0, game->board.points) || !between(colour, GO_EMPTY, GO_WHITE)) return GO_ERR_ARGUMENT;
  if (game->end) return GO_ERR_FINISHED;
  if (move == game->board.points) return GO_OK;
  return judge(game, go_cell_of(&game->board, move), colour ? colour : game->to_move, &effect);
}

int go_game_legal(const go_game *game, uint8_t *legal, size_t len) {
  const go_board *board = &game->board;
  if (len != (size_t)board->points + 1) return GO_ERR_ARGUMENT;
  memset(legal, 0, len);
  if (game->end) return GO_OK;
  for (int32_t row = 0, p = 0; row < board->rows; row++) {
    for (int32_t col = 0; col < board->cols; col++, p++) {
      go_effect effect;
      int32_t cell = (row + 1) * board->stride + col;
      if (board->colour[cell] == GO_EMPTY) legal[p] = judge(game, cell, game->to_move, &effect) == GO_OK;
    }
  }
  legal[board->points] = 1;
  return GO_OK;
}

/* ---- playing --------------------------------------------------------------------------------------------- */

static int32_t find_end(const go_game *game) {
  if (game->passes == 2) return GO_END_PASSES;
  if (game->rules.settled_end && !game->passes) {
    uint8_t area[GO_MAX_CELLS];
    int settled = 1;
    go_board_pass_alive(&game->board, game->rules.suicide, area);
    for (int32_t cell = game->board.stride; settled && cell < game->board.cells; cell++) {
      settled = game->board.colour[cell] == GO_BORDER || area[cell] != GO_EMPTY;
    }
    if (settled) return GO_END_SETTLED;
  }
  int32_t cap = game->rules.move_cap ? game->rules.move_cap : GO_MAX_MOVES;
  return game->moves >= cap ? GO_END_CAP : GO_END_NONE;
}

/* The cell that simple ko forbids after a stone: the one it took alone, if it can itself be taken alone. */
static int32_t ko_after(const go_board *board, int32_t cell, const go_effect *effect) {
  const go_cell *chain = &board->cell[cell];
  if (effect->suicide || effect->taken != 1) return 0;
  return chain->head == cell && chain->size == 1 && chain->liberties == 1 ? effect->chains[0] : 0;
}

int go_game_play(go_game *game, int32_t move, int32_t colour) {
  go_board *board = &game->board;
  go_effect effect;
  if (!between(move, 0, board->points) || !between(colour, GO_EMPTY, GO_WHITE)) return GO_ERR_ARGUMENT;
  if (game->end) return GO_ERR_FINISHED;
  if (colour && colour != game->to_move) return GO_ERR_TURN;
  colour = game->to_move;
  int32_t cell = move == board->points ? 0 : go_cell_of(board, move);
  if (cell) {
    int status = judge(game, cell, colour, &effect);
    if (status) return status;
  }
  if (reserve_log(game, game->moves + 1)) return GO_ERR_MEMORY;
  if (has_superko(game) && go_history_reserve(&game->history)) return GO_ERR_MEMORY;

  game->ko = 0;
  if (cell) {
    go_board_apply(board, cell, colour, &effect);
    game->captured[effect.suicide ? colour : go_other(colour)] += effect.taken;
    if (!has_superko(game)) game->ko = ko_after(board, cell, &effect);
    game->passes = 0;
  } else {
    game->passes++;
  }
  game->log[game->moves++] = (uint16_t)(move | (colour == GO_WHITE ? 0x8000 : 0));
  game->to_move = go_other(colour);
  game->end = find_end(game);
  if (has_superko(game) && !game->end) go_history_add(&game->history, board->hash, board->bits, game->to_move);
  return GO_OK;
}

/* ---- reading --------------------------------------------------------------------------------------------- */

int go_game_stones(const go_game *game, uint8_t *stones, size_t len) {
  const go_board *board = &game->board;
  if (len != (size_t)board->points) return GO_ERR_ARGUMENT;
  for (int32_t row = 0; row < board->rows; row++) {
    memcpy(stones + row * board->cols, board->colour + (row + 1) * board->stride, (size_t)board->cols);
  }
  return GO_OK;
}

int32_t go_game_to_move(const go_game *game) { return game->to_move; }

int32_t go_game_moves(const go_game *game) { return game->moves; }

int go_game_move_at(const go_game *game, int32_t ply, int32_t *move, int32_t *colour) {
  if (ply < 0 || ply >= game->moves) return GO_ERR_ARGUMENT;
  *move = game->log[ply] & 0x7fff;
  *colour = game->log[ply] & 0x8000 ? GO_WHITE : GO_BLACK;
  return GO_OK;
}

int32_t go_game_end(const go_game *game) { return game->end; }

int32_t go_game_captured(const go_game *game, int32_t colour) {
  return colour == GO_BLACK || colour == GO_WHITE ? game->captured[colour] : 0;
}

uint64_t go_game_hash(const go_game *game) { return game->board.hash; }
