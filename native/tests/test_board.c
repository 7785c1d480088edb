/* The board against slow recomputation in random games, and by hand where a picture says it best. */
#include "../src/game.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

/* ---- help ------------------------------------------------------------------------------------------------ */

static uint64_t random_state;

static uint32_t random_below(uint32_t n) { /* xorshift64*; tests only */
  random_state ^= random_state >> 12;
  random_state ^= random_state << 25;
  random_state ^= random_state >> 27;
  return (uint32_t)((random_state * 0x2545f4914f6cdd1du) >> 33) % n;
}

static go_rules rules_of(int32_t rows, int32_t cols, int32_t ko, int32_t suicide) {
  return (go_rules){.rows = rows, .cols = cols, .ko = ko, .suicide = suicide, .komi_half = 13};
}

/* A game from a picture: X black, O white, . empty, row after row. */
static go_game *game_of(go_rules rules, const char *picture, int32_t to_move) {
  go_game *game;
  uint8_t stones[GO_MAX_POINTS];
  size_t len = strlen(picture);
  for (size_t i = 0; i < len; i++) stones[i] = picture[i] == 'X' ? GO_BLACK : picture[i] == 'O' ? GO_WHITE : GO_EMPTY;
  CHECK_EQ(go_game_new(&rules, &game), GO_OK);
  CHECK_EQ(go_game_setup(game, stones, len, to_move), GO_OK);
  return game;
}

/* Size and liberties of the chain on `cell`, found from the colours alone. */
static void flood(const go_board *board, int32_t cell, int32_t *size, int32_t *liberties) {
  uint8_t seen[GO_MAX_CELLS] = {0};
  int32_t stack[GO_MAX_CELLS], depth = 0;
  *size = *liberties = 0;
  stack[depth++] = cell;
  seen[cell] = 1;
  while (depth) {
    int32_t at = stack[--depth], near[4] = {at - board->stride, at - 1, at + 1, at + board->stride};
    ++*size;
    for (int i = 0; i < 4; i++) {
      if (seen[near[i]]) continue;
      if (board->colour[near[i]] == GO_EMPTY) ++*liberties;
      else if (board->colour[near[i]] == board->colour[cell]) stack[depth++] = near[i];
      else continue;
      seen[near[i]] = 1;
    }
  }
}

/* The same stones; chains may have other heads. */
static int is_same_board(const go_board *a, const go_board *b) {
  return a->cells == b->cells && a->hash == b->hash && !memcmp(a->colour, b->colour, (size_t)a->cells) &&
         !memcmp(a->onboard, b->onboard, sizeof a->onboard) && !memcmp(a->stones, b->stones, sizeof a->stones) &&
         !memcmp(a->bits, b->bits, 2 * (size_t)a->words * sizeof *a->bits);
}

/* What the board keeps of one chain, against what was counted and the board with these stones alone. */
static void check_chain(const go_board *board, int32_t head, int32_t size, int32_t liberties) {
  const uint64_t *liberty = board->liberty + head * board->words;
  go_board alone;
  go_board_init(&alone, board->rows, board->cols);
  for (int32_t cell = board->stride; cell < board->cells; cell++) {
    if (board->colour[cell] == board->colour[head] && board->cell[cell].head == head) {
      go_board_place(&alone, cell, board->colour[head]);
    }
  }
  CHECK_EQ(alone.stones[board->colour[head]], size);
  CHECK_EQ(board->chain_hash[head], alone.hash);
  CHECK(go_bits_has(board->heads, head - board->stride));
  CHECK_EQ(board->cell[head].liberties, liberties);
  CHECK_EQ(go_bits_count(liberty, board->words), liberties);
  for (int32_t i = 0; i < board->words; i++) CHECK_EQ(liberty[i] & ~alone.liberty[alone.cell[head].head * board->words + i], 0);
}

