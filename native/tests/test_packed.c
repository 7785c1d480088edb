/* Packed rows: the minibatch of a game's rows is what go_rows_read says, under each symmetry and on each canvas; what is
 * damaged is refused or laid out, and never read past its end. */
#include <stdlib.h>
#include <string.h>

#include "../src/packed.h"
#include "check.h"

enum { MOST_BYTES = 1 << 20 };

static uint32_t chance = 1;
static uint32_t draw(uint32_t below) {
  chance = chance * 1664525 + 1013904223;
  return (chance >> 8) % below;
}

static go_rules rules_of(int32_t size) {
  return (go_rules){.rows = size, .cols = size, .ko = GO_KO_POSITIONAL, .suicide = size % 2, .pass_alive = 1, .settled_end = 1,
                    .komi_half = 7, .move_cap = 3 * size * size};
}

/* ---- random games ---------------------------------------------------------------------------------------- */

static void write_record(uint8_t *kind, size_t n, size_t width, size_t i, const uint8_t *legal) {
  uint8_t *visits = kind + n + 2 * i * width, *target = visits + 2 * n * width, *value = kind + n + 4 * n * width + 4 * i;
  uint32_t left = 65535;
  kind[i] = draw(3) ? GO_PLY_FULL : GO_PLY_FAST;
  go_write_u32(value, draw(2 << 24) - (1u << 24));
  for (size_t m = 0; m < width; m++) {
    if (!legal[m]) continue;
    go_write_u16(visits + 2 * m, 3);
    const uint32_t weight = m + 1 == width ? left : draw(4) ? 0 : draw(left / 4 + 1);
    if (kind[i] == GO_PLY_FULL) go_write_u16(target + 2 * m, (uint16_t)weight);
    left -= weight;
  }
}

/* A random game's block in `block`; its length. */
static size_t play_block(const go_rules *rules, size_t opening, uint8_t *block) {
  static uint8_t legal[2048][GO_MAX_POINTS + 1];
  uint16_t moves[2048];
  const size_t width = (size_t)(rules->rows * rules->cols) + 1;
  size_t plies = 0;
  int32_t score;
  go_game *game;
  CHECK_EQ(go_game_new(rules, &game), GO_OK);
  for (; !go_game_end(game); plies++) {
    int32_t move = (int32_t)width - 1;
    go_game_legal(game, legal[plies], width);
    for (int32_t k = 0; k < 30 && move == (int32_t)width - 1; k++) {
      const int32_t tried = (int32_t)draw((uint32_t)width - 1);
      if (legal[plies][tried]) move = tried;
    }
    moves[plies] = (uint16_t)move;
    CHECK_EQ(go_game_play(game, move, GO_EMPTY), GO_OK);
  }
  CHECK_EQ(go_game_score(game, &score, NULL, 0), GO_OK);
  const size_t n = plies - opening, len = go_block_bytes(rules->rows, (int32_t)plies, (int32_t)n);
  CHECK(len <= MOST_BYTES);
  memset(block, 0, len);
  block[GO_BLOCK_SIZE] = (uint8_t)rules->rows;
  block[GO_BLOCK_END] = (uint8_t)go_game_end(game);
  block[GO_BLOCK_RESULT] = (uint8_t)go_result_of(score);
  block[GO_BLOCK_OPENING_MOVES] = (uint8_t)opening;
  go_write_u16(block + GO_BLOCK_KOMI, (uint16_t)rules->komi_half);
  go_write_u32(block + GO_BLOCK_SCORE, (uint32_t)score);
  go_write_u16(block + GO_BLOCK_MOVES, (uint16_t)plies);
  for (size_t i = 0; i < plies; i++) go_write_u16(block + GO_BLOCK_HEADER + 2 * i, moves[i]);
  for (size_t i = 0; i < n; i++) write_record(block + GO_BLOCK_HEADER + 2 * plies, n, width, i, legal[opening + i]);
  go_game_free(game);
  return len;
}

/* ---- arrays of exact length, so that the sanitizer sees what lies outside ---------------------------------- */

