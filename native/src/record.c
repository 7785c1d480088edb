#include "record.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_PLIES = 64 };

static int grow(void **memory, size_t bytes) {
  void *more = realloc(*memory, bytes);
  if (!more) return GO_ERR_MEMORY;
  *memory = more;
  return GO_OK;
}

static int reserve(go_record *r) {
  if (r->plies < r->capacity) return GO_OK;
  const size_t capacity = r->capacity ? 2 * (size_t)r->capacity : FIRST_PLIES, row = (size_t)r->width * sizeof(uint16_t);
  if (grow((void **)&r->ply, capacity * sizeof *r->ply) != GO_OK ||
      grow((void **)&r->visits, capacity * row) != GO_OK || grow((void **)&r->policy_target, capacity * row) != GO_OK ||
      grow((void **)&r->digests, capacity * 32) != GO_OK)
    return GO_ERR_MEMORY;
  r->capacity = (int32_t)capacity;
  return GO_OK;
}

int go_record_add(go_record *r, const go_ply *ply) {
  if (reserve(r) != GO_OK) return GO_ERR_MEMORY;
  const size_t i = (size_t)r->plies++, width = (size_t)r->width;
  r->ply[i] = (go_record_ply){.kind = ply->kind, .value = ply->value, .score = ply->score};
  go_sha256(ply->digest, sizeof ply->digest, r->ply[i].trace_hash);
  memcpy(r->visits + i * width, ply->visits, width * sizeof(uint16_t));
  memcpy(r->policy_target + i * width, ply->policy_target, width * sizeof(uint16_t));
  memcpy(r->digests + i * 32, ply->digest, 32);
  return GO_OK;
}

void go_record_free(go_record *r) {
  free(r->ply);
  free(r->visits);
  free(r->policy_target);
  *r = (go_record){0};
}
