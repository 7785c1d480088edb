/* Rules, a setup and moves from anywhere, and what has to hold of every position whatever they are. */
#include "../src/game.h"
#include "fuzz.h"

#include <string.h>

enum {
  ROWS, COLS, KO, SUICIDE, SCORING, PASS_ALIVE, SETTLED_END, KOMI, CAP = KOMI + 2, SETUP = CAP + 2, HEADER,
  PLIES_MAX = 2000,
  LARGE = 100 /* points; on larger boards what is slow is asked less often */
};

/* Numbers mostly in their range, and each sometimes just outside it. */
static go_rules rules_of(const uint8_t *data) {
  return (go_rules){.rows = data[ROWS] % 21,
                    .cols = data[COLS] % 21,
                    .ko = data[KO] % 4,
                    .suicide = data[SUICIDE] % 5 - 1,
                    .scoring = data[SCORING] % 3,
                    .pass_alive = data[PASS_ALIVE] % 3,
                    .settled_end = data[SETTLED_END] % 3,
                    .komi_half = (int16_t)(data[KOMI] | data[KOMI + 1] << 8),
                    .move_cap = data[CAP] | data[CAP + 1] << 8};
}

static int in_range(const go_rules *r) {
  return r->rows >= 1 && r->rows <= 19 && r->cols >= 1 && r->cols <= 19 && r->ko <= 2 && r->suicide >= 0 &&
         r->suicide <= 1 && r->scoring <= 1 && r->pass_alive <= 1 && r->settled_end <= 1 && r->komi_half >= -32767 &&
         r->move_cap <= 65534;
}

/* Everything that a game shows of its position. */
typedef struct face {
  uint8_t stones[GO_MAX_POINTS], legal[GO_MAX_POINTS + 1], owner[GO_MAX_POINTS], alive[GO_MAX_POINTS];
  uint8_t planes[GO_FEATURE_PLANES * GO_MAX_POINTS];
  int32_t score, to_move, moves, end, captured[3];
  uint64_t hash;
} face;

/* Reads into memory of the exact length, so that the sanitizer sees a write past its end. */
static void ask(int (*what)(const go_game *, uint8_t *, size_t), const go_game *game, uint8_t *out, size_t len) {
  uint8_t *exact = malloc(len);
  FUZZ_REQUIRE(exact);
  memset(exact, 0xa5, len);
  FUZZ_REQUIRE(what(game, exact, len + 1) == GO_ERR_ARGUMENT && exact[0] == 0xa5);
  FUZZ_REQUIRE(what(game, exact, len) == GO_OK);
  memcpy(out, exact, len);
  free(exact);
}

static void look(const go_game *game, face *out) {
  const size_t points = (size_t)game->board.points;
  memset(out, 0, sizeof *out);
  ask(go_game_stones, game, out->stones, points);
  ask(go_game_legal, game, out->legal, points + 1);
  ask(go_game_pass_alive, game, out->alive, points);
  ask(go_game_features, game, out->planes, GO_FEATURE_PLANES * points);
  FUZZ_REQUIRE(go_game_score(game, &out->score, NULL, points) == GO_ERR_ARGUMENT);
  FUZZ_REQUIRE(go_game_score(game, &out->score, out->owner, points) == GO_OK);
  out->to_move = go_game_to_move(game);
  out->moves = go_game_moves(game);
  out->end = go_game_end(game);
  out->hash = go_game_hash(game);
  for (int32_t colour = GO_BLACK; colour <= GO_WHITE; colour++) out->captured[colour] = go_game_captured(game, colour);
}

/* ---- what has to hold ------------------------------------------------------------------------------------ */

static void check_legal(const go_game *game, const face *f) {
  const size_t points = (size_t)game->board.points;
  for (int32_t move = 0; move <= game->board.points; move++) {
    const int status = go_game_check(game, move, GO_EMPTY);
    FUZZ_REQUIRE((status == GO_OK) == f->legal[move]);
    FUZZ_REQUIRE(go_game_check(game, move, f->to_move) == status);
    if (move == game->board.points) continue;
    FUZZ_REQUIRE(f->end || (status == GO_ERR_OCCUPIED) == (f->stones[move] != GO_EMPTY));
    const int banned = status == GO_ERR_KO || status == GO_ERR_SUPERKO;
    if (!f->end) FUZZ_REQUIRE((f->planes[9 * points + (size_t)move] != 0) == banned);
  }
}