/* Everything the board keeps up to date, against the colours alone. */
static void check_board(const go_board *board) {
  go_board fresh;
  int32_t chains = 0;
  go_board_init(&fresh, board->rows, board->cols);
  for (int32_t p = 0; p < board->points; p++) {
    int32_t cell = go_cell_of(board, p), size, liberties;
    CHECK_EQ(go_point_of(board, cell), p);
    if (board->colour[cell] == GO_EMPTY) continue;
    go_board_place(&fresh, cell, board->colour[cell]);
    flood(board, cell, &size, &liberties);
    int32_t head = board->cell[cell].head, length = 0, stone = head;
    do {
      CHECK_EQ(board->cell[stone].head, head);
      CHECK_EQ(board->colour[stone], board->colour[cell]);
      stone = board->cell[stone].next;
    } while (++length <= size && stone != head);
    CHECK_EQ(length, size);
    CHECK_EQ(board->cell[head].size, size);
    CHECK(liberties > 0);
    if (head != cell) continue;
    chains++;
    check_chain(board, head, size, liberties);
  }
  CHECK_EQ(go_bits_count(board->heads, board->words), chains);
  CHECK(is_same_board(board, &fresh));
}

/* Bans are asked for many points at once, with short cuts, and for one by playing. */
static void check_bans(const go_game *game) {
  const go_board *board = &game->board;
  uint64_t bans[GO_MAX_WORDS];
  go_game_bans(game, bans);
  for (int32_t cell = board->stride; cell < board->cells - board->stride; cell++) {
    const int at = board->colour[cell] == GO_EMPTY ? go_game_check(game, go_point_of(board, cell), GO_EMPTY) : GO_OK;
    CHECK_EQ(go_bits_has(bans, cell - board->stride), at == GO_ERR_KO || at == GO_ERR_SUPERKO);
  }
}

/* ---- tests ----------------------------------------------------------------------------------------------- */

/* A random game to its end or `limit` moves; `scratch` is reused for copies, as the search does. */
static void random_game(const go_rules *rules, int32_t limit, go_game *scratch) {
  go_game *game;
  CHECK_EQ(go_game_new(rules, &game), GO_OK);
  int32_t pass = go_game_pass(game);
  for (int32_t ply = 0; ply < limit && !game->end; ply++) {
    uint8_t legal[GO_MAX_POINTS + 1];
    int32_t moves[GO_MAX_POINTS], count = 0;
    CHECK_EQ(go_game_legal(game, legal, (size_t)pass + 1), GO_OK);
    CHECK_EQ(legal[pass], 1);
    for (int32_t p = 0; p < pass; p++) {
      if (legal[p]) moves[count++] = p;
      CHECK_EQ(go_game_check(game, p, GO_EMPTY) == GO_OK, legal[p]);
    }
    check_bans(game);
    int32_t move = count && random_below(20) ? moves[random_below((uint32_t)count)] : pass;
    CHECK_EQ(go_game_copy_into(scratch, game), GO_OK);
    CHECK_EQ(go_game_play(scratch, move, game->to_move), GO_OK);
    CHECK_EQ(go_game_play(game, move, GO_EMPTY), GO_OK);
    CHECK(is_same_board(&scratch->board, &game->board));
    check_board(&scratch->board);
    CHECK_EQ(scratch->history.count, game->history.count);
    CHECK_EQ(scratch->ko, game->ko);
    CHECK_EQ(go_history_find(&game->history, game->board.hash, game->board.bits) >= 0,
             rules->ko != GO_KO_SIMPLE && (!game->end || game->passes));
    check_board(&game->board);
  }
  go_game_clear(game);
  CHECK_EQ(game->board.hash, 0);
  CHECK_EQ(game->history.count, rules->ko != GO_KO_SIMPLE);
  go_game_free(game);
}

static void test_random_games(void) {
  static const int32_t sides[][2] = {{1, 1}, {1, 7}, {2, 2}, {3, 2}, {4, 4}, {5, 5}, {6, 9}, {9, 9}, {19, 19}, {19, 1}};
  go_game *scratch;
  go_rules first = rules_of(3, 3, GO_KO_POSITIONAL, 1);
  CHECK_EQ(go_game_new(&first, &scratch), GO_OK);
  random_state = 1;
  for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
    for (int32_t ko = GO_KO_SIMPLE; ko <= GO_KO_SITUATIONAL; ko++) {
      for (int32_t suicide = 0; suicide <= 1; suicide++) {
        go_rules rules = rules_of(sides[i][0], sides[i][1], ko, suicide);
        for (int32_t n = 0; n < 4; n++) random_game(&rules, 300, scratch);
      }
    }
  }
  go_game_free(scratch);
}