static go_minibatch arrays_of(size_t n, size_t canvas) {
  const size_t points = canvas * canvas, width = points + 1, item = sizeof(float);
  go_minibatch m = {malloc(n * points * GO_FEATURE_PLANES * item), malloc(n * width), malloc(n * width * item),
                    malloc(n * width * item), malloc(n * item), malloc(n * item), malloc(n * item), malloc(n * points * item),
                    malloc(n * points * item)};
  return m;
}

static void free_arrays(go_minibatch *m) {
  free(m->planes);
  free(m->legal);
  free(m->policy);
  free(m->opponent_policy);
  free(m->result);
  free(m->root_value);
  free(m->score);
  free(m->ownership);
  free(m->board);
}

static go_rows rows_of(size_t n, size_t points) {
  return (go_rows){malloc(n * GO_FEATURE_PLANES * points), malloc(2 * n * (points + 1)), malloc(2 * n * (points + 1)), malloc(n),
                   malloc(4 * n), malloc(n * points), malloc(n), malloc(4 * n)};
}

static void free_rows(go_rows *rows) {
  free(rows->planes);
  free(rows->policy);
  free(rows->opponent_policy);
  free(rows->value);
  free(rows->score);
  free(rows->ownership);
  free(rows->kind);
  free(rows->root_value);
}

/* ---- what a row has to look like ------------------------------------------------------------------------- */

static int32_t source_of(int32_t size, int32_t k, int32_t row, int32_t col) {
  const int32_t r = k & 1 ? size - 1 - row : row, c = k & 2 ? size - 1 - col : col;
  return k & 4 ? c * size + r : r * size + c;
}

static int is_policy(const uint16_t *raw, const float *got, int32_t size, int32_t canvas, int32_t k) {
  const int32_t points = size * size;
  uint32_t sum = 0;
  int fine = 1;
  for (int32_t m = 0; m <= points; m++) sum += raw[m];
  for (int32_t cell = 0; cell < canvas * canvas; cell++) {
    const int32_t row = cell / canvas, col = cell % canvas;
    const float want = row < size && col < size && sum ? (float)raw[source_of(size, k, row, col)] / (float)sum : 0;
    fine &= got[cell] == want;
  }
  return fine && got[canvas * canvas] == (sum ? (float)raw[points] / (float)sum : 0);
}

static int is_board(const uint8_t *planes, const int8_t *owner, const go_minibatch *m, size_t at, int32_t size, int32_t canvas,
                    int32_t k) {
  const size_t points = (size_t)(size * size), cells = (size_t)(canvas * canvas);
  int fine = m->legal[at * (cells + 1) + cells] == 1;
  for (int32_t row = 0; row < canvas; row++) {
    for (int32_t col = 0; col < canvas; col++) {
      const int32_t on = row < size && col < size;
      const size_t from = on ? (size_t)source_of(size, k, row, col) : 0, cell = (size_t)(row * canvas + col);
      const float *got = m->planes + (at * cells + cell) * GO_FEATURE_PLANES;
      for (size_t n = 0; n < GO_FEATURE_PLANES; n++) fine &= got[n] == (on ? (float)planes[n * points + from] / 64 : 0);
      const int32_t open = on && !planes[points + from] && !planes[2 * points + from] && !planes[9 * points + from];
      fine &= m->legal[at * (cells + 1) + cell] == (open || m->policy[at * (cells + 1) + cell] > 0);
      fine &= m->board[at * cells + cell] == (float)on && m->ownership[at * cells + cell] == (on ? owner[from] : 0);
    }
  }
  return fine;
}

