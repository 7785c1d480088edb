/* Packed games: made from game blocks, and judged when they are read again (docs/spec/rows.md). */
#include "packed.h"

#include <string.h>

static const uint8_t plane_of[GO_PACKED_PLANES] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16};
enum { PLANE_LAST = 10, PLANE_PASSED = 17, PLANE_KOMI = 18, PLANE_SCALE = 19, ON = 64, SUM = 65535, ONE = 1 << 24 };

/* ---- making ---------------------------------------------------------------------------------------------- */

typedef struct packer {
  uint8_t *out;
  size_t at;
  uint8_t planes[GO_FEATURE_PLANES * GO_MAX_POINTS];
} packer;

static size_t starts_at(size_t points) { return GO_PACKED_HEADER + 2 * go_packed_set(points); }

size_t go_packed_most(int32_t size, int32_t plies) {
  if (size < 1 || size > GO_MAX_SIDE || plies < 1 || plies > GO_MAX_MOVES) return 0;
  const size_t points = (size_t)size * (size_t)size, width = points + 1, n = (size_t)plies;
  const size_t row = GO_PACKED_ROW + GO_PACKED_PLANES * go_packed_set(points) + go_packed_set(width) + 2 * width;
  return starts_at(points) + 4 * (n + 1) + n * row;
}

/* A set of the points whose byte is ON. */
static void put_set(const uint8_t *plane, size_t points, uint8_t *set) {
  size_t p = 0;
  for (; p + 8 <= points; p += 8) {
    const uint64_t ones = go_read_u64(plane + p) >> 6 & 0x0101010101010101u;
    *set++ = (uint8_t)(ones * 0x0102040810204080u >> 56);
  }
  for (size_t i = 0; p + i < points; i++) {
    if (!i) *set = 0;
    *set |= (uint8_t)(plane[p + i] >> 6 << i);
  }
}

/* The moves with a weight and their weights; the bytes written. */
static size_t put_policy(const uint8_t *target, size_t width, uint8_t *out) {
  uint8_t *weight = out + go_packed_set(width);
  memset(out, 0, go_packed_set(width));
  for (size_t m = 0; m < width; m++) {
    if (!go_read_u16(target + 2 * m)) continue;
    out[m / 8] |= (uint8_t)(1u << m % 8);
    memcpy(weight, target + 2 * m, 2);
    weight += 2;
  }
  return (size_t)(weight - out);
}

static int pack_row(packer *k, const go_game *game, const go_block *b, int32_t i) {
  const size_t points = (size_t)game->board.points, set = go_packed_set(points);
  const int32_t full = b->kind[i] == GO_PLY_FULL;
  uint8_t *row = k->out + k->at, *at = row + 5;
  const int status = go_game_features(game, k->planes, GO_FEATURE_PLANES * points);
  if (status) return status;
  go_write_u32(k->out + starts_at(points) + 4 * (size_t)i, (uint32_t)k->at);
  row[0] = (uint8_t)((full ? GO_PACKED_FULL : 0) | (k->planes[PLANE_PASSED * points] ? GO_PACKED_PASSED : 0));
  memcpy(row + 1, b->value + 4 * (size_t)i, 4);
  for (size_t n = 0; n < GO_PACKED_LASTS; n++, at += 2) {
    const uint8_t *plane = k->planes + (PLANE_LAST + n) * points, *found = memchr(plane, ON, points);
    go_write_u16(at, found ? (uint16_t)(found - plane) : GO_PACKED_NOWHERE);
  }
  for (size_t n = 0; n < GO_PACKED_PLANES; n++, at += set) put_set(k->planes + plane_of[n] * points, points, at);
  if (full) at += put_policy(b->policy_target + 2 * (size_t)i * (size_t)b->width, (size_t)b->width, at);
  k->out[GO_PACKED_KOMI + (game->to_move == GO_WHITE)] = k->planes[PLANE_KOMI * points];
  k->out[GO_PACKED_SCALE] = k->planes[PLANE_SCALE * points];
  k->at = (size_t)(at - k->out);
  return GO_OK;
}

/* What the final position says, and the header. */
static int pack_end(packer *k, const go_game *game, const go_block *b) {
  uint8_t owner[GO_MAX_POINTS], digest[32], *out = k->out;
  const size_t points = (size_t)game->board.points, set = go_packed_set(points);
  int32_t score;
  const int status = go_game_score(game, &score, owner, points);
  if (status) return status;
  for (size_t p = 0; p < points; p++) {
    if (owner[p] == GO_EMPTY) continue;
    out[GO_PACKED_HEADER + (owner[p] == GO_WHITE) * set + p / 8] |= (uint8_t)(1u << p % 8);
  }
  out[GO_PACKED_SIZE] = (uint8_t)b->size;
  out[GO_PACKED_FIRST] = (uint8_t)(b->opening_moves % 2 ? GO_WHITE : GO_BLACK);
  go_write_u16(out + GO_PACKED_ROWS, (uint16_t)b->plies);
  go_write_u16(out + GO_PACKED_MOVES, (uint16_t)b->moves);
  go_write_u32(out + GO_PACKED_SCORE, (uint32_t)score);
  go_sha256(b->move, 2 * (size_t)b->moves, digest);
  memcpy(out + GO_PACKED_NAME, digest, GO_PACKED_HEADER - GO_PACKED_NAME);
  go_write_u32(out + starts_at(points) + 4 * (size_t)b->plies, (uint32_t)k->at);
  return GO_OK;
}

static int visit(void *context, const go_game *game, const go_block *b, int32_t i) {
  return i < 0 ? pack_end(context, game, b) : pack_row(context, game, b, i);
}