static void test_refusals(void) {
  go_game *game;
  go_rules rules = rules_of(3, 3, GO_KO_SIMPLE, 0), wrong = rules;
  const uint8_t dead[9] = {1, 2, 0, 2, 2, 0, 0, 0, 0}, unknown[9] = {3};
  wrong.rows = 20;
  CHECK_EQ(go_game_new(&wrong, &game), GO_ERR_ARGUMENT);
  wrong.rows = 0;
  CHECK_EQ(go_game_new(&wrong, &game), GO_ERR_ARGUMENT);
  CHECK(game == NULL);
  CHECK_EQ(go_game_new(&rules, &game), GO_OK);
  CHECK_EQ(go_game_setup(game, dead, 9, GO_BLACK), GO_ERR_ARGUMENT);
  CHECK_EQ(go_game_setup(game, unknown, 9, GO_BLACK), GO_ERR_ARGUMENT);
  CHECK_EQ(go_game_setup(game, dead, 8, GO_BLACK), GO_ERR_ARGUMENT);
  CHECK_EQ(game->board.hash, 0);
  CHECK_EQ(go_game_play(game, -1, GO_EMPTY), GO_ERR_ARGUMENT);
  CHECK_EQ(go_game_play(game, 10, GO_EMPTY), GO_ERR_ARGUMENT);
  CHECK_EQ(go_game_play(game, 0, GO_WHITE), GO_ERR_TURN);
  CHECK_EQ(go_game_play(game, 0, GO_BLACK), GO_OK);
  CHECK_EQ(go_game_play(game, 0, GO_WHITE), GO_ERR_OCCUPIED);
  CHECK_EQ(go_game_setup(game, unknown + 1, 9, GO_BLACK), GO_ERR_ARGUMENT);
  CHECK_EQ(go_game_play(game, 9, GO_EMPTY), GO_OK);
  CHECK_EQ(go_game_play(game, 9, GO_EMPTY), GO_OK);
  CHECK_EQ(go_game_end(game), GO_END_PASSES);
  CHECK_EQ(go_game_play(game, 5, GO_EMPTY), GO_ERR_FINISHED);
  CHECK_EQ(go_game_check(game, 5, GO_EMPTY), GO_ERR_FINISHED);
  go_game_free(game);
}

static void test_ko(void) {
  static const int32_t expected[3] = {GO_ERR_KO, GO_ERR_SUPERKO, GO_ERR_SUPERKO};
  for (int32_t ko = GO_KO_SIMPLE; ko <= GO_KO_SITUATIONAL; ko++) {
    go_game *game = game_of(rules_of(4, 4, ko, 0), ".XO."
                                                   "X.XO"
                                                   ".XO."
                                                   "....", GO_WHITE);
    CHECK_EQ(go_game_play(game, 5, GO_EMPTY), GO_OK);
    CHECK_EQ(go_game_captured(game, GO_BLACK), 1);
    CHECK_EQ(go_game_check(game, 6, GO_EMPTY), expected[ko]);
    CHECK_EQ(go_game_check(game, 6, GO_WHITE), GO_OK);
    check_bans(game);
    CHECK_EQ(go_game_play(game, 16, GO_EMPTY), GO_OK);
    CHECK_EQ(go_game_play(game, 12, GO_EMPTY), GO_OK);
    CHECK_EQ(go_game_check(game, 6, GO_EMPTY), GO_OK); /* another board: white has one more */
    go_game_free(game);
  }
}

