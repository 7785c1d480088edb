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

struct go_cache {
  size_t bytes, key_bytes, logits; /* room of an entry for the largest board */
  int32_t size;                    /* of that board; 0: none yet */
  uint32_t clock;
  size_t sets; /* a power of two, or 0: no memory */
  go_entry *entry;
  uint8_t *key;
  int32_t *policy;
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

void go_key_set(go_key *key, uint64_t game, const go_net *net, const uint8_t *planes, size_t points) {
  const size_t each = 1 + (points + 7) / 8;
  int whole = 1;
  for (size_t i = 0; i < GO_FEATURE_PLANES; i++)
    whole &= pack_plane(planes + i * points, points, key->bytes + i * each);
  key->len = whole ? GO_FEATURE_PLANES * each : 0;
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

static void empty(go_cache *cache) {
  free(cache->entry);
  free(cache->key);
  free(cache->policy);
  cache->entry = NULL;
  cache->key = NULL;
  cache->policy = NULL;
  cache->sets = 0;
}

void go_cache_free(go_cache *cache) {
  if (!cache) return;
  empty(cache);
  free(cache);
}

void go_cache_fit(go_cache *cache, int32_t size) {
  if (size <= cache->size) return;
  empty(cache);
  const size_t points = (size_t)size * (size_t)size;
  cache->size = size;
  cache->key_bytes = GO_FEATURE_PLANES * (1 + (points + 7) / 8);
  cache->logits = points + 1;
  const size_t set = WAYS * (sizeof(go_entry) + cache->key_bytes + sizeof(int32_t) * cache->logits);
  size_t sets = SETS_MAX;
  while (sets * set > cache->bytes && sets > 0) sets /= 2;
  if (sets == 0) return;
  cache->entry = calloc(sets * WAYS, sizeof *cache->entry);
  cache->key = malloc(sets * WAYS * cache->key_bytes);
  cache->policy = malloc(sets * WAYS * cache->logits * sizeof *cache->policy);
  cache->sets = sets;
  if (!cache->entry || !cache->key || !cache->policy) empty(cache);
}

/* ---- entries -------------------------------------------------------------------------------------------- */

int go_cache_find(go_cache *cache, const go_key *key, go_answer *out) {
  if (cache->sets == 0 || key->len == 0) return 0;
  const size_t first = (size_t)(key->hash & (cache->sets - 1)) * WAYS;
  for (size_t i = first; i < first + WAYS; i++) {
    go_entry *entry = cache->entry + i;
    if (entry->hash != key->hash || entry->game != key->game || entry->net != key->net) continue;
    if (memcmp(cache->key + i * cache->key_bytes, key->bytes, key->len) != 0) continue;
    entry->used = ++cache->clock;
    *out = (go_answer){cache->policy + i * cache->logits, entry->value, entry->score_mean};
    return 1;
  }
  return 0;
}

void go_cache_add(go_cache *cache, const go_key *key, const go_answer *answer, size_t points) {
  if (cache->sets == 0 || key->len == 0) return;
  const size_t first = (size_t)(key->hash & (cache->sets - 1)) * WAYS;
  size_t oldest = first;
  for (size_t i = first; i < first + WAYS && cache->entry[oldest].game != 0; i++)
    if (cache->entry[i].game == 0 || cache->clock - cache->entry[i].used > cache->clock - cache->entry[oldest].used)
      oldest = i;
  cache->entry[oldest] =
      (go_entry){key->hash, key->game, key->net, ++cache->clock, answer->value, answer->score_mean};
  memcpy(cache->key + oldest * cache->key_bytes, key->bytes, key->len);
  memcpy(cache->policy + oldest * cache->logits, answer->policy, (points + 1) * sizeof(int32_t));
}