int go_rows_pack(const go_rules *rules, const uint8_t *block, size_t len, uint8_t *out, size_t capacity, size_t *used) {
  packer k = {.out = out};
  int32_t size, plies, bad_ply;
  *used = 0;
  int status = go_block_shape(block, len, &size, &plies);
  if (status) return status;
  if (capacity < go_packed_most(size, plies)) return GO_ERR_ARGUMENT;
  k.at = starts_at((size_t)size * (size_t)size);
  memset(out, 0, k.at);
  k.at += 4 * ((size_t)plies + 1);
  status = go_block_replay(rules, block, len, visit, &k, &bad_ply);
  if (!status) *used = k.at;
  return status;
}

/* ---- reading --------------------------------------------------------------------------------------------- */

int go_packed_parse(const uint8_t *data, size_t len, go_packed_view *out) {
  go_packed_view g = {.data = data, .len = len};
  if (len < GO_PACKED_HEADER) return GO_ERR_FORMAT;
  g.size = data[GO_PACKED_SIZE];
  g.first = data[GO_PACKED_FIRST];
  g.rows = go_read_u16(data + GO_PACKED_ROWS);
  g.moves = go_read_u16(data + GO_PACKED_MOVES);
  g.score = go_read_i32(data + GO_PACKED_SCORE);
  if (g.size < 1 || g.size > GO_MAX_SIDE || (g.first != GO_BLACK && g.first != GO_WHITE)) return GO_ERR_FORMAT;
  if (g.rows < 1 || g.rows > g.moves || data[GO_PACKED_ZERO] || go_read_u16(data + GO_PACKED_ZERO2)) return GO_ERR_FORMAT;
  g.points = (size_t)g.size * (size_t)g.size;
  g.width = g.points + 1;
  g.set = go_packed_set(g.points);
  g.areas = data + GO_PACKED_HEADER;
  g.start = data + starts_at(g.points);
  if (len < starts_at(g.points) + 4 * ((size_t)g.rows + 1)) return GO_ERR_FORMAT;
  *out = g;
  return GO_OK;
}

/* Bits of a set, and whether none lies beyond its `count` members. */
static int count_set(const uint8_t *set, size_t count, size_t *bits) {
  const size_t bytes = go_packed_set(count);
  *bits = 0;
  for (size_t i = 0; i < bytes; i++) *bits += (size_t)go_popcount(set[i]);
  return count % 8 == 0 || set[bytes - 1] >> count % 8 == 0;
}

const uint8_t *go_packed_row(const go_packed_view *game, int32_t i) {
  const size_t from = go_read_u32(game->start + 4 * (size_t)i), to = go_read_u32(game->start + 4 * (size_t)i + 4);
  const size_t least = GO_PACKED_ROW + GO_PACKED_PLANES * game->set, moves = go_packed_set(game->width);
  size_t count;
  if (to > game->len || from > to || to - from < least) return NULL;
  const uint8_t *row = game->data + from;
  if (!go_packed_is_full(row)) return to - from == least ? row : NULL;
  if (to - from < least + moves || !count_set(row + least, game->width, &count)) return NULL;
  return to - from == least + moves + 2 * count ? row : NULL;
}

static int is_row_fine(const go_packed_view *g, const uint8_t *row) {
  size_t bits;
  if (row[0] & ~(GO_PACKED_FULL | GO_PACKED_PASSED)) return 0;
  for (size_t n = 0; n < GO_PACKED_LASTS; n++) {
    const size_t last = go_read_u16(row + 5 + 2 * n);
    if (last >= g->points && last != GO_PACKED_NOWHERE) return 0;
  }
  for (size_t n = 0; n < GO_PACKED_PLANES; n++) {
    if (!count_set(row + GO_PACKED_ROW + n * g->set, g->points, &bits)) return 0;
  }
  return 1;
}

static int is_policy_fine(const go_packed_view *g, const uint8_t *row) {
  const uint8_t *moves = go_packed_policy(g, row), *weight = moves + go_packed_set(g->width);
  size_t count;
  uint32_t sum = 0;
  count_set(moves, g->width, &count);
  for (size_t m = 0; m < count; m++) sum += go_read_u16(weight + 2 * m);
  return sum == SUM;
}

int go_packed_facts(const uint8_t *game, size_t len, go_packed *out) {
  go_packed_view g;
  size_t bits;
  memset(out, 0, sizeof *out);
  int status = go_packed_parse(game, len, &g);
  if (status) return status;
  const size_t first = (size_t)(g.start - game) + 4 * ((size_t)g.rows + 1);
  if (go_read_u32(g.start) != first || go_read_u32(g.start + 4 * (size_t)g.rows) != len) return GO_ERR_FORMAT;
  if (!count_set(g.areas, g.points, &bits) || !count_set(g.areas + g.set, g.points, &bits)) return GO_ERR_FORMAT;
  go_packed found = {g.size, g.rows, g.moves, -1, -1, {0}};
  if (g.score < -(2 * GO_MAX_POINTS + INT16_MAX) || g.score > 2 * GO_MAX_POINTS + INT16_MAX) found.bad_value = 0;
  for (int32_t i = 0; i < g.rows; i++) {
    const uint8_t *row = go_packed_row(&g, i);
    if (!row || !is_row_fine(&g, row)) return GO_ERR_FORMAT;
    const int32_t value = go_read_i32(row + 1);
    if (found.bad_value < 0 && (value < -ONE || value > ONE)) found.bad_value = i;
    if (found.bad_policy < 0 && go_packed_is_full(row) && !is_policy_fine(&g, row)) found.bad_policy = i;
  }
  memcpy(found.name, game + GO_PACKED_NAME, sizeof found.name);
  *out = found;
  return GO_OK;
}
