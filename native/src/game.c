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

static void add_to_history(go_game *game) {
  const go_board *board = &game->board;
  go_history_add(&game->history, board->hash, board->stones, board->bits, game->to_move);
}

/* Starts the superko history with the board as it is. */
static int start_history(go_game *game) {
  go_history_clear(&game->history, 2 * (uint32_t)game->board.words);
  if (!has_superko(game)) return GO_OK;
  if (go_history_reserve(&game->history)) return GO_ERR_MEMORY;
  add_to_history(game);
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

/* Starts the game on the board as it is. */
static int start(go_game *game) {
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
  go_board_init(&game->board, rules->rows, rules->cols);
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
  go_board_clear(&game->board);
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
  const int32_t own = effect->suicide ? 1 - effect->taken : 1, other = effect->suicide ? 0 : -effect->taken;
  const int32_t black = board->stones[GO_BLACK] + (colour == GO_BLACK ? own : other);
  const int32_t white = board->stones[GO_WHITE] + (colour == GO_BLACK ? other : own);
  if (!go_history_has_kind(&game->history, go_board_kind(black, white))) return GO_OK;
  if (!go_history_may_hold(&game->history, effect->hash)) return GO_OK;
  uint64_t bits[2 * GO_MAX_WORDS];
  go_board_bits_after(board, cell, colour, effect, bits);
  int32_t position = go_history_find(&game->history, effect->hash, bits);
  if (position < 0) return GO_OK;
  if (game->rules.ko == GO_KO_SITUATIONAL && !(game->history.seen[position] & go_other(colour))) return GO_OK;
  return GO_ERR_SUPERKO;
}

/* Adds the points where a stone of the side to move takes a chain. */
static void add_captures(const go_game *game, uint64_t *points) {
  const go_board *board = &game->board;
  const uint64_t *other = go_stones_of(board, go_other(game->to_move));
  for (int32_t i = 0; i < board->words; i++) {
    for (uint64_t rest = board->heads[i] & other[i]; rest; rest &= rest - 1) {
      const int32_t head = 64 * i + go_lowest(rest) + board->stride;
      if (board->cell[head].liberties != 1) continue;
      for (int32_t k = 0; k < board->words; k++) points[k] |= board->liberty[head * board->words + k];
    }
  }
}

/* Empty points where a stone may be forbidden to the side to move. On all others it surely has a liberty, and gives a
 * board that was not there, since none had its numbers of stones. */
static void find_doubtful(const go_game *game, uint64_t *doubtful) {
  const go_board *board = &game->board;
  const int32_t words = board->words, own = board->stones[game->to_move] + 1;
  const int32_t other = board->stones[go_other(game->to_move)];
  const int may_repeat = has_superko(game) && own <= game->history.most[game->to_move];
  uint64_t near[GO_MAX_WORDS];
  go_board_empty(board, doubtful);
  if (may_repeat && go_history_has_kind(&game->history, game->to_move == GO_BLACK ? go_board_kind(own, other)
                                                                                   : go_board_kind(other, own))) {
    return;
  }
  go_bits_near(near, doubtful, board->stride, words);
  for (int32_t i = 0; i < words; i++) doubtful[i] &= ~near[i];
  if (may_repeat) add_captures(game, doubtful);
  if (game->ko) doubtful[(game->ko - board->stride) / 64] |= (uint64_t)1 << ((game->ko - board->stride) % 64);
}

static int is_banned(const go_game *game, int32_t cell) {
  go_effect effect;
  const int status = judge(game, cell, game->to_move, &effect);
  return status == GO_ERR_KO || status == GO_ERR_SUPERKO;
}

void go_game_bans(const go_game *game, uint64_t *bans) {
  const go_board *board = &game->board;
  uint64_t doubtful[GO_MAX_WORDS];
  find_doubtful(game, doubtful);
  for (int32_t i = 0; i < board->words; i++) {
    bans[i] = 0;
    for (uint64_t rest = doubtful[i]; rest; rest &= rest - 1) {
      const int32_t bit = go_lowest(rest);
      bans[i] |= (uint64_t)is_banned(game, 64 * i + bit + board->stride) << bit;
    }
  }
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
  for (int32_t row = 0; row < board->rows; row++) {
    const uint8_t *colour = board->colour + (row + 1) * board->stride;
    for (int32_t col = 0; col < board->cols; col++) legal[row * board->cols + col] = colour[col] == GO_EMPTY;
  }
  uint64_t doubtful[GO_MAX_WORDS];
  find_doubtful(game, doubtful);
  for (int32_t i = 0; i < board->words; i++) {
    for (uint64_t rest = doubtful[i]; rest; rest &= rest - 1) {
      go_effect effect;
      const int32_t cell = 64 * i + go_lowest(rest) + board->stride;
      if (judge(game, cell, game->to_move, &effect)) legal[go_point_of(board, cell)] = 0;
    }
  }
  legal[board->points] = 1;
  return GO_OK;
}

/* ---- playing --------------------------------------------------------------------------------------------- */

static int32_t find_end(const go_game *game) {
  if (game->passes == 2) return GO_END_PASSES;
  if (game->rules.settled_end && !game->passes) {
    const go_board *board = &game->board;
    uint64_t area[2 * GO_MAX_WORDS];
    go_board_pass_alive(board, game->rules.suicide, area);
    /* No point is in both areas. */
    if (go_bits_count(area, 2 * board->words) == board->points) return GO_END_SETTLED;
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

int go_game_play_cell(go_game *game, int32_t move, int32_t cell) {
  go_board *board = &game->board;
  const int32_t colour = game->to_move;
  go_effect effect;
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
  if (has_superko(game) && !game->end) add_to_history(game);
  return GO_OK;
}

int go_game_play(go_game *game, int32_t move, int32_t colour) {
  const go_board *board = &game->board;
  if (!between(move, 0, board->points) || !between(colour, GO_EMPTY, GO_WHITE)) return GO_ERR_ARGUMENT;
  if (game->end) return GO_ERR_FINISHED;
  if (colour && colour != game->to_move) return GO_ERR_TURN;
  return go_game_play_cell(game, move, move == board->points ? 0 : go_cell_of(board, move));
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

void go_board_write(const go_board *board, const uint64_t *sets, uint8_t *out) {
  const uint64_t *black = sets, *white = sets + board->words;
  for (int32_t row = 0; row < board->rows; row++) {
    for (int32_t bit = row * board->stride; bit < row * board->stride + board->cols; bit++) {
      *out++ = (uint8_t)(GO_BLACK * go_bits_has(black, bit) + GO_WHITE * go_bits_has(white, bit));
    }
  }
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