/* Two boards that share a hash: the exact comparison keeps them apart. */
static void test_equal_hashes(void) {
  go_history history = {0};
  const uint64_t one[2] = {1, 0}, two[2] = {2, 0};
  const int32_t stones[3] = {0, 1, 0};
  go_history_clear(&history, 2);
  CHECK_EQ(go_history_reserve(&history), GO_OK);
  go_history_add(&history, 77, stones, one, GO_BLACK);
  CHECK_EQ(go_history_may_hold(&history, 77), 1);
  CHECK_EQ(go_history_find(&history, 77, two), -1);
  go_history_add(&history, 77, stones, two, GO_WHITE);
  CHECK_EQ(go_history_find(&history, 77, one), 0);
  CHECK_EQ(go_history_find(&history, 77, two), 1);
  go_history_add(&history, 77, stones, two, GO_BLACK);
  CHECK_EQ(history.count, 2);
  CHECK_EQ(history.seen[1], GO_BLACK | GO_WHITE);
  go_history_free(&history);
}

static void test_ends(void) {
  go_rules rules = rules_of(3, 3, GO_KO_POSITIONAL, 0);
  go_game *game;
  rules.move_cap = 2;
  CHECK_EQ(go_game_new(&rules, &game), GO_OK);
  CHECK_EQ(go_game_play(game, 4, GO_EMPTY), GO_OK);
  CHECK_EQ(go_game_play(game, 9, GO_EMPTY), GO_OK);
  CHECK_EQ(go_game_end(game), GO_END_CAP);
  go_game_free(game);
  rules.move_cap = 0;
  rules.settled_end = 1;
  game = game_of(rules, ".X."
                        "X.X"
                        "...", GO_BLACK);
  CHECK_EQ(go_game_end(game), GO_END_NONE);
  CHECK_EQ(go_game_play(game, 7, GO_EMPTY), GO_OK);
  CHECK_EQ(go_game_end(game), GO_END_SETTLED);
  go_game_free(game);
}

static void test_scores(void) {
  int32_t score;
  uint8_t owner[GO_MAX_POINTS], alive[GO_MAX_POINTS];
  /* White's left stone stands in black's pass-alive corner; the right side is white's, but not unconditionally. */
  const char *picture = ".X.XO."
                        "OXXXO."
                        ".X.XO."
                        "XXXXO."
                        "OOOOO.";
  go_rules rules = rules_of(5, 6, GO_KO_POSITIONAL, 0);
  go_game *game = game_of(rules, picture, GO_BLACK);
  CHECK_EQ(go_game_score(game, &score, NULL, 0), GO_OK);
  CHECK_EQ(go_game_score(game, &score, owner, 29), GO_ERR_ARGUMENT);
  CHECK_EQ(go_game_score(game, &score, owner, 30), GO_OK);
  CHECK_EQ(score, 2 * (11 + 2 - 9 - 1 - 5) - 13);
  CHECK_EQ(owner[0], GO_EMPTY);
  CHECK_EQ(owner[2], GO_BLACK);
  CHECK_EQ(owner[6], GO_WHITE);
  CHECK_EQ(owner[29], GO_WHITE);
  CHECK_EQ(go_game_pass_alive(game, alive, 30), GO_OK);
  CHECK_EQ(alive[6], GO_BLACK);
  CHECK_EQ(alive[4], GO_EMPTY);
  go_game_free(game);
  rules.pass_alive = 1;
  game = game_of(rules, picture, GO_BLACK);
  CHECK_EQ(go_game_score(game, &score, owner, 30), GO_OK);
  CHECK_EQ(score, 2 * (16 - 9 - 5) - 13);
  go_game_free(game);
  /* With one eye more at most, the side's points are black's altogether. */
  rules = rules_of(5, 5, GO_KO_POSITIONAL, 0);
  game = game_of(rules, ".X.XO.XXXO.X.XOXXXXOOOOO.", GO_BLACK);
  CHECK_EQ(go_game_pass_alive(game, alive, 25), GO_OK);
  for (int32_t p = 0; p < 25; p++) CHECK_EQ(alive[p], GO_BLACK);
  go_game_free(game);
}

/* With suicide, stones inside a region may come off and leave room to live: it is not vital unless the chain touches
 * every point of it. */
