/* Minibatches: packed rows under their symmetries, laid out as the arrays that the trainer computes with. */
#include "packed.h"

#include <string.h>

enum { PLANE_OWN = 1, PLANE_OTHER = 2, PLANE_BAN = 9, PLANE_LAST = 10, PLANE_PASSED = 17, PLANE_KOMI = 18, PLANE_SCALE = 19 };
/* Points whose whole bytes a plane's set may name, so that damaged bits stay within the array. */
enum { ROOM = (GO_MAX_POINTS + 7) / 8 * 8 };

static const uint8_t plane_of[GO_PACKED_PLANES] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16};

/* The planes of four bits. */
#define BITS(n) {(n) & 1, (n) >> 1 & 1, (n) >> 2 & 1, (n) >> 3 & 1}
static const float expanded[16][4] = {BITS(0), BITS(1), BITS(2),  BITS(3),  BITS(4),  BITS(5),  BITS(6),  BITS(7),
                                      BITS(8), BITS(9), BITS(10), BITS(11), BITS(12), BITS(13), BITS(14), BITS(15)};

/* ---- one row as it is packed ----------------------------------------------------------------------------- */

/* Everything of a row by its own points. */
typedef struct unpacked {
  uint32_t planes[ROOM];        /* bit k: plane k is on */
  float policy[GO_MAX_POINTS + 1], opponent[GO_MAX_POINTS + 1];
  int8_t ownership[ROOM];
} unpacked;

/* Adds `bit` to the members of a set. */
static void unpack_set(const uint8_t *set, size_t bytes, uint32_t bit, uint32_t *planes) {
  for (size_t i = 0; i < bytes; i++) {
    for (uint32_t rest = set[i]; rest; rest &= rest - 1) planes[8 * i + (size_t)go_lowest(rest)] |= bit;
  }
}

static void unpack_planes(const go_packed_view *g, const uint8_t *row, unpacked *u) {
  const uint32_t everywhere = 1u | (uint32_t)(row[0] & GO_PACKED_PASSED ? 1 : 0) << PLANE_PASSED;
  for (size_t p = 0; p < 8 * g->set; p++) u->planes[p] = everywhere;
  for (size_t n = 0; n < GO_PACKED_PLANES; n++) {
    unpack_set(row + GO_PACKED_ROW + n * g->set, g->set, 1u << plane_of[n], u->planes);
  }
  for (size_t n = 0; n < GO_PACKED_LASTS; n++) {
    const size_t last = go_read_u16(row + 5 + 2 * n);
    if (last < g->points) u->planes[last] |= 1u << (PLANE_LAST + n);
  }
}

/* Weights over their sum; zeros without a row, or of a fast search. */
static void unpack_policy(const go_packed_view *g, const uint8_t *row, float *policy) {
  memset(policy, 0, g->width * sizeof *policy);
  if (!row || !go_packed_is_full(row)) return;
  const uint8_t *moves = go_packed_policy(g, row), *weight = moves + go_packed_set(g->width), *at = weight;
  uint32_t sum = 0;
  for (size_t i = 0; i < go_packed_set(g->width); i++) {
    for (int32_t bits = go_popcount(moves[i]); bits; bits--, at += 2) sum += go_read_u16(at);
  }
  const float whole = (float)(sum ? sum : 1);
  for (size_t i = 0; i < go_packed_set(g->width); i++) {
    for (uint32_t rest = moves[i]; rest; rest &= rest - 1, weight += 2) {
      policy[8 * i + (size_t)go_lowest(rest)] = (float)go_read_u16(weight) / whole;
    }
  }
}

static void unpack_ownership(const go_packed_view *g, int32_t own, int8_t *ownership) {
  const uint8_t *mine = g->areas + (own == GO_WHITE ? g->set : 0), *theirs = g->areas + (own == GO_WHITE ? 0 : g->set);
  for (size_t p = 0; p < g->points; p++) {
    ownership[p] = (int8_t)((mine[p / 8] >> p % 8 & 1) - (theirs[p / 8] >> p % 8 & 1));
  }
}

/* ---- one row as it is laid out --------------------------------------------------------------------------- */

/* The row's place in the arrays, cleared where the board leaves the canvas empty. */
typedef struct place {
  float *planes, *policy, *opponent, *ownership, *board;
  uint8_t *legal;
} place;