static void check_counts(const go_game *game, const face *f) {
  const go_rules *rules = &game->rules;
  int32_t balance = 0, bound = game->board.points + f->captured[GO_BLACK] + f->captured[GO_WHITE], area = 0;
  for (int32_t p = 0; p < game->board.points; p++) {
    FUZZ_REQUIRE(f->owner[p] <= GO_WHITE && f->alive[p] <= GO_WHITE);
    balance += (f->owner[p] == GO_BLACK) - (f->owner[p] == GO_WHITE);
    area += f->alive[p] != GO_EMPTY;
    if (rules->scoring == GO_SCORING_AREA && rules->pass_alive && f->alive[p]) FUZZ_REQUIRE(f->owner[p] == f->alive[p]);
    /* A chain lives as a whole. */
    const int32_t cols = rules->cols, right = p % cols + 1 < cols ? p + 1 : p;
    const int32_t down = p + cols < game->board.points ? p + cols : p;
    if (f->stones[p] && f->stones[p] == f->stones[right]) FUZZ_REQUIRE(f->alive[p] == f->alive[right]);
    if (f->stones[p] && f->stones[p] == f->stones[down]) FUZZ_REQUIRE(f->alive[p] == f->alive[down]);
  }
  FUZZ_REQUIRE(f->score + rules->komi_half <= 2 * bound && f->score + rules->komi_half >= -2 * bound);
  if (rules->scoring == GO_SCORING_AREA) FUZZ_REQUIRE(f->score == 2 * balance - rules->komi_half);
  if (f->end == GO_END_SETTLED) FUZZ_REQUIRE(rules->settled_end && area == game->board.points);
  if (f->end == GO_END_PASSES) FUZZ_REQUIRE(f->moves >= 2);
  for (size_t i = 0; i < GO_FEATURE_PLANES * (size_t)game->board.points; i++) FUZZ_REQUIRE(f->planes[i] <= 127);
}

/* The stones alone, set up on another game, are a position with the same hash, life and owners. */
static void check_setup(const go_game *game, const face *f) {
  go_game *other;
  face seen;
  const size_t points = (size_t)game->board.points;
  FUZZ_REQUIRE(go_game_new(&game->rules, &other) == GO_OK);
  FUZZ_REQUIRE(go_game_setup(other, f->stones, points, f->to_move) == GO_OK);
  look(other, &seen);
  FUZZ_REQUIRE(seen.hash == f->hash && !memcmp(seen.stones, f->stones, points));
  FUZZ_REQUIRE(!memcmp(seen.alive, f->alive, points) && !memcmp(seen.owner, f->owner, points));
  go_game_free(other);
}

/* What is pass-alive stays although its owner passes and the other colour plays anywhere. */
static void check_life(const go_game *game, const face *f, int32_t colour) {
  go_rules rules = game->rules;
  go_game *other;
  uint8_t legal[GO_MAX_POINTS + 1];
  const int32_t points = game->board.points;
  uint64_t chance = f->hash | 1;
  rules.settled_end = rules.move_cap = 0;
  FUZZ_REQUIRE(go_game_new(&rules, &other) == GO_OK);
  FUZZ_REQUIRE(go_game_setup(other, f->stones, (size_t)points, go_other(colour)) == GO_OK);
  for (int32_t turn = 0; turn < points && turn < LARGE; turn++) {
    int32_t move = points;
    FUZZ_REQUIRE(go_game_legal(other, legal, (size_t)points + 1) == GO_OK);
    for (int32_t try = 0; try < points && move == points; try++) {
      chance = chance * 6364136223846793005u + 1442695040888963407u;
      const int32_t drawn = (int32_t)((chance >> 33) % (uint64_t)points);
      if (legal[drawn]) move = drawn;
    }
    if (move == points) break;
    FUZZ_REQUIRE(go_game_play(other, move, GO_EMPTY) == GO_OK && go_game_play(other, points, GO_EMPTY) == GO_OK);
    for (int32_t p = 0; p < points; p++) {
      const int lives = f->alive[p] == colour && f->stones[p] == colour;
      if (lives) FUZZ_REQUIRE(other->board.colour[go_cell_of(&other->board, p)] == colour);
    }
  }
  go_game_free(other);
}

