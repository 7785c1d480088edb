#ifndef GO_CHECK_H
#define GO_CHECK_H
/* CHECK for the C tests: prints what failed and where, counts, and lets the test go on. End main with CHECK_RESULT. */
#include <stdio.h>

static int go_check_failures;

#define CHECK(condition)                                                          \
  do {                                                                            \
    if (!(condition)) {                                                           \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);     \
      go_check_failures++;                                                        \
    }                                                                             \
  } while (0)

/* The same for integers, with both values. */
#define CHECK_EQ(got, want)                                                                                     \
  do {                                                                                                          \
    long long go_check_got = (long long)(got), go_check_want = (long long)(want);                               \
    if (go_check_got != go_check_want) {                                                                        \
      fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #got, go_check_got, go_check_want); \
      go_check_failures++;                                                                                      \
    }                                                                                                           \
  } while (0)

#define CHECK_RESULT (go_check_failures ? 1 : 0)

#endif