static void test_suicide_and_life(void) {
  const char *picture = "...XOO."
                        "XXXXOO."
                        "XXXXXXX"
                        ".......";
  uint8_t alive[GO_MAX_POINTS];
  for (int32_t suicide = 0; suicide <= 1; suicide++) {
    go_game *game = game_of(rules_of(4, 7, GO_KO_POSITIONAL, suicide), picture, GO_BLACK);
    CHECK_EQ(go_game_pass_alive(game, alive, 28), GO_OK);
    CHECK_EQ(alive[3], GO_BLACK);
    CHECK_EQ(alive[24], GO_BLACK);
    go_game_free(game);
    game = game_of(rules_of(3, 7, GO_KO_POSITIONAL, suicide), "..XOOO."
                                                             "XXXXOO."
                                                             "XXXXXXX", GO_BLACK);
    CHECK_EQ(go_game_pass_alive(game, alive, 21), GO_OK);
    CHECK_EQ(alive[2], GO_EMPTY);
    go_game_free(game);
    game = game_of(rules_of(3, 6, GO_KO_POSITIONAL, suicide), "..XOOO"
                                                             "XXXOO."
                                                             "XXXXXX", GO_BLACK);
    CHECK_EQ(go_game_pass_alive(game, alive, 18), GO_OK);
    CHECK_EQ(alive[2], suicide ? GO_EMPTY : GO_BLACK);
    CHECK_EQ(alive[4], suicide ? GO_EMPTY : GO_BLACK);
    go_game_free(game);
  }
}

/* Eyes of groups in seki count nothing, other territory does. */
static void test_seki(void) {
  go_rules rules = rules_of(5, 7, GO_KO_SIMPLE, 0);
  int32_t score;
  uint8_t owner[GO_MAX_POINTS];
  rules.scoring = GO_SCORING_TERRITORY;
  rules.komi_half = 0;
  go_game *game = game_of(rules, ".XO.OX."
                                 "XXOOOXX"
                                 "XXXXXXX"
                                 "OOOOOOO"
                                 "..O....", GO_BLACK);
  CHECK_EQ(go_game_score(game, &score, owner, 35), GO_OK);
  CHECK_EQ(score, 2 * (2 - 1 - 6));
  go_game_free(game);
  game = game_of(rules, "XXOO.X."
                        ".XO.OXX"
                        "XXOOOXX"
                        "OOOOOOX"
                        "..O..OX", GO_BLACK);
  CHECK_EQ(go_game_score(game, &score, owner, 35), GO_OK);
  CHECK_EQ(owner[3], GO_WHITE);
  CHECK_EQ(owner[4], GO_EMPTY);
  CHECK_EQ(owner[6], GO_EMPTY);
  CHECK_EQ(owner[7], GO_BLACK);
  CHECK_EQ(owner[10], GO_EMPTY);
  CHECK_EQ(score, 2 * 1);
  go_game_free(game);
}

static void test_features(void) {
  enum { P = 16 };
  uint8_t planes[GO_FEATURE_PLANES * P];
  go_game *game = game_of(rules_of(4, 4, GO_KO_SIMPLE, 0), ".XO."
                                                           "X.XO"
                                                           ".XO."
                                                           "....", GO_WHITE);
  CHECK_EQ(go_game_play(game, 5, GO_EMPTY), GO_OK);
  CHECK_EQ(go_game_features(game, planes, sizeof planes - 1), GO_ERR_ARGUMENT);
  CHECK_EQ(go_game_features(game, planes, sizeof planes), GO_OK);
  CHECK_EQ(planes[0 * P + 15], 64);
  CHECK_EQ(planes[1 * P + 1], 64);  /* black to move */
  CHECK_EQ(planes[2 * P + 5], 64);
  CHECK_EQ(planes[3 * P + 1], 64);  /* black's B4 has one liberty left */
  CHECK_EQ(planes[6 * P + 5], 64);  /* the stone that took the ko */
  CHECK_EQ(planes[9 * P + 6], 64);  /* and where it may not be taken */
  CHECK_EQ(planes[10 * P + 5], 64);
  CHECK_EQ(planes[17 * P], 0);
  CHECK_EQ(planes[18 * P], 64 - 26);
  CHECK_EQ(planes[19 * P], 13);     /* 64 * 4 / 19 = 13.47 */
  CHECK_EQ(go_game_play(game, 16, GO_EMPTY), GO_OK);
  CHECK_EQ(go_game_features(game, planes, sizeof planes), GO_OK);
  CHECK_EQ(planes[11 * P + 5], 64);
  CHECK_EQ(planes[17 * P], 64);
  CHECK_EQ(planes[18 * P], 64 + 26);
  go_game_free(game);
}