static void check_copy(const go_game *game, const face *f, go_game *scratch, int32_t move) {
  face seen;
  go_game *twin;
  FUZZ_REQUIRE(go_game_copy_into(scratch, game) == GO_OK);
  look(scratch, &seen);
  FUZZ_REQUIRE(!memcmp(&seen, f, sizeof seen));
  FUZZ_REQUIRE(go_game_copy(scratch, &twin) == GO_OK);
  FUZZ_REQUIRE(go_game_play(twin, move, GO_EMPTY) == go_game_play(scratch, move, GO_EMPTY));
  look(scratch, &seen);
  face other;
  look(twin, &other);
  FUZZ_REQUIRE(!memcmp(&seen, &other, sizeof seen));
  go_game_free(twin);
}

static void check_position(const go_game *game, go_game *scratch, int32_t move) {
  static face f; /* static: it is large */
  look(game, &f);
  check_legal(game, &f);
  check_counts(game, &f);
  check_setup(game, &f);
  check_copy(game, &f, scratch, move);
  for (int32_t colour = GO_BLACK; colour <= GO_WHITE; colour++) {
    if (memchr(f.alive, colour, (size_t)game->board.points)) check_life(game, &f, colour);
  }
}

/* ---- one game -------------------------------------------------------------------------------------------- */

/* Hashes of the positions that superko looks at, with who was to move in the situational form. */
typedef struct seen {
  uint64_t hash[PLIES_MAX + 1];
  int32_t count;
} seen;

/* Adds the position; a stone may not have led to one that was there. */
static void add_seen(seen *seen, const go_game *game, int32_t stone) {
  const uint64_t side = game->rules.ko == GO_KO_SITUATIONAL && game->to_move == GO_WHITE ? 0x5851f42d4c957f2du : 0;
  const uint64_t hash = go_game_hash(game) ^ side;
  if (game->rules.ko == GO_KO_SIMPLE) return;
  for (int32_t i = 0; stone && i < seen->count; i++) FUZZ_REQUIRE(seen->hash[i] != hash);
  seen->hash[seen->count++] = hash;
}