static void check_game(const go_rules *rules, const uint8_t *block, size_t len, const uint8_t *packed, size_t used,
                       int32_t canvas) {
  int32_t size, plies, count;
  CHECK_EQ(go_block_shape(block, len, &size, &plies), GO_OK);
  const size_t n = (size_t)plies, points = (size_t)(size * size), width = points + 1;
  go_rows rows = rows_of(n, points);
  go_minibatch m = arrays_of(n, (size_t)canvas);
  go_drawn *drawn = malloc(n * sizeof *drawn);
  const go_segment segment = {packed, used};
  CHECK_EQ(go_rows_read(rules, block, len, &rows, plies, &count), GO_OK);
  for (size_t i = 0; i < n; i++) drawn[i] = (go_drawn){0, used, 0, (int32_t)i, (int32_t)(i % 8), 0};
  CHECK_EQ(go_rows_gather(&segment, 1, drawn, plies, canvas, &m), GO_OK);
  for (size_t i = 0; i < n; i++) {
    const int32_t k = (int32_t)(i % 8);
    const size_t wide = (size_t)(canvas * canvas) + 1;
    CHECK(is_board(rows.planes + i * GO_FEATURE_PLANES * points, rows.ownership + i * points, &m, i, size, canvas, k));
    CHECK(is_policy(rows.policy + i * width, m.policy + i * wide, size, canvas, k));
    CHECK(is_policy(rows.opponent_policy + i * width, m.opponent_policy + i * wide, size, canvas, k));
    CHECK(m.result[i] == rows.value[i] && m.score[i] == (float)rows.score[i] / 2);
    CHECK(m.root_value[i] == (float)rows.root_value[i] / (1 << 24));
  }
  free(drawn);
  free_arrays(&m);
  free_rows(&rows);
}

/* ---- damage ---------------------------------------------------------------------------------------------- */

/* Whatever byte is changed and wherever the game is cut, each row is laid out or refused. */
static void check_damage(const uint8_t *packed, size_t used, int32_t size) {
  uint8_t *copy = malloc(used);
  go_minibatch m = arrays_of(1, (size_t)size);
  go_packed facts;
  for (int32_t round = 0; round < 4000; round++) {
    memcpy(copy, packed, used);
    const size_t at = draw(3) ? draw(200) % used : draw((uint32_t)used);
    copy[at] ^= (uint8_t)(1 + draw(255));
    const go_segment segment = {copy, used};
    const go_drawn drawn = {0, used, 0, (int32_t)draw(9), (int32_t)draw(8), 0};
    go_packed_facts(copy, used, &facts);
    go_rows_gather(&segment, 1, &drawn, 1, size, &m);
  }
  for (size_t len = 0; len < used; len += 1 + len / 50) {
    uint8_t *cut = malloc(len ? len : 1);
    memcpy(cut, packed, len);
    const go_segment segment = {cut, len};
    const go_drawn drawn = {0, len, 0, 0, 0, 0};
    CHECK_EQ(go_packed_facts(cut, len, &facts), GO_ERR_FORMAT);
    go_rows_gather(&segment, 1, &drawn, 1, size, &m);
    free(cut);
  }
  free(copy);
  free_arrays(&m);
}

/* Rows that no packed game has, and arguments outside the contract. */
static void check_arguments(const uint8_t *packed, size_t used, int32_t size) {
  const go_segment segment = {packed, used};
  const go_drawn good = {0, used, 0, 0, 0, 0};
  go_minibatch m = arrays_of(1, GO_MAX_SIDE);
  go_drawn bad[] = {good, good, good, good, good, good, good, good};
  bad[0].offset = used + 1;
  bad[1].len = used + 1;
  bad[2].offset = UINT64_MAX;
  bad[3].segment = 1;
  bad[4].segment = -1;
  bad[5].ply = 60000;
  bad[6].ply = -1;
  bad[7].symmetry = 8;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    CHECK_EQ(go_rows_gather(&segment, 1, &bad[i], 1, size, &m), GO_ERR_ARGUMENT);
  }
  CHECK_EQ(go_rows_gather(&segment, 1, &good, 1, size - 1, &m), GO_ERR_ARGUMENT);
  CHECK_EQ(go_rows_gather(&segment, 1, &good, 1, GO_MAX_SIDE + 1, &m), GO_ERR_ARGUMENT);
  CHECK_EQ(go_rows_gather(&segment, 1, &good, -1, size, &m), GO_ERR_ARGUMENT);
  CHECK_EQ(go_rows_gather(&segment, 1, &good, 1, GO_MAX_SIDE, &m), GO_OK);
  CHECK_EQ(go_rows_gather(NULL, 0, NULL, 0, size, &m), GO_OK);
  free_arrays(&m);
}

