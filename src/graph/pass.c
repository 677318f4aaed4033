#include "graph/pass.h"
const graph_pass graph_passes[1]; const uint32_t graph_n_passes=0;
lithe_status graph_run_passes(graph *g, bool want_any_length, bool no_fusion, const char *last, lithe_error *err){(void)g;(void)want_any_length;(void)no_fusion;(void)last;(void)err;return 0;}
