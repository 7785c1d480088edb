/* Which kernels this build has and this machine runs. */
#include "kernel.h"

#if defined(GO_NEON) && defined(__linux__)
#include <sys/auxv.h>
#endif

/* ---- the machine ---------------------------------------------------------------------------------------- */

#if defined(GO_X86)
static int has_avx2(void) {
  __builtin_cpu_init(); /* not every C runtime has done it; cheap the second time */
  return __builtin_cpu_supports("avx2");
}

static int has_vnni(void) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni");
}
#elif defined(GO_NEON) && defined(__linux__)
static int has_dot(void) {
  const unsigned long dot_products = 1ul << 20; /* HWCAP_ASIMDDP of Linux */
  return (getauxval(AT_HWCAP) & dot_products) != 0;
}
#elif defined(GO_NEON)
static int has_dot(void) { return 0; }
#endif

/* ---- kernels -------------------------------------------------------------------------------------------- */

static const go_kernel *find_best(void) {
#if defined(GO_X86)
  if (has_vnni()) return &go_kernel_vnni;
  if (has_avx2()) return &go_kernel_avx2;
#elif defined(GO_NEON)
  return has_dot() ? &go_kernel_neon_dot : &go_kernel_neon;
#endif
  return &go_kernel_scalar;
}

const go_kernel *go_kernel_find(int32_t kernel) {
  switch (kernel) {
  case GO_KERNEL_BEST: return find_best();
  case GO_KERNEL_SCALAR: return &go_kernel_scalar;
#if defined(GO_X86)
  case GO_KERNEL_AVX2: return has_avx2() ? &go_kernel_avx2 : NULL;
  case GO_KERNEL_VNNI: return has_vnni() ? &go_kernel_vnni : NULL;
#elif defined(GO_NEON)
  case GO_KERNEL_NEON: return &go_kernel_neon;
  case GO_KERNEL_NEON_DOT: return has_dot() ? &go_kernel_neon_dot : NULL;
#endif
  default: return NULL;
  }
}

int go_kernel_available(int32_t kernel) { return go_kernel_find(kernel) != NULL; }

int32_t go_kernel_best(void) {
  for (int32_t kernel = GO_KERNEL_LAST; kernel > GO_KERNEL_SCALAR; kernel--)
    if (go_kernel_find(kernel) == find_best()) return kernel;
  return GO_KERNEL_SCALAR;
}

const char *go_kernel_name(int32_t kernel) {
  switch (kernel) {
  case GO_KERNEL_BEST: return go_kernel_find(kernel)->name;
  case GO_KERNEL_SCALAR: return "scalar";
  case GO_KERNEL_AVX2: return "avx2";
  case GO_KERNEL_VNNI: return "vnni";
  case GO_KERNEL_NEON: return "neon";
  case GO_KERNEL_NEON_DOT: return "neon-dot";
  default: return "unknown";
  }
}

int64_t go_kernel_peak(int32_t kernel, int64_t steps) {
  const go_kernel *found = go_kernel_find(kernel);
  return found && steps > 0 ? found->peak(steps) : 0;
}