static void test_counts(void) {
  static const uint64_t positions[4] = {0, 1, 57, 12675}; /* Tromp; 4x4 is counted in tests/native */
  uint64_t count;
  for (int32_t n = 1; n <= 3; n++) {
    CHECK_EQ(go_count_positions(n, n, &count), GO_OK);
    CHECK_EQ(count, positions[n]);
  }
  CHECK_EQ(go_count_positions(3, 7, &count), GO_ERR_ARGUMENT);
  go_game *game;
  go_rules rules = rules_of(2, 2, GO_KO_POSITIONAL, 0);
  CHECK_EQ(go_game_new(&rules, &game), GO_OK);
  CHECK_EQ(go_count_sequences(game, 10, &count), GO_OK);
  CHECK_EQ(count, 8024);
  CHECK_EQ(go_count_sequences(game, 65, &count), GO_ERR_ARGUMENT);
  go_game_free(game);
}

/* A game without a cap ends after GO_MAX_MOVES moves: on 2x2 simple ko allows cycles for ever. */
static void test_longest_game(void) {
  go_rules rules = rules_of(2, 2, GO_KO_SIMPLE, 0);
  go_game *game;
  CHECK_EQ(go_game_new(&rules, &game), GO_OK);
  random_state = 5;
  while (!game->end) {
    uint8_t legal[5];
    int32_t move = 4;
    CHECK_EQ(go_game_legal(game, legal, 5), GO_OK);
    for (int32_t try = 0; try < 16 && move == 4; try++) {
      int32_t p = (int32_t)random_below(4);
      if (legal[p]) move = p;
    }
    if (move == 4 && game->passes) break;
    CHECK_EQ(go_game_play(game, move, GO_EMPTY), GO_OK);
  }
  CHECK(game->moves == GO_MAX_MOVES ? game->end == GO_END_CAP : game->moves < GO_MAX_MOVES);
  go_game_free(game);
}

/* ---- playouts -------------------------------------------------------------------------------------------- */

static void test_playouts(void) {
  const uint8_t seed[32] = {1};
  go_playouts_result whole, part;
  for (int32_t ko = GO_KO_SIMPLE; ko <= GO_KO_SITUATIONAL; ko++) {
    go_rules rules = rules_of(9, 9, ko, 1);
    rules.move_cap = 3 * 81;
    CHECK_EQ(go_playouts(&rules, 20, seed, &whole), GO_OK);
    CHECK_EQ(go_playouts(&rules, 19, seed, &part), GO_OK);
    CHECK(whole.moves > part.moves + 40 && whole.moves <= 20 * 243);
    CHECK(whole.black_wins >= part.black_wins && whole.black_wins <= 20);
    CHECK(whole.hash != part.hash);
    CHECK_EQ(go_playouts(&rules, 20, seed, &part), GO_OK);
    CHECK_EQ(part.hash, whole.hash);
    CHECK_EQ(go_playouts(&rules, 0, seed, &part), GO_OK);
    CHECK_EQ(part.moves, 0);
    CHECK_EQ(go_playouts(&rules, -1, seed, &part), GO_ERR_ARGUMENT);
    rules.cols = 20;
    CHECK_EQ(go_playouts(&rules, 1, seed, &part), GO_ERR_ARGUMENT);
  }
}

int main(void) {
  test_playouts();
  test_random_games();
  test_refusals();
  test_ko();
  test_equal_hashes();
  test_ends();
  test_scores();
  test_suicide_and_life();
  test_seki();
  test_features();
  test_counts();
  test_longest_game();
  for (int status = -1; status < 20; status++) CHECK(strlen(go_status_text(status)) > 0);
  return CHECK_RESULT;
}
