/* Prints docs/ops.md from the op table: `ops_md > docs/ops.md`. */
#include "base/buffer.h"
#include "graph/ops.h"

#include <stdio.h>

int main(void)
{
    buffer out;
    buffer_init(&out);
    graph_ops_markdown(&out);
    bool ok = !buffer_failed(&out) && fwrite(out.data, 1, out.size, stdout) == out.size && fflush(stdout) == 0;
    buffer_fini(&out);
    return ok ? 0 : 1;
}
