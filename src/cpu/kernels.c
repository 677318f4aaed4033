/* The kernel table: C first, then what the instruction sets in use put over it. */
#include "cpu/kernels.h"
#include "base/cpuinfo.h"

#include <stdio.h>
#include <string.h>

void cpu_kernels_init(cpu_kernels *k, uint32_t features)
{
    memset(k, 0, sizeof *k);
    k->features = features;
    linear_kernels_init_c(&k->linear);
    attention_kernels_init_c(&k->attention);
    vec_kernels_init_c(&k->vec);
#if defined(__x86_64__)
    linear_kernels_init_x86(&k->linear, features);
    attention_kernels_init_x86(&k->attention, features);
    vec_kernels_init_x86(&k->vec, features);
#elif defined(__aarch64__)
    linear_kernels_init_arm(&k->linear, features);
    attention_kernels_init_arm(&k->attention, features);
    vec_kernels_init_arm(&k->vec, features);
#endif
}

size_t cpu_kernels_describe(const cpu_kernels *k, char *buf, size_t buf_bytes)
{
    char line[64];
    size_t length = 0;
    for (int i = 0; i < LINEAR_KIND_COUNT + 2; i++) {
        if (i < LINEAR_KIND_COUNT)
            snprintf(line, sizeof line, "linear %s: %s\n", linear_kind_name((linear_kind)i), k->linear.name[i]);
        else if (i == LINEAR_KIND_COUNT)
            snprintf(line, sizeof line, "attention: %s\n", k->attention.name);
        else
            snprintf(line, sizeof line, "vec: %s\n", k->vec.name);
        for (const char *p = line; *p; p++, length++)
            if (length + 1 < buf_bytes)
                buf[length] = *p;
    }
    if (buf_bytes)
        buf[length < buf_bytes ? length : buf_bytes - 1] = '\0';
    return length;
}