/* A policy that sums to another number and values that no game has are named by their ply. */
static void check_poison(const uint8_t *packed, size_t used) {
  uint8_t *copy = malloc(used);
  go_packed facts;
  go_packed_view game;
  int32_t full = 0;
  memcpy(copy, packed, used);
  CHECK_EQ(go_packed_parse(copy, used, &game), GO_OK);
  while (full < game.rows && !go_packed_is_full(go_packed_row(&game, full))) full++;
  uint8_t *row = copy + (go_packed_row(&game, full) - copy);
  uint8_t *weight = copy + (go_packed_policy(&game, row) - copy) + go_packed_set(game.width);
  go_write_u16(weight, (uint16_t)(go_read_u16(weight) + 1));
  CHECK_EQ(go_packed_facts(copy, used, &facts), GO_OK);
  CHECK_EQ(facts.bad_policy, full);
  CHECK_EQ(facts.bad_value, -1);
  go_write_u32(row + 1, (1u << 24) + 1);
  CHECK_EQ(go_packed_facts(copy, used, &facts), GO_OK);
  CHECK_EQ(facts.bad_value, full);
  memcpy(copy, packed, used);
  go_write_u32(copy + GO_PACKED_SCORE, 1u << 30);
  CHECK_EQ(go_packed_facts(copy, used, &facts), GO_OK);
  CHECK_EQ(facts.bad_value, 0);
  free(copy);
}

static void check_size(int32_t size, size_t opening, uint8_t *block, uint8_t *packed) {
  const go_rules rules = rules_of(size);
  const size_t len = play_block(&rules, opening, block);
  int32_t side, plies;
  size_t used;
  go_packed facts;
  CHECK_EQ(go_block_shape(block, len, &side, &plies), GO_OK);
  const size_t most = go_packed_most(size, plies);
  CHECK(most && most <= MOST_BYTES);
  CHECK_EQ(go_rows_pack(&rules, block, len, packed, most - 1, &used), GO_ERR_ARGUMENT);
  CHECK_EQ(used, 0);
  CHECK_EQ(go_rows_pack(&rules, block, len - 1, packed, most, &used), GO_ERR_FORMAT);
  uint8_t *exact = malloc(most);
  CHECK_EQ(go_rows_pack(&rules, block, len, exact, most, &used), GO_OK);
  CHECK(used && used <= most);
  memcpy(packed, exact, used);
  free(exact);
  uint8_t *game = malloc(used);
  memcpy(game, packed, used);
  CHECK_EQ(go_packed_facts(game, used, &facts), GO_OK);
  CHECK(facts.size == size && facts.plies == plies && facts.bad_policy == -1 && facts.bad_value == -1);
  CHECK_EQ(facts.moves, plies + (int32_t)opening);
  check_game(&rules, block, len, game, used, size);
  if (size < GO_MAX_SIDE) check_game(&rules, block, len, game, used, size + 1 + (int32_t)draw((uint32_t)(GO_MAX_SIDE - size)));
  if (size == 5 || size == 8) {
    check_damage(game, used, size);
    check_arguments(game, used, size);
    check_poison(game, used);
  }
  free(game);
}

int main(void) {
  uint8_t *block = malloc(2 * MOST_BYTES), *packed = block + MOST_BYTES;
  static const int32_t sizes[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 16, 19};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    for (size_t opening = 0; opening < 2; opening++) check_size(sizes[i], opening, block, packed);
  }
  CHECK_EQ(go_packed_most(0, 5), 0);
  CHECK_EQ(go_packed_most(20, 5), 0);
  CHECK_EQ(go_packed_most(9, 0), 0);
  free(block);
  return CHECK_RESULT;
}