static place place_of(const go_minibatch *out, size_t at, size_t canvas, int32_t is_smaller) {
  const size_t points = canvas * canvas, width = points + 1;
  place to = {out->planes + at * points * GO_FEATURE_PLANES, out->policy + at * width, out->opponent_policy + at * width,
              out->ownership + at * points, out->board + at * points, out->legal + at * width};
  if (is_smaller) {
    memset(to.planes, 0, points * GO_FEATURE_PLANES * sizeof *to.planes);
    memset(to.policy, 0, width * sizeof *to.policy);
    memset(to.opponent, 0, width * sizeof *to.opponent);
    memset(to.ownership, 0, points * sizeof *to.ownership);
    memset(to.board, 0, points * sizeof *to.board);
    memset(to.legal, 0, width);
  }
  return to;
}

static void put_point(const unpacked *u, const place *to, size_t from, size_t cell, float komi, float scale) {
  const uint32_t planes = u->planes[from], taken = 1u << PLANE_OWN | 1u << PLANE_OTHER | 1u << PLANE_BAN;
  float *out = to->planes + cell * GO_FEATURE_PLANES;
  for (size_t n = 0; n < GO_FEATURE_PLANES / 4; n++) memcpy(out + 4 * n, expanded[planes >> 4 * n & 15], sizeof *expanded);
  out[PLANE_KOMI] = komi;
  out[PLANE_SCALE] = scale;
  to->policy[cell] = u->policy[from];
  to->opponent[cell] = u->opponent[from];
  to->ownership[cell] = u->ownership[from];
  to->board[cell] = 1;
  to->legal[cell] = (planes & taken) == 0 || u->policy[from] > 0;
}

/* Symmetry k: transposed if k & 4, then rows reversed if k & 1, columns if k & 2. */
static void put_board(const unpacked *u, const place *to, int32_t size, int32_t canvas, int32_t k, float komi, float scale) {
  for (int32_t row = 0; row < size; row++) {
    for (int32_t col = 0; col < size; col++) {
      const int32_t r = k & 1 ? size - 1 - row : row, c = k & 2 ? size - 1 - col : col;
      put_point(u, to, (size_t)(k & 4 ? c * size + r : r * size + c), (size_t)(row * canvas + col), komi, scale);
    }
  }
}

static float unit(float value) { return value < -1 ? -1 : value > 1 ? 1 : value; }

static int lay_out(const go_packed_view *g, int32_t ply, int32_t symmetry, int32_t canvas, size_t at, const go_minibatch *out) {
  const uint8_t *row = go_packed_row(g, ply), *next = ply + 1 < g->rows ? go_packed_row(g, ply + 1) : NULL;
  const int32_t own = ply % 2 ? go_other(g->first) : g->first;
  const int64_t score = own == GO_BLACK ? g->score : -(int64_t)g->score;
  const size_t pass = (size_t)canvas * (size_t)canvas;
  unpacked u;
  if (!row || (ply + 1 < g->rows && !next)) return GO_ERR_FORMAT;
  unpack_planes(g, row, &u);
  unpack_policy(g, row, u.policy);
  unpack_policy(g, next, u.opponent);
  unpack_ownership(g, own, u.ownership);
  const place to = place_of(out, at, (size_t)canvas, g->size < canvas);
  put_board(&u, &to, g->size, canvas, symmetry, (float)g->data[GO_PACKED_KOMI + (own == GO_WHITE)] / 64,
            (float)g->data[GO_PACKED_SCALE] / 64);
  to.policy[pass] = u.policy[g->points];
  to.opponent[pass] = u.opponent[g->points];
  to.legal[pass] = 1;
  out->result[at] = (float)((score > 0) - (score < 0));
  out->root_value[at] = unit((float)go_read_i32(row + 1) / (1 << 24));
  out->score[at] = (float)score / 2;
  return GO_OK;
}

int go_rows_gather(const go_segment *segments, int32_t segment_count, const go_drawn *drawn, int32_t count, int32_t canvas,
                   const go_minibatch *out) {
  if (segment_count < 0 || count < 0 || canvas < 1 || canvas > GO_MAX_SIDE) return GO_ERR_ARGUMENT;
  for (int32_t i = 0; i < count; i++) {
    const go_drawn *d = &drawn[i];
    go_packed_view g;
    if (d->segment < 0 || d->segment >= segment_count || d->symmetry < 0 || d->symmetry > 7) return GO_ERR_ARGUMENT;
    const go_segment *segment = &segments[d->segment];
    if (d->offset > segment->len || d->len > segment->len - d->offset) return GO_ERR_ARGUMENT;
    int status = go_packed_parse(segment->data + d->offset, d->len, &g);
    if (status) return status;
    if (d->ply < 0 || d->ply >= g.rows || g.size > canvas) return GO_ERR_ARGUMENT;
    status = lay_out(&g, d->ply, d->symmetry, canvas, (size_t)i, out);
    if (status) return status;
  }
  return GO_OK;
}
