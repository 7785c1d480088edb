#include "cache.h"

#include <stdlib.h>
#include <string.h>

enum { WAYS = 4, SETS_MAX = 1 << 20 };

/* The fixed part of an entry; its key's bytes and its policy lie in the arrays of the cache. */
typedef struct go_entry {
  uint64_t hash, game; /* game 0: empty */
  const go_net *net;
  uint32_t used;       /* the clock when it was used last */
  int32_t value, score_mean;
} go_entry;

/* The entries for one board size. */
typedef struct go_table {
  size_t key_bytes, logits;
  size_t sets; /* a power of two; 0: not made yet, or no memory */
  go_entry *entry;
  uint8_t *key;
  int32_t *policy;
} go_table;

struct go_cache {
  size_t bytes; /* of a table */
  uint32_t clock;
  go_table table[GO_MAX_SIDE + 1];
};

/* ---- keys ----------------------------------------------------------------------------------------------- */

static uint64_t word_at(const uint8_t *bytes, size_t count) {
  uint64_t word = 0;
  if (count >= 8) memcpy(&word, bytes, 8);
  else memcpy(&word, bytes, count);
  return word;
}

/* Spreads; equality is decided by the bytes themselves. */
static uint64_t spread(uint64_t hash, const uint8_t *bytes, size_t len) {
  for (size_t i = 0; i < len; i += 8) {
    hash = (hash ^ word_at(bytes + i, len - i)) * 0xd6e8feb86659fd93u;
    hash ^= hash >> 32;
  }
  return hash;
}

/* One plane: its value, then a bit a point. 0 if it holds two values beside 0. */
static int pack_plane(const uint8_t *plane, size_t points, uint8_t *out) {
  const uint64_t ones = 0x0101010101010101u;
  uint8_t *bits = out + 1;
  uint64_t seen = 0, other = 0;
  for (size_t i = 0; i < points; i += 8) seen |= word_at(plane + i, points - i);
  seen |= seen >> 32;
  seen |= seen >> 16;
  out[0] = (uint8_t)(seen | seen >> 8);
  for (size_t i = 0; i < points; i += 8) {
    const uint64_t word = word_at(plane + i, points - i);
    const uint64_t on = (word + 0x7f * ones) >> 7 & ones; /* 1 in each byte that is not 0 */
    *bits++ = (uint8_t)(on * 0x0102040810204080u >> 56);
    other |= word ^ on * out[0];
  }
  return other == 0;
}

void go_key_set(go_key *key, uint64_t game, const go_net *net, const uint8_t *planes, int32_t size) {
  const size_t points = (size_t)size * (size_t)size, each = 1 + (points + 7) / 8;
  int whole = 1;
  for (size_t i = 0; i < GO_FEATURE_PLANES; i++)
    whole &= pack_plane(planes + i * points, points, key->bytes + i * each);
  key->size = whole ? size : 0;
  key->len = GO_FEATURE_PLANES * each;
  key->game = game;
  key->net = net;
  key->hash = spread(0x9e3779b97f4a7c15u ^ game, key->bytes, key->len);
}

/* ---- life ----------------------------------------------------------------------------------------------- */

int go_cache_new(size_t bytes, go_cache **out) {
  go_cache *cache = calloc(1, sizeof *cache);
  if (!cache) return GO_ERR_MEMORY;
  cache->bytes = bytes;
  *out = cache;
  return GO_OK;
}

static void table_free(go_table *table) {
  free(table->entry);
  free(table->key);
  free(table->policy);
  *table = (go_table){0};
}

void go_cache_free(go_cache *cache) {
  if (!cache) return;
  for (int32_t size = 0; size <= GO_MAX_SIDE; size++) table_free(cache->table + size);
  free(cache);
}

static void table_make(go_table *table, size_t bytes, const go_key *key) {
  const size_t logits = (size_t)key->size * (size_t)key->size + 1;
  const size_t set = WAYS * (sizeof(go_entry) + key->len + sizeof(int32_t) * logits);
  size_t sets = SETS_MAX;
  while (sets * set > bytes && sets > 0) sets /= 2;
  if (sets == 0) return;
  *table = (go_table){.key_bytes = key->len,
                      .logits = logits,
                      .sets = sets,
                      .entry = calloc(sets * WAYS, sizeof *table->entry),
                      .key = malloc(sets * WAYS * key->len),
                      .policy = malloc(sets * WAYS * logits * sizeof *table->policy)};
  if (!table->entry || !table->key || !table->policy) table_free(table);
}

/* ---- entries -------------------------------------------------------------------------------------------- */

static size_t first_way(const go_table *table, const go_key *key) {
  return (size_t)(key->hash & (table->sets - 1)) * WAYS;
}

int go_cache_find(go_cache *cache, const go_key *key, go_answer *out) {
  const go_table *table = cache->table + key->size;
  if (table->sets == 0) return 0;
  const size_t first = first_way(table, key);
  for (size_t i = first; i < first + WAYS; i++) {
    go_entry *entry = table->entry + i;
    if (entry->hash != key->hash || entry->game != key->game || entry->net != key->net) continue;
    if (memcmp(table->key + i * table->key_bytes, key->bytes, key->len) != 0) continue;
    entry->used = ++cache->clock;
    *out = (go_answer){table->policy + i * table->logits, entry->value, entry->score_mean};
    return 1;
  }
  return 0;
}

void go_cache_add(go_cache *cache, const go_key *key, const go_answer *answer) {
  go_table *table = cache->table + key->size;
  if (key->size == 0) return;
  if (table->sets == 0) table_make(table, cache->bytes, key);
  if (table->sets == 0) return;
  const size_t first = first_way(table, key);
  size_t oldest = first;
  for (size_t i = first; i < first + WAYS && table->entry[oldest].game != 0; i++) {
    const go_entry *entry = table->entry + i;
    if (entry->game == 0 || cache->clock - entry->used > cache->clock - table->entry[oldest].used) oldest = i;
  }
  table->entry[oldest] =
      (go_entry){key->hash, key->game, key->net, ++cache->clock, answer->value, answer->score_mean};
  memcpy(table->key + oldest * table->key_bytes, key->bytes, key->len);
  memcpy(table->policy + oldest * table->logits, answer->policy, table->logits * sizeof *table->policy);
}