static void play(go_game *game, go_game *scratch, const uint8_t *data, size_t len) {
  static seen seen;
  const int32_t points = game->board.points;
  seen.count = 0;
  add_seen(&seen, game, 0);
  check_position(game, scratch, points);
  for (int32_t ply = 0; len >= 2 && ply < PLIES_MAX; data += 2, len -= 2, ply++) {
    /* From one below to one above what there is. */
    const int32_t move = (data[0] | (data[1] & 1) << 8) % (points + 3) - 1, colour = (data[1] >> 1) % 4;
    const int32_t before = go_game_moves(game), to_move = go_game_to_move(game);
    const uint64_t hash = go_game_hash(game);
    const int wanted = go_game_check(game, move, colour), status = go_game_play(game, move, colour);
    if (colour == GO_EMPTY || colour == to_move) FUZZ_REQUIRE(status == wanted);
    if (status == GO_ERR_TURN) FUZZ_REQUIRE(colour == go_other(to_move));
    if (status != GO_OK) {
      FUZZ_REQUIRE(go_game_moves(game) == before && go_game_to_move(game) == to_move && go_game_hash(game) == hash);
    } else {
      int32_t logged, by;
      FUZZ_REQUIRE(go_game_move_at(game, before, &logged, &by) == GO_OK && logged == move && by == to_move);
      FUZZ_REQUIRE(go_game_to_move(game) == go_other(to_move) && go_game_moves(game) == before + 1);
      add_seen(&seen, game, move < points);
    }
    if (ply % (points > LARGE ? 64 : 16) == 0 || (status == GO_OK && go_game_end(game))) check_position(game, scratch, move < 0 ? 0 : move);
    if (go_game_end(game) && data[1] & 0x80) {
      go_game_clear(game);
      seen.count = 0;
      add_seen(&seen, game, 0);
    }
  }
  check_position(game, scratch, points);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  const go_rules other = {.rows = 3, .cols = 4, .ko = GO_KO_POSITIONAL};
  go_game *game, *scratch;
  if (len < HEADER) return 0;
  const go_rules rules = rules_of(data);
  const int status = go_game_new(&rules, &game);
  FUZZ_REQUIRE(status == (in_range(&rules) ? GO_OK : GO_ERR_ARGUMENT));
  if (status) {
    FUZZ_REQUIRE(!game);
    return 0;
  }
  FUZZ_REQUIRE(go_game_new(&other, &scratch) == GO_OK);
  const uint8_t how = data[SETUP];
  data += HEADER;
  len -= HEADER;
  if (how % 4) { /* colours as they come, or (3) cut down to what may be a colour, mostly empty */
    uint8_t stones[GO_MAX_POINTS];
    const size_t points = (size_t)game->board.points, count = len < points ? len : points;
    for (size_t i = 0; i < count; i++) {
      const uint8_t colour = data[i] % 8 < 3 ? data[i] % 8 : GO_EMPTY;
      stones[i] = how % 4 == 3 ? colour : data[i];
    }
    const int placed = go_game_setup(game, stones, count, how / 4 % 4);
    FUZZ_REQUIRE(placed == GO_OK || (placed == GO_ERR_ARGUMENT && go_game_hash(game) == 0));
    data += count;
    len -= count;
  }
  play(game, scratch, data, len);
  go_game_free(scratch);
  go_game_free(game);
  return 0;
}

/* ---- good inputs ----------------------------------------------------------------------------------------- */

size_t go_fuzz_seed(uint32_t index, uint8_t *data, size_t capacity) {
  static const uint8_t headers[][HEADER] = {
      /* rows, cols, ko, suicide (1: no), scoring, pass-alive, settled end, komi, cap, setup */
      {9, 9, 1, 2, 0, 1, 1, 15, 0, 243, 0, 0},
      {7, 7, 2, 1, 0, 0, 0, 14, 0, 0, 0, 0},
      {5, 5, 0, 2, 1, 0, 0, 1, 0, 0, 0, 3 + 4 * 1},
      {3, 3, 1, 2, 0, 1, 1, 0, 0, 0, 0, 0},
      {2, 3, 2, 2, 0, 1, 0, 0, 0, 0, 0, 0},
      {1, 8, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0},
      {19, 19, 1, 1, 0, 1, 0, 13, 0, 0, 0, 0},
      {4, 6, 0, 1, 1, 1, 0, 0, 0, 0, 0, 3 + 4 * 2},
      {13, 5, 2, 2, 0, 0, 1, 0, 0, 99, 0, 0},
      {10, 10, 1, 2, 0, 1, 1, 0, 0, 0, 0, 3 + 4 * 1},
  };
  if (index >= sizeof headers / sizeof *headers) return 0;
  const go_rules rules = rules_of(headers[index]);
  const int32_t points = rules.rows * rules.cols;
  const size_t len = HEADER + (headers[index][SETUP] ? (size_t)points : 0) + 2 * (size_t)(4 * points + 20);
  uint32_t chance = 77 + index;
  FUZZ_REQUIRE(len <= capacity);
  memcpy(data, headers[index], HEADER);
  for (size_t i = HEADER; i < len; i++) {
    chance = chance * 1664525 + 1013904223;
    data[i] = (uint8_t)(chance >> 16);
  }
  /* Moves of whoever is to move, to any point. */
  for (size_t i = len - 2 * (size_t)(4 * points + 20); i < len; i += 2) {
    chance = chance * 1664525 + 1013904223;
    const uint32_t move = 1 + (chance >> 8) % (uint32_t)points;
    data[i] = (uint8_t)move;
    data[i + 1] = (uint8_t)(move >> 8 | 0x80);
  }
  return len;
}
