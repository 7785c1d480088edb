#include "game.h"

#include <stdlib.h>
#include <string.h>

/* The stored boards stand one after another; `slots` finds them by hash with linear probing and is at most half
 * full. A hit is compared bit by bit, so two boards with one hash are told apart. */

enum { SLOTS_FIRST = 128, SLOTS_KEPT = 1024 };

void go_history_free(go_history *history) {
  free(history->boards);
  free(history->hashes);
  free(history->seen);
  free(history->slots);
  memset(history, 0, sizeof *history);
}

/* ---- room ------------------------------------------------------------------------------------------------ */

/* Grows one array to `count` items; the old one stays valid on failure. */
static int grow(void **array, size_t count, size_t item) {
  void *bigger = realloc(*array, count * item);
  if (!bigger) return GO_ERR_MEMORY;
  *array = bigger;
  return GO_OK;
}

/* Memory for `positions` of `width` words; what is there is kept. */
static int ensure(go_history *history, uint32_t positions, uint32_t width) {
  void *boards = history->boards, *hashes = history->hashes, *seen = history->seen, *slots = history->slots;
  int status = GO_OK;
  if ((size_t)positions * width > history->board_words) {
    status = grow(&boards, (size_t)positions * width, sizeof *history->boards);
    history->boards = boards;
    if (status) return status;
    history->board_words = (size_t)positions * width;
  }
  if (positions <= history->capacity) return GO_OK;
  status = grow(&hashes, positions, sizeof *history->hashes);
  history->hashes = hashes;
  if (!status) status = grow(&seen, positions, sizeof *history->seen);
  history->seen = seen;
  if (!status) status = grow(&slots, 2 * (size_t)positions, sizeof *history->slots);
  history->slots = slots;
  if (!status) history->capacity = positions;
  return status;
}

static void insert(go_history *history, uint32_t position) {
  uint32_t slot = (uint32_t)history->hashes[position] & (history->slot_count - 1);
  while (history->slots[slot]) slot = (slot + 1) & (history->slot_count - 1);
  history->slots[slot] = (uint16_t)(position + 1);
}

void go_history_clear(go_history *history, uint32_t width) {
  /* A table of moderate size stays for the next game, if there are boards for it. */
  if (history->slot_count > SLOTS_KEPT || history->slot_count / 2 * (size_t)width > history->board_words) {
    history->slot_count = 0;
  }
  if (history->slot_count) memset(history->slots, 0, history->slot_count * sizeof *history->slots);
  memset(history->kinds, 0, sizeof history->kinds);
  memset(history->most, 0, sizeof history->most);
  history->width = width;
  history->count = 0;
}

int go_history_reserve(go_history *history) {
  if (2 * history->count < history->slot_count) return GO_OK;
  uint32_t slot_count = history->slot_count ? 2 * history->slot_count : SLOTS_FIRST;
  if (ensure(history, slot_count / 2, history->width)) return GO_ERR_MEMORY;
  history->slot_count = slot_count;
  memset(history->slots, 0, slot_count * sizeof *history->slots);
  for (uint32_t i = 0; i < history->count; i++) insert(history, i);
  return GO_OK;
}

int go_history_copy(go_history *dst, const go_history *src) {
  if (ensure(dst, src->slot_count / 2, src->width)) return GO_ERR_MEMORY;
  dst->width = src->width;
  dst->count = src->count;
  dst->slot_count = src->slot_count;
  memcpy(dst->kinds, src->kinds, sizeof dst->kinds);
  memcpy(dst->most, src->most, sizeof dst->most);
  if (!src->slot_count) return GO_OK;
  memcpy(dst->boards, src->boards, (size_t)src->count * src->width * sizeof *src->boards);
  memcpy(dst->hashes, src->hashes, src->count * sizeof *src->hashes);
  memcpy(dst->seen, src->seen, src->count);
  memcpy(dst->slots, src->slots, src->slot_count * sizeof *src->slots);
  return GO_OK;
}

/* ---- positions ------------------------------------------------------------------------------------------- */

int go_history_may_hold(const go_history *history, uint64_t hash) {
  if (!history->slot_count) return 0;
  const uint32_t mask = history->slot_count - 1;
  for (uint32_t slot = (uint32_t)hash & mask; history->slots[slot]; slot = (slot + 1) & mask) {
    if (history->hashes[history->slots[slot] - 1] == hash) return 1;
  }
  return 0;
}

int32_t go_history_find(const go_history *history, uint64_t hash, const uint64_t *bits) {
  if (!history->slot_count) return -1;
  size_t bytes = history->width * sizeof *bits;
  const uint32_t mask = history->slot_count - 1;
  for (uint32_t slot = (uint32_t)hash & mask; history->slots[slot]; slot = (slot + 1) & mask) {
    uint32_t position = history->slots[slot] - 1u;
    if (history->hashes[position] != hash) continue;
    if (!memcmp(history->boards + (size_t)position * history->width, bits, bytes)) return (int32_t)position;
  }
  return -1;
}

void go_history_add(go_history *history, uint64_t hash, const int32_t stones[3], const uint64_t *bits,
                    int32_t to_move) {
  const uint32_t kind = go_board_kind(stones[GO_BLACK], stones[GO_WHITE]);
  int32_t position = go_history_has_kind(history, kind) ? go_history_find(history, hash, bits) : -1;
  if (position < 0) {
    position = (int32_t)history->count++;
    memcpy(history->boards + (size_t)position * history->width, bits, history->width * sizeof *bits);
    history->hashes[position] = hash;
    history->seen[position] = 0;
    history->kinds[kind / 64] |= (uint64_t)1 << (kind % 64);
    for (int32_t colour = GO_BLACK; colour <= GO_WHITE; colour++) {
      if (stones[colour] > history->most[colour]) history->most[colour] = stones[colour];
    }
    insert(history, (uint32_t)position);
  }
  history->seen[position] |= (uint8_t)to_move;
}
